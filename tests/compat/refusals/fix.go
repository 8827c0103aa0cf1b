// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	management = "$JS.API.>"
	creations  = "$JS.API.CONSUMER.CREATE.>"
	pause      = 50 * time.Millisecond // of an application before it tries again
)

// fix is what one case works with: a server of its own, an administrator, and a connection that
// publishes and that nothing happens to.
type fix struct {
	ctx     context.Context
	srv     *server
	refuses bool // the server has the endpoint that refuses on demand
	sys     *nats.Conn
	app     *nats.Conn
	js      jetstream.JetStream
	refused int // by the server, counted up at each change of the setting

	mu    sync.Mutex
	conns []*nats.Conn
}

func newFix(ctx context.Context, binary string) (*fix, error) {
	srv, err := startServer(binary)
	if err != nil {
		return nil, err
	}
	f := &fix{ctx: ctx, srv: srv}
	if f.sys, err = f.connect("admin:s"); err == nil {
		f.app, err = f.connect("app:a")
	}
	if err == nil {
		f.js, err = jetstream.New(f.app)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	_, err = f.askRefusals(struct{}{})
	f.refuses = err == nil
	return f, nil
}

func (f *fix) connect(user string) (*nats.Conn, error) {
	nc, err := nats.Connect(f.srv.url(user), nats.MaxReconnects(-1),
		nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // else they are printed
	if err == nil {
		f.mu.Lock()
		f.conns = append(f.conns, nc)
		f.mu.Unlock()
	}
	return nc, err
}

// client is a connection for what is tried.
func (f *fix) client() (*nats.Conn, error) { return f.connect("app:a") }

func (f *fix) close() error {
	for _, nc := range f.conns {
		nc.Close()
	}
	return f.srv.stop()
}

type refusals struct {
	Seen    int `json:"seen"`
	Refused int `json:"refused"`
	Error   *struct {
		Description string `json:"description"`
	} `json:"error"`
}

func (f *fix) askRefusals(setting any) (refusals, error) {
	var got refusals
	body, err := json.Marshal(setting)
	if err != nil {
		return got, err
	}
	if string(body) == "{}" {
		body = nil
	}
	msg, err := f.sys.Request("$SYS.REQ.TEST.REFUSE", body, 5*time.Second)
	if err == nil {
		err = json.Unmarshal(msg.Data, &got)
	}
	if err == nil && got.Error != nil {
		err = errors.New(got.Error.Description)
	}
	return got, err
}

// refuse has the server refuse every n-th request of a subject, `times` times at most (0: without
// end), instead of what it was told before. Without the endpoint nothing happens.
func (f *fix) refuse(every int, subject string, times int) error {
	if !f.refuses {
		return nil
	}
	before, err := f.askRefusals(struct{}{})
	if err == nil {
		f.refused += before.Refused
		_, err = f.askRefusals(map[string]any{"every": every, "subject": subject, "times": times})
	}
	return err
}

// refusedNow is how many it refused since the last call of refuse.
func (f *fix) refusedNow() (int, error) {
	if !f.refuses {
		return 0, nil
	}
	got, err := f.askRefusals(struct{}{})
	return got.Refused, err
}

// isRefusal tells whether an error is the plane's "not executed, try again".
func isRefusal(err error) bool {
	const unavailable = 10008
	var modern *jetstream.APIError
	var legacy *nats.APIError
	// NB: of a refused look-up of the stream of a subject the older API tells only this.
	return errors.Is(err, nats.ErrNoMatchingStream) ||
		errors.As(err, &modern) && modern.ErrorCode == unavailable ||
		errors.As(err, &legacy) && legacy.ErrorCode == unavailable
}

// persist does what an application does with a call of its own that was refused: it tries again.
// Any other error is final. In between others ask for something, at random, else a call that takes
// two requests might meet its refusal for ever; one of three in a row always does.
func (f *fix) persist(what string, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		if !isRefusal(err) || f.ctx.Err() != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		for range rand.IntN(3) {
			f.app.Request("$JS.API.INFO", nil, 5*time.Second)
		}
		<-time.After(pause)
	}
}

// makeStream makes a stream in memory.
func (f *fix) makeStream(name string, subjects ...string) error {
	return f.persist("create stream "+name, func() error {
		_, err := f.js.CreateOrUpdateStream(f.ctx, jetstream.StreamConfig{Name: name, Subjects: subjects,
			Storage: jetstream.MemoryStorage, AllowDirect: true, MaxMsgsPerSubject: 1 << 20})
		return err
	})
}

// purgeStream removes all messages of a stream.
func (f *fix) purgeStream(name string) error {
	return f.persist("purge "+name, func() error {
		stream, err := f.js.Stream(f.ctx, name)
		if err == nil {
			err = stream.Purge(f.ctx)
		}
		return err
	})
}

// deleteConsumers deletes every consumer of a stream under whoever uses it.
func (f *fix) deleteConsumers(stream string) error {
	var names []string
	err := f.persist("names of consumers", func() error {
		s, err := f.js.Stream(f.ctx, stream)
		if err != nil {
			return err
		}
		lister := s.ConsumerNames(f.ctx)
		names = names[:0]
		for name := range lister.Name() {
			names = append(names, name)
		}
		return lister.Err()
	})
	for _, name := range names {
		if err == nil {
			err = f.persist("delete "+name, func() error {
				err := f.js.DeleteConsumer(f.ctx, stream, name)
				if errors.Is(err, jetstream.ErrConsumerNotFound) {
					return nil // its own client was faster
				}
				return err
			})
		}
	}
	return err
}

// kick has the server close a connection, and waits until the client has noticed.
func (f *fix) kick(nc *nats.Conn) error {
	id, err := nc.GetClientID()
	if err != nil {
		return err
	}
	gone := nc.StatusChanged(nats.RECONNECTING)
	defer nc.RemoveStatusListener(gone)
	subject := fmt.Sprintf("$SYS.REQ.SERVER.%s.KICK", nc.ConnectedServerId())
	if _, err := f.sys.Request(subject, fmt.Appendf(nil, `{"cid":%d}`, id), 5*time.Second); err != nil {
		return fmt.Errorf("kick: %w", err)
	}
	select {
	case <-gone:
		return nil
	case <-f.ctx.Done():
		return errors.New("the kicked client does not notice")
	}
}
