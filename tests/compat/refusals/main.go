// SPDX-License-Identifier: Apache-2.0

// refusals SERVER LABEL [CASE]: do nats.go's clients recover by themselves where every third
// management request is refused? Each case has a server of its own and prints PASS or FAIL.
// SERVER is a build with the endpoint $SYS.REQ.TEST.REFUSE; with any other server nothing is
// refused, which shows whether the cases themselves are right.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"
)

const sideBySide = 7 // most of the time each waits for its client

type testcase struct {
	name string
	run  func(f *fix) error
}

func cases() []testcase {
	all := []testcase{
		{"legacy/object_get", func(f *fix) error { return readObjects(f, legacyObjects) }},
		{"jetstream/object_get", func(f *fix) error { return readObjects(f, modernObjects) }},
	}
	for _, r := range readers {
		all = append(all, testcase{r.name, func(f *fix) error { return readThroughTroubles(f, r) }})
	}
	return all
}

func try(binary string, c testcase) error {
	ctx, cancel := deadline(context.Background())
	defer cancel()
	f, err := newFix(ctx, binary)
	if err != nil {
		return err
	}
	if err = c.run(f); err == nil {
		err = f.expectRefusals()
	}
	if end := f.close(); err == nil {
		err = end
	}
	return err
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: refusals SERVER LABEL [CASE]")
		os.Exit(2)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	failed := 0
	slots := make(chan struct{}, sideBySide)
	for _, c := range cases() {
		if len(os.Args) > 3 && os.Args[3] != c.name {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			err := try(os.Args[1], c)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				fmt.Printf("PASS %s/%s\n", os.Args[2], c.name)
				return
			}
			failed++
			fmt.Printf("FAIL %s/%s %v\n", os.Args[2], c.name, err)
		})
	}
	wg.Wait()
	if failed > 0 {
		os.Exit(1)
	}
}
