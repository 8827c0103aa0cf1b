// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const half = 40 // messages published before and after something happens

// trouble is something that happens to a reader while messages are published.
type trouble struct {
	name    string
	ordered bool // only readers whose consumer is the client's own affair recover from it
	cause   func(f *fix, nc *nats.Conn, stream string) error
}

func gone(f *fix, _ *nats.Conn, stream string) error { return f.deleteConsumers(stream) }

func kicked(f *fix, nc *nats.Conn, _ string) error { return f.kick(nc) }

func goneAndKicked(f *fix, nc *nats.Conn, stream string) error {
	if err := f.deleteConsumers(stream); err != nil {
		return err
	}
	return f.kick(nc)
}

func purged(f *fix, _ *nats.Conn, stream string) error { return f.purgeStream(stream) }

var troubles = []trouble{
	{"nothing", false, func(*fix, *nats.Conn, string) error { return nil }},
	{"the connection is kicked", false, kicked},
	{"the consumer is deleted", true, gone},
	{"the consumer is deleted and the connection kicked", true, goneAndKicked},
	{"the stream is purged", false, purged},
}

// run is one reader that goes through all troubles.
type run struct {
	f         *fix
	r         reader
	stream    string
	nc        *nats.Conn
	sink      *sink
	published int
	next      int // of an ordered reader: the number that has to come
	missing   map[int]bool
}

func readThroughTroubles(f *fix, r reader) error {
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	t := &run{f: f, r: r, stream: r.stream, missing: map[int]bool{}}
	t.sink = &sink{ctx: ctx, got: make(chan item, 1024)}
	subject := "$KV." + bucket + ".>"
	if t.stream == "" {
		t.stream, subject = stream, "log.>"
	}
	if err := f.makeStream(t.stream, subject); err != nil {
		return err
	}
	var err error
	if t.nc, err = f.client(); err != nil {
		return err
	}
	if err = f.refuse(3, management, 0); err != nil {
		return err
	}
	if err = r.start(f, t.nc, t.sink); err != nil {
		return err
	}
	for _, trouble := range troubles {
		if trouble.ordered && !r.ordered {
			continue
		}
		if err = t.endure(trouble); err != nil {
			return fmt.Errorf("%s: %w", trouble.name, err)
		}
	}
	if !r.ordered {
		return t.settle()
	}
	// Once more, and now the first three attempts to make a consumer are all refused.
	if err = t.endureBurst(); err != nil {
		return fmt.Errorf("three refusals in a row: %w", err)
	}
	return nil
}

// settle waits until the server takes every message as acknowledged: nothing is to come again.
func (t *run) settle() error {
	for {
		var info *jetstream.ConsumerInfo
		err := t.f.persist("consumer info", func() error {
			cons, err := t.f.js.Consumer(t.f.ctx, t.stream, durable)
			if err == nil {
				info = cons.CachedInfo()
			}
			return err
		})
		if err != nil {
			return err
		}
		if info.NumPending == 0 && info.NumAckPending == 0 {
			return nil
		}
		select {
		case i := <-t.sink.got:
			if i.err != nil {
				return i.err
			}
		case <-time.After(pause):
		case <-t.f.ctx.Done():
			return fmt.Errorf("%d messages stay without an acknowledgement", info.NumAckPending)
		}
	}
}

func (t *run) endure(trouble trouble) error {
	if err := t.publish(half); err != nil {
		return err
	}
	// What is purged before it was read would not be missed.
	if trouble.name == "the stream is purged" {
		if err := t.collect(); err != nil {
			return err
		}
	}
	if err := trouble.cause(t.f, t.nc, t.stream); err != nil {
		return err
	}
	if err := t.publish(half); err != nil {
		return err
	}
	return t.collect()
}

func (t *run) endureBurst() error {
	if err := t.publish(half); err != nil {
		return err
	}
	// NB: first, for a client that learns of the deletion makes its consumer anew at once.
	if err := t.f.refuse(1, creations, 3); err != nil {
		return err
	}
	if err := t.f.deleteConsumers(t.stream); err != nil {
		return err
	}
	if err := t.f.kick(t.nc); err != nil {
		return err
	}
	if err := t.publish(half); err != nil {
		return err
	}
	if err := t.collect(); err != nil {
		return err
	}
	refused, err := t.f.refusedNow()
	if err == nil && t.f.refuses && refused != 3 {
		err = fmt.Errorf("the client has met %d of them", refused)
	}
	return err
}

func (t *run) publish(n int) error {
	for range n {
		subject := fmt.Sprintf("log.%d", t.published%7)
		if t.r.stream != "" {
			subject = fmt.Sprintf("$KV.%s.key.%d", bucket, t.published)
		}
		_, err := t.f.js.Publish(t.f.ctx, subject, []byte(strconv.Itoa(t.published)))
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		t.missing[t.published] = true
		t.published++
	}
	return nil
}

// collect waits until all that was published has come.
func (t *run) collect() error {
	for len(t.missing) > 0 {
		select {
		case i := <-t.sink.got:
			if err := t.take(i); err != nil {
				return err
			}
		case <-t.f.ctx.Done():
			return fmt.Errorf("%d of %d messages do not come", len(t.missing), t.published)
		}
	}
	return nil
}

func (t *run) take(i item) error {
	if i.err != nil {
		return i.err
	}
	if t.r.ordered && i.n != t.next {
		return fmt.Errorf("message %d comes where %d is due", i.n, t.next)
	}
	t.next++
	delete(t.missing, i.n)
	return nil
}

// expectRefusals fails if the case met none, where the server was to refuse.
func (f *fix) expectRefusals() error {
	last, err := f.refusedNow()
	if err == nil && f.refuses && f.refused+last == 0 {
		err = errors.New("nothing was refused: the case proves nothing")
	}
	return err
}

func deadline(parent context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(parent, 150*time.Second)
}
