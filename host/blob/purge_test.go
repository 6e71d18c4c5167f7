package blob

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A remote plays the driver of a bucket with some objects, one to a page.
type remote struct {
	driver.Bucket // whatever else is called fails the test
	objects       int
	misses        int         // so many lists find nothing of what they look for
	deadlines     []time.Time // of its calls, in their order
	closed        bool
}

func (r *remote) call(ctx context.Context) {
	deadline, _ := ctx.Deadline()
	r.deadlines = append(r.deadlines, deadline)
	time.Sleep(time.Millisecond) // the next one is another, also by a coarse clock
}

func (r *remote) ListPaged(ctx context.Context, o *driver.ListOptions) (*driver.ListPage, error) {
	r.call(ctx)
	if r.misses--; r.misses >= 0 {
		return nil, fs.ErrNotExist
	}
	if r.objects == 0 {
		return &driver.ListPage{}, nil
	}
	r.objects--
	return &driver.ListPage{Objects: []*driver.ListObject{{Key: fmt.Sprint(o.Prefix, r.objects)}}, NextPageToken: []byte("more")}, nil
}

// Delete finds nothing: somebody else was first.
func (r *remote) Delete(ctx context.Context, _ string, _ *driver.DeleteOptions) error {
	r.call(ctx)
	return fs.ErrNotExist
}

func (r *remote) Close() error { r.closed = true; return nil }

func (r *remote) ErrorCode(error) gcerrors.ErrorCode { return gcerrors.NotFound }

func (r *remote) store(t *testing.T) *Store {
	s := &Store{bucket: blob.NewBucket(r), timeout: Timeout}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestAPurgeOfABucketThatIsNotThereFails(t *testing.T) {
	r := &remote{misses: 1000}
	if err := r.store(t).PurgeSession(t.Context(), owner); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.StoreFailure {
		t.Errorf("it gives %v", err)
	}
	if len(r.deadlines) != 1 {
		t.Errorf("it was listed %d times", len(r.deadlines))
	}
}

// A folder's list ends with NotFound where a file that it met is gone before it
// is looked at.
func TestAPurgeListsAFolderAgainWhereAFileGoesAwayUnderIt(t *testing.T) {
	for misses, fails := range map[int]bool{listTries - 1: false, listTries: true} {
		r := &remote{objects: 2, misses: misses}
		s := r.store(t)
		s.folder = openIn(t, filepath.Join(t.TempDir(), "blobs")).folder
		if err := s.PurgeSession(t.Context(), owner); (err != nil) != fails || !fails && r.objects != 0 {
			t.Errorf("after %d lists that failed: %v, and %d objects are left", misses, err, r.objects)
		}
	}
}

func TestEachStepOfAPurgeHasATimeOfItsOwn(t *testing.T) {
	r := &remote{objects: 2}
	if err := r.store(t).PurgeSession(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	if len(r.deadlines) != 5 {
		t.Fatalf("%d calls for two objects and the end", len(r.deadlines))
	}
	for i, deadline := range r.deadlines {
		if deadline.IsZero() || i > 0 && !deadline.After(r.deadlines[i-1]) {
			t.Errorf("the deadlines are %v", r.deadlines)
		}
	}
}
