// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// environment is what snippets and templates may refer to.
type environment struct {
	ServerName    string
	ShortID       string
	InstanceID    string
	ServerIndex   int
	ServerDir     string
	StoreDir      string
	Host          string
	AdvertiseHost string
	ClientPort    int
	JetStream     bool
	ClusterName   string
	ClusterPort   int
	Routes        []string
	Gateways      map[string][]string
	Ports         map[string]int
	Snippets      map[string]string
	TLS           *tlsFiles
}

func (s *server) environment() *environment {
	i := s.inst
	env := &environment{
		ServerName: s.name, ShortID: i.short, InstanceID: i.id, ServerIndex: s.index,
		ServerDir: s.dir, StoreDir: s.dir, Host: i.m.opts.bind, AdvertiseHost: i.m.opts.host,
		ClientPort: s.ports["client"], JetStream: i.plan.jetStream,
		ClusterName: s.cluster, ClusterPort: s.ports["cluster"],
		Ports: s.ports, Snippets: map[string]string{}, TLS: i.tls,
	}
	if i.plan.kind != kindServer {
		for _, p := range i.peers(s) {
			env.Routes = append(env.Routes, fmt.Sprintf("%s:%d", i.m.opts.bind, p.ports["cluster"]))
		}
	}
	if i.plan.kind == kindSuperCluster {
		env.Gateways = map[string][]string{}
		for _, p := range i.servers {
			url := fmt.Sprintf("nats://%s:%d", i.m.opts.bind, p.ports["gateway"])
			env.Gateways[p.cluster] = append(env.Gateways[p.cluster], url)
		}
	}
	return env
}

func render(name, body string, env *environment) (string, error) {
	t, err := template.New(name).Option("missingkey=error").Parse(body)
	if err != nil {
		return "", badRequest("%s: %v", name, err)
	}
	var out strings.Builder
	if err := t.Execute(&out, env); err != nil {
		return "", badRequest("%s: %v", name, err)
	}
	return out.String(), nil
}

// writeConfig renders the server's configuration and puts it in place.
func (s *server) writeConfig() error {
	env := s.environment()
	parts := map[string]string{}
	for key, body := range s.snippets {
		text, err := render(key, body, env)
		if err != nil {
			return err
		}
		parts[key] = strings.TrimSpace(text)
	}

	var conf string
	if s.template == "" {
		conf = s.compose(parts)
	} else {
		// A template of the caller's own includes the snippets by file.
		for key, text := range parts {
			path := filepath.Join(s.dir, key+".conf")
			if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
				return err
			}
			env.Snippets[key] = path
		}
		var err error
		if conf, err = render("template", s.template, env); err != nil {
			return err
		}
	}

	tmp := s.configFile() + ".new"
	if err := os.WriteFile(tmp, []byte(conf), 0o644); err != nil {
		return err
	}
	s.keepConfig(conf)
	return os.Rename(tmp, s.configFile())
}

// compose is the built-in configuration: as few keys as do the job, so that a
// test fails for want of what it tests and not for want of something else.
// There is no accounts block and no user: everybody is in the global account.
func (s *server) compose(parts map[string]string) string {
	i, o := s.inst, s.inst.m.opts
	var b strings.Builder
	line := func(f string, a ...any) { fmt.Fprintf(&b, f+"\n", a...) }
	snippet := func(key string) {
		if parts[key] != "" {
			line("%s\n", parts[key])
		}
	}

	line("# %s", i.plan.description)
	snippet("top")
	line("server_name: %q", s.name)
	line("listen: \"%s:%d\"", o.bind, s.ports["client"])
	if i.plan.kind != kindServer {
		line("client_advertise: \"%s:%d\"", o.host, s.ports["client"])
	}
	line("")
	snippet("accounts")
	snippet("system_account")
	snippet("authorization")

	if t := i.tls; t != nil {
		line("tls {")
		line("  cert_file: %q", t.CertFile)
		line("  key_file: %q", t.KeyFile)
		if t.mutual {
			line("  ca_file: %q", t.CAFile)
			line("  verify: true")
		}
		if t.handshakeFirst {
			line("  handshake_first: true")
		}
		line("  timeout: %s", seconds(s.tlsTimeout()))
		line("}\n")
	}
	snippet("tls")

	if i.plan.jetStream {
		line("jetstream {")
		line("  store_dir: %q", s.dir)
		if sync := os.Getenv("SYNC"); sync != "" {
			line("  sync_interval: %q", sync)
		}
		if extra := parts["jetstream"]; extra != "" {
			line("  %s", extra)
		}
		line("}\n")
	}
	for _, l := range listenerSnippets {
		snippet(l)
	}

	if i.plan.kind != kindServer {
		env := s.environment()
		line("cluster {")
		line("  name: %q", s.cluster)
		line("  listen: \"%s:%d\"", o.bind, s.ports["cluster"])
		line("  routes: [")
		for _, r := range env.Routes {
			line("    \"nats://%s\"", r)
		}
		line("  ]\n}\n")
		if i.plan.kind == kindSuperCluster {
			line("gateway {")
			line("  name: %q", s.cluster)
			line("  listen: \"%s:%d\"", o.bind, s.ports["gateway"])
			line("  gateways: [")
			for name, urls := range env.Gateways {
				line("    { name: %q, urls: [ %s ] }", name, quoted(urls))
			}
			line("  ]\n}\n")
		}
	}
	return b.String()
}

func quoted(in []string) string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(out, ", ")
}

// seconds writes a fraction without an exponent, which the format has not.
func seconds(f float64) string {
	s := strings.TrimRight(fmt.Sprintf("%.9f", f), "0")
	return strings.TrimSuffix(s, ".")
}

// keepConfig leaves a copy for whoever asked to see what the tests configure.
func (s *server) keepConfig(conf string) {
	dir := s.inst.m.opts.confs
	if dir == "" {
		return
	}
	f, err := os.CreateTemp(dir, fileName(s.inst.plan.description)+"."+s.name+".*.conf")
	if err != nil {
		return
	}
	defer f.Close()
	f.WriteString(conf)
}

// fileName makes a test's name fit to be a file's.
func fileName(description string) string {
	if description == "" {
		return "unnamed"
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("/ :*?\"<>|\\#", r) {
			return '_'
		}
		return r
	}, description)
}
