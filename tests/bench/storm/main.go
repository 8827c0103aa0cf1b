// SPDX-License-Identifier: Apache-2.0

// storm: many clients of nats.go, each with a KV watch and a pull consumer, lose their server at
// the same moment and come back when it does. Prints one JSON object: the times from the start of
// the new server until each watch and each consumer has something new, and what went wrong.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"syscall"
	"time"
)

type options struct {
	server   string
	clients  int
	sync     string
	kill     bool
	down     time.Duration
	wait     time.Duration
	jitter   time.Duration
	seconds  float64
	deadline time.Time
}

// spread is a distribution of times in seconds.
type spread struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func spreadOf(times []float64) spread {
	if len(times) == 0 {
		return spread{}
	}
	sort.Float64s(times)
	at := func(q float64) float64 { return times[int(q*float64(len(times)-1))] }
	return spread{at(0.5), at(0.99), at(1)}
}

type result struct {
	Clients     int            `json:"clients"`
	Kill        bool           `json:"kill"`
	Sync        string         `json:"sync"`
	SetupS      float64        `json:"setup_s"`
	StopS       float64        `json:"stop_s"`  // until the old server was gone
	ReadyS      float64        `json:"ready_s"` // until the new one listened
	ConnectS    spread         `json:"connect_s"`
	WatchS      spread         `json:"watch_s"`
	FetchS      spread         `json:"fetch_s"`
	AllS        float64        `json:"all_s"` // 0: not all came back
	Never       int            `json:"never"` // clients of which one or both did not come back
	NeverWatch  int            `json:"never_watch"`
	NeverFetch  int            `json:"never_fetch"`
	Errors      map[string]int `json:"errors"` // seen by clients since the stop, by text
	ServerCPUS  float64        `json:"server_cpu_s"`
	ServerPeakK int            `json:"server_peak_kib"`
}

func parse() (options, error) {
	var o options
	flag.StringVar(&o.server, "server", "", "the server to start, twice on the same port and store")
	flag.IntVar(&o.clients, "clients", 2000, "how many")
	flag.StringVar(&o.sync, "sync", "", "its sync_interval; empty: its own default")
	flag.BoolVar(&o.kill, "kill", false, "end it with SIGKILL instead of SIGTERM")
	flag.DurationVar(&o.down, "down", time.Second, "how long there is no server")
	flag.DurationVar(&o.wait, "reconnect-wait", 250*time.Millisecond, "of each client")
	flag.DurationVar(&o.jitter, "reconnect-jitter", 250*time.Millisecond, "of each client, at random on top")
	flag.Float64Var(&o.seconds, "seconds", 120, "end of everything, the set-up included")
	flag.Parse()
	if o.server == "" || o.clients < 1 || o.seconds <= 0 || flag.NArg() > 0 {
		return o, fmt.Errorf("usage: storm -server BINARY [-clients N] [-seconds S] …; -help lists all")
	}
	o.deadline = time.Now().Add(time.Duration(o.seconds * float64(time.Second)))
	return o, nil
}

// raiseFiles gives this process, and with that the server, as many files as it may have.
func raiseFiles() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	l.Cur = l.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l)
}

func main() {
	o, err := parse()
	if err == nil {
		err = raiseFiles()
	}
	var r *result
	if err == nil {
		r, err = measure(o)
	}
	if err != nil {
		json.NewEncoder(os.Stdout).Encode(map[string]string{"error": err.Error()})
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(r)
}
