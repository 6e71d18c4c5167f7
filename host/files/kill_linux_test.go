package files_test

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/files"
)

// childRole names what this program does instead of the tests.
const childRole = "FILES_TEST_CHILD"

var children = map[string]func(root string, args []string) error{
	"rollback": rollBackForEver, "checkpoint": checkpointForEver, "move": moveForEver, "full": onAFullDisk, "purge": purgeAMount, "owner": asAnOwner,
}

func TestMain(m *testing.M) {
	role := os.Getenv(childRole)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := children[role](os.Args[1], os.Args[2:]); err != nil {
		fmt.Println(err)
		os.Exit(cmp.Or(exitCode(err), 1))
	}
}

// errSkip says that a child cannot do its part on this machine.
var errSkip = errors.New("not possible here")

const skipped = 77

func exitCode(err error) int {
	if errors.Is(err, errSkip) {
		return skipped
	}
	return 0
}

func child(role, root string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], append([]string{root}, args...)...)
	cmd.Env = append(os.Environ(), childRole+"="+role)
	return cmd
}

// killed lets a child work until it has begun, and for a while; then it is no more.
func killed(t *testing.T, cmd *exec.Cmd, after time.Duration) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "begun\n" {
		t.Errorf("the child says %q, %v", line, err)
	}
	time.Sleep(after)
	must(t, cmd.Process.Kill())
	rest, _ := io.ReadAll(out)
	if err := cmd.Wait(); err == nil || len(rest) > 0 {
		t.Errorf("the child ended by itself: %s", rest)
	}
}

// killings is how often a child is killed in each of the tests.
const killings = 25

func rollBackForEver(root string, ids []string) error {
	store, err := files.Open(root)
	if err != nil {
		return err
	}
	fmt.Println("begun")
	for {
		for _, id := range ids {
			if err := store.Rollback(ctx, ref, id); err != nil {
				return err
			}
		}
	}
}

func TestARollbackThatIsKilledLeavesOneTreeOrTheOther(t *testing.T) {
	killRollbacks(t, 1, killings)
}

func killRollbacks(t *testing.T, seed uint64, times int) {
	r := newRoom(t)
	r.write("first", "x")
	g := gardener{t, rand.New(rand.NewPCG(seed, 2)), r.treeOnDisk()}
	var ids []string
	var trees []map[string]string
	for range 2 {
		g.change()
		g.plant(g.tree, 2)
		ids = append(ids, r.checkpoint("x").ID)
		trees = append(trees, everything(t, g.tree))
	}
	seen := map[int]int{}
	began := time.Now()
	r.rollback(ids[0])
	one := time.Since(began)
	for range times {
		killed(t, child("rollback", r.root, ids...), time.Duration(g.Int64N(int64(4*one))))
		r.Store = reopened(t, r)
		switch g.IntN(3) { // the next use
		case 0:
			r.ids()
		case 1:
			if _, err := r.View(ref).List(ctx, ""); err != nil {
				t.Error(err)
			}
		case 2: // which makes a file that neither has
			r.write("one more", "y")
			must(t, os.Remove(filepath.Join(g.tree, "one more")))
		}
		got := everything(t, g.tree)
		switch {
		case maps.Equal(got, trees[0]):
			seen[0]++
		case maps.Equal(got, trees[1]):
			seen[1]++
		default:
			same(t, got, trees[0], "this is neither, compared with the first")
			same(t, got, trees[1], "this is neither, compared with the second")
			return
		}
		r.ids() // whatever comes next tidies up
		if rest := r.rest(); len(rest) > 0 {
			t.Errorf("left are %q", rest)
		}
	}
	r.reachable()
	t.Logf("after %d kills: %d times one tree, %d times the other", times, seen[0], seen[1])
}

func reopened(t *testing.T, r room) *files.Store {
	t.Helper()
	store, err := files.Open(r.root)
	must(t, err)
	t.Cleanup(func() { store.Close() })
	return store
}

// numbered is what the files hold at the checkpoint of a number.
func numbered(n int) map[string]string {
	all := map[string]string{}
	for i := range 10 {
		all[fmt.Sprintf("d%d/f%d", (n+i)%3, i)] = strings.Repeat(fmt.Sprintln(n, i), 1+n%7)
	}
	return all
}

func checkpointForEver(root string, args []string) error {
	store, err := files.Open(root)
	if err != nil {
		return err
	}
	tree := args[0]
	fmt.Println("begun")
	for n := int(time.Now().UnixMilli() % 1_000_000); ; n++ {
		for _, d := range []string{"d0", "d1", "d2"} {
			if err := os.RemoveAll(filepath.Join(tree, d)); err != nil {
				return err
			}
		}
		for name, text := range numbered(n) {
			if err := os.MkdirAll(filepath.Join(tree, filepath.Dir(name)), 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o600); err != nil {
				return err
			}
		}
		if _, err := store.Checkpoint(ctx, ref, fmt.Sprint(n)); err != nil {
			return err
		}
	}
}

func TestACheckpointThatIsKilledIsWholeOrNotThere(t *testing.T) {
	killCheckpoints(t, 1, killings)
}

func killCheckpoints(t *testing.T, seed uint64, times int) {
	r := newRoom(t)
	r.write("d0/x", "x")
	random := rand.New(rand.NewPCG(seed, 3))
	began := time.Now()
	r.checkpoint("0")
	one := time.Since(began)
	must(t, r.Forget(ctx, ref, r.ids()[0]))
	for range times {
		killed(t, child("checkpoint", r.root, r.treeOnDisk()), time.Duration(random.Int64N(int64(4*one))))
		r.Store = reopened(t, r)
		all, err := r.Checkpoints(ctx, ref)
		must(t, err)
		for i, c := range all {
			if c.Damaged || c.Files != 10 && c.Label != "the next" {
				t.Errorf("listed is %+v", c)
			}
			if i == 0 || random.IntN(8) == 0 {
				r.holds(c)
			}
		}
		r.checkpoint("the next")
		r.reachable()
	}
	t.Logf("after %d kills: %d checkpoints", times, len(r.ids()))
}

// holds rolls back to a checkpoint and holds the files against its label.
func (r room) holds(c files.Checkpoint) {
	r.Helper()
	var n int
	if _, err := fmt.Sscan(c.Label, &n); err != nil {
		return // the next
	}
	r.rollback(c.ID)
	want := numbered(n)
	got := r.tree()
	for _, f := range got {
		name, text, _ := strings.Cut(f, "=")
		if want[name] != text {
			r.Errorf("%s: %s is %.40q, want %.40q", c.Label, name, text, want[name])
		}
	}
	if len(got) != len(want) {
		r.Errorf("%s: there are %d files", c.Label, len(got))
	}
}

// placesOf is where a document may lie: it becomes a file where its folder was.
func placesOf(i int) []string {
	return []string{fmt.Sprintf("d%d", i), fmt.Sprintf("d%d/x", i), fmt.Sprintf("other/%d", i)}
}

// moveForEver gives every document another name, and another, all in one change.
func moveForEver(root string, _ []string) error {
	store, err := files.Open(root)
	if err != nil {
		return err
	}
	fmt.Println("begun")
	for n := 0; ; n++ {
		v := store.View(ref)
		for i := range documents {
			if err := moveOn(v, i); err != nil {
				return err
			}
		}
		change, err := v.Apply(ctx)
		if err != nil {
			return err
		}
		if n%3 == 1 {
			if err := change.Undo(); err != nil {
				return err
			}
			continue
		}
		change.Keep()
	}
}

const documents = 5

func moveOn(v *files.View, i int) error {
	places := placesOf(i)
	for at, name := range places {
		data, err := v.Read(ctx, name)
		if err != nil {
			continue
		}
		if err := v.Remove(ctx, name); err != nil {
			return err
		}
		_, err = v.Write(ctx, places[(at+1)%len(places)], data, abi.FileCondition{})
		return err
	}
	return fmt.Errorf("document %d is nowhere", i)
}

func TestAChangeThatIsKilledLosesNoDocument(t *testing.T) {
	r := newRoom(t)
	v := r.View(ref)
	for i := range documents {
		r.put(v, placesOf(i)[0], fmt.Sprint("text ", i))
	}
	r.keep(v)
	random := rand.New(rand.NewPCG(1, 4))
	began := time.Now()
	v = r.View(ref)
	for i := range documents {
		must(t, moveOn(v, i))
	}
	r.keep(v)
	one := time.Since(began)
	places := map[int]int{}
	for range killings {
		killed(t, child("move", r.root), time.Duration(random.Int64N(int64(3*one))))
		r.Store = reopened(t, r)
		all := r.tree()
		at := -1
		for i := range documents {
			for place, name := range placesOf(i) {
				if !slices.Contains(all, fmt.Sprintf("%s=text %d", name, i)) {
					continue
				}
				if at >= 0 && place != at {
					t.Errorf("some documents were moved and some not: %q", all)
				}
				at = place
			}
		}
		if len(all) != documents || at < 0 {
			t.Errorf("the files are %q", all)
		}
		places[at]++
		if len(all) != documents {
			return
		}
	}
	t.Logf("after %d kills: %v", killings, places)
}

// Each state that a process can leave between two steps of a swap, made by
// hand: a kill at random hits some of them rarely.
func TestTheNextUseFinishesARollbackFromEveryStep(t *testing.T) {
	move := func(r room, from, to string) {
		must(r.T, os.Rename(r.at(from), filepath.Join(filepath.Dir(r.at(from)), to)))
	}
	for _, tt := range []struct {
		name, want string
		leave      func(r room, session string)
	}{
		{"the new tree is being made", "old", func(r room, session string) { copyTree(r.T, session, "restoring", "new") }},
		{"decided", "new", func(r room, session string) { copyTree(r.T, session, "restored", "new") }},
		{"decided, and the old tree is aside", "new", func(r room, session string) {
			copyTree(r.T, session, "restored", "new")
			move(r, "files", "replaced")
		}},
		{"decided, aside, and somebody has made an empty folder", "new", func(r room, session string) {
			copyTree(r.T, session, "restored", "new")
			move(r, "files", "replaced")
			must(r.T, os.Mkdir(filepath.Join(session, "files"), 0o700))
		}},
		{"swapped", "new", func(r room, session string) {
			move(r, "files", "replaced")
			copyTree(r.T, session, "files", "new")
		}},
	} {
		for use, do := range map[string]func(r room){
			"view":       func(r room) { r.View(ref).List(ctx, "") },
			"tree":       func(r room) { r.seesInTree("f", tt.want) },
			"list":       func(r room) { r.ids() },
			"checkpoint": func(r room) { r.checkpoint("x") },
			"apply":      func(r room) { r.write("also", "x") },
		} {
			t.Run(tt.name+"/"+use, func(t *testing.T) {
				r := newRoom(t)
				r.write("f", "old")
				tt.leave(r, r.at())
				r.Store = reopened(t, r)
				do(r)
				want := []string{"f=" + tt.want}
				if use == "apply" {
					want = []string{"also=x", "f=" + tt.want}
				}
				r.want(want...)
				r.ids()
				if rest := r.rest(); len(rest) > 0 {
					t.Errorf("left are %q", rest)
				}
			})
		}
	}
}

// seesInTree reads a file the way that the host itself does.
func (r room) seesInTree(name, want string) {
	r.Helper()
	tree, closes, err := r.Tree(ref)
	must(r.T, err)
	defer closes()
	if text, err := fs.ReadFile(tree, name); err != nil || string(text) != want {
		r.Errorf("the host reads %q, %v, want %q", text, err, want)
	}
}

func copyTree(t *testing.T, session, folder, text string) {
	t.Helper()
	must(t, os.Mkdir(filepath.Join(session, folder), 0o700))
	must(t, os.WriteFile(filepath.Join(session, folder, "f"), []byte(text), 0o600))
}

// A view that was there before the process failed in the middle of a swap.
func TestAViewFromBeforeAFinishedSwapIsRefused(t *testing.T) {
	r := newRoom(t)
	r.write("f", "old")
	v := r.View(ref)
	r.put(v, "g", "1")
	copyTree(t, r.at(), "restored", "new")
	r.refused(v, abi.StoreConflict)
	r.want("f=new")
}

// runChild runs a child to its end.
func runChild(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == skipped {
		t.Skip(string(out))
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
