// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is the server under test: started and stopped again and again, on one port and store.
type server struct {
	binary, dir string
	port        int
	cmd         *exec.Cmd
	logged      chan struct{} // closed at the end of its log
	last        string        // the last line of it; read after logged
}

func newServer(binary, sync string) (*server, error) {
	dir, err := os.MkdirTemp("", "storm-")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	s := &server{binary: binary, dir: dir, port: l.Addr().(*net.TCPAddr).Port}
	if sync != "" {
		sync = fmt.Sprintf(", sync_interval: %q", sync)
		sync = strings.ReplaceAll(sync, `"always"`, "always")
	}
	// By default a stream has 1,000 consumers at most, with either server.
	conf := fmt.Sprintf("listen: 127.0.0.1:%d\n"+
		"jetstream { store_dir: %q%s, limits { default_max_consumers: -1 } }\n", s.port, dir, sync)
	return s, os.WriteFile(filepath.Join(dir, "conf"), []byte(conf), 0o600)
}

func (s *server) url() string { return fmt.Sprintf("nats://127.0.0.1:%d", s.port) }

// start returns when the server listens. The kernel ends it when this thread goes away.
func (s *server) start() error {
	runtime.LockOSThread()
	s.cmd = exec.Command(s.binary, "-c", filepath.Join(s.dir, "conf"))
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	log, err := s.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.logged = make(chan struct{})
	ready := make(chan struct{})
	go func() {
		defer close(s.logged)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			s.last = lines.Text()
			if strings.HasSuffix(s.last, "Server is ready") {
				close(ready)
			}
		}
	}()
	select {
	case <-ready:
		return nil
	case <-s.logged:
		s.cmd.Wait()
		return fmt.Errorf("%s does not start: %s", s.binary, s.last)
	}
}

func (s *server) stop(how syscall.Signal) error {
	s.cmd.Process.Signal(how)
	select {
	case <-s.logged:
	case <-time.After(60 * time.Second):
		s.cmd.Process.Kill()
		<-s.logged
		s.cmd.Wait()
		return fmt.Errorf("%s does not end", s.binary)
	}
	s.cmd.Wait()
	return nil
}

func (s *server) remove() { os.RemoveAll(s.dir) }

// cpu is what the process has taken so far, in seconds, and its peak memory in KiB.
func (s *server) cpu() (float64, int) {
	proc := fmt.Sprintf("/proc/%d/", s.cmd.Process.Pid)
	stat, _ := os.ReadFile(proc + "stat")
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	ticks := 0
	for _, i := range []int{11, 12} {
		if i < len(fields) {
			n, _ := strconv.Atoi(fields[i])
			ticks += n
		}
	}
	peak := 0
	status, _ := os.ReadFile(proc + "status")
	for line := range strings.Lines(string(status)) {
		fmt.Sscanf(line, "VmHWM: %d kB", &peak)
	}
	const ticksPerSecond = 100 // of the kernel's interface, on every Linux
	return float64(ticks) / ticksPerSecond, peak
}
