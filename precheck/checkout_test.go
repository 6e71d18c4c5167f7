package precheck

import (
	"bytes"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// committed makes a repository with some files and gives its folder and the commit.
func committed(t *testing.T, files map[string]string) (folder string, commit plumbing.Hash) {
	t.Helper()
	folder = t.TempDir()
	repo, err := git.PlainInit(folder, false)
	must(t, err)
	return folder, commitTo(t, repo, folder, files)
}

func commitTo(t *testing.T, repo *git.Repository, folder string, files map[string]string) plumbing.Hash {
	t.Helper()
	work, err := repo.Worktree()
	must(t, err)
	for name, text := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := work.Add(name)
		must(t, err)
	}
	commit, err := work.Commit("skills", &git.CommitOptions{Author: &object.Signature{Name: "a", Email: "a@example.com", When: time.Unix(1e9, 0)}})
	must(t, err)
	return commit
}

func TestASubjectOfARepositoryIsNamedByItsReference(t *testing.T) {
	here := t.TempDir()
	for name, want := range map[string]revision{
		here + "@main":              {here, "main", "."},
		here + "@v1.0.0:skills/a":   {here, "v1.0.0", "skills/a"},
		here + "@shop.pricing/v1":   {here, "shop.pricing/v1", "."},
		"https://h/x.git@main":      {"https://h/x.git", "main", "."},
		"https://u:p@h/x.git@main:": {"https://u:p@h/x.git", "main", "."},
		"ssh://git@h/x@HEAD":        {"ssh://git@h/x", "HEAD", "."},
		"git@h:x.git@main":          {"git@h:x.git", "main", "."},
		"file:///srv/x.git@main:a":  {"file:///srv/x.git", "main", "a"},
	} {
		if got, ok := revisionOf(name); !ok || got != want {
			t.Errorf("%s is %+v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "@", "a@", "@b", "dist", "no/such/folder@main", here + "@main:../x", here + "@main:/etc", here + "@:a", "https://@main"} {
		if got, ok := revisionOf(name); ok {
			t.Errorf("%q is taken as %+v", name, got)
		}
	}
}

// served serves a repository as git does over HTTP.
func served(t *testing.T, folder string) string {
	t.Helper()
	program, err := exec.LookPath("git")
	must(t, err)
	s := httptest.NewServer(&cgi.Handler{Path: program, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + folder, "GIT_HTTP_EXPORT_ALL=1",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_CONFIG_KEY_1=uploadpack.allowReachableSHA1InWant", "GIT_CONFIG_VALUE_1=true"}})
	t.Cleanup(s.Close)
	return s.URL + "/.git"
}

func TestASkillIsJudgedAsItsRepositoryHasIt(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	files := map[string]string{"skills/price/skill.yaml": yamlOf(t, goodManifest), "skills/price/skill.wasm": string(good().bytes()), "README.md": "x"}
	folder, commit := committed(t, files)
	repo, err := git.PlainOpen(folder)
	must(t, err)
	_, err = repo.CreateTag("v1", commit, nil)
	must(t, err)
	commitTo(t, repo, folder, map[string]string{"skills/price/skill.yaml": yamlOf(t, replaced("Give the price of a product.", "Give the cost of a product."))})
	must(t, os.WriteFile(filepath.Join(folder, "skills/price/skill.yaml"), nil, 0o600)) // not committed
	for _, address := range []string{folder, "file://" + filepath.ToSlash(folder), served(t, folder)} {
		for ref, want := range map[string]int{"v1": Passed, commit.String(): Passed, "master": HasFindings, "HEAD": HasFindings, "v2": CouldNotRun, strings.Repeat("0", 40): CouldNotRun} {
			var out, errs bytes.Buffer
			code := Run(t.Context(), []string{address + "@" + ref + ":skills/price", "--cache", sandboxtest.CacheDir(t)}, &out, &errs)
			if code != want {
				t.Errorf("%s at %s exits with %d, want %d: %s%s", address, ref, code, want, &out, &errs)
			}
			if want == HasFindings && !strings.Contains(out.String(), "failure  stale") {
				t.Errorf("%s at %s: %s", address, ref, &out)
			}
			if left, err := filepath.Glob(filepath.Join(temporary, "sluice-checkout-*")); err != nil || len(left) > 0 {
				t.Fatalf("%s at %s leaves %q, %v", address, ref, left, err)
			}
		}
	}
}

func TestWhatIsInARepositoryDoesNotLeadOutOfIt(t *testing.T) {
	folder, _ := committed(t, map[string]string{"a": "x"})
	must(t, os.Symlink("/etc/passwd", filepath.Join(folder, "skill.wasm")))
	repo, err := git.PlainOpen(folder)
	must(t, err)
	work, err := repo.Worktree()
	must(t, err)
	_, err = work.Add("skill.wasm")
	must(t, err)
	commitTo(t, repo, folder, nil)
	if _, err := checkOut(t.Context(), revision{folder, "HEAD", "."}); err == nil || !strings.Contains(err.Error(), "link") {
		t.Errorf("a link gives %v", err)
	}
}

func TestNoPasswordOfARepositoryIsTold(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	address := strings.Replace(s.URL, "://", "://tom:hunter22@", 1) + "/x.git@main"
	var out, errs bytes.Buffer
	if code := Run(t.Context(), []string{address, "--cache", sandboxtest.CacheDir(t)}, &out, &errs); code != CouldNotRun {
		t.Errorf("exits with %d", code)
	}
	if strings.Contains(out.String()+errs.String(), "hunter22") || !strings.Contains(errs.String(), "cannot be checked out") {
		t.Errorf("says %s%s", &out, &errs)
	}
}

func TestARepositoryIsBounded(t *testing.T) {
	left := int64(10)
	pack := &boundedPack{nopWriter{}, &left}
	if _, err := pack.Write(make([]byte, 10)); err != nil {
		t.Errorf("ten bytes of ten give %v", err)
	}
	if _, err := pack.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("one more gives %v", err)
	}
	folder, commit := committed(t, map[string]string{"a/b/c/d": strings.Repeat("x", 100), "a/e": "x"})
	repo, err := git.PlainOpen(folder)
	must(t, err)
	c, err := repo.CommitObject(commit)
	must(t, err)
	tree, err := c.Tree()
	must(t, err)
	for name, w := range map[string]struct {
		treeWriter
		room int
		want string
	}{
		"enough":           {treeWriter{ctx: t.Context(), left: 101}, 4, ""},
		"too many bytes":   {treeWriter{ctx: t.Context(), left: 100}, 4, "its files have more than"},
		"too many files":   {treeWriter{ctx: t.Context(), left: 101, files: mostFiles - 4}, 4, "more than 50000 files"},
		"too many folders": {treeWriter{ctx: t.Context(), left: 101}, 3, "folders"},
	} {
		err := w.tree(tree, t.TempDir(), w.room)
		if (err == nil) != (w.want == "") || err != nil && !strings.Contains(err.Error(), w.want) {
			t.Errorf("%s gives %v, want %q", name, err, w.want)
		}
	}
}

type nopWriter struct{}

func (nopWriter) Write(b []byte) (int, error) { return len(b), nil }
func (nopWriter) Close() error                { return nil }

func FuzzRevisions(f *testing.F) {
	for _, name := range []string{"a@b", "https://u:p@h/x.git@main:a/b", "git@h:x.git@v1", "ssh://h/x@" + strings.Repeat("0", 40), "@", "a@:", "./@x:..", "file:///x@HEAD:/"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		r, ok := revisionOf(name)
		if ok && (r.repo == "" || r.ref == "" || r.dir == "" || !filepath.IsLocal(filepath.FromSlash(r.dir)) || !strings.HasPrefix(name, r.repo+"@"+r.ref)) {
			t.Errorf("%q is taken as %+v", name, r)
		}
	})
}
