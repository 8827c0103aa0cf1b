// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func measure(o options) (*result, error) {
	ctx, cancel := context.WithDeadline(context.Background(), o.deadline)
	defer cancel()
	s, err := newServer(o.server, o.sync)
	if err != nil {
		return nil, err
	}
	defer s.remove()
	if err := s.start(); err != nil {
		return nil, err
	}
	r, err := storm(ctx, o, s)
	if end := s.stop(syscall.SIGTERM); err == nil {
		err = end
	}
	return r, err
}

func storm(ctx context.Context, o options, s *server) (*result, error) {
	began := time.Now()
	if err := fill(ctx, s.url(), o.clients); err != nil {
		return nil, fmt.Errorf("set-up: %w", err)
	}
	var zero atomic.Pointer[time.Time]
	done := make(chan struct{}, 2*o.clients)
	seen := &complaints{seen: map[string]int{}}
	all := make([]*client, o.clients)
	for i := range all {
		all[i] = &client{done: done, since: &zero, complaints: seen}
	}
	// NB: the clients go last, so that they do not complain of our end.
	defer func() {
		for _, c := range all {
			if c.nc != nil {
				c.nc.Close()
			}
		}
	}()
	if err := startAll(ctx, o, s.url(), all); err != nil {
		return nil, fmt.Errorf("set-up: %w", err)
	}
	r := &result{Clients: o.clients, Kill: o.kill, Sync: o.sync, SetupS: time.Since(began).Seconds()}
	seen.reset()
	if err := restart(o, s, &zero, r); err != nil {
		return nil, err
	}
	if err := publish(ctx, s.url(), o.clients); err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	for range 2 * o.clients {
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	r.ServerCPUS, r.ServerPeakK = s.cpu()
	r.Errors = seen.list()
	count(r, all)
	return r, nil
}

// fill makes the bucket with some keys, and the stream.
func fill(ctx context.Context, url string, clients int) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(30*time.Second))
	if err != nil {
		return err
	}
	kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket})
	if err != nil {
		return err
	}
	for i := range 10 {
		if _, err := kv.PutString(ctx, fmt.Sprintf("app.%d", i), "before"); err != nil {
			return err
		}
	}
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: stream, Subjects: []string{"jobs.*"}})
	return err
}

// restart ends the server and starts it again; zero is when the new one was started.
func restart(o options, s *server, zero *atomic.Pointer[time.Time], r *result) error {
	how := syscall.SIGTERM
	if o.kill {
		how = syscall.SIGKILL
	}
	stopping := time.Now()
	if err := s.stop(how); err != nil {
		return err
	}
	r.StopS = time.Since(stopping).Seconds()
	<-time.After(o.down)
	now := time.Now()
	zero.Store(&now)
	if err := s.start(); err != nil {
		return err
	}
	r.ReadyS = time.Since(now).Seconds()
	return nil
}

// publish puts one new value, which every watch is to see, and one job for each consumer.
func publish(ctx context.Context, url string, clients int) error {
	nc, err := nats.Connect(url, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(20*time.Millisecond), nats.Timeout(30*time.Second))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(60*time.Second),
		jetstream.WithPublishAsyncTimeout(60*time.Second))
	if err != nil {
		return err
	}
	if _, err := js.Publish(ctx, "$KV."+bucket+".app.0", []byte(fresh)); err != nil {
		return err
	}
	for i := range clients {
		if _, err := js.PublishAsync(fmt.Sprintf("jobs.%d", i), []byte(fresh)); err != nil {
			return err
		}
	}
	select {
	case <-js.PublishAsyncComplete():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func count(r *result, all []*client) {
	var connected, watched, fetched []float64
	seconds := func(at *atomic.Int64, to *[]float64) bool {
		ns := at.Load()
		if ns > 0 {
			*to = append(*to, float64(ns)/1e9)
		}
		return ns > 0
	}
	for _, c := range all {
		seconds(&c.connected, &connected)
		w, f := seconds(&c.watched, &watched), seconds(&c.fetched, &fetched)
		if !w {
			r.NeverWatch++
		}
		if !f {
			r.NeverFetch++
		}
		if !w || !f {
			r.Never++
		}
	}
	r.ConnectS, r.WatchS, r.FetchS = spreadOf(connected), spreadOf(watched), spreadOf(fetched)
	if r.Never == 0 {
		r.AllS = max(r.WatchS.Max, r.FetchS.Max)
	}
}
