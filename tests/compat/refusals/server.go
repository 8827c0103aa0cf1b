// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const conf = `
listen: "127.0.0.1:-1"
accounts {
  APP { jetstream: enabled, users: [ { user: app, password: a } ] }
  SYS { users: [ { user: admin, password: s } ] }
}
system_account: SYS
jetstream { store_dir: "%s" }
`

var listening = regexp.MustCompile(`Listening for client connections on (127\.0\.0\.1:\d+)`)

// forks starts all children from one thread that never ends: the kernel sends the signal of a
// parent's death when the thread that forked goes away.
var forks = func() chan func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
}()

// server is a server under test with a folder of its own.
type server struct {
	dir, addr string
	cmd       *exec.Cmd
	logged    chan struct{} // closed at the end of its log

	mu   sync.Mutex
	tail []string // the last lines of its log
}

func (s *server) url(user string) string { return "nats://" + user + "@" + s.addr }

// startServer returns when the server is ready.
func startServer(binary string) (*server, error) {
	dir, err := os.MkdirTemp("", "refusals-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, logged: make(chan struct{})}
	file := filepath.Join(dir, "conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, conf, dir), 0o600); err != nil {
		return nil, err
	}
	s.cmd = exec.Command(binary, "-c", file)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	log, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	forks <- func() { started <- s.cmd.Start() }
	if err := <-started; err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	ready := make(chan bool, 1)
	go s.follow(log, ready)
	select {
	case ok := <-ready:
		if ok {
			return s, nil
		}
	case <-time.After(30 * time.Second):
	}
	err = fmt.Errorf("%s does not get ready: %s", binary, s.lastWords())
	s.stop()
	return nil, err
}

// follow reads the log to its end, so that the server never waits for us.
func (s *server) follow(log io.Reader, ready chan<- bool) {
	defer close(s.logged)
	for lines := bufio.NewScanner(log); lines.Scan(); {
		line := lines.Text()
		s.mu.Lock()
		s.tail = append(s.tail, line)
		if len(s.tail) > 20 {
			s.tail = s.tail[1:]
		}
		s.mu.Unlock()
		if m := listening.FindStringSubmatch(line); m != nil {
			s.addr = m[1]
		} else if strings.HasSuffix(line, "Server is ready") {
			ready <- true
		}
	}
	select {
	case ready <- false:
	default:
	}
}

func (s *server) lastWords() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.tail, " | ")
}

// stop ends the server; an error if it did not end in order.
func (s *server) stop() error {
	defer os.RemoveAll(s.dir)
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.logged:
	case <-time.After(20 * time.Second):
		s.cmd.Process.Kill()
		<-s.logged
		s.cmd.Wait()
		return fmt.Errorf("the server did not end: %s", s.lastWords())
	}
	s.cmd.Wait()
	// nats-server ends with 1 after SIGTERM, a clean end is 0.
	if code := s.cmd.ProcessState.ExitCode(); code != 0 && code != 1 {
		return fmt.Errorf("the server ended with %v: %s", s.cmd.ProcessState, s.lastWords())
	}
	return nil
}
