// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	bucket  = "CONFIG"
	stream  = "JOBS"
	dialing = 64 // clients that set themselves up at the same time
	fresh   = "after the restart"
)

// client is one application: it watches the configuration and works on jobs of its own.
type client struct {
	nc         *nats.Conn
	connected  atomic.Int64 // times in ns, since the storm's zero; 0: not yet
	watched    atomic.Int64
	fetched    atomic.Int64
	done       chan<- struct{} // gets one for the watch and one for the consumer
	since      *atomic.Pointer[time.Time]
	complaints *complaints
}

// complaints counts errors that clients are told, by text.
type complaints struct {
	mu   sync.Mutex
	seen map[string]int
}

func (c *complaints) add(err error) {
	if err == nil {
		return
	}
	c.mu.Lock()
	c.seen[err.Error()]++
	c.mu.Unlock()
}

func (c *complaints) reset() {
	c.mu.Lock()
	c.seen = map[string]int{}
	c.mu.Unlock()
}

func (c *complaints) list() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.seen)
}

// mark notes the first time that something happened after the storm's zero.
func (c *client) mark(at *atomic.Int64) bool {
	zero := c.since.Load()
	return zero != nil && at.CompareAndSwap(0, int64(time.Since(*zero)))
}

func (c *client) start(ctx context.Context, o options, url string, i int) error {
	var err error
	c.nc, err = nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(o.wait),
		nats.ReconnectJitter(o.jitter, o.jitter), nats.Timeout(10*time.Second),
		nats.ReconnectHandler(func(*nats.Conn) { c.mark(&c.connected) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.complaints.add(err) }))
	if err != nil {
		return err
	}
	js, err := jetstream.New(c.nc, jetstream.WithDefaultTimeout(30*time.Second))
	if err != nil {
		return err
	}
	if err := c.watch(ctx, js); err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	if err := c.work(ctx, js, i); err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	return nil
}

func (c *client) watch(ctx context.Context, js jetstream.JetStream) error {
	kv, err := js.KeyValue(ctx, bucket)
	if err != nil {
		return err
	}
	w, err := kv.Watch(ctx, "app.>")
	if err != nil {
		return err
	}
	go func() {
		for e := range w.Updates() {
			if e != nil && string(e.Value()) == fresh && c.mark(&c.watched) {
				c.done <- struct{}{}
			}
		}
		if ctx.Err() == nil {
			c.complaints.add(errors.New("a watch has ended"))
		}
	}()
	return nil
}

func (c *client) work(ctx context.Context, js jetstream.JetStream, i int) error {
	cons, err := js.CreateOrUpdateConsumer(ctx, stream, jetstream.ConsumerConfig{
		Durable: fmt.Sprintf("app-%d", i), FilterSubject: fmt.Sprintf("jobs.%d", i),
		AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		return err
	}
	_, err = cons.Consume(func(m jetstream.Msg) {
		m.Ack()
		if string(m.Data()) == fresh && c.mark(&c.fetched) {
			c.done <- struct{}{}
		}
	}, jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { c.complaints.add(err) }))
	return err
}

// startAll sets up all clients; the first error ends it.
func startAll(ctx context.Context, o options, url string, all []*client) error {
	slots := make(chan struct{}, dialing)
	first := make(chan error, 1)
	var wg sync.WaitGroup
	for i, c := range all {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if len(first) > 0 {
				return
			}
			if err := c.start(ctx, o, url, i); err != nil {
				select {
				case first <- fmt.Errorf("client %d: %w", i, err):
				default:
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-first:
		return err
	default:
		return nil
	}
}
