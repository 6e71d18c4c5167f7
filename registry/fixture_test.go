package registry_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/registry"
)

// manifestText is the skill.yaml of the fixtures, with its name and version to
// be filled in. Order, comments and quoting are an author's.
const manifestText = `# The skill of these tests.
sluice: 1
name: %s   # the registry's key
version: "%s"
summary: Quotes prices.
positioning: >
  Use it to quote the price of one product.
  Never for coupons.
module: skill.wasm   # built by make
guide: SKILL.md
abi: 1

tools:
  - name: quote
    summary: Quote the price of one product.
    effect: read
    input: schemas/quote.json
    output: {type: object, properties: {price: {type: number}}}
    examples:
      - say: "How much is 1001?"
        args: {sku: "1001"}
        returns: {price: 89}
`

const schemaText = `{"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"], "additionalProperties": false}`

// writeSkill writes the folder of a skill and gives its path.
func writeSkill(t testing.TB, name, version string, module []byte) string {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{
		"skill.yaml":         fmt.Sprintf(manifestText, name, version),
		"schemas/quote.json": schemaText,
		"SKILL.md":           "---\nname: quote\ndescription: Quotes prices.\n---\nAsk for the sku first.\n",
		"skill.wasm":         string(module),
		"main.go":            "package main\n",
	} {
		writeFile(t, filepath.Join(dir, file), text)
	}
	return dir
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func someTime() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// publish puts a release into the repository at a path or a URL.
func publish(t testing.TB, repo, name, version string, module []byte) registry.Version {
	t.Helper()
	v, err := registry.Publish(t.Context(), repo, writeSkill(t, name, version, module),
		registry.PublishOptions{Create: true, Now: someTime})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func open(t *testing.T, cfg registry.Config) *registry.Registry {
	t.Helper()
	r, err := registry.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantProblem demands an error with a code whose text has all of the words.
func wantProblem(t *testing.T, err error, code abi.Code, words ...string) *abi.Problem {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want a problem %d", code)
	}
	p := host.ProblemOf(err)
	if p.Code != code {
		t.Fatalf("error %v has the code %d, want %d", err, p.Code, code)
	}
	for _, word := range words {
		if !strings.Contains(p.Error(), word) {
			t.Errorf("problem %q does not say %q", p.Error(), word)
		}
	}
	if p.Hint == "" && code != abi.Cancelled && code != abi.Deadline {
		t.Errorf("problem %q does not say what to do", p.Error())
	}
	return p
}

// git runs a git command in a folder, away from the settings of whoever runs
// the tests.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return gitIn(t, dir, "", args...)
}

func gitIn(t testing.TB, dir, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.c", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.c")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, errs.String())
	}
	return strings.TrimSpace(string(out))
}

func initBare(t *testing.T, repo string) {
	t.Helper()
	git(t, ".", "init", "--quiet", "--bare", "--template=", repo)
}

// A server is a real git server over HTTP, with an account of what it was
// asked for and of how much it gave.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string // guarded by mu
	bytes    int      // of all bodies; guarded by mu
	fault    func(http.Handler) http.Handler
}

// serve serves the repositories below root. It takes pushes.
func serve(t testing.TB, root string) *server {
	t.Helper()
	s := &server{fault: func(next http.Handler) http.Handler { return next }}
	backend := &cgi.Handler{
		Path: filepath.Join(git(t, root, "--exec-path"), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=tester",
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"},
		Stderr: io.Discard, Logger: log.New(io.Discard, "", 0),
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.count(r.Method+" "+r.URL.RequestURI(), 0)
		s.fault(backend).ServeHTTP(&countingWriter{w, s}, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) count(request string, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if request != "" {
		s.requests = append(s.requests, request)
	}
	s.bytes += bytes
}

// take gives the account since the last time.
func (s *server) take() (requests []string, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests, bytes = s.requests, s.bytes
	s.requests, s.bytes = nil, 0
	return requests, bytes
}

type countingWriter struct {
	http.ResponseWriter
	server *server
}

func (w *countingWriter) Write(p []byte) (int, error) {
	w.server.count("", len(p))
	return w.ResponseWriter.Write(p)
}

// A way is one way to reach the same repository.
type way struct {
	name string
	url  func(root string, s *server) string
}

func ways() []way {
	return []way{
		{"path", func(root string, _ *server) string { return filepath.Join(root, "repo") }},
		{"file URL", func(root string, _ *server) string { return "file://" + filepath.Join(root, "repo") }},
		{"http", func(_ string, s *server) string { return s.URL + "/repo" }},
	}
}

// eachWay runs a test for a repository that fill makes, once for each way.
func eachWay(t *testing.T, fill func(t *testing.T, repo string), test func(t *testing.T, url, repo string)) {
	t.Helper()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			root := t.TempDir()
			s := serve(t, root)
			repo := filepath.Join(root, "repo")
			fill(t, repo)
			test(t, w.url(root, s), repo)
		})
	}
}

// noise gives bytes that do not compress, the same for the same seed.
func noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		seed = seed*6364136223846793005 + 1442695040888963407
		b[i] = byte(seed >> 56)
	}
	return b
}

func names(versions []registry.Version) []string {
	out := make([]string, len(versions))
	for i, v := range versions {
		out[i] = v.String()
	}
	return out
}

func fetchOne(ctx context.Context, r *registry.Registry, skill, constraint string) (*registry.Release, error) {
	v, err := r.Resolve(ctx, skill, constraint)
	if err != nil {
		return nil, err
	}
	return r.Fetch(ctx, v)
}
