package files_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/files"
)

var (
	ctx = context.Background()
	ref = host.SessionRef{Tenant: "acme", User: "mia", Session: "s1"}
)

// A room is a store on a real folder.
type room struct {
	*testing.T
	*files.Store
	root string
}

func newRoom(t *testing.T) room {
	t.Helper()
	root := filepath.Join(t.TempDir(), "files")
	store, err := files.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return room{t, store, root}
}

// write keeps a file in the session.
func (r room) write(name, text string) {
	r.Helper()
	v := r.View(ref)
	r.put(v, name, text)
	r.keep(v)
}

func (r room) put(v *files.View, name, text string) string {
	r.Helper()
	hash, err := v.Write(ctx, name, []byte(text), abi.FileCondition{})
	if err != nil {
		r.Fatal(err)
	}
	return hash
}

func (r room) keep(v *files.View) {
	r.Helper()
	change, err := v.Apply(ctx)
	if err != nil {
		r.Fatal(err)
	}
	change.Keep()
}

// tree gives all files of the session as "name=text", sorted.
func (r room) tree() (all []string) {
	r.Helper()
	v := r.View(ref)
	var walk func(folder string)
	walk = func(folder string) {
		entries, err := v.List(ctx, folder)
		if err != nil {
			r.Fatal(err)
		}
		for _, e := range entries {
			name := strings.TrimPrefix(folder+"/"+e.Name, "/")
			if e.Dir {
				walk(name)
				continue
			}
			data, err := v.Read(ctx, name)
			if err != nil || e.Size != int64(len(data)) || e.Hash != host.Digest(data) {
				r.Fatalf("%+v has %q: %v", e, data, err)
			}
			all = append(all, name+"="+string(data))
		}
	}
	walk("")
	return all
}

func (r room) want(want ...string) {
	r.Helper()
	if got := r.tree(); !slices.Equal(got, want) {
		r.Errorf("the session has %q, want %q", got, want)
	}
}

// onDisk gives every file below the store's folder.
func (r room) onDisk() (all []string) {
	r.Helper()
	err := filepath.WalkDir(r.root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, name)
		}
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return all
}

// treeOnDisk gives the folder of the session's files.
func (r room) treeOnDisk() string {
	r.Helper()
	found, err := filepath.Glob(filepath.Join(r.root, "*", "*", "files"))
	if err != nil || len(found) != 1 {
		r.Fatal(found, err)
	}
	return found[0]
}

func codeOf(err error) abi.Code {
	if p := host.ProblemOf(err); p != nil {
		return p.Code
	}
	return 0
}

func TestACallSeesItsOwnChangesAtOnceAndOthersWhenTheyAreApplied(t *testing.T) {
	r := newRoom(t)
	r.write("notes/plan.md", "old")
	v := r.View(ref)
	r.put(v, "notes/plan.md", "new")
	r.put(v, "a.txt", "1")
	if data, err := v.Read(ctx, "notes/plan.md"); err != nil || string(data) != "new" {
		t.Errorf("the call reads %q, %v", data, err)
	}
	if err := v.Remove(ctx, "a.txt"); err != nil {
		t.Error(err)
	}
	if _, err := v.Read(ctx, "a.txt"); codeOf(err) != abi.NotFound {
		t.Errorf("a file that the call removed: %v", err)
	}
	r.put(v, "a.txt", "2")
	r.want("notes/plan.md=old")
	r.keep(v)
	r.want("a.txt=2", "notes/plan.md=new")
}

func TestAnAttemptThatIsNotAppliedLeavesNothing(t *testing.T) {
	r := newRoom(t)
	v := r.View(ref)
	r.put(v, "a", "1")
	if err := v.Remove(ctx, "a"); err != nil {
		t.Error(err)
	}
	r.put(v, "b/c", "2")
	if all := r.onDisk(); len(all) != 0 {
		t.Errorf("on disk are %q", all)
	}
}

func TestAChangeThatIsTakenBackLeavesEverythingAsItWas(t *testing.T) {
	r := newRoom(t)
	for _, name := range []string{"replaced", "removed", "deep/er/removed", "file"} {
		r.write(name, "old "+name)
	}
	before := r.tree()
	v := r.View(ref)
	r.put(v, "replaced", "new")
	r.put(v, "made/new", "new")
	for _, name := range []string{"removed", "deep/er/removed", "file"} {
		if err := v.Remove(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	r.put(v, "file/inside", "a file became a folder")
	change, err := v.Apply(ctx)
	if err != nil {
		t.Fatal(err)
	}
	during := []string{}
	for _, name := range r.onDisk() {
		if !strings.Contains(name, string(filepath.Separator)+"work"+string(filepath.Separator)) {
			during = append(during, filepath.Base(name))
		}
	}
	if want := []string{"inside", "new", "replaced"}; !slices.Equal(during, want) {
		t.Errorf("applied, there are %q, want %q", during, want)
	}
	if err := change.Undo(); err != nil {
		t.Fatal(err)
	}
	r.want(before...)
	r.keep(r.View(ref)) // of a view without changes: nothing
	r.write("again", "x")
	r.want(append([]string{"again=x"}, before...)...)
}

func TestWhatAnInterruptedChangeSetAsideIsRemovedByTheNext(t *testing.T) {
	r := newRoom(t)
	r.write("a", "1")
	v := r.View(ref)
	r.put(v, "a", "2")
	if _, err := v.Apply(ctx); err != nil { // and the process dies
		t.Fatal(err)
	}
	next, err := files.Open(r.root)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	r.Store = next
	r.want("a=2")
	r.write("b", "3")
	if all := r.onDisk(); len(all) != 2 {
		t.Errorf("on disk are %q, want the two files", all)
	}
}

func TestFoldersGoWithTheirLastFile(t *testing.T) {
	r := newRoom(t)
	r.write("a/b/c/d", "1")
	r.write("a/e", "2")
	v := r.View(ref)
	if err := v.Remove(ctx, "a/b/c/d"); err != nil {
		t.Fatal(err)
	}
	if entries, err := v.List(ctx, "a"); err != nil || len(entries) != 1 || entries[0].Name != "e" {
		t.Errorf("the call sees %+v, %v", entries, err)
	}
	r.keep(v)
	if _, err := os.Stat(filepath.Join(r.treeOnDisk(), "a", "b")); !os.IsNotExist(err) {
		t.Errorf("the empty folder is there: %v", err)
	}
}

func TestAConditionHoldsAWriteToWhatTheFileIs(t *testing.T) {
	old, other, none := host.Digest([]byte("old")), host.Digest([]byte("other")), ""
	for _, tt := range []struct {
		name, has, write string
		ifHash           *string
		code             abi.Code
	}{
		{"the hash that it has", "old", "new", &old, 0},
		{"another hash", "old", "new", &other, abi.Conflict},
		{"not there, and it is", "old", "new", &none, abi.Conflict},
		{"not there, and it is not", "", "new", &none, 0},
		{"a hash, and it is not there", "", "new", &old, abi.Conflict},
		{"the same write again", "new", "new", &old, 0},
		{"the same new file again", "new", "new", &none, 0},
		{"whatever it is", "old", "new", nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRoom(t)
			if tt.has != "" {
				r.write("f", tt.has)
			}
			v := r.View(ref)
			hash, err := v.Write(ctx, "f", []byte(tt.write), abi.FileCondition{IfHash: tt.ifHash})
			if codeOf(err) != tt.code {
				t.Fatalf("error %v, want code %d", err, tt.code)
			}
			if err != nil {
				return
			}
			if hash != host.Digest([]byte(tt.write)) {
				t.Errorf("hash %s", hash)
			}
			r.keep(v)
			r.want("f=" + tt.write)
		})
	}
}

// The condition is held again when the change is applied: between the two,
// another call may have been quicker.
func TestAFileThatChangedMeanwhileIsNotOverwritten(t *testing.T) {
	old := host.Digest([]byte("old"))
	for _, tt := range []struct {
		name, meanwhile string
		code            abi.Code
	}{
		{"otherwise", "theirs", abi.StoreConflict},
		{"to the same", "mine", 0},
		{"by nobody", "old", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRoom(t)
			r.write("f", "old")
			v := r.View(ref)
			if _, err := v.Write(ctx, "f", []byte("mine"), abi.FileCondition{IfHash: &old}); err != nil {
				t.Fatal(err)
			}
			r.put(v, "also", "1")
			r.write("f", tt.meanwhile)
			change, err := v.Apply(ctx)
			if codeOf(err) != tt.code {
				t.Fatalf("error %v, want code %d", err, tt.code)
			}
			if err != nil {
				r.want("f=theirs")
				return
			}
			change.Keep()
			r.want("also=1", "f=mine")
		})
	}
}

func TestAPathStaysInTheFolderAndFitsEverySystem(t *testing.T) {
	r := newRoom(t)
	for _, name := range []string{
		"", "/", "/etc/passwd", "..", "../x", "a/../b", "a/..", "./a", ".", "a//b", "a/", "a/./b", `a\b`, `..\x`, `C:\x`, "C:x",
		"a\x00b", "a\nb", "a\rb", "a\x7fb", "a\u0085b", "\xff\xfe", "a\xc3", "stream:data", "what?", "a*", `"a"`, "<a", "a>", "a|b",
		"CON", "con.txt", "aux/a", "a/NUL", "nul.tar.gz", "COM1", "lpt9.log", "com¹", "CONIN$", "con .txt", "a.", "a ", "a/b. ",
		".git/config", ".GIT/hooks/x", "a/.git", strings.Repeat("x", abi.PathNameBytes+1), strings.Repeat("a/", abi.PathDepth) + "a",
		strings.Repeat("abc/", 130) + "x",
	} {
		v := r.View(ref)
		_, written := v.Write(ctx, name, []byte("x"), abi.FileCondition{})
		_, read := v.Read(ctx, name)
		removed := v.Remove(ctx, name)
		_, listed := v.List(ctx, name)
		if name == "" || name == "." {
			listed = removed // they name the session's own folder
		}
		for what, err := range map[string]error{"write": written, "read": read, "remove": removed, "list": listed} {
			if codeOf(err) != abi.BadHostCall || host.ProblemOf(err).Field != "path" {
				t.Errorf("%s of %.40q: %v, want a bad host call", what, name, err)
			}
		}
	}
	for _, name := range []string{"a", ".hidden", "报价/计划 1.md", "COM", "com10", "console", "a.b.c", "...a", "é", strings.Repeat("x", abi.PathNameBytes), strings.Repeat("a/", abi.PathDepth-1) + "b"} {
		r.write(name, name)
		if data, err := r.View(ref).Read(ctx, name); err != nil || string(data) != name {
			t.Errorf("%.40q is %q, %v", name, data, err)
		}
		v := r.View(ref)
		if err := v.Remove(ctx, name); err != nil {
			t.Error(err)
		}
		r.keep(v)
	}
}

// What somebody put into the folder by hand leads nowhere.
func TestALinkLeadsNowhere(t *testing.T) {
	r := newRoom(t)
	r.write("a/real", "mine")
	secret := filepath.Join(r.root, "..", "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := r.treeOnDisk()
	for name, target := range map[string]string{"link": secret, "up": "../../../..", "abs": "/", "inside": "a", "a/self": "real", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(tree, name)); err != nil {
			t.Fatal(err)
		}
	}
	r.want("a/real=mine")
	v := r.View(ref)
	for _, name := range []string{"link", "up/secret", "abs/etc/passwd", "inside/real", "a/self", "loop"} {
		if _, err := v.Read(ctx, name); codeOf(err) != abi.NotFound {
			t.Errorf("read of %s: %v", name, err)
		}
	}
	for _, name := range []string{"up/x", "abs/x", "loop/x"} {
		v := r.View(ref)
		r.put(v, name, "out")
		if _, err := v.Apply(ctx); codeOf(err) != abi.StoreFailure {
			t.Errorf("write of %s: %v", name, err)
		}
	}
	r.write("link", "replaced") // the link itself, not what it leads to
	if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" {
		t.Errorf("the file outside has %q, %v", b, err)
	}
	r.want("a/real=mine", "link=replaced")
}

func TestSessionsAreApart(t *testing.T) {
	r := newRoom(t)
	r.write("a", "mine")
	for _, other := range []host.SessionRef{
		{Tenant: "other", User: "mia", Session: "s1"}, {Tenant: "acme", User: "ada", Session: "s1"}, {Tenant: "acme", User: "mia", Session: "s2"},
		{Tenant: "acmemia", User: "s", Session: "1"}, {Tenant: "../acme", User: "mia", Session: "s1"},
	} {
		if _, err := r.View(other).Read(ctx, "a"); codeOf(err) != abi.NotFound {
			t.Errorf("%v reads %v", other, err)
		}
		if err := r.PurgeSession(ctx, other); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []host.SessionRef{{}, {Tenant: "a\x00", User: "u", Session: "s"}} {
		if _, err := r.View(bad).List(ctx, ""); codeOf(err) != abi.BadValue {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, name := range r.onDisk() {
		if rel, _ := filepath.Rel(r.root, name); strings.Contains(rel, "acme") || strings.Contains(rel, "mia") {
			t.Errorf("the path %s tells whose it is", rel)
		}
	}
	for range 2 {
		if err := r.PurgeSession(ctx, ref); err != nil {
			t.Fatal(err)
		}
		r.want()
	}
	if all := r.onDisk(); len(all) != 0 {
		t.Errorf("after a purge there are %q", all)
	}
}

func TestAnErrorSaysWhatIsThere(t *testing.T) {
	r := newRoom(t)
	empty, err := r.View(ref).Read(ctx, "x")
	if p := host.ProblemOf(err); p == nil || !strings.Contains(p.Hint, "no files yet") {
		t.Errorf("%q, %v", empty, err)
	}
	for _, name := range []string{"notes/plan.md", "notes/prices.csv", "readme.txt"} {
		r.write(name, "x")
	}
	v := r.View(ref)
	for _, tt := range []struct{ name, hint, candidate string }{
		{"notes/plam.md", "did you mean", "notes/plan.md"},
		{"plan.md", "did you mean", "notes/plan.md"},
		{"zzzzzzzzzzzz", "has 3 files", "readme.txt"},
		{"notes", "it is a folder", ""},
	} {
		_, err := v.Read(ctx, tt.name)
		p := host.ProblemOf(err)
		if p == nil || p.Code != abi.NotFound || !strings.Contains(p.Hint, tt.hint) || tt.candidate != "" && (len(p.Candidates) == 0 || p.Candidates[0] != tt.candidate) {
			t.Errorf("%s: %+v", tt.name, p)
		}
	}
	_, err = v.Read(ctx, "notes/plam.md")
	if got := host.ProblemOf(err).Candidates; !slices.Equal(got, []string{"notes/plan.md", "notes/prices.csv", "readme.txt"}) {
		t.Errorf("beside the nearest there are %q", got)
	}
	_, err = v.List(ctx, "note")
	if p := host.ProblemOf(err); p == nil || p.Code != abi.NotFound || !slices.Equal(p.Candidates, []string{"notes"}) || !strings.Contains(p.Hint, `did you mean "notes"`) {
		t.Errorf("a folder that is not there: %+v", p)
	}
	if _, err := v.List(ctx, "readme.txt"); codeOf(err) != abi.NotFound || !strings.Contains(host.ProblemOf(err).Hint, "it is a file") {
		t.Errorf("a list of a file: %v", err)
	}
	for name, message := range map[string]string{"readme.txt/x": "is a file and not a folder", "notes": "it is a folder"} {
		if _, err := v.Write(ctx, name, nil, abi.FileCondition{}); codeOf(err) != abi.Conflict || !strings.Contains(err.Error(), message) {
			t.Errorf("a write of %s: %v", name, err)
		}
	}
}

func TestWhatACallHasWrittenIsSeenBeforeItIsApplied(t *testing.T) {
	r := newRoom(t)
	r.write("old", "12345")
	r.write("gone", "x")
	v := r.View(ref)
	for name, text := range map[string]string{"b": "2", "a": "1", "again": "x"} {
		r.put(v, name, text)
	}
	for _, name := range []string{"again", "gone"} {
		if err := v.Remove(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	want := []files.Written{{"a", []byte("1")}, {"b", []byte("2")}}
	if got := v.Written(); !reflect.DeepEqual(got, want) {
		t.Errorf("written are %q", got)
	}
	for _, tt := range []struct {
		name  string
		bytes int64
		fresh bool
		code  abi.Code
	}{{"a", 1, true, 0}, {"old", 5, false, 0}, {"gone", 0, false, abi.NotFound}, {"../x", 0, false, abi.BadHostCall}} {
		bytes, fresh, err := v.Size(ctx, tt.name)
		if bytes != tt.bytes || fresh != tt.fresh || codeOf(err) != tt.code {
			t.Errorf("%s: %d, %v, %v", tt.name, bytes, fresh, err)
		}
	}
}

func TestOneCallMayChangeSoMuch(t *testing.T) {
	r := newRoom(t)
	v := r.View(ref)
	for i := range abi.CallWrites {
		r.put(v, fmt.Sprintf("f%04d", i), "x")
	}
	if _, err := v.Write(ctx, "one more", nil, abi.FileCondition{}); codeOf(err) != abi.QuotaReached {
		t.Errorf("a file too many: %v", err)
	}
	r.put(v, "f0000", "again is no other file")

	v = r.View(ref)
	big := make([]byte, abi.CallWriteBytes)
	for _, tt := range []struct {
		size int
		code abi.Code
	}{{len(big), 0}, {len(big), 0}, {1, 0}, {len(big) - 1, 0}} {
		name := fmt.Sprint("big", tt.size == len(big))
		if tt.size == len(big)-1 {
			name = "bigtrue" // shorter than it was
		}
		if _, err := v.Write(ctx, name, big[:tt.size], abi.FileCondition{}); tt.size == 1 && codeOf(err) != abi.QuotaReached || tt.size > 1 && err != nil {
			t.Errorf("%d bytes: %v", tt.size, err)
		}
	}
	r.keep(v)
	if data, err := r.View(ref).Read(ctx, "bigtrue"); err != nil || len(data) != len(big)-1 {
		t.Errorf("read %d bytes, %v", len(data), err)
	}
}

func TestASessionMayHaveSoMuch(t *testing.T) {
	r := newRoom(t)
	r.write("a", "x")
	tree := r.treeOnDisk()
	if err := os.Truncate(filepath.Join(tree, "a"), int64(files.MaxBytes)); err != nil {
		t.Fatal(err)
	}
	v := r.View(ref)
	if _, err := v.Write(ctx, "b", []byte("x"), abi.FileCondition{}); codeOf(err) != abi.QuotaReached {
		t.Errorf("a byte too many: %v", err)
	}
	if _, err := v.Read(ctx, "a"); codeOf(err) != abi.QuotaReached {
		t.Errorf("a read of %s: %v", files.MaxBytes, err)
	}
	if _, err := v.Write(ctx, "a", []byte("x"), abi.FileCondition{}); err != nil {
		t.Error(err)
	}
	if _, err := v.Write(ctx, "b", []byte("x"), abi.FileCondition{}); err != nil {
		t.Errorf("there is room by now: %v", err)
	}
}

// Calls that run side by side may go above the bounds together.
func TestASessionAboveItsBoundsCanBeReadAndMadeSmaller(t *testing.T) {
	r := newRoom(t)
	r.write("a", "xx")
	tree := r.treeOnDisk()
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			must(t, os.WriteFile(filepath.Join(tree, fmt.Sprint("n", i)), nil, 0o600))
		}
	}
	fill(0, files.MaxFiles)
	v := r.View(ref)
	if entries, err := v.List(ctx, ""); err != nil || len(entries) != files.MaxFiles+1 {
		t.Errorf("a list gives %d files, %v", len(entries), err)
	}
	if _, err := v.Read(ctx, "n7"); err != nil {
		t.Error(err)
	}
	r.put(v, "a", "longer, and no other file")
	if _, err := v.Write(ctx, "b", nil, abi.FileCondition{}); codeOf(err) != abi.QuotaReached {
		t.Errorf("one more file: %v", err)
	}
	for _, name := range []string{"n0", "n1"} {
		must(t, v.Remove(ctx, name))
	}
	r.put(v, "b", "there is room by now")
	if _, err := v.Write(ctx, "c", nil, abi.FileCondition{}); codeOf(err) != abi.QuotaReached {
		t.Errorf("a file too many: %v", err)
	}
	r.keep(v)

	for _, name := range []string{"n2", "n3"} {
		must(t, os.Truncate(filepath.Join(tree, name), int64(files.MaxBytes)))
	}
	v = r.View(ref)
	if _, err := v.Write(ctx, "n4", []byte("x"), abi.FileCondition{}); codeOf(err) != abi.QuotaReached {
		t.Errorf("a byte more: %v", err)
	}
	r.put(v, "n2", "shorter")
	r.put(v, "a", "")
	must(t, v.Remove(ctx, "n3"))
	r.keep(v)

	fill(files.MaxFiles, 2*files.MaxFiles+2)
	if _, err := r.View(ref).List(ctx, ""); codeOf(err) != abi.QuotaReached {
		t.Errorf("twice as many: %v", err)
	}
}

func TestACallThatIsStoppedStops(t *testing.T) {
	r := newRoom(t)
	r.write("a", "x")
	stopped, cancel := context.WithCancel(ctx)
	v := r.View(ref)
	r.put(v, "b", "y")
	cancel()
	if _, err := r.View(ref).List(stopped, ""); codeOf(err) != abi.Cancelled {
		t.Errorf("list: %v", err)
	}
	if _, err := v.Apply(stopped); codeOf(err) != abi.Cancelled {
		t.Errorf("apply: %v", err)
	}
	r.want("a=x")
}
