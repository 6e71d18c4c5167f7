package statetest

import (
	"sync"
	"testing"
)

// A Shared is one server for all tests of a program, started by the first that
// asks for it. The zero value is ready. It is safe for concurrent use.
type Shared struct {
	mu     sync.Mutex
	server *Server
	err    error
}

// Database makes an empty database on the shared server; see Server.Database.
func (s *Shared) Database(t testing.TB) string {
	t.Helper()
	return s.Server(t).Database(t)
}

// Server gives the shared server. A test that kills it starts it again.
func (s *Shared) Server(t testing.TB) *Server {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil && s.err == nil {
		s.server, s.err = start()
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

// Main runs the tests and stops the server; its result is for os.Exit.
func (s *Shared) Main(m *testing.M) int {
	defer func() {
		if s.server != nil {
			s.server.stop()
		}
	}()
	return m.Run()
}
