package files_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/files"
)

func (r room) checkpoint(label string) files.Checkpoint {
	r.Helper()
	made, err := r.Checkpoint(ctx, ref, label)
	if err != nil {
		r.Fatal(err)
	}
	return made
}

func (r room) rollback(id string) {
	r.Helper()
	if err := r.Rollback(ctx, ref, id); err != nil {
		r.Fatal(err)
	}
}

func (r room) ids() (ids []string) {
	r.Helper()
	all, err := r.Checkpoints(ctx, ref)
	if err != nil {
		r.Fatal(err)
	}
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	return ids
}

// refused applies a view that must not be.
func (r room) refused(v *files.View, code abi.Code) {
	r.Helper()
	change, err := v.Apply(ctx)
	if codeOf(err) != code {
		r.Errorf("apply: %v, want code %d", err, code)
	}
	if err == nil {
		change.Keep() // others wait for it
	}
}

// at gives a path on disk beside the session's files.
func (r room) at(elem ...string) string {
	r.Helper()
	return filepath.Join(append([]string{filepath.Dir(r.treeOnDisk())}, elem...)...)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rest gives what is in the session's folder beside what stays there.
func (r room) rest() (rest []string) {
	r.Helper()
	entries, err := os.ReadDir(r.at())
	must(r.T, err)
	for _, e := range entries {
		if !slices.Contains([]string{"files", "checkpoints", "rolled"}, e.Name()) {
			rest = append(rest, e.Name())
		}
	}
	return rest
}

// reachable holds the repository against go-git's own storage: every object
// is reached by a checkpoint, and every one that is reached is there. It gives
// them.
func (r room) reachable() map[plumbing.Hash]bool {
	r.Helper()
	repo, err := git.PlainOpen(r.at("checkpoints"))
	must(r.T, err)
	reached := map[plumbing.Hash]bool{}
	var walk func(of plumbing.Hash)
	walk = func(of plumbing.Hash) {
		if reached[of] {
			return
		}
		reached[of] = true
		tree, err := repo.TreeObject(of)
		if err != nil {
			_, err := repo.BlobObject(of)
			must(r.T, err)
			return
		}
		for _, e := range tree.Entries {
			walk(e.Hash)
		}
	}
	refs, err := repo.References()
	must(r.T, err)
	must(r.T, refs.ForEach(func(ref *plumbing.Reference) error {
		if ref.Type() != plumbing.HashReference {
			return nil
		}
		commit, err := repo.CommitObject(ref.Hash())
		if err != nil {
			return err
		}
		reached[commit.Hash] = true
		walk(commit.TreeHash)
		return nil
	}))
	objects, err := repo.Objects()
	must(r.T, err)
	must(r.T, objects.ForEach(func(o object.Object) error {
		if !reached[o.ID()] {
			r.Errorf("the object %v %v is reached by no checkpoint", o.Type(), o.ID())
		}
		return nil
	}))
	return reached
}

func TestACheckpointTellsWhatItHolds(t *testing.T) {
	r := newRoom(t)
	if got := r.ids(); len(got) != 0 {
		t.Errorf("a session without files has %q", got)
	}
	empty := r.checkpoint("") // before the first task, there is nothing yet
	r.write("a", "12345")
	r.write("b/c", "678")
	must(t, os.Mkdir(filepath.Join(r.treeOnDisk(), "none"), 0o700))
	must(t, os.Symlink("a", filepath.Join(r.treeOnDisk(), "link")))
	before := time.Now()
	made := r.checkpoint("  Set the prices\n\tof " + strings.Repeat("报", 300))
	if made.Files != 2 || made.Folders != 2 || made.Links != 1 || made.Bytes != 8 || !made.Open || made.Damaged {
		t.Errorf("made %+v", made)
	}
	if !strings.HasPrefix(made.Label, "Set the prices of 报") || len([]rune(made.Label)) != files.MaxLabelRunes {
		t.Errorf("label %q", made.Label)
	}
	if d := made.Time.Sub(before); d < -time.Minute || d > time.Hour {
		t.Errorf("made at %v", made.Time)
	}
	all, err := r.Checkpoints(ctx, ref)
	if err != nil || len(all) != 2 || all[0] != made || all[1] != empty {
		t.Errorf("listed %+v, %v", all, err)
	}
	if empty.Files+empty.Folders+empty.Links != 0 {
		t.Errorf("empty is %+v", empty)
	}
	r.rollback(empty.ID)
	r.want()
}

func TestGitReadsTheRepository(t *testing.T) {
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal("this test needs the git program, as all work on this project does: ", err)
	}
	r := newRoom(t)
	r.write("notes/plan 1.md", "1. sell\n")
	made := r.checkpoint("before the sale")
	r.write("b", "2")
	must(t, r.Keep(ctx, ref, r.checkpoint("second").ID))
	run := func(args ...string) string {
		cmd := exec.Command(program, append([]string{"--git-dir", r.at("checkpoints")}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("git %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if out := run("fsck", "--strict", "--full", "--unreachable", "--no-dangling"); strings.Contains(out, "unreachable") || strings.Contains(out, "error") {
		t.Errorf("git fsck says %s", out)
	}
	if out := run("show", "refs/open/"+made.ID+":files/notes/plan 1.md"); out != "1. sell\n" {
		t.Errorf("git show says %s", out)
	}
}

func TestOnlyWhatIsNewIsWritten(t *testing.T) {
	r := newRoom(t)
	for i := range 20 {
		r.write(fmt.Sprintf("d%d/f%d", i%3, i), strings.Repeat(fmt.Sprint(i), 1000))
	}
	r.checkpoint("first")
	before := r.reachable()
	r.write("d0/f0", "new")
	r.checkpoint("second")
	if made := len(r.reachable()) - len(before); made != 5 {
		t.Errorf("%d new objects, want the file, its folder, the tree, the top and the commit", made)
	}
	before = r.reachable()
	r.checkpoint("third")
	if made := len(r.reachable()) - len(before); made != 1 {
		t.Errorf("%d new objects, want the commit", made)
	}
}

func TestAChangeWithTheSameSizeAndTimeIsFound(t *testing.T) {
	r := newRoom(t)
	r.write("f", "old")
	name := filepath.Join(r.treeOnDisk(), "f")
	info, err := os.Stat(name)
	must(t, err)
	first := r.checkpoint("first")
	must(t, os.WriteFile(name, []byte("new"), 0o600))
	must(t, os.Chtimes(name, info.ModTime(), info.ModTime()))
	second := r.checkpoint("second")
	r.rollback(first.ID)
	r.want("f=old")
	r.rollback(second.ID)
	r.want("f=new")
}

// What a call has seen before a rollback, it cannot write over what is there
// after it.
func TestAViewFromBeforeARollbackIsRefused(t *testing.T) {
	r := newRoom(t)
	r.write("f", "old")
	id := r.checkpoint("first").ID
	for range 3 { // a folder may come back with the same number on disk
		v := r.View(ref)
		if _, err := v.List(ctx, ""); err != nil {
			t.Fatal(err)
		}
		writer := r.View(ref)
		r.put(writer, "g", "new")
		reader := r.View(ref)
		if err := reader.Remove(ctx, "f"); err != nil {
			t.Fatal(err)
		}
		unread := r.View(ref)
		r.rollback(id)
		if data, err := v.Read(ctx, "f"); codeOf(err) != abi.StoreConflict {
			t.Errorf("read %q, %v", data, err)
		}
		for _, old := range []*files.View{writer, reader} {
			r.refused(old, abi.StoreConflict)
		}
		r.want("f=old")
		r.put(unread, "f", "old")
		r.keep(unread)
	}
}

// Who reads while others roll back sees one whole tree or the other, or is told.
func TestReadersSeeOneTree(t *testing.T) {
	r := newRoom(t)
	var ids []string
	for _, text := range []string{"old", "new"} {
		for i := range 5 {
			r.write(fmt.Sprint("f", i), text)
		}
		ids = append(ids, r.checkpoint(text).ID)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 30 {
			if err := r.Rollback(ctx, ref, ids[i%2]); err != nil {
				t.Error(err)
			}
		}
	}()
	views, refused := 0, 0
	for running := true; running; views++ {
		select {
		case <-done:
			running = false
		default:
		}
		v := r.View(ref)
		entries, err := v.List(ctx, "")
		texts := map[string]bool{}
		for _, e := range entries {
			texts[e.Hash] = true
		}
		switch {
		case codeOf(err) == abi.StoreConflict:
			refused++
		case err != nil || len(entries) != 5 || len(texts) != 1:
			t.Fatalf("a view has %+v, %v", entries, err)
		}
	}
	if refused == views {
		t.Errorf("all of %d views were refused", views)
	}
}

func TestAnUnknownCheckpointIsRefused(t *testing.T) {
	r := newRoom(t)
	uses := map[string]func(id string) error{
		"rollback": func(id string) error { return r.Rollback(ctx, ref, id) },
		"keep":     func(id string) error { return r.Keep(ctx, ref, id) },
		"forget":   func(id string) error { return r.Forget(ctx, ref, id) },
	}
	refused := func(ids ...string) {
		t.Helper()
		for what, use := range uses {
			for _, id := range ids {
				if err := use(id); codeOf(err) != abi.NotFound {
					t.Errorf("%s of %q: %v", what, id, err)
				}
			}
		}
	}
	refused("", "1", "1-00000000")
	if all := r.onDisk(); len(all) != 0 {
		t.Errorf("on disk are %q", all)
	}
	r.write("a", "1")
	made := r.checkpoint("x")
	refused("", "../../kept/"+made.ID, "01"+made.ID[1:], made.ID+"/", made.ID+".lock", "..", "1-0000000g", "-1-00000000", strings.ToUpper(made.ID)+"X")
	r.want("a=1")
	other := ref
	other.Session = "s2"
	if err := r.Rollback(ctx, other, made.ID); codeOf(err) != abi.NotFound {
		t.Errorf("another session's checkpoint: %v", err)
	}
	for what, use := range uses {
		if err := use(made.ID); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if what == "forget" {
			break
		}
	}
	bad := ref
	bad.User = ""
	if _, err := r.Checkpoint(ctx, bad, "x"); codeOf(err) != abi.BadValue {
		t.Errorf("a session without a user: %v", err)
	}
}

func TestKeepAndRollbackEndWhatWasMadeSince(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(r room, id string) error
	}{
		{"keep", func(r room, id string) error { return r.Keep(ctx, ref, id) }},
		{"rollback", func(r room, id string) error { return r.Rollback(ctx, ref, id) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRoom(t)
			var ids []string
			for i := range 4 {
				r.write("f", fmt.Sprint(i))
				ids = append(ids, r.checkpoint("nested").ID)
			}
			for range 2 {
				must(t, tt.end(r, ids[1]))
				all, err := r.Checkpoints(ctx, ref)
				must(t, err)
				for i, open := range []bool{false, false, false, true} { // the newest first
					if all[i].Open != open || all[i].ID != ids[3-i] {
						t.Errorf("%d is %+v", i, all[i])
					}
				}
			}
			r.rollback(ids[3])
			r.want("f=3")
		})
	}
}

func TestWhatIsForgottenLeavesNoObjects(t *testing.T) {
	r := newRoom(t)
	r.write("shared", "1")
	first := r.checkpoint("first")
	r.write("own", "2")
	second := r.checkpoint("second")
	must(t, os.Remove(filepath.Join(r.treeOnDisk(), "own")))
	must(t, r.Forget(ctx, ref, second.ID))
	if got := len(r.reachable()); got != 5 {
		t.Errorf("%d objects, want those of the first", got)
	}
	if third := r.checkpoint("third"); strings.HasPrefix(third.ID, second.ID) {
		t.Errorf("the id %s came back", third.ID)
	}
	r.rollback(first.ID)
	r.want("shared=1")
	for _, id := range r.ids() {
		must(t, r.Forget(ctx, ref, id))
	}
	if got := len(r.reachable()); got != 0 {
		t.Errorf("%d objects are left", got)
	}
}

func TestOldCheckpointsGoThoseOfEndedTasksFirst(t *testing.T) {
	r := newRoom(t)
	outer := r.checkpoint("outer").ID
	var kept []string
	for i := range files.MaxCheckpoints + 3 {
		r.write("f", fmt.Sprint(i))
		id := r.checkpoint("inner").ID
		kept = append(kept, id)
		must(t, r.Keep(ctx, ref, id))
	}
	slices.Reverse(kept)
	want := append(kept[:files.MaxCheckpoints-1:files.MaxCheckpoints-1], outer)
	if got := r.ids(); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	r.reachable()
	r.rollback(outer)
	r.want()
}

func TestWhatIsNeitherFileNorFolderNorLinkIsRefusedByName(t *testing.T) {
	r := newRoom(t)
	r.write("a", "1")
	dir, err := os.MkdirTemp("", "s") // a socket's path is short
	must(t, err)
	defer os.RemoveAll(dir)
	socket, err := net.Listen("unix", filepath.Join(dir, "x"))
	must(t, err)
	defer socket.Close()
	must(t, os.Mkdir(filepath.Join(r.treeOnDisk(), "sub"), 0o700))
	must(t, os.Rename(filepath.Join(dir, "x"), filepath.Join(r.treeOnDisk(), "sub", "chat")))
	_, err = r.Checkpoint(ctx, ref, "x")
	if codeOf(err) != abi.NotAllowed || !strings.Contains(err.Error(), `"sub/chat" is a socket`) {
		t.Errorf("%v", err)
	}
	if got := r.ids(); len(got) != 0 {
		t.Errorf("made %q", got)
	}
}

func TestATreeAboveTheBoundsIsRefused(t *testing.T) {
	r := newRoom(t)
	r.write("a", "1")
	tree := r.treeOnDisk()
	refused := func(what string) {
		t.Helper()
		if _, err := r.Checkpoint(ctx, ref, "x"); codeOf(err) != abi.QuotaReached {
			t.Errorf("%s: %v", what, err)
		}
		r.reachable()
	}
	must(t, os.Truncate(filepath.Join(tree, "a"), int64(files.MaxBytes)+1))
	refused("a byte too many")
	must(t, os.Truncate(filepath.Join(tree, "a"), 1))
	must(t, os.MkdirAll(filepath.Join(tree, strings.Repeat("d/", 129)), 0o700))
	refused("a folder too deep")
	must(t, os.RemoveAll(filepath.Join(tree, "d")))
	for i := range files.MaxFiles {
		must(t, os.Symlink("x", filepath.Join(tree, fmt.Sprint("n", i))))
	}
	refused("a link too many")
}

func TestACheckpointThatIsStoppedLeavesNothing(t *testing.T) {
	r := newRoom(t)
	r.write("a", "1")
	id := r.checkpoint("x").ID
	before := r.reachable()
	r.write("b", "2")
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := r.Checkpoint(stopped, ref, "y"); codeOf(err) != abi.Cancelled {
		t.Errorf("checkpoint: %v", err)
	}
	if err := r.Rollback(stopped, ref, id); codeOf(err) != abi.Cancelled {
		t.Errorf("rollback: %v", err)
	}
	if _, err := r.Checkpoints(stopped, ref); codeOf(err) != abi.Cancelled {
		t.Errorf("list: %v", err)
	}
	r.want("a=1", "b=2")
	if after := r.reachable(); !maps.Equal(before, after) || len(r.rest()) > 0 {
		t.Errorf("left are %v and %q", after, r.rest())
	}
}

func TestAPurgeRemovesCheckpoints(t *testing.T) {
	r := newRoom(t)
	r.write("a", "1")
	id := r.checkpoint("x").ID
	must(t, r.PurgeSession(ctx, ref))
	if all := r.onDisk(); len(all) != 0 {
		t.Errorf("on disk are %q", all)
	}
	if err := r.Rollback(ctx, ref, id); codeOf(err) != abi.NotFound {
		t.Errorf("%v", err)
	}
}

func TestAStoreWhoseFolderIsGoneFails(t *testing.T) {
	r := newRoom(t)
	r.write("a", "1")
	must(t, os.RemoveAll(r.root))
	if _, err := r.Checkpoint(ctx, ref, "x"); codeOf(err) != abi.StoreFailure {
		t.Errorf("a checkpoint: %v", err)
	}
	v := r.View(ref)
	r.put(v, "a", "2")
	r.refused(v, abi.StoreFailure)
	if got := r.ids(); len(got) != 0 {
		t.Errorf("listed are %q", got)
	}
}
