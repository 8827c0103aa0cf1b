// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"sort"
)

type tally struct {
	passed, failed, skipped int
	seconds                 float64
}

func (t *tally) add(r *result) {
	t.seconds += r.seconds
	switch r.verdict {
	case "PASS":
		t.passed++
	case "SKIP":
		t.skipped++
	default:
		t.failed++
	}
}

func (t *tally) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, t.failed, t.skipped)
}

// report gathers what is printed after the last test.
type report struct {
	results    []*result
	casualties []string // servers that died and the like, in words
}

// print prints the totals; the last line is the one to parse.
func (rep *report) print(c *config) {
	var (
		total    tally
		packages = map[string]*tally{}
		groups   = map[string]*tally{}
		proofs   = map[string]*tally{}
	)
	count := func(m map[string]*tally, key string, r *result) {
		if m[key] == nil {
			m[key] = &tally{}
		}
		m[key].add(r)
	}
	for _, r := range rep.results {
		total.add(r)
		count(packages, r.suite.name, r)
		if k, ok := c.known[r.id()]; ok {
			count(groups, k.group, r)
			count(proofs, k.proof, r)
		}
	}

	fmt.Println()
	for i, line := range rep.casualties {
		if i == 20 {
			fmt.Println("server: … the rest is in the events.tsv files")
			break
		}
		fmt.Println("server:", line)
	}
	if n := len(rep.casualties); n > 0 {
		fmt.Printf("server: %d times a server died, did not stop when told to, or reported a fault\n\n", n)
	}
	for _, g := range sorted(groups) {
		fmt.Printf("group %-20s %s\n", g, groups[g])
	}
	for _, p := range sorted(proofs) {
		fmt.Printf("proof %-20s %s\n", p, proofs[p])
	}
	for _, p := range sorted(packages) {
		fmt.Printf("package %-18s %s, %.0f s\n", p, packages[p], packages[p].seconds)
	}
	fmt.Println(&total)
}

func sorted(m map[string]*tally) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
