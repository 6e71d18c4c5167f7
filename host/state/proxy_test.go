package state

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// A cut says what a proxy does with the next commit.
type cut int

const (
	noCut      cut = iota
	cutBefore      // the connection is gone before the database hears of it
	cutAfter       // the database commits, and its answer is lost
	cutForGood     // as cutAfter, and nobody gets through any more
)

// A proxy stands between a store and its database and cuts connections at a
// commit. It reads as much of the protocol as that takes.
type proxy struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	cut   cut // guarded by mu
	cuts  int // guarded by mu
	conns []net.Conn
}

// through gives the URL of a database as it is reached by a new proxy.
func through(t *testing.T, dsn string) (string, *proxy) {
	t.Helper()
	u, err := url.Parse(dsn)
	must(t, err)
	p := &proxy{server: u.Host}
	p.listener, err = net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	go p.serve()
	t.Cleanup(p.close)
	u.Host = p.listener.Addr().String()
	return u.String(), p
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		closed := p.cut == cutForGood && p.cuts > 0
		p.mu.Unlock()
		if closed {
			client.Close()
			server.Close()
			continue
		}
		c := &proxied{proxy: p, client: client, server: server, commits: map[uint32]bool{}}
		go c.requests()
		go c.answers()
	}
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
}

func (p *proxy) set(next cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = next
}

// next takes the cut that is due at a commit.
func (p *proxy) next() cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	due := p.cut
	if due != noCut {
		p.cuts++
	}
	if due != cutForGood {
		p.cut = noCut
	}
	return due
}

func (p *proxy) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

// A proxied is one connection.
type proxied struct {
	*proxy
	client, server net.Conn

	mu       sync.Mutex
	prepares bool            // guarded by mu; the answer to come is that to PREPARE COMMIT
	commits  map[uint32]bool // guarded by mu; statements that commit
	lose     bool            // guarded by mu; the answer to come is lost
}

func (c *proxied) requests() {
	defer c.server.Close()
	from := bufio.NewReader(c.client)
	for {
		packet, err := readPacket(from)
		if err != nil {
			return
		}
		if c.commit(packet[4:]) {
			switch c.next() {
			case cutBefore:
				c.client.Close()
				return
			case cutAfter, cutForGood:
				c.mu.Lock()
				c.lose = true
				c.mu.Unlock()
			}
		}
		if _, err := c.server.Write(packet); err != nil {
			return
		}
	}
}

// commit reports whether a request executes a COMMIT.
func (c *proxied) commit(request []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(request) < 5 {
		return false
	}
	const prepare, execute = 0x16, 0x17
	if request[0] == prepare {
		c.prepares = string(request[1:]) == "COMMIT"
	}
	return request[0] == execute && c.commits[binary.LittleEndian.Uint32(request[1:])]
}

func (c *proxied) answers() {
	defer c.client.Close()
	from := bufio.NewReader(c.server)
	for {
		packet, err := readPacket(from)
		if err != nil {
			return
		}
		c.mu.Lock()
		if c.prepares && len(packet) >= 9 && packet[4] == 0 {
			c.commits[binary.LittleEndian.Uint32(packet[5:])], c.prepares = true, false
		}
		lose := c.lose
		c.mu.Unlock()
		if lose {
			return
		}
		if _, err := c.client.Write(packet); err != nil {
			return
		}
	}
}

func readPacket(from *bufio.Reader) ([]byte, error) {
	header, err := from.Peek(4)
	if err != nil {
		return nil, err
	}
	packet := make([]byte, 4+int(header[0])+int(header[1])<<8+int(header[2])<<16)
	_, err = io.ReadFull(from, packet)
	return packet, err
}
