// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/synadia-io/orbit.go/ntf-client/api"
)

// server is one server under test. The instance's lock guards it.
type server struct {
	inst    *instance
	name    string
	cluster string // empty outside a cluster
	index   int    // within the cluster, from 1
	dir     string
	ports   map[string]int // fixed for life: "client", "cluster", "websocket" …

	snippets map[string]string
	template string
	timeout  float64 // TLS handshake timeout given by an update, 0 for none

	proc *process // nil before the first start; stays after the end
}

func (s *server) configFile() string { return filepath.Join(s.dir, "server.conf") }
func (s *server) logFile() string    { return filepath.Join(s.dir, "server.log") }
func (s *server) running() bool      { return s.proc != nil && s.proc.alive() }

// label tells the server apart within its instance, the same in every run.
func (s *server) label() string { return strings.TrimPrefix(s.name, s.inst.short+"-") }

// addr is where the named port is dialed from here.
func (s *server) addr(port string) string {
	return net.JoinHostPort(s.inst.m.opts.bind, strconv.Itoa(s.ports[port]))
}

func (s *server) managed() *api.ManagedServer {
	extra := maps.Clone(s.ports)
	delete(extra, "client")
	return &api.ManagedServer{
		Name: s.name, Cluster: s.cluster, Port: s.ports["client"], Ports: extra,
		URL:     fmt.Sprintf("nats://%s:%d", s.inst.m.opts.host, s.ports["client"]),
		Running: s.running(),
	}
}

func (s *server) tlsTimeout() float64 {
	switch {
	case s.timeout > 0:
		return s.timeout
	case s.inst.plan.tls != nil && s.inst.plan.tls.Timeout > 0:
		return s.inst.plan.tls.Timeout
	}
	return 2
}

// start runs SERVER_BIN and returns once it serves clients.
func (s *server) start(deadline time.Time) error {
	if s.running() {
		return nil
	}
	o := s.inst.m.opts
	p, err := s.inst.m.spawn.run(o.bin, []string{"-c", s.configFile()}, s.dir, s.logFile())
	if err != nil {
		return fmt.Errorf("%s: could not start %s: %v", s.label(), o.bin, err)
	}
	s.proc = p

	for _, name := range s.listeners() {
		for {
			if !p.alive() {
				p.ask(syscall.SIGTERM) // reported here, not again at the end
				return fmt.Errorf("%s: the server ended before it served (%s): %s", s.label(), p.fate(), s.lastWords())
			}
			if time.Now().After(deadline) {
				s.stop(time.Second)
				return fmt.Errorf("%s: the server did not serve its %s port in time: %s", s.label(), name, s.lastWords())
			}
			if s.serves(name) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}

// listeners are the ports that must be there before a test may go on. A
// leafnode snippet that only has remotes does not name its port: no listener.
func (s *server) listeners() []string {
	names := []string{"client"}
	for _, l := range listenerSnippets {
		if strings.Contains(s.snippets[l], ".Ports."+l) {
			names = append(names, l)
		}
	}
	return names
}

func (s *server) serves(name string) bool {
	if name == "client" && !(s.inst.tls != nil && s.inst.tls.handshakeFirst) {
		return s.info() != nil
	}
	conn, err := net.DialTimeout("tcp", s.addr(name), time.Second)
	if err != nil {
		return false
	}
	goodbye(conn)
	return true
}

type serverInfo struct {
	ConnectURLs []string `json:"connect_urls"`
}

// info reads the INFO line, as any client does first; nil if there is none.
func (s *server) info() *serverInfo {
	conn, err := net.DialTimeout("tcp", s.addr("client"), time.Second)
	if err != nil {
		return nil
	}
	defer goodbye(conn)
	conn.SetDeadline(time.Now().Add(2 * time.Second))
	line, err := bufio.NewReaderSize(conn, 32<<10).ReadString('\n')
	if err != nil {
		return nil
	}
	body, ok := strings.CutPrefix(line, "INFO ")
	if !ok {
		return nil
	}
	var in serverInfo
	if json.Unmarshal([]byte(body), &in) != nil {
		return nil
	}
	return &in
}

// goodbye closes a probe and gives the server the time to notice, so that the
// probe does not count against a limit on connections that a test relies on.
func goodbye(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok && tcp.CloseWrite() == nil {
		conn.SetDeadline(time.Now().Add(300 * time.Millisecond))
		buf := make([]byte, 4096)
		for {
			if _, err := conn.Read(buf); err != nil {
				break
			}
		}
	}
	conn.Close()
}

// knownPeers is how many other servers it tells its clients of.
func (s *server) knownPeers() int {
	in := s.info()
	if in == nil {
		return 0
	}
	n := 0
	for _, url := range in.ConnectURLs {
		if portOf(url) != strconv.Itoa(s.ports["client"]) {
			n++
		}
	}
	return n
}

// jetStreamAnswers is true once an account info request gets a real answer.
func (s *server) jetStreamAnswers() bool {
	nc, err := nats.Connect("nats://"+s.addr("client"), nats.NoReconnect(), nats.Timeout(time.Second))
	if err != nil {
		return false
	}
	defer nc.Close()
	msg, err := nc.Request("$JS.API.INFO", nil, time.Second)
	if err != nil {
		return false
	}
	var res struct {
		Error json.RawMessage `json:"error"`
	}
	return json.Unmarshal(msg.Data, &res) == nil && res.Error == nil
}

// stop asks with SIGTERM and insists with SIGKILL.
func (s *server) stop(patience time.Duration) {
	if s.proc == nil {
		return
	}
	if !s.proc.alive() {
		if !s.proc.asked() {
			s.inst.m.journal.add("died", s.inst.plan.description, s.name, s.proc.fate())
			s.proc.ask(syscall.SIGTERM)
		}
		return
	}
	s.proc.ask(syscall.SIGTERM)
	if !s.proc.wait(patience) {
		s.inst.m.journal.add("killed", s.inst.plan.description, s.name,
			fmt.Sprintf("still running %v after SIGTERM", patience))
		s.proc.ask(syscall.SIGKILL)
		s.proc.wait(5 * time.Second)
	}
	if s.proc.crashed() {
		s.inst.m.journal.add("died", s.inst.plan.description, s.name, s.proc.fate())
	}
}

// update stages a new configuration; it is the whole of it, not a change.
func (s *server) update(snippets map[string]string, tmpl string, tlsTimeout *float64) error {
	for _, l := range listenerSnippets {
		_, now := snippets[l]
		_, before := s.ports[l]
		if now != before {
			return badRequest("an update can neither add nor drop the %s snippet", l)
		}
	}
	if tlsTimeout != nil {
		if s.inst.tls == nil {
			return badRequest("%s has no generated TLS to set a timeout of", s.name)
		}
		s.timeout = *tlsTimeout
	}
	s.snippets, s.template = snippets, tmpl
	return s.writeConfig()
}

// What a server logs of a reload: nats-server's own words, or close to them.
var (
	reloadDone   = regexp.MustCompile(`(?i)reloaded (the )?(server )?config`)
	reloadFailed = regexp.MustCompile(`(?i)\[(ERR|FTL)\].*reload`)
)

// reload sends SIGHUP. A signal has no answer, but servers log the outcome: the
// tester waits for the line that tells it, a second and a half at most.
func (s *server) reload() error {
	if !s.running() {
		return badRequest("%s is not running", s.name)
	}
	before := fileSize(s.logFile())
	s.proc.signal(syscall.SIGHUP)

	deadline := time.Now().Add(1500 * time.Millisecond)
	for time.Now().Before(deadline) {
		for _, line := range strings.Split(readFrom(s.logFile(), before), "\n") {
			if reloadFailed.MatchString(line) {
				return fmt.Errorf("%s: %s", s.label(), line)
			}
			if reloadDone.MatchString(line) {
				return nil
			}
		}
		if !s.proc.alive() {
			return fmt.Errorf("%s: the server ended on SIGHUP (%s): %s", s.label(), s.proc.fate(), s.lastWords())
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

func fileSize(path string) int64 {
	if st, err := os.Stat(path); err == nil {
		return st.Size()
	}
	return 0
}

func readFrom(path string, offset int64) string {
	data, err := os.ReadFile(path)
	if err != nil || int64(len(data)) < offset {
		return ""
	}
	return string(data[offset:])
}

// lastWords is the end of the server's log on one line, for an error's text.
func (s *server) lastWords() string {
	text := strings.TrimSpace(readFrom(s.logFile(), 0))
	if text == "" {
		return "it logged nothing"
	}
	text = strings.ReplaceAll(text, s.dir+"/", "")
	if len(text) > 600 {
		text = "… " + text[len(text)-600:]
	}
	return strings.Join(strings.Fields(text), " ")
}

var finding = regexp.MustCompile(`ERROR: (Address|Leak|Memory)Sanitizer|WARNING: ThreadSanitizer|runtime error: |^panic: |^fatal error: |[Aa]ssertion .* failed`)

// autopsy keeps the log if asked to and reports what a crash left in it.
func (s *server) autopsy() {
	text := readFrom(s.logFile(), 0)
	for _, line := range strings.Split(text, "\n") {
		if finding.MatchString(line) {
			s.inst.m.journal.add("finding", s.inst.plan.description, s.name, line)
			break
		}
	}
	if dir := s.inst.m.opts.logs; dir != "" && text != "" {
		name := fileName(s.inst.plan.description) + "." + s.name + ".log"
		os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
	}
}
