//go:build !race

package window

// What is measured on recorded data: one goroutine each, which the race
// detector makes twenty times slower for nothing.

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/sluicehq/sluice/host/model"
)

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

// TestAMeterCorrectsForAnotherVocabulary: an older vocabulary cuts Chinese into
// a half more tokens; after a few answers the estimate is right.
func TestAMeterCorrectsForAnotherVocabulary(t *testing.T) {
	count := encoder(t, "cl100k_base")
	for kind, texts := range samples(t) {
		var m Meter
		for _, text := range texts[:10] {
			m = m.Observe(Tokens(text), model.Usage{Input: count(text)})
		}
		real, estimated, plain := 0, 0, 0
		for _, text := range texts[10:min(len(texts), 200)] {
			real, estimated, plain = real+count(text), estimated+m.Tokens(Tokens(text)), plain+Tokens(text)
		}
		off := float64(estimated-real) / float64(real)
		t.Logf("%-8s %+.1f %% before, %+.1f %% after ten answers", kind, 100*float64(plain-real)/float64(real), 100*off)
		if off < -0.10 || off > 0.10 {
			t.Errorf("%s: %d tokens are estimated as %d", kind, real, estimated)
		}
	}
}

func TestTheToolThatAModelUsedIsAmongThoseShown(t *testing.T) {
	shelf := NewShelf(crowd(t), nil, 0)
	if len(shelf.stock) < 520 {
		t.Fatalf("%d tools stand on the shelf", len(shelf.stock))
	}
	var calls, shownCalls, changes, models int
	missing := map[string]int{}
	for _, run := range recordedRuns(t) {
		messages := messagesOf(run)
		var shown Shown
		for i, m := range messages {
			if m.Role != model.RoleAssistant {
				continue
			}
			models++
			before := len(shown.Tools)
			shown = shelf.Choose(shown, messages[:i], "")
			if len(shown.Tools) > DefaultTools-1 {
				t.Fatalf("%d tools are shown", len(shown.Tools))
			}
			if before != len(shown.Tools) {
				changes++
			}
			for _, c := range m.Calls {
				if calls++; hasTool(shelf.Tools(shown), c.Tool) {
					shownCalls++
				} else {
					missing[c.Tool]++
				}
			}
		}
	}
	part := float64(shownCalls) / float64(calls)
	t.Logf("of %d recorded calls %.1f %% were of a tool that was shown, %d of %d; the tools changed at %d of %d requests; missing %v",
		calls, 100*part, DefaultTools, len(shelf.stock), changes, models, missing)
	if part < 0.97 {
		t.Errorf("only %.1f %% of the recorded calls are of a tool that was shown", 100*part)
	}
}

func hasTool(tools []model.Tool, name string) bool {
	for _, t := range tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

// TestASmallWindowAndManyToolsLeaveMostInTheCache: compaction and a changed
// choice of tools cost the cache, and are rare enough.
func TestASmallWindowAndManyToolsLeaveMostInTheCache(t *testing.T) {
	shelf := NewShelf(crowd(t), nil, 0)
	var cached, sent, requests, compacted int
	for _, run := range recordedRuns(t)[:40] {
		messages := messagesOf(run)
		var before string
		var cut Cut
		var shown Shown
		for i, m := range messages {
			if m.Role != model.RoleAssistant {
				continue
			}
			plan, err := Fit(Conversation{Messages: messages[:i], Cut: cut}, Budget{Window: 16_000, Fixed: 4000})
			if err != nil {
				t.Fatal(err)
			}
			cut = plan.Cut
			compacted += len(plan.Events)
			shown = shelf.Choose(shown, messages[:i], "")
			now := wire(t, Layers{Skills: shelf.Skills(shown), Tools: shelf.Tools(shown), Talk: plan.Messages}.Request(), false)
			cached += commonPrefix(before, now)
			sent += len(now)
			requests++
			before = now
		}
	}
	part := float64(cached) / float64(sent)
	t.Logf("%d requests, %d compactions: %.1f %% of their bytes begin as the request before", requests, compacted, 100*part)
	if part < 0.6 || compacted == 0 {
		t.Errorf("only %.1f %% are the same, %d compactions", 100*part, compacted)
	}
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
