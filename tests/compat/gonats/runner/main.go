// SPDX-License-Identifier: Apache-2.0

// Command runner runs the Go client's integration tests one by one against the
// servers of a tester that it starts, and counts.
//
// Each test function is a process of its own with its own time limit: one that
// hangs, panics or leaks costs only itself.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const module = "github.com/nats-io/nats.go"

type suite struct {
	name string // as printed, and as the path below the module
	bin  string // compiled test binary
	dir  string // where it runs: the package's own folder, for its test data
}

func main() {
	var c config
	flag.StringVar(&c.server, "server", "", "server binary under test")
	flag.StringVar(&c.tester, "tester", "", "tester binary")
	flag.StringVar(&c.build, "build", "", "directory for the compiled tests")
	flag.StringVar(&c.home, "home", ".", "directory of the go.mod that names the client's version")
	flag.StringVar(&c.packages, "packages", "", "packages to run, separated by commas; empty for all three")
	flag.StringVar(&c.tests, "tests", "", "regular expression on the names of tests; empty for all")
	flag.StringVar(&c.groups, "groups", "", "table of test and feature group, for the totals")
	flag.StringVar(&c.wanted, "group", "", "run only the tests of these feature groups, separated by commas")
	flag.StringVar(&c.out, "out", "results.tsv", "table of results")
	flag.StringVar(&c.logs, "logs", "", "keep the output of tests that do not pass, and their servers' logs, here")
	flag.StringVar(&c.configs, "configs", "", "keep all configuration files here")
	flag.DurationVar(&c.limit, "limit", time.Minute, "time limit for one test")
	flag.IntVar(&c.retry, "retry", 0, "run a test that does not pass up to so many times more")
	flag.IntVar(&c.jobs, "jobs", 1, "tests at once")
	flag.BoolVar(&c.listOnly, "list", false, "print the tests that would run, and stop")
	flag.Parse()

	if err := run(&c); err != nil {
		fmt.Fprintln(os.Stderr, "runner:", err)
		os.Exit(2)
	}
}

type config struct {
	server, tester          string
	build, home             string
	packages, tests, wanted string
	groups, out, logs       string
	configs                 string
	limit                   time.Duration
	retry, jobs             int
	listOnly                bool

	known map[string]known // by a test's id
}

// job is one test function; result is what came of it.
type job struct {
	suite *suite
	name  string
}

type result struct {
	job
	verdict string // PASS FAIL SKIP TIMEOUT
	seconds float64
	tries   int
	reason  string // the first line that says why, for what did not pass
}

// file is the package's name fit to be a file's.
func (s *suite) file() string { return "gonats-" + strings.ReplaceAll(s.name, "/", "-") }

func (j job) id() string { return j.suite.name + "/" + j.name }

func run(c *config) error {
	suites, err := selectSuites(c.packages)
	if err != nil {
		return err
	}
	pattern, err := regexp.Compile(c.tests)
	if err != nil {
		return err
	}
	if c.known, err = readGroups(c.groups); err != nil {
		return err
	}

	var jobs []job
	for _, s := range suites {
		if err := s.compile(c.build, c.home); err != nil {
			return err
		}
		names, err := s.list()
		if err != nil {
			return err
		}
		for _, n := range names {
			j := job{s, n}
			if pattern.MatchString(n) && inList(c.wanted, c.known[j.id()].group) {
				jobs = append(jobs, j)
			}
		}
	}
	if c.listOnly {
		for _, j := range jobs {
			fmt.Println(j.id())
		}
		return nil
	}

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	halt := make(chan struct{})
	go func() {
		<-stop
		close(halt)
	}()

	out, err := os.Create(c.out)
	if err != nil {
		return err
	}
	defer out.Close()
	fmt.Fprintln(out, "package\ttest\tresult\tseconds\ttries\treason")

	var rep report
	tell := func(r *result) {
		rep.results = append(rep.results, r)
		fmt.Printf("%s %s %.2f\n", r.verdict, r.id(), r.seconds)
		fmt.Fprintf(out, "%s\t%s\t%s\t%.2f\t%d\t%s\n", r.suite.name, r.name, r.verdict, r.seconds, r.tries, r.reason)
	}
	for _, s := range suites {
		if !slices.ContainsFunc(jobs, func(j job) bool { return j.suite == s }) {
			continue
		}
		casualties, err := runSuite(c, s, jobs, halt, tell)
		if err != nil {
			return err
		}
		rep.casualties = append(rep.casualties, casualties...)
	}
	rep.print(c)
	return nil
}

// runSuite works through the jobs of one package with a tester of its own, so
// that names which two packages share cannot be mixed up.
func runSuite(c *config, s *suite, jobs []job, halt <-chan struct{}, tell func(*result)) ([]string, error) {
	t, err := startTester(c, s)
	if err != nil {
		return nil, err
	}
	defer t.end()

	var (
		feed  = make(chan job)
		again []*result // what did not pass, if it has another try
		wg    sync.WaitGroup
		mu    sync.Mutex
	)
	for range max(1, c.jobs) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range feed {
				r := once(c, t, j, halt)
				mu.Lock()
				switch {
				case r == nil:
				case r.passed() || c.retry == 0:
					tell(r)
				default:
					again = append(again, r)
				}
				mu.Unlock()
			}
		}()
	}
	for _, j := range jobs {
		if j.suite != s {
			continue
		}
		select {
		case feed <- j:
		case <-halt:
		case <-t.gone:
		}
	}
	close(feed)
	wg.Wait()

	// Further tries come when all is quiet, one at a time: a test that failed
	// for the load alone passes then.
	for _, r := range again {
		for try := 2; try <= c.retry+1 && r != nil && !r.passed(); try++ {
			if r = once(c, t, r.job, halt); r != nil {
				r.tries = try
			}
		}
		if r != nil {
			tell(r)
		}
	}

	select {
	case <-halt:
		return nil, fmt.Errorf("interrupted in %s", s.name)
	case <-t.gone:
		return nil, fmt.Errorf("the tester ended in the middle of %s", s.name)
	default:
	}
	t.end()
	return t.casualties(), nil
}

func (r *result) passed() bool { return r.verdict == "PASS" || r.verdict == "SKIP" }

// verdictLine is how a test binary reports a top-level test; the leading mark
// comes from -test.v=test2json and cannot be confused with a test's own output.
var verdictLine = regexp.MustCompile(`(?m)^\x16--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+)s\)$`)

// once runs a test; nil if it was interrupted.
func once(c *config, t *tester, j job, halt <-chan struct{}) *result {
	logName := filepath.Join(t.logs, j.name+".log")
	log, err := os.Create(logName)
	if err != nil {
		return &result{job: j, verdict: "FAIL", tries: 1, reason: err.Error()}
	}
	cmd := exec.Command(j.suite.bin,
		"-test.run", "^"+regexp.QuoteMeta(j.name)+"$",
		"-test.timeout", c.limit.String(), "-test.v=test2json", "-test.paniconexit0")
	cmd.Dir, cmd.Stdout, cmd.Stderr = j.suite.dir, log, log
	cmd.Env = append(os.Environ(), "TESTER_NATS_URL="+t.url)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	began := time.Now()
	err = cmd.Start()
	log.Close()
	if err != nil {
		return &result{job: j, verdict: "FAIL", tries: 1, reason: err.Error()}
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()

	late := false
	select {
	case err = <-done:
	case <-halt:
		cmd.Process.Kill()
		<-done
		return nil
	case <-time.After(c.limit + 10*time.Second):
		// The test's own watchdog did not bite.
		late = true
		cmd.Process.Kill()
		err = <-done
	}

	r := &result{job: j, verdict: "FAIL", seconds: time.Since(began).Seconds(), tries: 1}
	text, _ := os.ReadFile(logName)
	for _, m := range verdictLine.FindAllStringSubmatch(string(text), -1) {
		if m[2] == j.name && (m[1] != "PASS" || err == nil) {
			r.verdict = m[1]
		}
	}
	if late || strings.Contains(string(text), "panic: test timed out after") {
		r.verdict = "TIMEOUT"
	}
	if r.passed() {
		os.Remove(logName)
		t.forgetServerLogs(j)
	} else {
		r.reason = whyNot(string(text))
		t.destroyLeftovers(c, j)
	}
	return r
}

var (
	atLine    = regexp.MustCompile(`^\s+(\w+_test\.go|client\.go|testing\.go):\d+: (.*)$`)
	panicLine = regexp.MustCompile(`^(panic|fatal error): `)
)

// whyNot picks the line of a test's output that says most about its failure:
// the last message of the test itself, or the panic.
func whyNot(text string) string {
	why := ""
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimLeft(line, "\x16")
		if panicLine.MatchString(line) {
			why = line
			break
		}
		if m := atLine.FindStringSubmatch(line); m != nil && why == "" {
			why = m[2]
		}
	}
	why = strings.Join(strings.Fields(why), " ")
	if len(why) > 300 {
		why = why[:300]
	}
	return why
}

func selectSuites(packages string) ([]*suite, error) {
	all := []*suite{{name: "test"}, {name: "jetstream/test"}, {name: "micro/test"}}
	if packages == "" || packages == "all" {
		return all, nil
	}
	var out []*suite
	for _, p := range strings.Split(packages, ",") {
		found := false
		for _, s := range all {
			if p == s.name || p == strings.TrimSuffix(s.name, "/test") {
				out, found = append(out, s), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no package %q; there are test, jetstream/test and micro/test", p)
		}
	}
	return out, nil
}

// compile builds the package's tests as they lie in the module cache.
func (s *suite) compile(dir, home string) error {
	s.bin = filepath.Join(dir, s.file()+".test")
	path := module + "/" + s.name
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-tags=internal_testing", "-o", s.bin, path)
	cmd.Dir = home
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s does not compile: %v", path, err)
	}
	cmd = exec.Command("go", "list", "-f", "{{.Dir}}", path)
	cmd.Dir = home
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %v", path, err)
	}
	s.dir = strings.TrimSpace(string(out))
	return nil
}

func (s *suite) list() ([]string, error) {
	cmd := exec.Command(s.bin, "-test.list", "^Test")
	cmd.Dir = s.dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %v", s.name, err)
	}
	return strings.Fields(string(out)), nil
}

// known is what groups.tsv tells of a test.
type known struct {
	group string // the feature it is about
	proof string // what its passing proves of the server: full, weak or none
}

// readGroups reads lines of: package, test, group, needs, proof.
func readGroups(path string) (map[string]known, error) {
	tests := map[string]known{}
	if path == "" {
		return tests, nil
	}
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return tests, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if col := strings.Split(lines.Text(), "\t"); len(col) >= 5 && !strings.HasPrefix(col[0], "#") {
			tests[col[0]+"/"+col[1]] = known{group: col[2], proof: col[4]}
		}
	}
	return tests, lines.Err()
}

func inList(list, item string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), item)
}
