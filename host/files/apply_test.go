package files_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/files"
)

// What a view did not see, because another call has made it since, stays.
func TestAFolderOrFileThatAnotherCallMadeIsAConflict(t *testing.T) {
	old, none := host.Digest([]byte("old")), ""
	write := func(name string, ifHash *string) func(t *testing.T, v *files.View) {
		return func(t *testing.T, v *files.View) {
			_, err := v.Write(ctx, name, []byte("mine"), abi.FileCondition{IfHash: ifHash})
			must(t, err)
		}
	}
	remove := func(name string) func(t *testing.T, v *files.View) {
		return func(t *testing.T, v *files.View) { must(t, v.Remove(ctx, name)) }
	}
	move := func(from, to string, ifHash *string) func(t *testing.T, v *files.View) {
		return func(t *testing.T, v *files.View) { remove(from)(t, v); write(to, ifHash)(t, v) }
	}
	for _, tt := range []struct {
		name, before string // a file that there is at first
		call         func(t *testing.T, v *files.View)
		goes, comes  string // what another call makes of it meanwhile
		code         abi.Code
		want         []string
	}{
		{"a write of a folder", "x", write("notes", nil), "", "notes/x", abi.StoreConflict, []string{"notes/x=theirs", "x=old"}},
		{"a write of a folder, if there is nothing", "x", write("notes", &none), "", "notes/x", abi.StoreConflict, []string{"notes/x=theirs", "x=old"}},
		{"a write of a folder that was a file", "notes", write("notes", nil), "notes", "notes/x", abi.StoreConflict, []string{"notes/x=theirs"}},
		{"a write of a folder with the file's hash", "notes", write("notes", &old), "notes", "notes/x", abi.StoreConflict, []string{"notes/x=theirs"}},
		{"a removal of a folder", "notes", remove("notes"), "notes", "notes/x", abi.StoreConflict, []string{"notes/x=theirs"}},
		{"a write in a file", "x", write("a/b", nil), "", "a", abi.StoreConflict, []string{"a=theirs", "x=old"}},
		{"a write deep in a file", "x", write("a/b/c/d", nil), "", "a", abi.StoreConflict, []string{"a=theirs", "x=old"}},
		{"a write in a file, if there is nothing", "x", write("a/b", &none), "", "a", abi.StoreConflict, []string{"a=theirs", "x=old"}},
		{"a removal in a file", "a/b", remove("a/b"), "a/b", "a", abi.StoreConflict, []string{"a=theirs"}},
		{"a removal of what is gone", "x", remove("x"), "x", "y", 0, []string{"y=theirs"}},
		{"a file becomes a folder", "a", move("a", "a/b", &none), "", "y", 0, []string{"a/b=mine", "y=theirs"}},
		{"a folder becomes a file", "a/b", move("a/b", "a", &none), "", "y", 0, []string{"a=mine", "y=theirs"}},
		{"a folder with more in it becomes a file", "a/b", move("a/b", "a", &none), "", "a/c", abi.StoreConflict, []string{"a/b=old", "a/c=theirs"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRoom(t)
			r.write(tt.before, "old")
			v := r.View(ref)
			tt.call(t, v)
			r.put(v, "also", "1")
			other := r.View(ref)
			if tt.goes != "" {
				must(t, other.Remove(ctx, tt.goes))
			}
			r.put(other, tt.comes, "theirs")
			r.keep(other)
			r.refused(v, tt.code)
			if tt.code == 0 {
				must(t, os.Remove(filepath.Join(r.treeOnDisk(), "also")))
			}
			r.want(tt.want...)
		})
	}
}

func TestAnEmptyFolderGivesWayToAFile(t *testing.T) {
	r := newRoom(t)
	r.write("x", "1")
	must(t, os.Mkdir(filepath.Join(r.treeOnDisk(), "notes"), 0o700))
	r.write("notes", "2")
	r.want("notes=2", "x=1")
}
