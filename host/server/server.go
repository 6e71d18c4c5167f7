package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/recall"
)

// Defaults of Config.
const (
	DefaultTurns     = 64               // a turn mostly waits for the model; more want more replicas
	DefaultGrace     = 20 * time.Second // under the 30 s that supervisors give before they kill
	DefaultKeepAlive = 15 * time.Second // half of the shortest idle limit of common proxies
)

// Limits of one connection.
const (
	maxHeaderBytes  = 16 << 10
	headerTimeout   = 10 * time.Second
	readTimeout     = 30 * time.Second // headers and body; lifted while a turn runs
	writeTimeout    = 30 * time.Second // each write, not the whole response
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 5 * time.Second // for last bytes, after the turns have ended
)

// Config is what a Server works with. Agent is required: sessions are kept in
// its store, and /v1/tools tells its releases.
type Config struct {
	Agent   *agent.Agent
	Ready   []Check // told by /readyz, in this order
	Helps   []Check // told after them; where one fails, the host is degraded, and ready all the same
	Version string  // told by /healthz and /readyz

	// Memory has the decisions that users were shown; nil refuses requests about them.
	Memory *recall.Recall

	// Blobs keeps the files that are uploaded; nil refuses them.
	Blobs *blob.Store
	// UploadBytes bounds one file; abi.BlobBytes by default and at most.
	UploadBytes int64

	Turns     int           // running at once, listened to or not
	Grace     time.Duration // for running turns at shutdown; negative means none
	KeepAlive time.Duration // silence before a comment on a stream
	Now       func() time.Time
	Log       *slog.Logger
}

// A Server serves the API. It is safe for concurrent use.
type Server struct {
	Config
	mux         *http.ServeMux
	uploads     chan struct{} // a token for each that is served
	turns       *turns
	readTimeout time.Duration
}

var _ http.Handler = (*Server)(nil)

// New makes a server.
func New(cfg Config) *Server {
	if cfg.Turns == 0 {
		cfg.Turns = DefaultTurns
	}
	if cfg.Grace == 0 {
		cfg.Grace = DefaultGrace
	}
	if cfg.KeepAlive == 0 {
		cfg.KeepAlive = DefaultKeepAlive
	}
	if cfg.UploadBytes <= 0 || cfg.UploadBytes > int64(abi.BlobBytes) {
		cfg.UploadBytes = int64(abi.BlobBytes)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{Config: cfg, turns: newTurns(cfg.Turns), uploads: make(chan struct{}, maxUploads), readTimeout: readTimeout}
	s.mux = s.routes()
	return s
}

// An action serves one route. It writes the response itself, or gives a
// refusal to be written.
type action func(w http.ResponseWriter, r *http.Request) *refusal

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	handle := func(pattern string, do action) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if refused := do(w, r); refused != nil {
				refused.write(w)
			}
		})
	}
	for _, route := range []struct {
		method, path string
		do           action
	}{
		{http.MethodPost, "/v1/sessions", s.postSession},
		{http.MethodPost, "/v1/sessions/{session}/turns", s.postTurn},
		{http.MethodPost, "/v1/sessions/{session}/clear", s.postClear},
		{http.MethodPost, "/v1/sessions/{session}/mode", s.postMode},
		{http.MethodPost, "/v1/sessions/{session}/approvals/{approval}", s.postApproval},
		{http.MethodPost, "/v1/sessions/{session}/calls/{call}/objection", s.postObjection},
		{http.MethodGet, "/v1/approvals", s.getApprovals},
		{http.MethodPost, "/v1/lives/{live}/start", s.postLiveStart},
		{http.MethodPost, "/v1/lives/{live}/end", s.postLiveEnd},
		{http.MethodGet, "/v1/lives", s.getLives},
		{http.MethodGet, "/v1/decisions", s.getDecisions},
		{http.MethodPost, "/v1/decisions/{decision}/act", s.postDecisionAct},
		{http.MethodPost, "/v1/decisions/{decision}/outcome", s.postDecisionOutcome},
		{http.MethodPost, "/v1/sessions/{session}/uploads", s.postUpload},
		{http.MethodGet, "/v1/tools", s.getTools},
		{http.MethodGet, "/healthz", s.getHealth},
		{http.MethodGet, "/readyz", s.getReady},
	} {
		handle(route.method+" "+route.path, route.do)
		handle(route.path, wrongMethod(route.method))
	}
	handle("/", noSuchPath)
	return mux
}

// Serve serves connections of the listener until ctx ends; then it takes no
// more turns, lets the running ones end for Config.Grace, cancels the rest, and
// closes the listener. It is called once. The error is nil after an orderly
// end; it tells of a listener that failed or turns that did not stop.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	web := &http.Server{
		Handler: s, MaxHeaderBytes: maxHeaderBytes, ReadHeaderTimeout: headerTimeout,
		ReadTimeout: s.readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(ln) }()
	grace := s.Grace
	var broken error
	select {
	case broken = <-failed:
		grace = 0
	case <-ctx.Done():
	}
	stuck := s.turns.drain(grace, cancelTime)
	shutdown(web)
	return errors.Join(broken, stuck)
}

func shutdown(web *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if web.Shutdown(ctx) != nil {
		web.Close() // a client that does not read its last bytes
	}
}
