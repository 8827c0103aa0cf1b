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

// sink is where a reader puts what it got: the number that is a message's payload, or what went
// wrong for good.
type sink struct {
	ctx context.Context // ends when the reader is to stop
	got chan item
}

type item struct {
	n   int
	err error
}

func (s *sink) put(data []byte) {
	n, err := strconv.Atoi(string(data))
	s.send(item{n: n, err: err})
}

func (s *sink) fail(err error) { s.send(item{err: err}) }

func (s *sink) send(i item) {
	select {
	case s.got <- i:
	case <-s.ctx.Done():
	}
}

// reader is one way of a client to read a stream.
type reader struct {
	name    string
	stream  string // "" for a stream of any kind
	ordered bool   // all in order, each once, whatever happens; its consumer is the client's affair
	start   func(f *fix, nc *nats.Conn, to *sink) error
}

const (
	stream  = "LOG"
	bucket  = "BUCKET"
	durable = "worker"
)

var readers = []reader{
	{"legacy/ordered_subscribe", "", true, legacyOrdered},
	{"legacy/ordered_next", "", true, legacyOrderedNext},
	{"legacy/pull_fetch", "", false, legacyPull},
	{"legacy/kv_watch", "KV_" + bucket, true, legacyWatch},
	{"jetstream/ordered_consume", "", true, modern(ordered, consume, false)},
	{"jetstream/ordered_messages", "", true, modern(ordered, messages, false)},
	{"jetstream/ordered_fetch", "", true, modern(ordered, fetch, false)},
	{"jetstream/pull_consume", "", false, modern(pull, consume, true)},
	{"jetstream/pull_messages", "", false, modern(pull, messages, true)},
	{"jetstream/pull_fetch", "", false, modern(pull, fetch, true)},
	{"jetstream/kv_watch", "KV_" + bucket, true, modernWatch},
}

func legacyOrdered(f *fix, nc *nats.Conn, to *sink) error {
	js, err := nc.JetStream()
	if err != nil {
		return err
	}
	return f.persist("subscribe", func() error {
		_, err := js.Subscribe("log.>", func(m *nats.Msg) { to.put(m.Data) },
			nats.OrderedConsumer(), nats.IdleHeartbeat(500*time.Millisecond))
		return err
	})
}

func legacyOrderedNext(f *fix, nc *nats.Conn, to *sink) error {
	js, err := nc.JetStream()
	if err != nil {
		return err
	}
	var sub *nats.Subscription
	err = f.persist("subscribe", func() error {
		var err error
		sub, err = js.SubscribeSync("log.>", nats.OrderedConsumer(), nats.IdleHeartbeat(500*time.Millisecond))
		return err
	})
	if err != nil {
		return err
	}
	go func() {
		for to.ctx.Err() == nil {
			m, err := sub.NextMsgWithContext(to.ctx)
			if err != nil {
				to.fail(fmt.Errorf("next: %w", err))
				return
			}
			to.put(m.Data)
		}
	}()
	return nil
}

func legacyPull(f *fix, nc *nats.Conn, to *sink) error {
	js, err := nc.JetStream()
	if err != nil {
		return err
	}
	var sub *nats.Subscription
	err = f.persist("subscribe", func() error {
		var err error
		sub, err = js.PullSubscribe("log.>", durable, nats.AckExplicit(), nats.AckWait(time.Second),
			nats.BindStream(stream))
		return err
	})
	if err != nil {
		return err
	}
	go func() {
		for to.ctx.Err() == nil {
			batch, err := sub.Fetch(10, nats.MaxWait(time.Second))
			for _, m := range batch {
				to.put(m.Data)
				m.AckSync(nats.AckWait(time.Second))
			}
			if err != nil && !isPassing(err) {
				to.fail(fmt.Errorf("fetch: %w", err))
				return
			}
		}
	}()
	return nil
}

// isPassing tells of errors that an application expects of a call while its connection is away.
func isPassing(err error) bool {
	return errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrFetchDisconnected) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoHeartbeat)
}

func legacyWatch(f *fix, nc *nats.Conn, to *sink) error {
	js, err := nc.JetStream()
	if err != nil {
		return err
	}
	var kv nats.KeyValue
	err = f.persist("bucket", func() error {
		kv, err = js.KeyValue(bucket)
		return err
	})
	if err != nil {
		return err
	}
	var watch nats.KeyWatcher
	err = f.persist("watch", func() error {
		watch, err = kv.WatchAll(nats.Context(to.ctx))
		return err
	})
	if err != nil {
		return err
	}
	go func() {
		for entry := range watch.Updates() {
			if entry != nil {
				to.put(entry.Value())
			}
		}
		to.fail(errors.New("the watch has ended"))
	}()
	return nil
}

func modernWatch(f *fix, nc *nats.Conn, to *sink) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	var kv jetstream.KeyValue
	err = f.persist("bucket", func() error {
		kv, err = js.KeyValue(f.ctx, bucket)
		return err
	})
	if err != nil {
		return err
	}
	var watch jetstream.KeyWatcher
	err = f.persist("watch", func() error {
		watch, err = kv.WatchAll(to.ctx)
		return err
	})
	if err != nil {
		return err
	}
	go func() {
		for entry := range watch.Updates() {
			if entry != nil {
				to.put(entry.Value())
			}
		}
		to.fail(errors.New("the watch has ended"))
	}()
	return nil
}

func ordered(f *fix, nc *nats.Conn) (jetstream.Consumer, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	var cons jetstream.Consumer
	err = f.persist("ordered consumer", func() error {
		cons, err = js.OrderedConsumer(f.ctx, stream, jetstream.OrderedConsumerConfig{})
		return err
	})
	return cons, err
}

func pull(f *fix, nc *nats.Conn) (jetstream.Consumer, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	var cons jetstream.Consumer
	err = f.persist("pull consumer", func() error {
		cons, err = js.CreateOrUpdateConsumer(f.ctx, stream, jetstream.ConsumerConfig{Durable: durable,
			AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second})
		return err
	})
	return cons, err
}

// take passes a message on. A message whose acknowledgement is not confirmed comes again.
func take(to *sink, m jetstream.Msg, acks bool) {
	to.put(m.Data())
	if acks {
		ctx, cancel := context.WithTimeout(to.ctx, time.Second)
		defer cancel()
		m.DoubleAck(ctx)
	}
}

var pullOptions = []jetstream.PullMessagesOpt{jetstream.PullExpiry(2 * time.Second), jetstream.PullHeartbeat(500 * time.Millisecond)}

func consume(f *fix, to *sink, cons jetstream.Consumer, acks bool) error {
	return f.persist("consume", func() error {
		context, err := cons.Consume(func(m jetstream.Msg) { take(to, m, acks) },
			jetstream.PullExpiry(2*time.Second), jetstream.PullHeartbeat(500*time.Millisecond))
		if err == nil {
			go func() {
				<-context.Closed()
				to.fail(errors.New("consume has ended"))
			}()
		}
		return err
	})
}

func messages(f *fix, to *sink, cons jetstream.Consumer, acks bool) error {
	var it jetstream.MessagesContext
	err := f.persist("messages", func() error {
		var err error
		it, err = cons.Messages(pullOptions...)
		return err
	})
	if err != nil {
		return err
	}
	go func() {
		for to.ctx.Err() == nil {
			m, err := it.Next(jetstream.NextContext(to.ctx))
			if err != nil {
				if errors.Is(err, jetstream.ErrNoHeartbeat) {
					continue // a notice: the iterator goes on
				}
				to.fail(fmt.Errorf("next: %w", err))
				return
			}
			take(to, m, acks)
		}
	}()
	return nil
}

func fetch(f *fix, to *sink, cons jetstream.Consumer, acks bool) error {
	go func() {
		for to.ctx.Err() == nil {
			batch, err := cons.Fetch(10, jetstream.FetchMaxWait(time.Second))
			if err == nil {
				for m := range batch.Messages() {
					take(to, m, acks)
				}
				err = batch.Error()
			}
			if err != nil && !isPassing(err) && !errors.Is(err, jetstream.ErrConsumerDeleted) {
				to.fail(fmt.Errorf("fetch: %w", err))
				return
			}
		}
	}()
	return nil
}

// modern opens a consumer and reads it in one of the ways of the newer API.
func modern(open func(*fix, *nats.Conn) (jetstream.Consumer, error),
	read func(*fix, *sink, jetstream.Consumer, bool) error, acks bool) func(*fix, *nats.Conn, *sink) error {
	return func(f *fix, nc *nats.Conn, to *sink) error {
		cons, err := open(f, nc)
		if err == nil {
			err = read(f, to, cons, acks)
		}
		return err
	}
}
