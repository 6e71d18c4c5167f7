package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"

	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/state/statetest"
	"github.com/sluicehq/sluice/memory/embed/embedtest"
)

// skills are the sources that the scripts build; the same source gives the
// same bytes, so what is warmed here is what the scripts load.
var skills = []string{"skills/shop/broken", "skills/shop/catalog", "skills/shop/coupons", "skills/shop/pricing", "skills/shop/rules", "skills/shop/stage", "skills/airline", "skills/polyglot/go", "cmd/sluice/testdata/keepsake"}

// mariadb is the server of the scripts that want one: the command database makes
// an empty database there and names it as the store.
var mariadb statetest.Shared

func TestMain(m *testing.M) { os.Exit(mariadb.Main(m)) }

func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, skill := range skills {
		sandboxtest.Warm(t, sandboxtest.Build(t, skill))
	}
	bin := plainCommand(t)
	built := builtSkills(t, filepath.Join(bin, "sluice"), filepath.Join(root, "skills", "shop"), "pricing", "stage")
	packages := sandboxtest.Packages(t, "skills/polyglot/assemblyscript")
	shared := filepath.Join(root, "..", "shared")
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Setenv("ROOT", root)
			e.Setenv("BUILT", built)
			e.Setenv("SHARED", shared)
			e.Setenv("SLUICE_HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("SLUICE_COMPILED", sandboxtest.CacheDir(t))
			e.Setenv("XDG_CACHE_HOME", sandboxtest.CacheDir(t)) // precheck's compiled modules
			e.Setenv("PACKAGES", packages)
			for name, value := range sandboxtest.Cargo(t) {
				e.Setenv(name, value)
			}
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY"} {
				e.Setenv(name, goEnv(t, name))
			}
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "shared" {
				return false, errors.New("unknown condition " + name)
			}
			_, err := os.Stat(shared)
			if err != nil {
				t.Log("the shared data is not here: the replay of the recorded conversations is skipped")
			}
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "first": first, "replace": replace, "pipeline": pipeline, "section": section, "memoryid": memoryID, "holds": holds, "model": wordModel, "labelled": labelled, "database": func(ts *testscript.TestScript, _ bool, _ []string) {
			ts.Setenv("SLUICE_STORE", mariadb.Database(t))
		}},
	})
}

// plainCommand builds the commands as users do and gives their folder; they find
// the machine code that was made for tests. With the race detector in it the
// scripts, which compile modules, would take minutes.
func plainCommand(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	build := exec.Command("go", "build", sandboxtest.AsTestsDo, "-o", bin, ".", "../precheck")
	build.Env = append(os.Environ(), "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// builtSkills builds skills of a folder with the command, for the scripts that want
// one and show something else, and gives where their own folders lie.
func builtSkills(t *testing.T, sluice, folder string, skills ...string) string {
	t.Helper()
	built := t.TempDir()
	for _, skill := range skills {
		build := exec.Command(sluice, "skill", "build", filepath.Join(folder, skill), "--out", filepath.Join(built, skill))
		build.Env = append(os.Environ(), "GOFLAGS=", "SLUICE_HOME="+t.TempDir(), "SLUICE_COMPILED="+sandboxtest.CacheDir(t))
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return built
}

// exits N COMMAND... runs a command and demands its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N command [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// replace FILE OLD NEW changes a text that is in a file.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(text, args[1], args[2])), 0o600))
}

// pipeline N FILE runs the commands of a CI file of GitLab or GitHub as they stand,
// up to one that fails, and demands the exit code.
func pipeline(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: pipeline N FILE")
	}
	var file struct {
		Precheck struct{ Script []string }
		Jobs     map[string]struct{ Steps []struct{ Run string } }
	}
	ts.Check(yaml.Unmarshal([]byte(ts.ReadFile(args[1])), &file))
	commands := file.Precheck.Script
	for _, job := range file.Jobs {
		for _, step := range job.Steps {
			if step.Run != "" {
				commands = append(commands, step.Run)
			}
		}
	}
	if len(commands) == 0 {
		ts.Fatalf("%s has no commands", args[1])
	}
	exits(ts, false, []string{args[0], "sh", "-e", "-c", strings.Join(commands, "\n")})
}

// section FILE HEADING OUT takes the commands below a heading of a document.
func section(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: section FILE HEADING OUT")
	}
	_, text, found := strings.Cut(ts.ReadFile(args[0]), "\n## "+args[1]+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	commands := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1)
	if !found || len(commands) == 0 {
		ts.Fatalf("%s has no commands below %q", args[0], args[1])
	}
	var all strings.Builder
	for _, block := range commands {
		all.WriteString(block[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(all.String()), 0o600))
}

// first PREFIX_ID FILE puts the first id of a file that begins with PREFIX_ into
// the variable.
func first(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: first PREFIX_ID FILE")
	}
	prefix := strings.TrimSuffix(args[0], "ID")
	id := regexp.MustCompile(prefix + `[0-9a-f]+`).FindString(ts.ReadFile(args[1]))
	if id == "" {
		ts.Fatalf("%s has no %s", args[1], prefix)
	}
	ts.Setenv(args[0], id)
}

// memoryid stdout|FILE puts the id of the first memory, as JSON, into MEMORY.
func memoryID(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: memoryid FILE")
	}
	id := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(ts.ReadFile(args[0]))
	if id == nil {
		ts.Fatalf("%s has no memory", args[0])
	}
	ts.Setenv("MEMORY", id[1])
}

// model KIND FOLDER writes a model of a few words: one that helps, one that harms, or noise.
func wordModel(ts *testscript.TestScript, _ bool, args []string) {
	made := map[string]func() embedtest.Model{"helps": embedtest.Helpful, "harms": embedtest.Harmful, "noise": embedtest.Noisy}
	if len(args) != 2 || made[args[0]] == nil {
		ts.Fatalf("usage: model helps|harms|noise FOLDER")
	}
	ts.Check(made[args[0]]().WriteFolder(ts.MkAbs(args[1])))
}

// labelled FOLDER writes the labelled data that tell such models apart.
func labelled(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: labelled FOLDER")
	}
	ts.Check(embedtest.WriteLabelled(ts.MkAbs(args[0])))
}

// holds FOLDER TEXT demands that some file below the folder has the text; its
// negation, that none has.
func holds(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] holds FOLDER TEXT")
	}
	var with []string
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(args[1])) {
			with = append(with, path)
		}
		return err
	}))
	if neg && len(with) > 0 {
		ts.Fatalf("%s is in %v", args[1], with)
	}
	if !neg && len(with) == 0 {
		ts.Fatalf("%s is in no file of %s", args[1], args[0])
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestServeAnswersAndStops runs the real command: it serves, tells that it is
// ready, answers a turn, and ends when it is interrupted.
func TestServeAnswersAndStops(t *testing.T) {
	url, stop := serve(t, aShop(t))
	if body := get(t, url+"/readyz", http.StatusOK); !strings.Contains(body, "store") {
		t.Errorf("/readyz says %s", body)
	}
	if body := get(t, url+"/v1/tools", http.StatusOK); !strings.Contains(body, "set_price") {
		t.Errorf("/v1/tools says %s", body)
	}
	stop()
}

// A client that goes away ends nothing: the host ends its session, and keeps in memory
// what was done in it.
func TestServeEndsASessionThatSaysNothingMore(t *testing.T) {
	env := aShop(t)
	products := filepath.Join(t.TempDir(), "products.json")
	if err := os.WriteFile(products, []byte(`{"product/1001": {"sku": "1001", "title": "Lime soda", "price": 99, "floor": 80, "stock": 3, "currency": "CNY"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, env, "chat", "--seed", "shop="+products)
	url, stop := serve(t, env, "--session-idle", "1s")
	var made struct{ Session string }
	if err := json.Unmarshal(post(t, url+"/v1/sessions", `{}`), &made); err != nil {
		t.Fatal(err)
	}
	post(t, url+"/v1/sessions/"+made.Session+"/turns", `{"text":"what does 1001 cost?"}`)
	for !strings.Contains(run(t, env, "memory", "list", "--user", "mia", "--json"), "calls done: ") {
		time.Sleep(100 * time.Millisecond) // until the test's own time is over
	}
	post(t, url+"/v1/sessions/"+made.Session+"/turns", `{"text":"and what does 1001 cost now?"}`)
	stop()
	if said := run(t, env, "session", "show", made.Session, "--user", "mia"); !strings.Contains(said, "what does 1001 cost?") || !strings.Contains(said, "cost now?") {
		t.Errorf("after its end the session goes on with\n%s", said)
	}
}

// aShop gives the environment of a home whose registry has the shop's prices.
func aShop(t *testing.T) (env func(string) string) {
	t.Helper()
	home := t.TempDir()
	repo := filepath.Join(home, "registry.git")
	environment := map[string]string{"SLUICE_HOME": home, "SLUICE_REGISTRY": repo, "SLUICE_COMPILED": sandboxtest.CacheDir(t)}
	env = func(name string) string { return environment[name] }
	sandboxtest.Warm(t, sandboxtest.Build(t, "skills/shop/pricing"))
	dist := filepath.Join(home, "dist")
	run(t, env, "skill", "build", "../../skills/shop/pricing", "--out", dist)
	run(t, env, "registry", "publish", dist, "--to", repo, "--create")
	return env
}

// serve runs the real command. The function that it gives interrupts it, and wants
// that it ends well.
func serve(t *testing.T, env func(string) string, args ...string) (url string, stop func()) {
	t.Helper()
	ctx, interrupt := context.WithCancel(context.Background())
	t.Cleanup(interrupt)
	reader, writer := io.Pipe()
	p := &program{env: env, stdin: strings.NewReader(""), stdout: io.Discard, stderr: writer}
	code := make(chan int, 1)
	go func() {
		code <- p.run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...))
		writer.Close()
	}()
	return awaitURL(t, reader), func() {
		t.Helper()
		interrupt()
		if got := <-code; got != exitOK && got != exitInterrupted {
			t.Errorf("exit code %d", got)
		}
	}
}

func post(t *testing.T, url, body string) []byte {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json", "Sluice-User": "mia"} {
		request.Header.Set(name, value)
	}
	response, err := (&http.Client{}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s: %s, %v\n%s", url, response.Status, err, got)
	}
	return got
}

func run(t *testing.T, env func(string) string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	p := &program{env: env, stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	if code := p.run(context.Background(), args); code != exitOK {
		t.Fatalf("sluice %s: exit code %d\n%s%s", strings.Join(args, " "), code, out.String(), errs.String())
	}
	return out.String()
}

// awaitURL reads standard error until it tells the address, and goes on
// reading so that nobody blocks on it.
func awaitURL(t *testing.T, r io.Reader) string {
	t.Helper()
	address := regexp.MustCompile(`http://[0-9.:]+`)
	var seen bytes.Buffer
	for buffer := make([]byte, 1024); ; {
		n, err := r.Read(buffer)
		seen.Write(buffer[:n])
		if url := address.Find(seen.Bytes()); url != nil {
			go io.Copy(io.Discard, r)
			return string(url)
		}
		if err != nil {
			t.Fatalf("serve ended: %s", seen.String())
		}
	}
}

func get(t *testing.T, url string, want int) string {
	t.Helper()
	response, err := (&http.Client{}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		t.Fatalf("%s: %s, %v", url, response.Status, err)
	}
	return string(body)
}

// TestInterruptionEndsWithItsCodeAndLeavesNothing: a cancelled demo cleans up.
func TestInterruptionEndsWithItsCodeAndLeavesNothing(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	ctx, interrupt := context.WithCancel(context.Background())
	interrupt()
	home := t.TempDir()
	p := &program{env: func(name string) string { return map[string]string{"SLUICE_HOME": home}[name] }, stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	if code := p.run(ctx, []string{"demo", "--skills", "../../skills/shop"}); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
