// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// spawner starts all children from one thread that never ends: the kernel
// sends the parent-death signal when the *thread* that forked goes away.
type spawner struct {
	jobs chan func()
}

func newSpawner() *spawner {
	sp := &spawner{jobs: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for job := range sp.jobs {
			job()
		}
	}()
	return sp
}

// process is a child. It is signalled by pid, and only before it is reaped.
type process struct {
	cmd   *exec.Cmd
	done  chan struct{} // closed once reaped
	ended atomic.Bool   // somebody asked it to end
}

func (sp *spawner) run(bin string, args []string, dir, logFile string) (*process, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()

	cmd := exec.Command(bin, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	// A group of its own keeps a ^C at the terminal from reaching it first.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	started := make(chan error)
	sp.jobs <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) wait(d time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(d):
		return false
	}
}

func (p *process) signal(sig syscall.Signal) { p.cmd.Process.Signal(sig) }

// ask is a signal after which the end of the process is no surprise.
func (p *process) ask(sig syscall.Signal) {
	p.ended.Store(true)
	p.signal(sig)
}

func (p *process) asked() bool { return p.ended.Load() }

// crashed is true if a fault ended it, whether or not its end was wanted.
func (p *process) crashed() bool {
	if p.alive() {
		return false
	}
	ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return false
	}
	switch ws.Signal() {
	case syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGPIPE:
		return true
	}
	return false
}

func (p *process) fate() string {
	if p.alive() {
		return "running"
	}
	return p.cmd.ProcessState.String()
}
