//go:build unix

package eval

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// A cutter stands between a replica and its database, and cuts the network.
// The zero reach lets everything through.
type cutter struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	reach reach                 // guarded by mu
	conns map[net.Conn]net.Conn // client to server; guarded by mu
}

// A reach says how far what is sent gets.
type reach int

const (
	whole   reach = iota
	oneWay        // the database hears and is not heard
	nothing       // connections are gone, and none comes about
)

// through gives the URL of a database as it is reached by a new cutter.
func through(t *testing.T, dsn string) (string, *cutter) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{server: u.Host, conns: map[net.Conn]net.Conn{}}
	if c.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	go c.serve()
	t.Cleanup(func() {
		c.listener.Close()
		c.set(nothing)
	})
	u.Host = c.listener.Addr().String()
	return u.String(), c
}

// set changes the reach. Connections do not outlive that there is none.
func (c *cutter) set(to reach) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reach = to; to != nothing {
		return
	}
	for client, server := range c.conns {
		client.Close()
		server.Close()
	}
}

func (c *cutter) is(r reach) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reach == r
}

func (c *cutter) serve() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.server)
		if err != nil {
			client.Close()
			continue
		}
		go c.join(client, server)
	}
}

func (c *cutter) join(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	c.mu.Lock()
	c.conns[client] = server
	closed := c.reach == nothing
	c.mu.Unlock()
	if !closed {
		go func() {
			io.Copy(server, client)
			server.Close()
		}()
		c.answer(client, server)
	}
	c.mu.Lock()
	delete(c.conns, client)
	c.mu.Unlock()
}

// answer passes on what the server says. What it says one way is lost, and so
// is the connection.
func (c *cutter) answer(client, server net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil || c.is(oneWay) {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}
