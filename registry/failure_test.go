package registry_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/registry"
)

func TestAddressesThatCannotBeUsedAreRefusedAtOnce(t *testing.T) {
	for _, url := range []string{
		"", "git://example.com/repo", "ftp://example.com/repo", "file://elsewhere/repo", "https:///repo",
		"https://example.com/repo?ref=main", "https://example.com/%zz", "https://user:s3cret@exa mple.com/x", "a\x00b",
	} {
		_, err := registry.Open(registry.Config{URL: url})
		wantProblem(t, err, abi.BadArguments, "address")
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
	_, err := registry.Open(registry.Config{URL: "x", ModuleBytes: abi.ModuleBytesCeiling + 1})
	wantProblem(t, err, abi.BadArguments, "64MiB")
	for url, want := range map[string]string{
		"https://user:s3cret@example.com/skills.git": "https://example.com/skills.git",
		"ssh://git@example.com/skills.git":           "ssh://example.com/skills.git",
		"git@example.com:skills.git":                 "ssh://example.com/skills.git",
		"file:///srv/skills":                         "/srv/skills",
		"/srv/with:colon":                            "/srv/with:colon",
		"/srv/skills/":                               "/srv/skills",
		"https://example.com/skills/":                "https://example.com/skills",
	} {
		if r := open(t, registry.Config{URL: url}); r.String() != want {
			t.Errorf("Open(%q) is shown as %q, want %q", url, r, want)
		}
	}
}

// reached runs List, Resolve, Fetch on a registry: each must fail alike.
func reached(t *testing.T, url string, code abi.Code, words ...string) {
	t.Helper()
	r := open(t, registry.Config{URL: url, CacheDir: t.TempDir()})
	_, err := r.List(t.Context(), "")
	wantProblem(t, err, code, words...)
	_, err = r.Resolve(t.Context(), "shop.pricing", "")
	wantProblem(t, err, code, words...)
	_, err = r.Fetch(t.Context(), registry.Version{Skill: "shop.pricing", Version: "1.0.0"})
	wantProblem(t, err, code, words...)
}

func TestWhatIsNotARegistryIsSaidToBeNone(t *testing.T) {
	folder := t.TempDir()
	reached(t, folder, abi.InvalidRegistry, folder, "no git repository")
	reached(t, filepath.Join(folder, "missing"), abi.InvalidRegistry, "missing", "--create")
	writeFile(t, filepath.Join(folder, "file"), "text")
	reached(t, filepath.Join(folder, "file"), abi.InvalidRegistry, "file")

	s := serve(t, folder)
	reached(t, s.URL+"/missing", abi.InvalidRegistry, s.URL+"/missing", "no git repository")

	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<html>Welcome</html>")
	}))
	defer page.Close()
	reached(t, page.URL, abi.InvalidRegistry, "not a git repository")
	page.Close()
	reached(t, page.URL, abi.RegistryFailure, page.URL, "cannot be reached")

	for _, extension := range []string{"refstorage = reftable", "objectformat = sha256"} {
		odd := filepath.Join(t.TempDir(), "repo")
		initBare(t, odd)
		writeFile(t, filepath.Join(odd, "config"), "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\t"+extension+"\n")
		reached(t, odd, abi.InvalidRegistry, "not a git repository that can be used")
	}
}

func TestAnEmptyRegistryIsSaidToBeEmpty(t *testing.T) {
	eachWay(t, initBare,
		func(t *testing.T, url, _ string) {
			reached(t, url, abi.NotFound, "holds no release yet", "sluice registry publish")
		})
	t.Run("with commits but no tags", func(t *testing.T) {
		eachWay(t, func(t *testing.T, repo string) {
			git(t, ".", "init", "--quiet", repo)
			git(t, repo, "commit", "--quiet", "--allow-empty", "-m", "x")
		}, func(t *testing.T, url, _ string) { reached(t, url, abi.NotFound, "holds no release yet") })
	})
}

func TestARegistryThatRefusesAccess(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		defer s.Close()
		reached(t, s.URL, abi.NotAllowed, "refuses access", "token")
	}
	for _, status := range []int{http.StatusInternalServerError, http.StatusTooManyRequests} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		defer s.Close()
		reached(t, s.URL, abi.RegistryFailure, "cannot be reached or read")
	}
}

func TestCredentialsReachTheServerAndNoError(t *testing.T) {
	root := t.TempDir()
	s := serve(t, root)
	publish(t, filepath.Join(root, "repo"), "shop.pricing", "1.0.0", []byte("module"))
	s.fault = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, password, _ := r.BasicAuth(); user != "t0ken" || password != "s3cret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	withUser := func(userinfo string) string { return strings.Replace(s.URL, "://", "://"+userinfo+"@", 1) + "/repo" }
	if _, err := fetchOne(t.Context(), open(t, registry.Config{URL: withUser("t0ken:s3cret")}), "shop.pricing", ""); err != nil {
		t.Errorf("with the right credentials: %v", err)
	}
	failing := []string{withUser("wr0ng:s3cret"), withUser("s3cret"), withUser("t0ken:s3cret") + "-missing"}
	for _, url := range failing {
		wantNoSecret(t, url)
	}
	s.fault = func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "ftp://elsewhere/", http.StatusFound)
		})
	}
	wantNoSecret(t, withUser("t0ken:s3cret"))
	s.Close()
	wantNoSecret(t, withUser("t0ken:s3cret"))
}

func wantNoSecret(t *testing.T, url string) {
	t.Helper()
	r := open(t, registry.Config{URL: url})
	_, err := r.List(t.Context(), "")
	_, fetching := r.Fetch(t.Context(), registry.Version{Skill: "shop.pricing", Version: "1.0.0"})
	_, publishing := registry.Publish(t.Context(), url, writeSkill(t, "shop.pricing", "2.0.0", []byte("m")), registry.PublishOptions{})
	for _, err := range []error{err, fetching, publishing} {
		if err == nil {
			t.Errorf("%s does not fail", url)
			continue
		}
		for _, secret := range []string{"s3cret", "t0ken", "wr0ng"} {
			if text := err.Error() + host.ProblemOf(err).Error(); strings.Contains(text, secret) {
				t.Errorf("the error shows the credentials: %s", text)
			}
		}
	}
}

// cutting lets so many bytes of an answer to a POST through and then breaks the
// connection.
func cutting(next http.Handler, bytes int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w = &cutWriter{w, bytes}
		}
		next.ServeHTTP(w, r)
	})
}

type cutWriter struct {
	http.ResponseWriter
	left int
}

func (w *cutWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		_, _ = w.ResponseWriter.Write(p[:w.left])
		_ = http.NewResponseController(w.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	w.left -= len(p)
	return w.ResponseWriter.Write(p)
}

func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestARegistryThatGoesAwayInTheMiddleOfAFetch(t *testing.T) {
	root := t.TempDir()
	s := serve(t, root)
	v := publish(t, filepath.Join(root, "repo"), "shop.pricing", "1.4.0", noise(1, 100_000))
	cfg := registry.Config{URL: s.URL + "/repo", CacheDir: t.TempDir()}
	for _, after := range []int{0, 3, 30, 60, 100, 1000, 50_000, 100_000} {
		s.fault = func(next http.Handler) http.Handler { return cutting(next, after) }
		_, err := open(t, cfg).Fetch(t.Context(), v)
		wantProblem(t, err, abi.RegistryFailure, "shop.pricing@1.4.0", "try again")
	}
	if left, err := filepath.Glob(filepath.Join(cfg.CacheDir, "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("a fetch that failed left %v, %v", left, err)
	}
	s.fault = func(next http.Handler) http.Handler { return next }
	if _, err := open(t, cfg).Fetch(t.Context(), v); err != nil {
		t.Errorf("once the registry is back: %v", err)
	}
}

func TestABrokenObjectIsNoticed(t *testing.T) {
	eachWay(t, func(t *testing.T, repo string) {
		publish(t, repo, "shop.pricing", "1.4.0", noise(1, 10_000))
		id := git(t, repo, "rev-parse", "shop.pricing/v1.4.0:skill.wasm")
		other := gitIn(t, repo, "something else", "hash-object", "-w", "--stdin")
		path := func(id string) string { return filepath.Join(repo, "objects", id[:2], id[2:]) }
		if err := os.Remove(path(id)); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path(other), path(id)); err != nil {
			t.Fatal(err)
		}
	}, func(t *testing.T, url, _ string) {
		_, err := fetchOne(t.Context(), open(t, registry.Config{URL: url}), "shop.pricing", "")
		if code := host.ProblemOf(err).Code; err == nil || code != abi.InvalidRegistry && code != abi.RegistryFailure {
			t.Errorf("a module with other content gives %v", err)
		}
	})
}

func TestACacheFolderThatCannotBeWritten(t *testing.T) {
	repo := filepath.Join(t.TempDir(), "repo")
	v := publish(t, repo, "shop.pricing", "1.4.0", []byte("module"))
	taken := filepath.Join(t.TempDir(), "file")
	writeFile(t, taken, "a file where a folder should be")
	_, err := open(t, registry.Config{URL: repo, CacheDir: taken}).Fetch(t.Context(), v)
	wantProblem(t, err, abi.StoreFailure, "cache folder")
}

func TestACancelledContextStopsWorkOnAPath(t *testing.T) {
	repo := filepath.Join(t.TempDir(), "repo")
	v := publish(t, repo, "shop.pricing", "1.4.0", []byte("module"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := open(t, registry.Config{URL: repo})
	_, err := r.Fetch(ctx, v)
	wantProblem(t, err, abi.Cancelled)
	_, err = r.List(ctx, "")
	wantProblem(t, err, abi.Cancelled)
	_, err = registry.Publish(ctx, repo, writeSkill(t, "shop.pricing", "2.0.0", []byte("m")), registry.PublishOptions{})
	wantProblem(t, err, abi.Cancelled)
	if tags := git(t, repo, "tag"); strings.Contains(tags, "v2.0.0") {
		t.Error("a cancelled publish made the tag")
	}
}

func TestARepositoryThatMovedIsFollowed(t *testing.T) {
	root := t.TempDir()
	s := serve(t, root)
	publish(t, filepath.Join(root, "repo"), "shop.pricing", "1.4.0", []byte("module"))
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := r.BasicAuth(); !ok {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.Redirect(w, r, s.URL+r.URL.RequestURI(), http.StatusMovedPermanently)
	}))
	defer old.Close()
	s.fault = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, _, ok := r.BasicAuth(); ok {
				t.Error("another server was given the credentials")
			}
			next.ServeHTTP(w, r)
		})
	}
	r := open(t, registry.Config{URL: strings.Replace(old.URL, "://", "://user:s3cret@", 1) + "/repo"})
	for range 2 {
		if _, err := fetchOne(t.Context(), r, "shop.pricing", ""); err != nil {
			t.Error(err)
		}
	}
}
