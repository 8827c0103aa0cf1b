// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package gonats only pins the modules that the client's test packages import;
// `go mod tidy` would drop them otherwise, as nothing else here names them.
package gonats

import (
	_ "github.com/golang/protobuf/proto"
	_ "github.com/nats-io/jwt/v2"
	_ "github.com/nats-io/nats-server/v2/server"
	_ "github.com/nats-io/nats.go"
	_ "github.com/nats-io/nkeys"
	_ "github.com/nats-io/nuid"
	_ "github.com/synadia-io/orbit.go/ntf-client"
	_ "google.golang.org/protobuf/proto"
)
