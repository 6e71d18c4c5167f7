package memorytest

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	api "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// QdrantVersion is what a [Qdrant] says that it is, unless it is told otherwise.
const QdrantVersion = "1.17.1"

// QdrantOptions say what a [Qdrant] is like.
type QdrantOptions struct {
	Version string // QdrantVersion where empty
	Key     string // the API key that it asks for; none where empty
	TLS     bool   // with a certificate of its own, see CAFile
	Address string // to listen at; a free port of this machine where empty
}

// A Request is one that came in.
type Request struct {
	Name    string              // such as "Points/Upsert"
	Message any                 // such as an *api.UpsertPoints; it may be changed before it is served
	Serve   func() (any, error) // gives the reply, which may be changed too
}

// An Interference stands between a [Qdrant] and its client, and answers in its
// place: it may wait, leave Serve out, or give an error after Serve has done the work.
type Interference func(ctx context.Context, r Request) (reply any, err error)

// A Qdrant plays the few requests of a Qdrant server that an index of memories
// makes, on a socket of this machine. IT IS NOT QDRANT, and proves nothing about it: see
// the package's comment. What it does not play, it refuses with codes.Unimplemented; it is strict where
// Qdrant may be (a filter needs a payload index), and unkind where Qdrant leaves
// things open (equal scores come in an odd order; a write that is not
// waited for is not seen until the next one). It is safe for concurrent use.
type Qdrant struct {
	options  QdrantOptions
	listener *listener
	server   *grpc.Server
	caFile   string

	mu          sync.Mutex
	interfere   Interference           // guarded by mu
	calls       map[string]int         // guarded by mu
	collections map[string]*collection // guarded by mu
}

// StartQdrant starts a server, which ends with the test.
func StartQdrant(t testing.TB, options QdrantOptions) *Qdrant {
	t.Helper()
	if options.Version == "" {
		options.Version = QdrantVersion
	}
	if options.Address == "" {
		options.Address = "127.0.0.1:0"
	}
	inner, err := net.Listen("tcp", options.Address)
	if err != nil {
		t.Fatal(err)
	}
	q := &Qdrant{options: options, listener: &listener{Listener: inner}, calls: map[string]int{}, collections: map[string]*collection{}}
	settings := []grpc.ServerOption{
		grpc.UnaryInterceptor(q.intercept),
		grpc.MaxRecvMsgSize(32 << 20), // as Qdrant's by default
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	}
	if options.TLS {
		var certificate tls.Certificate
		certificate, q.caFile = selfSigned(t)
		settings = append(settings, grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	}
	q.server = grpc.NewServer(settings...)
	api.RegisterQdrantServer(q.server, health{version: options.Version})
	api.RegisterCollectionsServer(q.server, collections{q: q})
	api.RegisterPointsServer(q.server, points{q: q})
	done := make(chan error, 1)
	go func() { done <- q.server.Serve(q.listener) }()
	t.Cleanup(func() {
		q.server.Stop()
		// A test may end before the server has begun.
		if err := <-done; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("the server of the test ended: %v", err)
		}
	})
	return q
}

// Address gives its host:port.
func (q *Qdrant) Address() string { return q.listener.Addr().String() }

// CAFile gives the path of the certificate that its own can be checked with.
func (q *Qdrant) CAFile() string { return q.caFile }

// Interfere puts something between the server and its client; nil takes it away.
func (q *Qdrant) Interfere(with Interference) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.interfere = with
}

// Calls counts the requests of one name that came in, also those that were
// interfered with.
func (q *Qdrant) Calls(request string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.calls[request]
}

// Collections gives the names of all collections, in order.
func (q *Qdrant) Collections() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Sorted(maps.Keys(q.collections))
}

// Points counts the points of all collections.
func (q *Qdrant) Points() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.collections {
		n += len(c.points)
	}
	return n
}

// DropCollections removes every collection, as an operator or a disk may.
func (q *Qdrant) DropCollections() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.collections)
}

// DropConnections ends every connection, in the middle of whatever it was doing.
func (q *Qdrant) DropConnections() { q.listener.drop() }

// intercept counts, asks for the key and lets itself be interfered with.
func (q *Qdrant) intercept(ctx context.Context, message any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	r := Request{
		Name: strings.TrimPrefix(info.FullMethod, "/qdrant."), Message: message,
		Serve: func() (any, error) { return handler(ctx, message) },
	}
	q.mu.Lock()
	q.calls[r.Name]++
	interfere := q.interfere
	q.mu.Unlock()
	if !q.admits(ctx) {
		return nil, status.Error(codes.PermissionDenied, "Must provide an API key or an Authorization bearer token")
	}
	if interfere == nil {
		return r.Serve()
	}
	return interfere(ctx, r)
}

func (q *Qdrant) admits(ctx context.Context) bool {
	sent := metadata.ValueFromIncomingContext(ctx, "api-key")
	return q.options.Key == "" || len(sent) == 1 && sent[0] == q.options.Key
}

type health struct {
	api.UnimplementedQdrantServer
	version string
}

// HealthCheck tells the version.
func (h health) HealthCheck(context.Context, *api.HealthCheckRequest) (*api.HealthCheckReply, error) {
	return &api.HealthCheckReply{Title: "qdrant - vector search engine", Version: h.version}, nil
}

// A listener knows its connections.
type listener struct {
	net.Listener
	mu          sync.Mutex
	connections []net.Conn // guarded by mu; the closed ones too, there are few
}

// Accept waits for a connection and notes it.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		l.connections = append(l.connections, c)
		l.mu.Unlock()
	}
	return c, err
}

func (l *listener) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.connections {
		c.Close()
	}
	l.connections = nil
}
