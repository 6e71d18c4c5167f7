package files

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

var crashed = host.SessionRef{Tenant: "acme", User: "mia", Session: "crash"}

// A wreck is a store of which a process died.
type wreck struct {
	*testing.T
	root string
}

// use is the store as the next process opens it.
func (w wreck) use() *Store {
	w.Helper()
	s, err := Open(w.root)
	must(w, err)
	w.Cleanup(func() { s.Close() })
	return s
}

var documents = map[string]string{
	"replaced": "old 1", "moved": "old 2", "deep/er/moved": "old 3", "file": "old 4", "folder/inside": "old 5", "removed": "old 6", "beside": "old 7",
}

// moving is a view with a change of every kind.
func (w wreck) moving(s *Store) *View {
	w.Helper()
	v := s.View(crashed)
	for _, old := range []string{"moved", "deep/er/moved", "file", "folder/inside", "removed"} {
		must(w, v.Remove(ctx, old))
	}
	for name, text := range map[string]string{
		"replaced": "new", "elsewhere/moved": "old 2", "moved there": "old 3", "file/inside": "old 4", "folder": "old 5", "a/b/c/made": "new",
	} {
		_, err := v.Write(ctx, name, []byte(text), abi.FileCondition{})
		must(w, err)
	}
	return v
}

func (w wreck) plant() *Store {
	w.Helper()
	s := w.use()
	v := s.View(crashed)
	for name, text := range documents {
		_, err := v.Write(ctx, name, []byte(text), abi.FileCondition{})
		must(w, err)
	}
	c, err := v.Apply(ctx)
	must(w, err)
	c.Keep()
	return s
}

// prepared is a change of which nothing was moved yet, and the steps that an
// Apply does then, one by one.
func (w wreck) prepared(s *Store) (*Change, []func() error) {
	w.Helper()
	v := w.moving(s)
	c := &Change{mu: &s.lock(crashed).changes, touched: map[string]bool{}}
	c.mu.Lock()
	must(w, c.begin(v))
	must(w, c.prepare(ctx, v.changes))
	var do []func() error
	for i := range c.steps {
		do = append(do, func() error { return c.setAside(i) }, func() error { return c.moveIn(i) })
	}
	return c, append(do, c.sync)
}

// wants holds the files, as the walk of the disk has them and as a view has
// them, against what they must be.
func (w wreck) wants(s *Store, want map[string]string, when string) {
	w.Helper()
	v, seen := s.View(crashed), map[string]string{}
	_, err := v.List(ctx, "")
	must(w, err)
	for name := range v.files {
		data, err := v.Read(ctx, name)
		must(w, err)
		seen[name] = string(data)
	}
	if !maps.Equal(seen, want) {
		w.Errorf("%s: the session has %q, want %q", when, seen, want)
	}
	tree, folders := filepath.Join(w.root, folderOf(crashed), treeFolder), map[string]bool{}
	must(w, filepath.WalkDir(tree, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name != tree {
			folders[strings.TrimPrefix(name, tree)] = true
		}
		return err
	}))
	for name := range want {
		for dir := filepath.Dir("/" + name); dir != "/"; dir = filepath.Dir(dir) {
			delete(folders, filepath.FromSlash(dir))
		}
	}
	if len(folders) > 0 {
		w.Errorf("%s: without a file are %v", when, folders)
	}
}

// Wherever a process dies, the next use has all of the old files or, once the
// change is applied, all of the new ones; and no later change loses what was
// set aside.
func TestAChangeThatDiesAtAnyStepIsTakenBack(t *testing.T) {
	uses := []func(w wreck, s *Store){
		func(w wreck, s *Store) {}, // it only reads
		func(w wreck, s *Store) {
			v := s.View(crashed)
			_, err := v.Write(ctx, "next", []byte("x"), abi.FileCondition{})
			must(w, err)
			c, err := v.Apply(ctx)
			must(w, err)
			must(w, c.Undo())
		},
		func(w wreck, s *Store) {
			_, err := s.Checkpoint(ctx, crashed, "x")
			must(w, err)
		},
	}
	for died := 0; ; died++ {
		w := wreck{t, t.TempDir()}
		_, do := w.prepared(w.plant())
		for _, step := range do[:died] {
			must(t, step())
		}
		next := w.use()
		uses[died%len(uses)](w, next)
		w.wants(next, documents, fmt.Sprintf("died after %d of %d steps", died, len(do)))
		if died == len(do) {
			return
		}
	}
}

func TestAnUndoThatDiesAtAnyStepIsGoneOnWith(t *testing.T) {
	for died := 0; ; died++ {
		w := wreck{t, t.TempDir()}
		s := w.plant()
		c, err := w.moving(s).Apply(ctx)
		must(t, err)
		must(t, c.renamePlan(appliedFile, planFile))
		for i := range died {
			must(t, c.putBack(len(c.steps)-1-i))
		}
		if died > 0 { // and once more, in the middle of a step
			must(t, c.putBack(len(c.steps)-died))
		}
		w.wants(w.use(), documents, fmt.Sprintf("died after %d of %d steps", died, len(c.steps)))
		if died == len(c.steps) {
			return
		}
	}
}

func TestAChangeThatDiesBeforeAnythingWasMovedLeavesNothing(t *testing.T) {
	w := wreck{t, t.TempDir()}
	s := w.plant()
	v := w.moving(s)
	c := &Change{mu: &s.lock(crashed).changes, touched: map[string]bool{}}
	must(t, c.begin(v))
	for i := range 3 {
		must(t, c.stage(i, []byte("new")))
	}
	next := w.use()
	w.wants(next, documents, "staged")
	c, err := w.moving(next).Apply(ctx)
	must(t, err)
	must(t, c.Undo())
	w.wants(next, documents, "taken back")
}

// A folder that somebody has put in the place of a removed file stands in the
// way of an Undo. Nothing is lost for it.
func TestWhatAnUndoCouldNotPutBackIsKeptUntilItCan(t *testing.T) {
	w := wreck{t, t.TempDir()}
	s := w.plant()
	c, err := w.moving(s).Apply(ctx)
	must(t, err)
	inTheWay := filepath.Join(w.root, folderOf(crashed), treeFolder, "removed")
	must(t, os.MkdirAll(filepath.Join(inTheWay, "x"), 0o700))
	if err := c.Undo(); codeOf(err) != abi.StoreFailure {
		t.Errorf("the undo says %v", err)
	}
	for range 2 {
		v := w.use().View(crashed)
		if _, err := v.List(ctx, ""); codeOf(err) != abi.StoreFailure {
			t.Errorf("a reader sees half of a change: %v", err)
		}
	}
	must(t, os.RemoveAll(inTheWay))
	w.wants(s, documents, "at last")
}

func TestADocumentThatGetsAnotherNameIsThereAtAnyMoment(t *testing.T) {
	w := wreck{t, t.TempDir()}
	s := w.plant()
	_, do := w.prepared(s)
	tree := filepath.Join(w.root, folderOf(crashed), treeFolder)
	for i, step := range do {
		must(t, step())
		found := map[string]bool{}
		must(t, filepath.WalkDir(tree, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(name)
			found[string(text)] = true
			return err
		}))
		for _, text := range []string{"old 2", "old 3", "old 7"} { // those that become no folder, and were none
			if !found[text] {
				t.Errorf("after %d steps, %q is nowhere", i+1, text)
			}
		}
	}
}

func codeOf(err error) abi.Code {
	if p := host.ProblemOf(err); p != nil {
		return p.Code
	}
	return 0
}
