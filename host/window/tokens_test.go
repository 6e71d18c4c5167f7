package window

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/sluicehq/sluice/host/model"
)

// rootFolder is the repository's root.
func rootFolder(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for !exists(filepath.Join(root, "go.mod")) {
		if root == filepath.Dir(root) {
			t.Fatal("no go.mod above the package")
		}
		root = filepath.Dir(root)
	}
	return root
}

// shared opens the data that lie beside the repository.
func shared(t testing.TB) fs.FS {
	t.Helper()
	folder := filepath.Join(rootFolder(t), "..", "shared")
	if !exists(folder) {
		t.Skipf("%s does not exist: the samples are not here", folder)
	}
	return os.DirFS(filepath.Join(folder, "data"))
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// recordedRuns are the conversations of a real model with the airline's tools.
func recordedRuns(t testing.TB) []model.Run {
	t.Helper()
	f, err := shared(t).Open("tau-airline/runs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	runs, err := model.ParseRuns(f)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// passages reads the texts of a file of JSON lines, at most so many.
func passages(t testing.TB, name string, most int) []string {
	t.Helper()
	f, err := shared(t).Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	var texts []string
	for lines.Scan() && len(texts) < most {
		var line struct{ Text string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, line.Text)
	}
	return texts
}

// samples gives texts of four kinds, each of some hundred tokens and more.
func samples(t testing.TB) map[string][]string {
	t.Helper()
	all := map[string][]string{"Chinese": passages(t, "cmrc2018/docs.jsonl", 400)}
	turns := passages(t, "locomo/docs.jsonl", 2000)
	for i := 0; i+20 <= len(turns); i += 20 {
		all["English"] = append(all["English"], strings.Join(turns[i:i+20], "\n"))
	}
	for _, run := range recordedRuns(t) {
		for _, m := range run.Messages {
			if text := m.Text(); m.Role == "tool" && json.Valid([]byte(text)) && len(text) > 200 {
				all["JSON"] = append(all["JSON"], text)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(rootFolder(t), "host", "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(files); i += 3 {
		text, err := os.ReadFile(files[i])
		if err != nil {
			t.Fatal(err)
		}
		all["code"] = append(all["code"], string(text))
	}
	return all
}

// encoder gives a real byte pair encoder; its vocabulary comes with its module.
func encoder(t testing.TB, vocabulary string) func(string) int {
	t.Helper()
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	e, err := tiktoken.GetEncoding(vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) int { return len(e.EncodeOrdinary(text)) }
}

// TestTokensAreWithinTenPercentOfARealEncoder: together, and in the middle of
// the samples each by itself.
func TestTokensAreWithinTenPercentOfARealEncoder(t *testing.T) {
	count := encoder(t, "o200k_base")
	for kind, texts := range samples(t) {
		var real, estimated, close int
		worst := 0.0
		for _, text := range texts {
			r, e := count(text), Tokens(text)
			real, estimated = real+r, estimated+e
			off := float64(e-r) / float64(r)
			if off < 0 {
				off = -off
			}
			if off <= 0.10 {
				close++
			}
			worst = max(worst, off)
		}
		off := float64(estimated-real) / float64(real)
		t.Logf("%-8s %4d samples, %7d tokens: together %+.1f %%, %.0f %% of the samples within 10 %%, worst %.0f %%",
			kind, len(texts), real, 100*off, 100*float64(close)/float64(len(texts)), 100*worst)
		if off < -0.10 || off > 0.10 {
			t.Errorf("%s: %d tokens are estimated as %d", kind, real, estimated)
		}
	}
}
