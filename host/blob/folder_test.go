package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"gocloud.dev/blob"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

var owner = host.SessionRef{Tenant: "acme", User: "mia", Session: "s1"}

func openIn(t *testing.T, root string) *Store {
	t.Helper()
	s, err := Open(t.Context(), root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// files gives everything that is no folder below a root.
func files(t *testing.T, root string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Both ways to write one, in a folder: the bytes and the metadata are on the
// disk, and so are the names that lead to them, before the id is told.
func TestABlobInAFolderIsOnTheDiskWhenItIsWritten(t *testing.T) {
	root := filepath.Join(t.TempDir(), "blobs")
	s := openIn(t, root)
	for how, put := range map[string]func() (string, error){
		"bytes": func() (string, error) { return s.Put(t.Context(), owner, abi.BlobInfo{}, []byte("x")) },
		"stream": func() (string, error) {
			id, _, err := s.PutFrom(t.Context(), owner, abi.BlobInfo{}, strings.NewReader("x"))
			return id, err
		},
	} {
		var synced []string
		s.folder.sync = func(name string, dir bool) error {
			info, err := os.Stat(name)
			if err != nil || info.IsDir() != dir {
				t.Errorf("%s: %s is synced as a folder: %v, %v", how, name, dir, err)
			}
			synced = append(synced, name)
			return syncFile(name, dir)
		}
		id, err := put()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(root, filepath.FromSlash(prefixOf(owner)), id)
		if want := []string{file, file + ".attrs", filepath.Dir(file), root}; !slices.Equal(synced, want) {
			t.Errorf("%s: synced are %q, want %q", how, synced, want)
		}
	}
}

func TestABlobThatDoesNotReachTheDiskIsNotKept(t *testing.T) {
	for failing := range 4 {
		root := filepath.Join(t.TempDir(), "blobs")
		s := openIn(t, root)
		for how, put := range map[string]func() error{
			"bytes": func() error { _, err := s.Put(t.Context(), owner, abi.BlobInfo{}, []byte("x")); return err },
			"stream": func() error {
				_, _, err := s.PutFrom(t.Context(), owner, abi.BlobInfo{}, strings.NewReader("x"))
				return err
			},
		} {
			count := 0
			s.folder.sync = func(string, bool) error {
				if count++; count > failing {
					return errors.New("the disk is broken")
				}
				return nil
			}
			if err := put(); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.StoreFailure {
				t.Errorf("%s: it gives %v", how, err)
			}
			if left := files(t, root); len(left) != 0 {
				t.Errorf("%s: there is %q", how, left)
			}
		}
	}
}

// A stream that breaks, or is too long, or whose caller goes away, leaves
// nothing behind.
func TestAStreamIsKeptWholeOrNotAtAll(t *testing.T) {
	root := filepath.Join(t.TempDir(), "blobs")
	s := openIn(t, root)
	broken := errors.New("the client is gone")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		info abi.BlobInfo
		from io.Reader
		code abi.Code
	}{
		{"broken", t.Context(), abi.BlobInfo{}, io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken)), abi.StoreFailure},
		{"too long", t.Context(), abi.BlobInfo{}, io.LimitReader(zeros{}, int64(abi.BlobBytes)+1), abi.QuotaReached},
		{"endless", t.Context(), abi.BlobInfo{}, zeros{}, abi.QuotaReached},
		{"cancelled", gone, abi.BlobInfo{}, strings.NewReader("x"), abi.Cancelled},
		{"a bad type", t.Context(), abi.BlobInfo{Type: "text"}, strings.NewReader("x"), abi.BadHostCall},
	} {
		_, _, err := s.PutFrom(tt.ctx, owner, tt.info, tt.from)
		if host.ProblemOf(err) == nil || host.ProblemOf(err).Code != tt.code || tt.name == "broken" && !errors.Is(err, broken) {
			t.Errorf("%s: it gives %v", tt.name, err)
		}
		if left := files(t, root); len(left) != 0 {
			t.Errorf("%s: there is %q", tt.name, left)
		}
	}
	id, size, err := s.PutFrom(t.Context(), owner, abi.BlobInfo{Type: "text/plain"}, io.LimitReader(zeros{}, int64(abi.BlobBytes)))
	if err != nil || size != int64(abi.BlobBytes) {
		t.Fatalf("the largest: %d bytes, %v", size, err)
	}
	all, err := s.Open(t.Context(), owner, id)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, all); err != nil || n != size {
		t.Errorf("%d of %d bytes are read: %v", n, size, err)
	}
	if err := all.Close(); err != nil {
		t.Error(err)
	}
}

// zeros never end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// What a process left that died while it wrote: a file that was not moved into
// place, and metadata of a blob that never came.
func TestAPurgeTakesWhatADeadProcessLeft(t *testing.T) {
	root := filepath.Join(t.TempDir(), "blobs")
	s := openIn(t, root)
	other := owner
	other.Session = "s2"
	for _, ref := range []host.SessionRef{owner, other} {
		id, err := s.Put(t.Context(), ref, abi.BlobInfo{}, []byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{id + ".18b.tmp", NewID() + ".attrs"} {
			if err := os.WriteFile(s.folder.path(prefixOf(ref)+name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.PurgeSession(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	left := files(t, root)
	if len(left) != 4 {
		t.Errorf("after the purge of one of two sessions there are %q", left)
	}
	for _, name := range left {
		if strings.Contains(filepath.ToSlash(name), prefixOf(owner)) {
			t.Errorf("there is %s", name)
		}
	}
}

func TestAPurgeIsDoneWhenItHasReachedTheDisk(t *testing.T) {
	root := filepath.Join(t.TempDir(), "blobs")
	s := openIn(t, root)
	if _, err := s.Put(t.Context(), owner, abi.BlobInfo{}, []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, broken := range []error{errors.New("the disk is broken"), nil, nil} {
		var synced []string
		s.folder.sync = func(name string, dir bool) error {
			if left, err := os.ReadDir(root); err != nil || len(left) != 0 || !dir {
				t.Errorf("synced is %s with %q, %v", name, left, err)
			}
			synced = append(synced, name)
			return broken
		}
		err := s.PurgeSession(t.Context(), owner)
		if (err == nil) != (broken == nil) || !slices.Equal(synced, []string{root}) {
			t.Errorf("with a disk that says %v the purge gives %v; synced are %q", broken, err, synced)
		}
	}
}

// purged is more than two pages of every bucket's list.
const purged = 2005

func TestAPurgeGoesOverAllPages(t *testing.T) {
	root := filepath.Join(t.TempDir(), "blobs")
	s := openIn(t, root)
	s.folder.sync = func(string, bool) error { return nil } // 2,005 times is long on some disks
	for i := range purged {
		if _, err := s.Put(t.Context(), owner, abi.BlobInfo{}, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	// The bucket's own list must suffice, without what purges the folder.
	disk := s.folder
	s.folder = nil
	if err := s.PurgeSession(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	if left := files(t, root); len(left) != 0 {
		t.Errorf("%d files are left", len(left))
	}
	s.folder = disk
	if err := s.PurgeSession(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("there is %q, %v", left, err)
	}
}

// The bucket makes all folders that lead to its root: each of their entries is on
// the disk before the store is used.
func TestAllFoldersThatAStoreMakesAreOnTheDisk(t *testing.T) {
	there := t.TempDir()
	root := filepath.Join(there, "a", "b", "blobs")
	u := &url.URL{Scheme: "file", Path: filepath.ToSlash(root)}
	for _, want := range [][]string{
		{there, filepath.Join(there, "a"), filepath.Join(there, "a", "b")},
		{filepath.Join(there, "a", "b")}, // where all of them are there
	} {
		var synced []string
		s, err := openStore(t.Context(), u, openFolder, func(name string, dir bool) error {
			synced = append(synced, name)
			return syncFile(name, dir)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil || !slices.Equal(synced, want) {
			t.Errorf("synced are %q, want %q; %v", synced, want, err)
		}
	}
}

// Only a folder that this process has not made may be one that it cannot sync.
func TestAStoreWhoseFolderDoesNotReachTheDiskIsNotOpened(t *testing.T) {
	broken := errors.New("the disk is broken")
	for _, tt := range []struct {
		fails int // which of the folders
		with  error
		opens bool
	}{{0, broken, false}, {1, broken, false}, {0, fs.ErrPermission, true}, {1, fs.ErrPermission, false}} {
		r, syncs := &remote{}, 0
		u := &url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(t.TempDir(), "a", "blobs"))}
		s, err := openStore(t.Context(), u, func(context.Context, *url.URL) (*blob.Bucket, error) { return blob.NewBucket(r), nil }, func(string, bool) error {
			if syncs++; syncs == tt.fails+1 {
				return tt.with
			}
			return nil
		})
		if (err == nil) != tt.opens || r.closed == tt.opens {
			t.Errorf("folder %d with %v: it gives %v, and the bucket is closed: %v", tt.fails, tt.with, err, r.closed)
		}
		if s != nil {
			s.Close()
		}
	}
}
