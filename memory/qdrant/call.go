package qdrant

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	api "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// What is tried again. All that is sent may be sent twice.
const (
	maxAttempts = 3 // a server that restarts is back, or it takes longer than a caller waits
	firstWait   = 100 * time.Millisecond
	maxWait     = 2 * time.Second // a server that asks for more is reported, with what it asks for
)

// write sends one batch to the collection, and is content only when the server
// says that it was applied.
func (s *Store) write(ctx context.Context, op string, send func(ctx context.Context, collection string) (*api.PointsOperationResponse, error)) error {
	return s.onCollection(ctx, op, func(ctx context.Context, collection string) error {
		reply, err := send(ctx, collection)
		if err != nil {
			return err
		}
		if reply.GetResult().GetStatus() != api.UpdateStatus_Completed {
			return status.Errorf(codes.DeadlineExceeded, "the write was taken but not applied: %s", reply.GetResult().GetStatus())
		}
		return nil
	})
}

// onCollection does something to the collection of the filling that this Store works with.
func (s *Store) onCollection(ctx context.Context, op string, do func(ctx context.Context, collection string) error) error {
	version := s.inUse()
	if version == "" {
		return host.Fail(op, s.unfit("it was not filled, or its reset was broken off"), ctx.Err())
	}
	return s.call(ctx, op, s.timeout, func(ctx context.Context) error { return do(ctx, s.nameOf(version)) })
}

// call does one request, up to three times while what stands in its way may pass.
func (s *Store) call(ctx context.Context, op string, within time.Duration, do func(ctx context.Context) error) error {
	for attempt := 1; ; attempt++ {
		err := once(ctx, within, do)
		if err == nil {
			return nil
		}
		wait, passing := pause(err, attempt)
		if ctx.Err() != nil || !passing || attempt == maxAttempts {
			return s.fail(ctx, op, err)
		}
		select {
		case <-ctx.Done():
			return s.fail(ctx, op, err)
		case <-time.After(wait):
		}
	}
}

func once(ctx context.Context, within time.Duration, do func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return do(ctx)
}

// pause gives how long to wait before the next attempt, if there is any use in it. A
// collection that is not there does not come back: the next one has another name.
func pause(err error, attempt int) (wait time.Duration, passing bool) {
	var busy *api.QdrantResourceExhaustedError
	if errors.As(err, &busy) {
		wait = time.Duration(busy.RetryAfterS) * time.Second
		return wait, wait <= maxWait
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.DeadlineExceeded:
		wait = firstWait << (attempt - 1)
		return wait/2 + rand.N(wait), true
	}
	return 0, false
}

// fail tells what went wrong, to whom it may concern: the caller what to do, the
// operator what the server said, and nobody the key.
func (s *Store) fail(ctx context.Context, op string, cause error) error {
	if err := ctx.Err(); err != nil {
		return host.Fail(op, nil, err)
	}
	var busy *api.QdrantResourceExhaustedError
	if errors.As(cause, &busy) {
		problem := abi.NewProblem(abi.Unavailable, "Qdrant at %s has too much to do", s.target.address())
		problem.RetryAfterMS = int64(busy.RetryAfterS) * 1000
		return host.Fail(op, problem, s.redact(cause))
	}
	return host.Fail(op, s.problem(status.Code(cause)), s.redact(cause))
}

func (s *Store) problem(code codes.Code) *abi.Problem {
	address := s.target.address()
	switch code {
	case codes.Unauthenticated, codes.PermissionDenied:
		if s.target.keyEnv == "" {
			return abi.NewProblem(abi.StoreFailure, "Qdrant at %s asks for an API key", address).
				WithHint("put the key in an environment variable and name it in the URL: key_env=NAME")
		}
		return abi.NewProblem(abi.StoreFailure, "Qdrant at %s refuses the API key in %s", address, s.target.keyEnv).
			WithHint("set %s to a key that may manage collections", s.target.keyEnv)
	case codes.NotFound:
		return s.unfit("it was removed, or made anew")
	case codes.InvalidArgument, codes.Unimplemented, codes.OutOfRange, codes.FailedPrecondition, codes.AlreadyExists:
		return abi.NewProblem(abi.StoreFailure, "Qdrant at %s refuses what the memory index asks of it", address).
			WithHint("see the host's log for its words; a collection that somebody locked or changed is made anew by a rebuild of the index")
	case codes.Canceled:
		return abi.NewProblem(abi.StoreFailure, "the memory index is closed")
	case codes.Internal, codes.Unknown, codes.DataLoss:
		return abi.NewProblem(abi.StoreFailure, "Qdrant at %s failed", address).WithHint("see its log, and the host's")
	}
	return abi.NewProblem(abi.Unavailable, "Qdrant at %s does not answer", address).
		WithHint("see that it runs and that this host reaches its gRPC port")
}

// unfit is the problem of an index that cannot be used as it is.
func (s *Store) unfit(fault string) *abi.Problem {
	return abi.NewProblem(abi.StoreConflict, "the memory index %s on Qdrant at %s cannot be used: %s", s.target.collection, s.target.address(), fault).
		WithHint("rebuild the index")
}

// redact takes the key out of an error, should a server say it.
func (s *Store) redact(err error) error {
	if err == nil || s.target.key == "" || !strings.Contains(err.Error(), s.target.key) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), s.target.key, "(the API key)"))
}
