// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/synadia-io/orbit.go/ntf-client/api"
)

// listenerSnippets are the snippets that come with a listener of their own.
var listenerSnippets = []string{"websocket", "mqtt", "leafnode"}

// instance is what one create request made: a server, a cluster or clusters.
type instance struct {
	m       *manager
	id      string
	short   string
	dir     string
	plan    plan
	created time.Time

	tls           *tlsFiles        // nil without generated TLS
	tlsForClients *api.TLSMaterial // nil without generated TLS

	mu      sync.Mutex // one operation on the instance at a time
	servers []*server  // fixed once laid out
}

// layOut reserves ports, mints certificates and writes the configurations.
func (i *instance) layOut() error {
	if err := os.MkdirAll(i.dir, 0o755); err != nil {
		return err
	}
	if i.plan.tls != nil {
		var err error
		if i.tls, i.tlsForClients, err = mintTLS(i.dir, i.plan.tls); err != nil {
			return err
		}
	}
	for c := 1; c <= i.plan.clusters; c++ {
		for n := 1; n <= i.plan.perCluster; n++ {
			if err := i.addServer(c, n); err != nil {
				return err
			}
		}
	}
	for _, s := range i.servers {
		if err := s.writeConfig(); err != nil {
			return err
		}
	}
	return nil
}

func (i *instance) addServer(cluster, index int) error {
	s := &server{
		inst: i, index: index, ports: map[string]int{},
		name: fmt.Sprintf("%s-n%d", i.short, index), snippets: i.plan.snippets, template: i.plan.template,
	}
	want := []string{"client"}
	switch i.plan.kind {
	case kindCluster:
		s.cluster = "C_" + i.short
		want = append(want, "cluster")
	case kindSuperCluster:
		s.cluster = fmt.Sprintf("SC_%s_%d", i.short, cluster)
		s.name = fmt.Sprintf("%s-c%d_s%d", i.short, cluster, index)
		want = append(want, "cluster", "gateway")
	}
	for _, l := range listenerSnippets {
		if _, ok := i.plan.snippets[l]; ok {
			want = append(want, l)
		}
	}
	for _, w := range want {
		p, err := i.m.ports.take()
		if err != nil {
			return err
		}
		s.ports[w] = p
	}
	s.dir = filepath.Join(i.dir, s.name)
	i.servers = append(i.servers, s)
	return os.MkdirAll(s.dir, 0o755)
}

// peers are the servers of the same cluster, s among them.
func (i *instance) peers(s *server) []*server {
	var out []*server
	for _, o := range i.servers {
		if o.cluster == s.cluster {
			out = append(out, o)
		}
	}
	return out
}

// startAll starts one server after the other, each ready before the next: so
// every route but the first finds its peer at once. Then it waits for the mesh.
func (i *instance) startAll(deadline time.Time) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, s := range i.servers {
		if err := s.start(deadline); err != nil {
			return err
		}
	}
	if i.plan.kind != kindServer {
		i.awaitMesh(deadline)
	}
	return nil
}

// awaitMesh waits until each server tells clients of all its peers and, where
// an anonymous client may ask, until JetStream has a leader. It is a courtesy:
// at the deadline the tests are let loose all the same and decide themselves.
func (i *instance) awaitMesh(deadline time.Time) {
	if limit := time.Now().Add(12 * time.Second); limit.Before(deadline) {
		deadline = limit
	}
	defer func() {
		if time.Now().After(deadline) {
			i.m.journal.add("mesh-late", i.plan.description, i.summary())
		}
	}()
	for _, s := range i.servers {
		for time.Now().Before(deadline) && s.knownPeers() < len(i.peers(s))-1 {
			time.Sleep(25 * time.Millisecond)
		}
	}
	if !i.plan.jetStream || !i.openToAnyone() {
		return
	}
	for _, s := range i.servers {
		for time.Now().Before(deadline) && !s.jetStreamAnswers() {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// openToAnyone is true where nothing in the configuration can ask for
// credentials or TLS.
func (i *instance) openToAnyone() bool {
	if i.plan.tls != nil || i.plan.template != "" {
		return false
	}
	for _, k := range []string{"top", "accounts", "authorization", "tls"} {
		if _, ok := i.plan.snippets[k]; ok {
			return false
		}
	}
	return true
}

func (i *instance) stopAll(patience time.Duration) {
	var wg sync.WaitGroup
	for _, s := range i.servers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s.stop(patience)
		}()
	}
	wg.Wait()
}

func (i *instance) destroy() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stopAll(destroyPatience)
	for _, s := range i.servers {
		s.autopsy()
	}
	i.m.journal.add("destroy", i.plan.description, i.summary())
	i.release()
}

func (i *instance) release() {
	for _, s := range i.servers {
		for _, p := range s.ports {
			i.m.ports.give(p)
		}
	}
	os.RemoveAll(i.dir)
}

func (i *instance) managed() []*api.ManagedServer {
	var out []*api.ManagedServer
	for _, s := range i.servers {
		out = append(out, s.managed())
	}
	return out
}

// summary says in a few words what was asked for.
func (i *instance) summary() string {
	words := []string{fmt.Sprintf("%s=%dx%d", i.plan.kind, i.plan.clusters, i.plan.perCluster)}
	if i.plan.jetStream {
		words = append(words, "jetstream")
	}
	if i.plan.tls != nil {
		words = append(words, "tls="+string(i.plan.tls.Mode))
		if i.plan.tls.HandshakeFirst {
			words = append(words, "handshake_first")
		}
	}
	if k := keysOf(i.plan.snippets); k != "" {
		words = append(words, "snippets="+k)
	}
	if i.plan.template != "" {
		words = append(words, "template")
	}
	return strings.Join(words, " ")
}

func keysOf(m map[string]string) string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return strings.Join(keys, ",")
}
