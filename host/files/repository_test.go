package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

var ctx = context.Background()

// A bench is a session's folder with its tree and its repository.
type bench struct {
	*testing.T
	*repository
	tree *os.Root
	dir  string // of the tree
}

func newBench(t *testing.T) bench {
	t.Helper()
	dir := t.TempDir()
	session, err := os.OpenRoot(dir)
	must(t, err)
	must(t, session.Mkdir(treeFolder, 0o700))
	tree, err := openTree(session)
	must(t, err)
	repo, err := makeRepository(session)
	must(t, err)
	t.Cleanup(func() { repo.close(); tree.Close(); session.Close() })
	return bench{t, repo, tree, filepath.Join(dir, treeFolder)}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// noise puts bytes there that do not shrink.
func (b bench) noise(name string, seed uint64, size int) {
	b.Helper()
	data := make([]byte, size)
	random := rand.NewChaCha8([32]byte{byte(seed)})
	random.Read(data)
	must(b, os.WriteFile(filepath.Join(b.dir, name), data, 0o600))
}

func (b bench) checkpoint(number int) reference {
	b.Helper()
	list, err := scan(ctx, b.tree)
	must(b, err)
	ref, _, err := b.save(ctx, b.tree, list, note{Number: number})
	must(b, err)
	return ref
}

func (b bench) objects() map[hash]bool {
	b.Helper()
	all := map[hash]bool{}
	must(b, b.visitObjects(func(object hash, _ int64) error {
		all[object] = true
		return nil
	}))
	return all
}

func (b bench) numbers() (numbers []int) {
	b.Helper()
	refs, err := b.references()
	must(b, err)
	for _, ref := range refs {
		numbers = append(numbers, ref.number)
	}
	return numbers
}

func TestTheBytesOfAllCheckpointsAreBounded(t *testing.T) {
	b := newBench(t)
	var refs []reference
	for i := range 5 {
		b.noise("f", uint64(i), 100_000)
		refs = append(refs, b.checkpoint(i+1))
	}
	must(t, b.keep(refs[2:3]))
	for _, tt := range []struct {
		bytes int64
		grown bool
		left  []int
	}{
		{1_000_000, true, []int{1, 2, 3, 4, 5}},
		{450_000, false, []int{1, 2, 3, 4, 5}}, // nobody has counted
		{450_000, true, []int{1, 2, 4, 5}},     // the one at its end goes first
		{350_000, true, []int{2, 4, 5}},
		{1, true, []int{5}}, // never the newest
		{1, true, []int{5}},
	} {
		must(t, b.prune(ctx, 10, tt.bytes, tt.grown))
		if got := b.numbers(); !slices.Equal(got, tt.left) {
			t.Errorf("with %d bytes there are %v, want %v", tt.bytes, got, tt.left)
		}
	}
	if size, err := b.usage(); err != nil || size < 100_000 || size > 110_000 {
		t.Errorf("left are %d bytes, %v", size, err)
	}
}

func TestAFileThatChangesMeanwhileFailsTheCheckpoint(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"longer": func(file string) error { return os.WriteFile(file, []byte("longer than before"), 0o600) },
		"gone":   os.Remove,
		"mode":   func(file string) error { return os.Chmod(file, 0o644) },
		"a link": func(file string) error {
			return errors.Join(os.WriteFile(file+"2", []byte("12345"), 0o600), os.Remove(file), os.Symlink("f2", file))
		},
		"another": func(file string) error {
			return errors.Join(os.WriteFile(file+"2", []byte("12345"), 0o600), os.Rename(file+"2", file))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			file := filepath.Join(b.dir, "f")
			must(t, os.WriteFile(filepath.Join(b.dir, "e"), []byte("1"), 0o600))
			b.checkpoint(1)
			before := b.objects()
			must(t, os.WriteFile(file, []byte("12345"), 0o600))
			must(t, os.WriteFile(filepath.Join(b.dir, "g"), []byte("2"), 0o600))
			list, err := scan(ctx, b.tree)
			must(t, err)
			must(t, change(file))
			_, _, err = b.save(ctx, b.tree, list, note{Number: 2})
			if problem := host.ProblemOf(err); err == nil || name != "gone" && problem.Code != abi.StoreConflict {
				t.Errorf("%v", err)
			}
			if after := b.objects(); !maps.Equal(before, after) {
				t.Errorf("left are %v, and there were %v", after, before)
			}
			if unfinished, err := exists(b.root, unfinishedFile); unfinished || err != nil {
				t.Errorf("it is left to the next sweep: %v", err)
			}
		})
	}
}

// What is not the same when it is read again is not kept under the first name.
func TestBytesThatDifferFromTheirNameAreNotKept(t *testing.T) {
	b := newBench(t)
	w, err := b.record(ctx, b.tree)
	must(t, err)
	if err := w.create(plumbing.ComputeHash(plumbing.BlobObject, []byte("one")), plumbing.BlobObject, 3, strings.NewReader("two")); !errors.Is(err, errOtherBytes) {
		t.Errorf("%v", err)
	}
	if all := b.objects(); len(all) > 0 {
		t.Errorf("there are %v", all)
	}
}

func TestWhatADeadProcessLeftIsSwept(t *testing.T) {
	b := newBench(t)
	must(t, os.WriteFile(filepath.Join(b.dir, "f"), []byte("1"), 0o600))
	ref := b.checkpoint(1)
	before := b.objects()
	b.noise("g", 1, 1000)
	list, err := scan(ctx, b.tree)
	must(t, err)
	w, err := b.record(ctx, b.tree)
	must(t, err)
	_, err = w.write(list, note{Number: 2}) // and it dies before there is a reference
	must(t, err)
	if len(b.objects()) == len(before) {
		t.Fatal("nothing was written")
	}
	must(t, b.tidy(ctx))
	if after := b.objects(); !maps.Equal(before, after) {
		t.Errorf("left are %v, want %v", after, before)
	}
	must(t, b.root.Remove(ref.path())) // and now before the sweep
	must(t, os.WriteFile(filepath.Join(b.dir, "h"), []byte("2"), 0o600))
	must(t, b.remove())
	must(t, b.tidy(ctx))
	if all := b.objects(); len(all) > 0 {
		t.Errorf("left are %v", all)
	}
}

func TestModesComeBack(t *testing.T) {
	var list listing
	for bits := range uint32(0o10000) {
		mode := modeOf(bits)
		if octal(mode) != bits {
			t.Errorf("%04o is %v is %04o", bits, mode, octal(mode))
		}
		for _, kind := range []fs.FileMode{0, fs.ModeDir} {
			list = append(list, entry{path: fmt.Sprintf("%v/\n\xff\"%o", kind, bits), mode: kind | mode})
		}
	}
	modes, err := parseModes(bytes.NewReader(encodeModes(list)))
	must(t, err)
	for _, e := range list {
		got, named := modes[e.path]
		if !named {
			got = plainMode(gitMode(e.mode))
		}
		if got != e.mode&modeBits {
			t.Errorf("%q is %v, want %v", e.path, got, e.mode)
		}
	}
	plain := listing{{path: "f", mode: 0o600}, {path: "x", mode: 0o700}, {path: "d", mode: fs.ModeDir | 0o700}, {path: "l", mode: fs.ModeSymlink}}
	if got := encodeModes(plain); len(got) > 0 {
		t.Errorf("of the plain modes, %q is written", got)
	}
	if _, known := kindOfGit(filemode.Submodule); known {
		t.Error("a submodule is no part of a tree")
	}
}

func FuzzModes(f *testing.F) {
	for _, seed := range []string{"", "0644 \"a\"\n", "4755 \"\\xff\\n\"\n0000 \".\"\n", "0644 a\n", "99999 \"a\"\n", "0644", "0644 \"a", "+644 \"a\"\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		modes, err := parseModes(bytes.NewReader(data))
		if err != nil {
			return
		}
		var list listing
		for name, mode := range modes {
			list = append(list, entry{path: name, mode: mode})
		}
		again, err := parseModes(bytes.NewReader(encodeModes(list)))
		if err != nil {
			t.Fatal(err)
		}
		for name, mode := range modes {
			if got, named := again[name]; named && got != mode {
				t.Errorf("%q is %v, and was %v", name, got, mode)
			}
		}
	})
}

func FuzzObject(f *testing.F) {
	object := plumbing.ComputeHash(plumbing.BlobObject, []byte("text"))
	var whole bytes.Buffer
	must(f, deflate(&whole, object, plumbing.BlobObject, 4, strings.NewReader("text")))
	f.Add(whole.Bytes())
	f.Add(whole.Bytes()[:5])
	for _, header := range []string{"blob 5\x00text", "blob -1\x00text", "tree 4\x00text", "blob 4", "", "blob 99999999999999999999\x00"} {
		var b bytes.Buffer
		w := objfile.NewWriter(&b)
		must(f, w.WriteHeader(plumbing.BlobObject, int64(len(header))))
		_, err := w.Write([]byte(header))
		must(f, err)
		must(f, w.Close())
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got bytes.Buffer
		_, err := copyChecked(&got, bytes.NewReader(data), object, plumbing.BlobObject, 100)
		if err == nil && got.String() != "text" || got.Len() > 101 {
			t.Errorf("%q passes as an object of another name", got.Bytes())
		}
	})
}

func TestOnlyAnIDIsOne(t *testing.T) {
	commit := plumbing.NewHash("0123456789abcdef0123456789abcdef01234567")
	if ref := newReference(12, commit); ref.id != "12-01234567" || numberOf(ref.id) != 12 {
		t.Errorf("%+v", ref)
	}
	for _, id := range []string{"", "-", "12", "12-", "12-0123456", "12-012345678", "012-01234567", "+12-01234567", "0-01234567", "-1-01234567", "12-0123456g", "12-0123456A", "12-01234567.lock", "12/01234567", "1 -01234567", "99999999999999999999-01234567"} {
		if numberOf(id) != 0 {
			t.Errorf("%q is an id", id)
		}
	}
}

func TestTreesDifferInNamesKindsModesAndSizes(t *testing.T) {
	one := listing{{path: ".", mode: fs.ModeDir}, {path: "a", mode: 0o600, size: 1}, {path: "b", mode: 0o600}}
	if name, differ := one.differs(slices.Clone(one)); differ {
		t.Errorf("%s differs from itself", name)
	}
	for want, other := range map[string]listing{
		"b": one[:2],
		"c": append(slices.Clone(one), entry{path: "c"}),
		"a": {one[0], {path: "a", mode: 0o644, size: 1}, one[2]},
		".": {{path: ".", mode: fs.ModeDir | 0o1}, one[1], one[2]},
	} {
		if name, differ := one.differs(other); !differ || name != want {
			t.Errorf("%v, %s; want %s", differ, name, want)
		}
	}
	if _, differ := one.differs(listing{one[0], {path: "a", mode: 0o600, size: 2}, one[2]}); !differ {
		t.Error("a size does not differ")
	}
}

// It may pass where it should not, if the rollback is slow, but never the other way.
func TestARollbackWaitsForReaders(t *testing.T) {
	store, err := Open(filepath.Join(t.TempDir(), "files"))
	must(t, err)
	defer store.Close()
	ref := host.SessionRef{Tenant: "acme", User: "mia", Session: "s1"}
	made, err := store.Checkpoint(ctx, ref, "x")
	must(t, err)
	ended := make(chan error, 1)
	must(t, store.reading(ref, func(session *os.Root) error {
		before, err := session.Lstat(treeFolder)
		must(t, err)
		go func() { ended <- store.Rollback(ctx, ref, made.ID) }()
		select {
		case <-ended:
			t.Error("it did not wait")
		case <-time.After(200 * time.Millisecond):
		}
		after, err := session.Lstat(treeFolder)
		if err != nil || !os.SameFile(before, after) {
			t.Errorf("the tree is another: %v", err)
		}
		return nil
	}))
	must(t, <-ended)
}
