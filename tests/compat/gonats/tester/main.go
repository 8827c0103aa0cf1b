// SPDX-License-Identifier: Apache-2.0

// Command tester is the service that the integration tests of the Go client
// ask for servers. It speaks the control protocol of ntf-client over NATS
// (subjects tester.>) and answers by writing configuration files and starting
// SERVER_BIN on them, so whatever that binary is gets tested.
//
// The control plane is a NATS server inside this process; the servers under
// test are children of it and do not outlive it.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

func main() {
	var (
		bin     = flag.String("server", os.Getenv("SERVER_BIN"), "server binary to start")
		host    = flag.String("host", "localhost", "host name under which clients reach the servers")
		bind    = flag.String("bind", "127.0.0.1", "address the servers listen on")
		port    = flag.Int("port", 0, "port of the control plane, 0 for a free one")
		urlFile = flag.String("url-file", "", "write the URL of the control plane to this file once it serves")
		work    = flag.String("dir", "", "working directory (default: a temporary one, removed at exit)")
		logs    = flag.String("logs", "", "keep the servers' logs in this directory")
		confs   = flag.String("configs", "", "keep the servers' configuration files in this directory")
		events  = flag.String("events", "", "append a line to this file for everything done")
		stdin   = flag.Bool("until-eof", false, "exit when standard input ends")
		destroy = flag.String("destroy", "", "as a client of the tester at TESTER_NATS_URL: destroy all instances of this test, then exit")
	)
	flag.Parse()

	var err error
	if *destroy != "" {
		err = destroyLeftovers(os.Getenv("TESTER_NATS_URL"), *destroy)
	} else {
		err = serve(options{
			bin: *bin, host: *host, bind: *bind, port: *port, urlFile: *urlFile,
			work: *work, logs: *logs, confs: *confs, events: *events, untilEOF: *stdin,
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tester:", err)
		os.Exit(1)
	}
}

type options struct {
	bin, host, bind     string
	port                int
	urlFile, work, logs string
	confs, events       string
	untilEOF            bool
}

func serve(o options) error {
	if o.bin == "" {
		return fmt.Errorf("no server binary: give -server or SERVER_BIN")
	}
	bin, err := exec.LookPath(o.bin)
	if err != nil {
		return err
	}
	if o.bin, err = filepath.Abs(bin); err != nil {
		return err
	}

	// Signals are caught before the first child exists, so none is left behind.
	quit := make(chan os.Signal, 2)
	signal.Notify(quit, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)

	if o.work == "" {
		if o.work, err = os.MkdirTemp("", "gonats-"); err != nil {
			return err
		}
		defer os.RemoveAll(o.work)
	}
	for _, d := range []string{o.work, o.logs, o.confs} {
		if d != "" {
			if err := os.MkdirAll(d, 0o755); err != nil {
				return err
			}
		}
	}

	journal, err := openJournal(o.events)
	if err != nil {
		return err
	}
	defer journal.close()

	control, err := startControl(o.bind, o.port)
	if err != nil {
		return err
	}
	defer control.Shutdown()

	m := newManager(o, journal)
	defer m.reset()

	addr := control.Addr().String()
	nc, err := nats.Connect("nats://"+addr, nats.Name("tester"), nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := m.listen(nc); err != nil {
		return err
	}

	url := fmt.Sprintf("nats://%s:%s", o.host, portOf(addr))
	if err := announce(url, o.urlFile); err != nil {
		return err
	}

	eof := make(chan struct{})
	if o.untilEOF {
		go func() {
			io.Copy(io.Discard, os.Stdin)
			close(eof)
		}()
	}
	select {
	case <-quit:
	case <-eof:
	}
	return nil
}

// startControl brings up the NATS server that carries the tester's requests.
func startControl(bind string, port int) (*natsserver.Server, error) {
	if port == 0 {
		port = natsserver.RANDOM_PORT
	}
	s, err := natsserver.NewServer(&natsserver.Options{
		ServerName: "tester", Host: bind, Port: port, NoSigs: true, NoLog: true,
	})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		s.Shutdown()
		return nil, fmt.Errorf("the control plane did not come up")
	}
	return s, nil
}

// announce prints the URL and writes it to a file that appears complete.
func announce(url, file string) error {
	fmt.Println(url)
	if file == "" {
		return nil
	}
	tmp := file + ".tmp"
	if err := os.WriteFile(tmp, []byte(url+"\n"), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, file)
}
