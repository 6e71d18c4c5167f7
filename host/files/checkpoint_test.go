package files_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
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

// everything tells all of a tree, by a walk that knows nothing of the package.
func everything(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(name)
		if err != nil {
			return err
		}
		what := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			what = string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			if what, err = os.Readlink(name); err != nil {
				return err
			}
		}
		all[strings.TrimPrefix(name, root)] = fmt.Sprintf("%v %q", info.Mode(), what)
		return nil
	}))
	return all
}

func same(t testing.TB, got, want map[string]string, when string) {
	t.Helper()
	for name, what := range want {
		if got[name] != what {
			t.Errorf("%s: %q is %.60s, want %.60s", when, name, got[name], what)
		}
	}
	for name := range got {
		if _, there := want[name]; !there {
			t.Errorf("%s: there is %q, which should not be", when, name)
		}
	}
}

// A gardener grows random trees, of everything that a folder may hold.
type gardener struct {
	*testing.T
	*rand.Rand
	tree string
}

var names = []string{
	"a", "b.txt", "a.b", "with space", " ", "new\nline", "tab\t", `back\slash`, `quo"te`, "-rf", "*", "ünï", "u\u0308", "报价", "🎈", "\xff\xfe",
	".hidden", ".gitignore", ".gitattributes", ".gitmodules", "files", "modes", "CON", "A", strings.Repeat("x", 255),
}

var targets = []string{"a", ".", "..", "../../..", "/", "/etc/passwd", "nowhere", "../checkpoints", "loop", "with space", "\xff"}

// modes gives a mode that the user who runs the test can still read.
func (g gardener) mode(folder bool) fs.FileMode {
	modes := []fs.FileMode{0o600, 0o644, 0o755, 0o700, 0o400, 0o444, 0o4755, 0o777}
	if folder {
		modes = []fs.FileMode{0o700, 0o755, 0o777, 0o2775, 0o1777}
	}
	if os.Geteuid() == 0 {
		modes = append(modes, 0o000, 0o111, 0o500)
	}
	mode := modes[g.IntN(len(modes))]
	return mode&fs.ModePerm | map[fs.FileMode]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky}[mode&0o7000]
}

func (g gardener) text() []byte {
	switch g.IntN(6) {
	case 0:
		return nil
	case 1:
		return []byte("*\n!*.txt\n") // of a .gitignore, perhaps
	case 2:
		return []byte("\r\nA text that git may want to convert.\r\n")
	}
	data := make([]byte, g.IntN(3000))
	for i := range data {
		data[i] = byte(g.Uint32())
	}
	return data
}

func (g gardener) plant(folder string, depth int) {
	for range 1 + g.IntN(6) {
		name := filepath.Join(folder, names[g.IntN(len(names))])
		if _, err := os.Lstat(name); err == nil {
			continue
		}
		switch kind := g.IntN(10); {
		case kind < 5:
			must(g.T, os.WriteFile(name, g.text(), 0o600))
			must(g.T, os.Chmod(name, g.mode(false)))
		case kind < 7:
			must(g.T, os.Symlink(targets[g.IntN(len(targets))], name))
		case depth < 4:
			must(g.T, os.Mkdir(name, 0o700))
			if g.IntN(4) > 0 { // else it stays empty
				g.plant(name, depth+1)
			}
			must(g.T, os.Chmod(name, g.mode(true)))
		}
	}
	if repo := filepath.Join(folder, ".git"); g.IntN(4) == 0 && os.Mkdir(repo, 0o755) == nil {
		must(g.T, os.WriteFile(filepath.Join(repo, "HEAD"), []byte("ref: refs/heads/mine\n"), 0o644))
		must(g.T, os.MkdirAll(filepath.Join(repo, "objects", "00"), 0o755))
	}
}

// change changes some of what is there, in ways that are easy to miss.
func (g gardener) change() {
	all := slices.Sorted(maps.Keys(everything(g.T, g.tree)))
	for range 1 + g.IntN(8) {
		name := g.tree + all[g.IntN(len(all))]
		info, err := os.Lstat(name)
		if err != nil || name == g.tree {
			continue // it went with its folder
		}
		switch g.IntN(7) {
		case 0:
			must(g.T, os.RemoveAll(name))
		case 1:
			if info.Mode()&fs.ModeSymlink == 0 {
				must(g.T, os.Chmod(name, g.mode(info.IsDir())))
			}
		case 2: // the same size and time
			if data, err := os.ReadFile(name); err == nil && info.Mode().IsRegular() && len(data) > 0 {
				data[g.IntN(len(data))] ^= 1
				must(g.T, os.WriteFile(name, data, 0o600))
				must(g.T, os.Chtimes(name, info.ModTime(), info.ModTime()))
			}
		case 3: // a link in the place of what was there
			must(g.T, os.RemoveAll(name))
			must(g.T, os.Symlink(targets[g.IntN(len(targets))], name))
		case 4: // a folder, or a file
			must(g.T, os.RemoveAll(name))
			must(g.T, os.Mkdir(name, 0o700))
			g.plant(name, 3)
		case 5:
			must(g.T, os.Rename(name, filepath.Join(g.tree, fmt.Sprint("moved", g.Uint32()))))
		case 6:
			g.plant(g.tree, 2)
		}
	}
	must(g.T, os.Chmod(g.tree, g.mode(true)))
}

// trees is how many random trees are taken and restored.
const trees = 12

func TestARollbackRestoresEveryTreeExactly(t *testing.T) {
	for seed := range uint64(trees) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { restoreTrees(t, seed) })
	}
}

func restoreTrees(t *testing.T, seed uint64) {
	r := newRoom(t)
	r.write("first", "x")
	g := gardener{t, rand.New(rand.NewPCG(seed, 1)), r.treeOnDisk()}
	g.plant(g.tree, 0)
	type point struct {
		id   string
		tree map[string]string
	}
	var points []point
	for range 3 {
		points = append(points, point{r.checkpoint("before").ID, everything(t, g.tree)})
		g.change()
	}
	for _, i := range []int{0, 2, g.IntN(3), 1, 0} {
		r.rollback(points[i].id)
		same(t, everything(t, g.tree), points[i].tree, fmt.Sprint("checkpoint ", i))
		g.change()
	}
	r.rollback(points[0].id)
	again := r.checkpoint("again")
	if made := r.reachable(); len(made) == 0 {
		t.Error("the repository has no objects")
	}
	r.rollback(again.ID)
	same(t, everything(t, g.tree), points[0].tree, "a checkpoint of what was restored")
	if rest := r.rest(); len(rest) > 0 {
		t.Errorf("the session's folder still has %q", rest)
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
		t.Skip("there is no git program here")
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

// objectOf gives the file of the object that holds a text.
func (r room) objectOf(text string) string {
	name := plumbing.ComputeHash(plumbing.BlobObject, []byte(text)).String()
	return r.at("checkpoints", "objects", name[:2], name[2:])
}

func TestDamageIsNoticedBeforeAnythingIsTouched(t *testing.T) {
	for name, harm := range map[string]func(r room, object string) error{
		"gone":  func(r room, object string) error { return os.Remove(object) },
		"empty": func(r room, object string) error { return overwrite(object, nil) },
		"cut":   func(r room, object string) error { return os.Truncate(object, 10) },
		"another's": func(r room, object string) error {
			other, err := os.ReadFile(r.objectOf("other"))
			if err != nil {
				return err
			}
			return overwrite(object, other)
		},
		"noise": func(r room, object string) error { return overwrite(object, []byte("no zlib at all")) },
		"a bit": func(r room, object string) error {
			data, err := os.ReadFile(object)
			if err != nil {
				return err
			}
			data[len(data)/2] ^= 4
			return overwrite(object, data)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			const text = "what the user had written before"
			r.write("a", text)
			r.write("b", "other")
			id := r.checkpoint("x").ID
			r.write("a", "since")
			must(t, harm(r, r.objectOf(text)))
			before := everything(t, r.treeOnDisk())
			if err := r.Rollback(ctx, ref, id); codeOf(err) != abi.Broken || !strings.Contains(err.Error(), "nothing was changed") {
				t.Errorf("%v", err)
			}
			same(t, everything(t, r.treeOnDisk()), before, "after it")
			if rest := r.rest(); len(rest) > 0 {
				t.Errorf("left are %q", rest)
			}
			r.write("a", text) // the next checkpoint of the same text mends it
			r.checkpoint("y")
			r.write("a", "since")
			r.rollback(id)
			r.want("a="+text, "b=other")
		})
	}
}

func overwrite(name string, data []byte) error {
	if err := os.Chmod(name, 0o600); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o600)
}

func TestADamagedCheckpointIsListedAndForgotten(t *testing.T) {
	r := newRoom(t)
	r.write("a", "1")
	whole := r.checkpoint("whole").ID
	r.write("b", "2")
	other := r.checkpoint("commit gone").ID
	garbage := r.checkpoint("garbage").ID
	commit, err := os.ReadFile(r.at("checkpoints", "refs", "open", other))
	must(t, err)
	must(t, os.Remove(r.at("checkpoints", "objects", string(commit[:2]), strings.TrimSpace(string(commit[2:])))))
	must(t, os.WriteFile(r.at("checkpoints", "refs", "open", garbage), []byte("garbage"), 0o600))
	all, err := r.Checkpoints(ctx, ref)
	if err != nil || len(all) != 3 || !all[0].Damaged || !all[1].Damaged || all[2].Damaged {
		t.Errorf("listed %+v, %v", all, err)
	}
	for _, id := range []string{other, garbage} {
		if err := r.Rollback(ctx, ref, id); codeOf(err) != abi.Broken {
			t.Errorf("rollback: %v", err)
		}
		must(t, r.Forget(ctx, ref, id))
	}
	r.reachable()
	r.rollback(whole)
	r.want("a=1")
}

func TestALinkInTheFoldersPlaceIsALink(t *testing.T) {
	r := newRoom(t)
	r.write("a/secret", "mine")
	tree := r.treeOnDisk()
	folder := r.checkpoint("a folder")
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("theirs"), 0o600))
	must(t, os.RemoveAll(filepath.Join(tree, "a")))
	must(t, os.Symlink(outside, filepath.Join(tree, "a")))
	link := r.checkpoint("a link")
	if link.Files != 0 || link.Links != 1 {
		t.Errorf("made %+v", link)
	}
	r.rollback(folder.ID)
	r.want("a/secret=mine")
	r.rollback(link.ID)
	if b, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(b) != "theirs" {
		t.Errorf("outside is %q, %v", b, err)
	}
	if got, err := os.Readlink(filepath.Join(tree, "a")); err != nil || got != outside {
		t.Errorf("the link leads to %q, %v", got, err)
	}

	// A link to what lies beside the files: no call writes through it.
	must(t, os.Remove(filepath.Join(tree, "a")))
	must(t, os.Symlink("../checkpoints", filepath.Join(tree, "a")))
	v := r.View(ref)
	r.put(v, "a/HEAD", "mine")
	r.refused(v, abi.StoreFailure)
	r.rollback(folder.ID)

	must(t, os.RemoveAll(tree))
	must(t, os.Symlink("checkpoints", tree))
	if _, err := r.Checkpoint(ctx, ref, "x"); codeOf(err) != abi.StoreFailure {
		t.Errorf("a link in the place of all files: %v", err)
	}
	r.rollback(folder.ID)
	r.want("a/secret=mine")
}

// Names that only somebody who writes the repository by hand can put there.
func TestAForgedNameLeadsNowhere(t *testing.T) {
	for _, name := range []string{"..", ".", "../escaped", "a/b", "/escaped"} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			r.write("a", "1")
			made := r.checkpoint("x")
			repo, err := git.PlainOpen(r.at("checkpoints"))
			must(t, err)
			old, err := repo.CommitObject(r.commit(made.ID))
			must(t, err)
			top, err := old.Tree()
			must(t, err)
			inner := &object.Tree{Entries: []object.TreeEntry{{Name: name, Mode: 0o100644, Hash: plumbing.ComputeHash(plumbing.BlobObject, []byte("1"))}}}
			top.Entries[0].Hash = put(t, repo, inner)
			old.TreeHash = put(t, repo, top)
			must(t, os.WriteFile(r.at("checkpoints", "refs", "open", made.ID), []byte(put(t, repo, old).String()+"\n"), 0o600))
			if err := r.Rollback(ctx, ref, made.ID); codeOf(err) != abi.Broken {
				t.Errorf("%v", err)
			}
			r.want("a=1")
			if rest := r.rest(); len(rest) > 0 {
				t.Errorf("left are %q", rest)
			}
		})
	}
}

func (r room) commit(id string) plumbing.Hash {
	data, err := os.ReadFile(r.at("checkpoints", "refs", "open", id))
	must(r.T, err)
	return plumbing.NewHash(strings.TrimSpace(string(data)))
}

func put(t *testing.T, repo *git.Repository, from interface {
	Encode(plumbing.EncodedObject) error
}) plumbing.Hash {
	t.Helper()
	o := repo.Storer.NewEncodedObject()
	must(t, from.Encode(o))
	hash, err := repo.Storer.SetEncodedObject(o)
	must(t, err)
	return hash
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
