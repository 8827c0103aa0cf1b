// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	objectSize = 12 << 20 // 96 chunks, more than flow control lets the server send ahead
	objects    = "FILES"
	objectsIn  = "OBJ_" + objects
)

// opener opens the store by one API of the client; what it returns begins to read the object.
type opener func(f *fix, nc *nats.Conn) (func() (io.ReadCloser, error), error)

// Both wait longer for a chunk than by default, 5 s: a client finds out that its ordered consumer
// was deleted after two heartbeats, 10 s.
func legacyObjects(f *fix, nc *nats.Conn) (func() (io.ReadCloser, error), error) {
	js, err := nc.JetStream(nats.MaxWait(time.Minute))
	if err != nil {
		return nil, err
	}
	var store nats.ObjectStore
	err = f.persist("store", func() error {
		store, err = js.ObjectStore(objects)
		return err
	})
	return func() (io.ReadCloser, error) { return store.Get("big") }, err
}

func modernObjects(f *fix, nc *nats.Conn) (func() (io.ReadCloser, error), error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	var store jetstream.ObjectStore
	err = f.persist("store", func() error {
		store, err = js.ObjectStore(f.ctx, objects)
		return err
	})
	return func() (io.ReadCloser, error) { return store.Get(f.ctx, "big") }, err
}

// readObjects reads an object again and again; each time something happens when its first bytes
// have come. The client checks the digest at the end.
func readObjects(f *fix, open opener) error {
	data := make([]byte, objectSize)
	rand.New(rand.NewSource(1)).Read(data)
	err := f.persist("put", func() error {
		store, err := f.js.CreateOrUpdateObjectStore(f.ctx, jetstream.ObjectStoreConfig{Bucket: objects,
			Storage: jetstream.MemoryStorage})
		if err == nil {
			_, err = store.PutBytes(f.ctx, "big", data)
		}
		return err
	})
	if err != nil {
		return err
	}
	nc, err := f.client()
	if err != nil {
		return err
	}
	if err = f.refuse(3, management, 0); err != nil {
		return err
	}
	get, err := open(f, nc)
	if err != nil {
		return err
	}
	for _, trouble := range troubles {
		if trouble.name == "the stream is purged" {
			continue // that takes the object away
		}
		if err := readObject(f, nc, get, data, trouble); err != nil {
			return fmt.Errorf("%s: %w", trouble.name, err)
		}
	}
	return nil
}

func readObject(f *fix, nc *nats.Conn, get func() (io.ReadCloser, error), data []byte, trouble trouble) error {
	var object io.ReadCloser
	err := f.persist("get", func() error {
		var err error
		object, err = get()
		return err
	})
	if err != nil {
		return err
	}
	defer object.Close()
	head := make([]byte, 1000)
	if _, err := io.ReadFull(object, head); err != nil {
		return fmt.Errorf("its beginning: %w", err)
	}
	if err := trouble.cause(f, nc, objectsIn); err != nil {
		return err
	}
	rest, err := io.ReadAll(object)
	if err != nil {
		return fmt.Errorf("after %d bytes: %w", len(head)+len(rest), err)
	}
	if !bytes.Equal(append(head, rest...), data) {
		return errors.New("it is not what was put")
	}
	return nil
}
