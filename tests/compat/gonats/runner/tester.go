// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// tester is the service that starts servers for the tests.
type tester struct {
	cmd     *exec.Cmd
	gone    chan struct{} // closed once it has ended
	stdin   io.Closer
	once    sync.Once
	scratch string

	url    string // of its control plane
	logs   string // for the package's tests; the servers' are below
	events string
}

func startTester(c *config, s *suite) (*tester, error) {
	scratch, err := os.MkdirTemp("", "gonats-run-")
	if err != nil {
		return nil, err
	}
	t := &tester{gone: make(chan struct{}), scratch: scratch, logs: scratch}
	if c.logs != "" {
		t.logs = filepath.Join(c.logs, s.file())
	}
	t.events = filepath.Join(t.logs, "events.tsv")
	if err := os.MkdirAll(t.logs, 0o755); err != nil {
		return nil, err
	}

	urlFile := filepath.Join(scratch, "url")
	args := []string{
		"-server", c.server, "-url-file", urlFile, "-until-eof",
		"-logs", filepath.Join(t.logs, "servers"), "-events", t.events,
	}
	if c.configs != "" {
		args = append(args, "-configs", filepath.Join(c.configs, s.file()))
	}
	var complaint bytes.Buffer
	t.cmd = exec.Command(c.tester, args...)
	t.cmd.Stderr = &complaint
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if t.stdin, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		t.cmd.Wait()
		close(t.gone)
	}()
	for limit := time.After(30 * time.Second); ; {
		if url, err := os.ReadFile(urlFile); err == nil {
			t.url = strings.TrimSpace(string(url))
			return t, nil
		}
		select {
		case <-t.gone:
			t.end()
			return nil, fmt.Errorf("the tester ended: %s", strings.TrimSpace(complaint.String()))
		case <-limit:
			t.end()
			return nil, fmt.Errorf("the tester did not come up")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// end closes the tester's input, which makes it end its servers and itself; so
// does the end of this process, whatever brings that about. The journal is then
// complete.
func (t *tester) end() {
	t.once.Do(func() {
		t.stdin.Close()
		select {
		case <-t.gone:
		case <-time.After(20 * time.Second):
			t.cmd.Process.Kill()
			<-t.gone
		}
		if t.logs != t.scratch {
			os.RemoveAll(t.scratch)
		}
	})
}

// casualties are the journal's lines on servers that died, hung or reported a
// memory error. They count beside the tests: a test may well survive them.
func (t *tester) casualties() []string {
	data, err := os.ReadFile(t.events)
	if err != nil {
		return nil
	}
	var out []string
	for _, line := range strings.Split(string(data), "\n") {
		col := strings.Split(line, "\t")
		if len(col) > 2 && (col[1] == "died" || col[1] == "killed" || col[1] == "finding") {
			out = append(out, strings.Join(col[1:], " "))
		}
	}
	return out
}

// destroyLeftovers ends the servers of a test that did not come to do so.
func (t *tester) destroyLeftovers(c *config, j job) {
	cmd := exec.Command(c.tester, "-destroy", j.name)
	cmd.Env = append(os.Environ(), "TESTER_NATS_URL="+t.url)
	cmd.Run()
}

// forgetServerLogs removes the logs of the servers of a test that passed.
func (t *tester) forgetServerLogs(j job) {
	for _, p := range []string{j.name + ".*", j.name + "_*"} {
		found, _ := filepath.Glob(filepath.Join(t.logs, "servers", p))
		for _, f := range found {
			os.Remove(f)
		}
	}
}
