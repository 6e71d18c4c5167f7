package qdrant

import (
	"context"
	"net"
	"sync"
	"time"

	api "github.com/qdrant/go-client/qdrant"
	"golang.org/x/mod/semver"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// MinVersion is the oldest server that an index can be on, see the package's
// comment. Later ones of the same major version are taken.
const MinVersion = "1.16"

// Bounds of one request.
const (
	// MaxLimit is how many candidates a search may give: more than a fusion of
	// two legs ever looks at.
	MaxLimit = 10_000

	maxBatchPoints = 256     // what a server applies in well under a second
	maxBatchBytes  = 4 << 20 // an eighth of what Qdrant takes by default, so that an estimate will do
	maxBatchIDs    = 1_000
	maxAnswerBytes = 32 << 20 // MaxLimit hits with ids of full length
)

// Connections.
const (
	keepAliveSeconds        = 30 // a connection that nobody uses is still found dead before the next question
	keepAliveTimeoutSeconds = 10
	redialAfter             = 100 * time.Millisecond // the client's own second would outlast every attempt of a call
	redialAtMost            = 5 * time.Second
)

// A Store is an index on a Qdrant server. It is safe for concurrent use, and several
// hosts may use one index. Its errors are of host.Fail: BadValue where what the
// caller gave cannot be kept or asked (nothing was changed), StoreConflict where
// the filling that it works with is not there (Reset and fill it), Unavailable where the server
// did not answer in time (safe to repeat: Put and Delete may have been done in part),
// and StoreFailure for what only the operator can mend.
type Store struct {
	client     *api.GrpcClient
	target     target
	dimensions int
	timeout    time.Duration

	mu      sync.Mutex
	version string // of the filling that it works with, "" for none; guarded by mu
}

var _ memory.SharedStore = (*Store)(nil)

// Open connects to the server. The Store works with no filling yet: Reset makes one, and
// Filling gives one that may be there. A server that cannot be reached, that refuses the
// key, or is too old, is an error.
func Open(ctx context.Context, options Options) (*Store, error) {
	const op = "qdrant.Open"
	timeout, problem := options.limits()
	if problem != nil {
		return nil, host.Fail(op, problem, nil)
	}
	to, problem := options.parse()
	if problem != nil {
		return nil, host.Fail(op, problem, nil)
	}
	client, err := dial(to)
	if err != nil {
		return nil, host.Fail(op, abi.NewProblem(abi.StoreFailure, "the memory index at %s cannot be used", to.address()), err)
	}
	s := &Store{client: client, target: to, dimensions: options.Dimensions, timeout: timeout}
	if err := s.meet(ctx, op); err != nil {
		client.Close()
		return nil, err
	}
	return s, nil
}

// dial makes a client of one connection, on which requests arrive in the order
// in which they were sent. It connects with the first of them.
func dial(to target) (*api.GrpcClient, error) {
	name := to.host
	if ip := net.ParseIP(name); ip != nil && ip.To4() == nil {
		name = "[" + name + "]" // the client joins host and port with a colon
	}
	settings := backoff.DefaultConfig
	settings.BaseDelay, settings.MaxDelay = redialAfter, redialAtMost
	options := []grpc.DialOption{
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: settings, MinConnectTimeout: redialAtMost}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswerBytes)),
	}
	if to.key != "" {
		options = append(options, grpc.WithPerRPCCredentials(apiKey{key: to.key, secured: to.tls != nil}))
	}
	return api.NewGrpcClient(&api.Config{
		Host: name, Port: to.port, UseTLS: to.tls != nil, TLSConfig: to.tls, GrpcOptions: options,
		KeepAliveTime: keepAliveSeconds, KeepAliveTimeout: keepAliveTimeoutSeconds,
		SkipCompatibilityCheck: true, // it only logs; see meet
	})
}

// An apiKey goes with every request. The client's own way would log that there is
// a key where there is no TLS.
type apiKey struct {
	key     string
	secured bool
}

// GetRequestMetadata gives the header.
func (k apiKey) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"api-key": k.key}, nil
}

// RequireTransportSecurity makes the connection refuse to send a key in the clear,
// but to this machine.
func (k apiKey) RequireTransportSecurity() bool { return k.secured }

// meet asks for the server's version, which needs no key, and for the collections of the
// index, which needs it.
func (s *Store) meet(ctx context.Context, op string) error {
	var version string
	err := s.call(ctx, op, s.timeout, func(ctx context.Context) error {
		reply, err := s.client.Qdrant().HealthCheck(ctx, &api.HealthCheckRequest{})
		version = reply.GetVersion()
		return err
	})
	if err != nil {
		return err
	}
	if !supported(version) {
		return host.Fail(op, abi.NewProblem(abi.StoreFailure, "the server at %s is Qdrant %q; the memory index needs %s or a later 1.x", s.target.address(), version, MinVersion).
			WithHint("upgrade Qdrant, one minor version after the other, or use the embedded index"), nil)
	}
	_, err = s.generations(ctx, op)
	return err
}

func supported(version string) bool {
	v := "v" + version
	return semver.IsValid(v) && semver.Major(v) == "v1" && semver.Compare(semver.MajorMinor(v), "v"+MinVersion) >= 0
}

// Put adds entries, and replaces those that are there; of entries with one id,
// the last counts. Entries that cannot be kept are found before anything is sent.
func (s *Store) Put(ctx context.Context, entries []memory.Entry) error {
	const op = "qdrant.Put"
	for i := range entries {
		if problem := checkEntry(&entries[i], s.dimensions); problem != nil {
			return host.Fail(op, problem, nil)
		}
	}
	for batch := range batches(lastOfEach(entries)) {
		points := make([]*api.PointStruct, len(batch))
		for i, e := range batch {
			points[i] = pointOf(e)
		}
		err := s.write(ctx, op, func(ctx context.Context, collection string) (*api.PointsOperationResponse, error) {
			return s.client.Points().Upsert(ctx, &api.UpsertPoints{
				CollectionName: collection, Points: points, Wait: api.PtrOf(true), Ordering: strong(),
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Delete removes entries. Unknown ids are none.
func (s *Store) Delete(ctx context.Context, tenant host.TenantID, ids []memory.ID) error {
	const op = "qdrant.Delete"
	if problem := checkText("tenant", string(tenant), 1, host.MaxIDBytes); problem != nil {
		return host.Fail(op, problem, nil)
	}
	for len(ids) > 0 {
		batch := ids[:min(len(ids), maxBatchIDs)]
		ids = ids[len(batch):]
		points := make([]*api.PointId, len(batch))
		for i, id := range batch {
			points[i] = pointID(tenant, id)
		}
		err := s.write(ctx, op, func(ctx context.Context, collection string) (*api.PointsOperationResponse, error) {
			return s.client.Points().Delete(ctx, &api.DeletePoints{
				CollectionName: collection, Points: api.NewPointsSelectorIDs(points), Wait: api.PtrOf(true), Ordering: strong(),
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// strong makes one server of a cluster order the writes of all hosts.
func strong() *api.WriteOrdering { return &api.WriteOrdering{Type: api.WriteOrderingType_Strong} }

// Close ends the use of the index, by this Store and by those that Filling gave. It may
// be called more than once.
func (s *Store) Close() error {
	s.client.Close() // fails only where it is closed already
	return nil
}
