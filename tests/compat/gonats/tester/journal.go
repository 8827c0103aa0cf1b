// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"sync"
	"time"
)

// journal is a tab-separated record of what the tester did: time, action,
// test, details. "died" and "finding" lines are the ones to look at.
type journal struct {
	mu sync.Mutex
	f  *os.File // nil: keep none
}

func openJournal(path string) (*journal, error) {
	if path == "" {
		return &journal{}, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	return &journal{f: f}, err
}

func (j *journal) add(fields ...string) {
	if j.f == nil {
		return
	}
	for i, f := range fields {
		fields[i] = strings.Join(strings.Fields(f), " ")
	}
	line := time.Now().Format("15:04:05.000") + "\t" + strings.Join(fields, "\t") + "\n"
	j.mu.Lock()
	defer j.mu.Unlock()
	j.f.WriteString(line)
}

func (j *journal) close() {
	if j.f != nil {
		j.f.Close()
	}
}
