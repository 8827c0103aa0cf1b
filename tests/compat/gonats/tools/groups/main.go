// SPDX-License-Identifier: Apache-2.0

// Command groups writes groups.tsv and config-keys.tsv from what a run of the
// suite against the reference server left behind, so that both follow the
// tests when the client's version changes. See README.md, "Keeping it up".
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/nats-io/nats-server/v2/conf"
)

type test struct {
	pkg, name, file string

	keys    map[string]bool // paths in its servers' configurations
	actions map[string]bool // in the tester's journal: create, stop, reload …
	cluster bool

	clientOnly bool // passes without any server
	proof      string
}

func main() {
	results := flag.String("results", "results.tsv", "of the reference server")
	logs := flag.String("logs", "gonats-logs", "logs of that run, with the tester's journals")
	configs := flag.String("configs", "configs", "configurations kept in that run")
	absent := flag.String("absent", "", "results with a server binary that does not run")
	deaf := flag.String("deaf", "", "results with tools/deaf")
	out := flag.String("out", ".", "directory for the tables")
	flag.Parse()

	tests, err := readTests(*results)
	check(err)
	check(addFiles(tests))
	check(addEvents(tests, *logs))
	check(addConfigs(tests, *configs))
	check(addProof(tests, *deaf, "weak"))
	check(addProof(tests, *absent, "none"))
	check(writeGroups(tests, filepath.Join(*out, "groups.tsv")))
	check(writeKeys(tests, filepath.Join(*out, "config-keys.tsv")))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "groups:", err)
		os.Exit(1)
	}
}

func rows(path string, row func([]string)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		row(strings.Split(lines.Text(), "\t"))
	}
	return lines.Err()
}

func readTests(path string) ([]*test, error) {
	var tests []*test
	err := rows(path, func(col []string) {
		if len(col) > 2 && strings.HasPrefix(col[1], "Test") {
			t := &test{pkg: col[0], name: col[1], keys: map[string]bool{}, actions: map[string]bool{}, proof: "full"}
			if col[2] == "SKIP" {
				t.proof = "none"
			}
			tests = append(tests, t)
		}
	})
	return tests, err
}

// addFiles finds the source file of each test: upstream sorts them by subject.
func addFiles(tests []*test) error {
	fn := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	byID := map[string]*test{}
	dirs := map[string]bool{}
	for _, t := range tests {
		byID[t.pkg+"/"+t.name] = t
		dirs[t.pkg] = true
	}
	for pkg := range dirs {
		out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/nats-io/nats.go/"+pkg).Output()
		if err != nil {
			return err
		}
		files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*_test.go"))
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			for _, m := range fn.FindAllStringSubmatch(string(text), -1) {
				if t := byID[pkg+"/"+m[1]]; t != nil {
					t.file = strings.TrimSuffix(filepath.Base(f), "_test.go")
				}
			}
		}
	}
	return nil
}

func addEvents(tests []*test, dir string) error {
	return eachPackage(tests, func(pkg string, find func(string) *test) error {
		return rows(filepath.Join(dir, pkg, "events.tsv"), func(col []string) {
			if len(col) < 3 {
				return
			}
			t := find(col[2])
			if t == nil {
				return
			}
			t.actions[col[1]] = true
			if col[1] == "create" && len(col) > 3 && !strings.HasPrefix(col[3], "server=") {
				t.cluster = true
			}
		})
	})
}

func addConfigs(tests []*test, dir string) error {
	return eachPackage(tests, func(pkg string, find func(string) *test) error {
		files, err := filepath.Glob(filepath.Join(dir, pkg, "*.conf"))
		if err != nil {
			return err
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			// The tester writes the test's name above each configuration.
			first, _, _ := strings.Cut(string(text), "\n")
			t := find(strings.TrimPrefix(first, "# "))
			if t == nil {
				continue
			}
			tree, err := conf.Parse(string(text))
			if err != nil {
				return fmt.Errorf("%s: %v", f, err)
			}
			flatten(t.keys, "", tree)
		}
		return nil
	})
}

// eachPackage calls do with the package's folder below a run's output and a
// function that finds the test of one of its (sub)tests.
func eachPackage(tests []*test, do func(pkg string, find func(string) *test) error) error {
	packages := map[string]map[string]*test{}
	for _, t := range tests {
		if packages[t.pkg] == nil {
			packages[t.pkg] = map[string]*test{}
		}
		packages[t.pkg][t.name] = t
	}
	for pkg, byName := range packages {
		find := func(description string) *test {
			name, _, _ := strings.Cut(description, "/")
			return byName[name]
		}
		if err := do("gonats-"+strings.ReplaceAll(pkg, "/", "-"), find); err != nil {
			return err
		}
	}
	return nil
}

// flatten collects the paths of all keys; names that tests choose become *.
func flatten(into map[string]bool, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, sub := range v {
			key := strings.ToLower(k)
			if path == "accounts" || path == "resolver_preload" {
				key = "*"
			}
			if path != "" {
				key = path + "." + key
			}
			into[key] = true
			flatten(into, key, sub)
		}
	case []any:
		for _, sub := range v {
			flatten(into, path+"[]", sub)
		}
	}
}

func addProof(tests []*test, path, proof string) error {
	if path == "" {
		return nil
	}
	passed := map[string]bool{}
	err := rows(path, func(col []string) {
		if len(col) > 2 && col[2] == "PASS" {
			passed[col[0]+"/"+col[1]] = true
		}
	})
	for _, t := range tests {
		if passed[t.pkg+"/"+t.name] {
			t.proof = proof
			t.clientOnly = proof == "none"
		}
	}
	return err
}

func (t *test) has(pattern string) bool {
	re := regexp.MustCompile(pattern)
	for k := range t.keys {
		if re.MatchString(k) {
			return true
		}
	}
	return false
}

func (t *test) named(parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(t.name, p) })
}

// group is the one feature without which the test makes no sense; what else it
// takes is told by needs.
func (t *test) group() string {
	js := t.has(`^jetstream$`)
	switch {
	case t.clientOnly:
		return "client-only"
	case t.has(`^leafnodes$`):
		return "leafnode"
	case t.cluster && js:
		return "jetstream-cluster"
	case t.has(`^websocket$`) || t.file == "ws":
		return "websocket"
	case t.has(`(imports|exports)$`):
		return "accounts"
	case t.pkg == "micro/test":
		return "micro"
	case t.pkg == "jetstream/test":
		return t.jetStreamGroup()
	case t.file == "kv":
		return "legacy-kv"
	case t.file == "object", t.named("NoRaceObject"):
		return "legacy-object"
	case js && t.file != "basic", t.file == "js", t.file == "js_internal", t.named("NoRaceJetStream"):
		return "legacy-js"
	case t.has(`^tls$`):
		return "tls"
	case t.has(`^resolver$|nkey$`):
		return "auth-jwt-nkey"
	case t.has(`^authorization$|users$`):
		return "auth"
	case t.cluster:
		return "cluster"
	case t.file == "headers":
		return "headers"
	case t.file == "drain":
		return "drain"
	case t.file == "reconnect", t.file == "cluster", t.actions["stop"]:
		return "reconnect"
	case slices.Contains([]string{"enc", "gob", "json", "protobuf", "netchan"}, t.file):
		return "encoders"
	}
	return "core"
}

func (t *test) jetStreamGroup() string {
	switch t.file {
	case "kv", "object":
		return t.file
	case "publish":
		if t.named("Schedule") {
			return "jetstream-schedule"
		}
		return "jetstream-publish"
	case "consumer", "pull", "push", "ordered", "message":
		return "jetstream-consumer"
	}
	if t.named("Consumer") && !t.named("StreamSource") {
		return "jetstream-consumer"
	}
	return "jetstream-stream"
}

func (t *test) needs() string {
	var out []string
	add := func(word string, yes bool) {
		if yes {
			out = append(out, word)
		}
	}
	add("jetstream", t.has(`^jetstream$`))
	add("domain", t.has(`^jetstream\.domain$`))
	add("cluster", t.cluster)
	add("leafnode", t.has(`^leafnodes$`))
	add("websocket", t.has(`^websocket$`))
	add("compression", t.has(`^websocket\.compression$`))
	add("tls", t.has(`tls$`))
	add("client-cert", t.has(`^tls\.verify$`))
	add("handshake-first", t.has(`handshake_first$`))
	add("accounts", t.has(`^accounts$`))
	add("imports", t.has(`(imports|exports)$`))
	add("users", t.has(`users$|authorization\.user$`))
	add("token", t.has(`token$`))
	add("nkey", t.has(`nkey$`))
	add("jwt", t.has(`^resolver$`))
	add("permissions", t.has(`permissions?$`))
	add("limits", t.has(`^max_|no_header_support|limits?$`))
	add("restart", t.actions["stop"])
	add("reload", t.actions["reload"])
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, ",")
}

func writeGroups(tests []*test, path string) error {
	var b strings.Builder
	b.WriteString("# package\ttest\tgroup\tneeds\tproof\n")
	counts := map[string]int{}
	for _, t := range tests {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\n", t.pkg, t.name, t.group(), t.needs(), t.proof)
		counts[t.group()]++
	}
	for _, g := range sortedKeys(counts) {
		fmt.Printf("%-20s %d\n", g, counts[g])
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

func writeKeys(tests []*test, path string) error {
	counts, example := map[string]int{}, map[string]string{}
	for _, t := range tests {
		for k := range t.keys {
			counts[k]++
			if example[k] == "" {
				example[k] = t.pkg + "/" + t.name
			}
		}
	}
	var b strings.Builder
	b.WriteString("# key\ttests\tone of them\n")
	for _, k := range sortedKeys(counts) {
		fmt.Fprintf(&b, "%s\t%d\t%s\n", k, counts[k], example[k])
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
