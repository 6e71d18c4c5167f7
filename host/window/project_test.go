package window

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func files(pairs ...string) fstest.MapFS {
	f := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		f[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return f
}

func TestProjectNotesComeInTheirOrder(t *testing.T) {
	got, err := Project(files(".sluice/SLUICE.local.md", "four", "SLUICE.md", "one\n", "SLUICE.local.md", "three", ".sluice/SLUICE.md", " two", "OTHER.md", "no"))
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, part := range []string{"## SLUICE.md (where it differs from what is below, that holds)\none", "## .sluice/SLUICE.md", "two", "## SLUICE.local.md", "three", "## .sluice/SLUICE.local.md\nfour"} {
		i := strings.Index(got, part)
		if i <= at {
			t.Fatalf("%q is not in its place in\n%s", part, got)
		}
		at = i
	}
	if none, err := Project(files("README.md", "x")); none != "" || err != nil {
		t.Errorf("without files it is %q, %v", none, err)
	}
}

func TestProjectNotesAreBounded(t *testing.T) {
	long := strings.Repeat("青", 20_000)
	got, err := Project(files("SLUICE.md", "first "+long, ".sluice/SLUICE.md", long, "SLUICE.local.md", long, ".sluice/SLUICE.local.md", "last "+long))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) > projectBytes+1000 || !strings.Contains(got, "last 青") || strings.Contains(got, "\uFFFD") {
		t.Errorf("it has %d bytes", len(got))
	}
	if n := strings.Count(got, "goes on; only its first"); n < 2 {
		t.Errorf("it says %d times that a file goes on", n)
	}
}

func TestProjectNotesThatCannotBeRead(t *testing.T) {
	for name, fsys := range map[string]fstest.MapFS{
		"not UTF-8": {"SLUICE.md": {Data: []byte("\xff\xfe")}},
		"a folder":  {"SLUICE.md/x": {Data: []byte("x")}},
	} {
		if _, err := Project(fsys); err == nil || host.ProblemOf(err).Code != abi.BadValue || !strings.Contains(err.Error(), "SLUICE.md") {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "SLUICE.md")); err != nil {
		t.Fatal(err)
	}
	if _, err := Project(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), "link") || strings.Contains(host.ProblemOf(err).Message, dir) {
		t.Errorf("a link: %v", err)
	}
}
