// SPDX-License-Identifier: Apache-2.0

// Command deaf is a server that shakes hands and does nothing else: it sends
// INFO, answers PING, and swallows the rest. A test that passes against it says
// little about a server. It takes the configurations that the tester writes.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
)

var (
	listen = regexp.MustCompile(`(?m)^listen: "(.*)"$`)
	others = regexp.MustCompile(`(?m)^\s*(?:leafnodes \{ )?port: (\d+)`)
)

func main() {
	file := flag.String("c", "", "configuration file")
	flag.Parse()
	conf, err := os.ReadFile(*file)
	if err != nil {
		fail(err)
	}
	m := listen.FindStringSubmatch(string(conf))
	if m == nil {
		fail(fmt.Errorf("%s: no listen line", *file))
	}
	// Listeners of other protocols accept, and no more.
	for _, o := range others.FindAllStringSubmatch(string(conf), -1) {
		if l, err := net.Listen("tcp", "127.0.0.1:"+o[1]); err == nil {
			defer l.Close()
		}
	}
	l, err := net.Listen("tcp", m[1])
	if err != nil {
		fail(err)
	}
	_, port, _ := net.SplitHostPort(m[1])
	for id := 1; ; id++ {
		conn, err := l.Accept()
		if err != nil {
			fail(err)
		}
		go serve(conn, port, id)
	}
}

func serve(conn net.Conn, port string, id int) {
	defer conn.Close()
	fmt.Fprintf(conn, `INFO {"server_id":"DEAF","server_name":"deaf","version":"2.15.2","proto":1,`+
		`"host":"127.0.0.1","port":%s,"headers":true,"max_payload":1048576,"client_id":%d}`+"\r\n", port, id)
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if strings.HasPrefix(strings.ToUpper(line), "PING") {
			fmt.Fprint(conn, "PONG\r\n")
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "deaf:", err)
	os.Exit(1)
}
