// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
	"github.com/synadia-io/orbit.go/ntf-client/api"
)

const (
	kindServer       = "server"
	kindCluster      = "cluster"
	kindSuperCluster = "super-cluster"

	// Below the patience of the client's requests (30 s for a create or destroy,
	// 10 s for a start or stop), so that the tester answers while it is listened to.
	createPatience  = 10 * time.Second // one server
	clusterPatience = 25 * time.Second
	startPatience   = 8 * time.Second
	stopPatience    = 8 * time.Second
	destroyPatience = 20 * time.Second
)

// refusal is an error with the code that goes on the wire beside its text.
type refusal struct {
	code string
	text string
}

func (r *refusal) Error() string { return r.text }

func badRequest(f string, a ...any) error { return &refusal{"400", fmt.Sprintf(f, a...)} }
func notFound(f string, a ...any) error   { return &refusal{"404", fmt.Sprintf(f, a...)} }
func notHere(f string, a ...any) error    { return &refusal{"501", fmt.Sprintf(f, a...)} }

// manager holds all instances. Its lock guards the maps only; work on an
// instance happens under the instance's own lock.
type manager struct {
	opts    options
	journal *journal
	spawn   *spawner
	ports   *portPool

	mu        sync.Mutex
	instances map[string]*instance
	servers   map[string]*server
	closed    bool
}

func newManager(o options, j *journal) *manager {
	return &manager{
		opts: o, journal: j, spawn: newSpawner(), ports: newPortPool(o.bind),
		instances: map[string]*instance{}, servers: map[string]*server{},
	}
}

// listen subscribes to the control subjects. Each request runs on its own
// goroutine: a slow start of one server must not delay another test.
func (m *manager) listen(nc *nats.Conn) error {
	for subject, handle := range map[string]func([]byte) (any, error){
		"tester.create.server":        m.createServer,
		"tester.create.cluster":       m.createCluster,
		"tester.create.super-cluster": m.createSuperCluster,
		"tester.destroy":              m.destroyInstance,
		"tester.stop.server":          m.stopServer,
		"tester.start.server":         m.startServer,
		"tester.stop.instance":        m.stopInstance,
		"tester.start.instance":       m.startInstance,
		"tester.update.server":        m.updateServer,
		"tester.reload.server":        m.reloadServer,
		"tester.status":               m.status,
		"tester.list":                 m.list,
		"tester.reset":                m.resetAll,
	} {
		_, err := nc.Subscribe(subject, func(msg *nats.Msg) {
			go func() {
				res, err := handle(msg.Data)
				if err != nil {
					m.journal.add("refused", msg.Subject, err.Error())
				}
				msg.RespondMsg(answer(msg.Reply, res, err))
			}()
		})
		if err != nil {
			return err
		}
	}
	return nc.Flush()
}

func answer(reply string, res any, err error) *nats.Msg {
	msg := nats.NewMsg(reply)
	if err == nil {
		msg.Data, err = json.Marshal(res)
	}
	if err != nil {
		code := "500"
		var r *refusal
		if errors.As(err, &r) {
			code = r.code
		}
		oneLine := strings.Join(strings.Fields(err.Error()), " ")
		msg.Header.Set("Nats-Service-Error", oneLine)
		msg.Header.Set("Nats-Service-Error-Code", code)
		msg.Data = nil
	}
	return msg
}

func decode(data []byte, into any) error {
	if len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return badRequest("bad request: %v", err)
	}
	return nil
}

// plan is what the three create requests have in common.
type plan struct {
	kind        string
	clusters    int
	perCluster  int
	jetStream   bool
	description string
	snippets    map[string]string
	template    string
	tls         *api.TLSOptions
	trace       bool
}

func (m *manager) createServer(data []byte) (any, error) {
	var r api.CreateServerRequest
	if err := decode(data, &r); err != nil {
		return nil, err
	}
	return m.create(plan{kindServer, 1, 1, r.JetStream, r.Description, r.Snippets, r.Template, r.TLS, r.Trace})
}

func (m *manager) createCluster(data []byte) (any, error) {
	var r api.CreateClusterRequest
	if err := decode(data, &r); err != nil {
		return nil, err
	}
	if r.Servers < 2 {
		return nil, badRequest("a cluster takes at least 2 servers, not %d", r.Servers)
	}
	return m.create(plan{kindCluster, 1, r.Servers, r.JetStream, r.Description, r.Snippets, r.Template, r.TLS, r.Trace})
}

func (m *manager) createSuperCluster(data []byte) (any, error) {
	var r api.CreateSuperClusterRequest
	if err := decode(data, &r); err != nil {
		return nil, err
	}
	if r.Clusters < 2 || r.Servers < 1 {
		return nil, badRequest("a super-cluster takes at least 2 clusters of 1 server, not %d of %d", r.Clusters, r.Servers)
	}
	return m.create(plan{kindSuperCluster, r.Clusters, r.Servers, r.JetStream, r.Description, r.Snippets, r.Template, r.TLS, r.Trace})
}

func (m *manager) create(p plan) (any, error) {
	if p.trace {
		return nil, notHere("trace capture is not implemented by this tester")
	}
	if p.tls != nil && p.snippets["tls"] != "" {
		return nil, badRequest("generated TLS and a TLS snippet exclude each other")
	}
	if p.snippets["jetstream"] != "" && !p.jetStream {
		return nil, badRequest("a jetstream snippet needs an instance with JetStream")
	}

	inst, err := m.newInstance(p)
	if err != nil {
		return nil, err
	}
	patience := createPatience
	if p.kind != kindServer {
		patience = clusterPatience
	}
	began := time.Now()
	if err := inst.startAll(began.Add(patience)); err != nil {
		m.journal.add("create-failed", p.description, err.Error())
		m.drop(inst)
		return nil, err
	}
	m.journal.add("create", p.description, inst.summary(), time.Since(began).Round(time.Millisecond).String())

	return &api.CreateResponse{
		ID: inst.id, Description: p.description, Kind: p.kind,
		Servers: inst.managed(), TLS: inst.tlsForClients,
	}, nil
}

func (m *manager) newInstance(p plan) (*instance, error) {
	id := nuid.Next()
	inst := &instance{
		m: m, id: id, plan: p, created: time.Now(),
		short: id[len(id)-8:],
		dir:   filepath.Join(m.opts.work, id),
	}
	if err := inst.layOut(); err != nil {
		inst.release()
		return nil, err
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		inst.release()
		return nil, &refusal{"503", "the tester is going down"}
	}
	m.instances[id] = inst
	for _, s := range inst.servers {
		m.servers[s.name] = s
	}
	return inst, nil
}

// drop takes an instance out of the maps and ends its servers.
func (m *manager) drop(inst *instance) {
	m.mu.Lock()
	delete(m.instances, inst.id)
	for _, s := range inst.servers {
		delete(m.servers, s.name)
	}
	m.mu.Unlock()
	inst.destroy()
}

func (m *manager) instance(id string) (*instance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if inst := m.instances[id]; inst != nil {
		return inst, nil
	}
	return nil, notFound("no instance %q", id)
}

func (m *manager) server(name string) (*server, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.servers[name]; s != nil {
		return s, nil
	}
	return nil, notFound("no server %q", name)
}

func (m *manager) all() []*instance {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*instance, 0, len(m.instances))
	for _, inst := range m.instances {
		out = append(out, inst)
	}
	return out
}

func (m *manager) destroyInstance(data []byte) (any, error) {
	var r api.DestroyRequest
	if err := decode(data, &r); err != nil {
		return nil, err
	}
	inst, err := m.instance(r.InstanceID)
	if err != nil {
		return nil, err
	}
	m.drop(inst)
	return &api.DestroyResponse{Destroyed: true}, nil
}

func (m *manager) stopServer(data []byte) (any, error) {
	var r api.StopServerRequest
	if err := decode(data, &r); err != nil {
		return nil, err
	}
	s, err := m.server(r.Name)
	if err != nil {
		return nil, err
	}
	s.inst.mu.Lock()
	defer s.inst.mu.Unlock()
	m.journal.add("stop", s.inst.plan.description, s.name)
	s.stop(stopPatience)
	return &api.StopServerResponse{Shutdown: true}, nil
}

func (m *manager) startServer(data []byte) (any, error) {
	var r api.StartServerRequest
	if err := decode(data, &r); err != nil {
		return nil, err
	}
	s, err := m.server(r.Name)
	if err != nil {
		return nil, err
	}
	s.inst.mu.Lock()
	defer s.inst.mu.Unlock()
	m.journal.add("start", s.inst.plan.description, s.name)
	if err := s.start(time.Now().Add(startPatience)); err != nil {
		return nil, err
	}
	return &api.StartServerResponse{Started: true}, nil
}

func (m *manager) stopInstance(data []byte) (any, error) {
	var r api.StopInstanceRequest
	if err := decode(data, &r); err != nil {
		return nil, err
	}
	inst, err := m.instance(r.InstanceID)
	if err != nil {
		return nil, err
	}
	inst.mu.Lock()
	defer inst.mu.Unlock()
	inst.stopAll(stopPatience)
	res := &api.StopInstanceResponse{}
	for _, s := range inst.servers {
		res.Servers = append(res.Servers, api.ServerStateResult{Name: s.name, Running: s.running()})
	}
	return res, nil
}

func (m *manager) startInstance(data []byte) (any, error) {
	var r api.StartInstanceRequest
	if err := decode(data, &r); err != nil {
		return nil, err
	}
	inst, err := m.instance(r.InstanceID)
	if err != nil {
		return nil, err
	}
	inst.mu.Lock()
	defer inst.mu.Unlock()
	res := &api.StartInstanceResponse{}
	for _, s := range inst.servers {
		state := api.ServerStateResult{Name: s.name}
		if err := s.start(time.Now().Add(startPatience)); err != nil {
			state.Error = err.Error()
		}
		state.Running = s.running()
		res.Servers = append(res.Servers, state)
	}
	return res, nil
}

func (m *manager) updateServer(data []byte) (any, error) {
	var r api.UpdateServerRequest
	if err := decode(data, &r); err != nil {
		return nil, err
	}
	s, err := m.server(r.Name)
	if err != nil {
		return nil, err
	}
	s.inst.mu.Lock()
	defer s.inst.mu.Unlock()
	m.journal.add("update", s.inst.plan.description, s.name, keysOf(r.Snippets))
	if err := s.update(r.Snippets, r.Template, r.TLSTimeout); err != nil {
		return nil, err
	}
	return &api.UpdateServerResponse{Updated: true}, nil
}

func (m *manager) reloadServer(data []byte) (any, error) {
	var r api.ReloadServerRequest
	if err := decode(data, &r); err != nil {
		return nil, err
	}
	s, err := m.server(r.Name)
	if err != nil {
		return nil, err
	}
	s.inst.mu.Lock()
	defer s.inst.mu.Unlock()
	m.journal.add("reload", s.inst.plan.description, s.name)
	if err := s.reload(); err != nil {
		return nil, err
	}
	return &api.ReloadServerResponse{Reloaded: true}, nil
}

func (m *manager) status(data []byte) (any, error) {
	var r api.StatusRequest
	if err := decode(data, &r); err != nil {
		return nil, err
	}
	res := &api.StatusResponse{Instances: []api.InstanceStatus{}}
	for _, inst := range m.all() {
		if r.InstanceID != "" && r.InstanceID != inst.id {
			continue
		}
		st := api.InstanceStatus{ID: inst.id, Description: inst.plan.description, Kind: inst.plan.kind}
		for _, s := range inst.managed() {
			st.Servers = append(st.Servers, *s)
		}
		res.Instances = append(res.Instances, st)
	}
	if r.InstanceID != "" && len(res.Instances) == 0 {
		return nil, notFound("no instance %q", r.InstanceID)
	}
	return res, nil
}

func (m *manager) list([]byte) (any, error) {
	res := &api.ListResponse{Instances: []api.InstanceSummary{}}
	for _, inst := range m.all() {
		sum := api.InstanceSummary{
			ID: inst.id, Description: inst.plan.description, Kind: inst.plan.kind,
			Servers: len(inst.servers), Created: inst.created,
		}
		if inst.plan.kind == kindCluster {
			sum.Cluster = inst.servers[0].cluster
		}
		res.Instances = append(res.Instances, sum)
	}
	return res, nil
}

func (m *manager) resetAll([]byte) (any, error) {
	var wg sync.WaitGroup
	for _, inst := range m.all() {
		wg.Add(1)
		go func() {
			defer wg.Done()
			m.drop(inst)
		}()
	}
	wg.Wait()
	return &api.ResetResponse{Shutdown: true}, nil
}

// reset is the end of the tester: nothing can be created after it.
func (m *manager) reset() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.resetAll(nil)
}

// destroyLeftovers is the client side, used after a test that did not clean up.
func destroyLeftovers(url, test string) error {
	nc, err := nats.Connect(url, nats.Timeout(5*time.Second))
	if err != nil {
		return err
	}
	defer nc.Close()

	msg, err := nc.Request("tester.list", nil, 10*time.Second)
	if err != nil {
		return err
	}
	var list api.ListResponse
	if err := json.Unmarshal(msg.Data, &list); err != nil {
		return err
	}
	for _, inst := range list.Instances {
		if inst.Description != test && !strings.HasPrefix(inst.Description, test+"/") {
			continue
		}
		body, _ := json.Marshal(api.DestroyRequest{InstanceID: inst.ID})
		if _, err := nc.Request("tester.destroy", body, 30*time.Second); err != nil {
			return err
		}
	}
	return nil
}
