// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand"
	"net"
	"sync"
)

// Ports come from below the range that the kernel takes for outgoing
// connections (32768 up, on Linux): the port of a stopped server must still be
// free when it is started again, and a client that dials it meanwhile must not
// end up connected to itself.
const (
	firstPort = 23000
	lastPort  = 32000
)

type portPool struct {
	bind string

	mu   sync.Mutex
	next int
	used map[int]bool
}

func newPortPool(bind string) *portPool {
	return &portPool{bind: bind, next: firstPort + rand.Intn(lastPort-firstPort), used: map[int]bool{}}
}

// take hands out ports in turn, so that one comes back as late as possible.
func (p *portPool) take() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range lastPort - firstPort {
		port := p.next
		if p.next++; p.next >= lastPort {
			p.next = firstPort
		}
		if !p.used[port] && free(p.bind, port) {
			p.used[port] = true
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d", firstPort, lastPort)
}

func (p *portPool) give(port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, port)
}

func free(bind string, port int) bool {
	for _, host := range []string{bind, ""} {
		l, err := net.Listen("tcp4", fmt.Sprintf("%s:%d", host, port))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}
