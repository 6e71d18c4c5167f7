package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/embed/embedtest"
	"github.com/sluicehq/sluice/memory/keeper"
	"github.com/sluicehq/sluice/memory/memorytest"
)

// judgeBench is a home whose commands use a model at an endpoint, and data that judge it.
func judgeBench(t *testing.T, model http.Handler, more map[string]string) (env func(string) string, things string) {
	t.Helper()
	server := httptest.NewServer(model)
	t.Cleanup(server.Close)
	settings := map[string]string{"SLUICE_HOME": t.TempDir(), "SLUICE_EMBEDDER": fmt.Sprintf("openai:%s/v1?dimensions=%d#things", server.URL, embedtest.Dimensions)}
	for name, value := range more {
		settings[name] = value
	}
	things = filepath.Join(t.TempDir(), "things")
	if err := embedtest.WriteLabelled(things); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(settings["SLUICE_HOME"], "mia.jsonl")
	if err := os.WriteFile(file, []byte(`{"text":"Der Hund","layer":1,"kind":"preference","trust":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	env = func(name string) string { return settings[name] }
	run(t, env, "memory", "import", file)
	return env, things
}

// TestAVerdictReachesAHostThatRuns opens a host, and has a command judge its model
// meanwhile.
func TestAVerdictReachesAHostThatRuns(t *testing.T) {
	env, things := judgeBench(t, embedtest.Helpful(), nil)
	p := &program{env: env, stderr: io.Discard, home: env("SLUICE_HOME"), memory: memoryFlags{hear: byRules,
		mode: "on", index: embedded, embedder: env("SLUICE_EMBEDDER"), dense: denseJudged, ranking: memory.MeasuredRanking}}
	h, err := p.openHome(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if err := p.remember(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	finds := func() bool {
		q := keeper.Query{Filter: memory.Filter{Tenant: "local", User: host.UserID("local")}, Text: "which dog"}
		hits, err := h.minding.Recall(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return len(hits) == 1
	}
	if leg := h.minding.Leg(); leg.On || leg.Why != keeper.NotJudged || finds() {
		t.Fatalf("before anybody judged: %+v", leg)
	}
	run(t, env, "memory", "judge", things)
	for end := time.Now().Add(20 * time.Second); !finds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the host does not find by meaning: %+v", h.minding.Leg())
		}
	}
}

// TestHostsThatShareAnIndexFindByMeaningOnceJudged has the vectors on a server.
func TestHostsThatShareAnIndexFindByMeaningOnceJudged(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
	env, things := judgeBench(t, embedtest.Helpful(), map[string]string{"SLUICE_MEMORY_INDEX": "qdrant://" + server.Address()})
	if found := run(t, env, "memory", "search", "which dog"); strings.Contains(found, "Hund") {
		t.Errorf("before anybody judged: %s", found)
	}
	run(t, env, "memory", "judge", things)
	if told := run(t, env, "memory", "rebuild"); !strings.Contains(told, "found by meaning, too") {
		t.Errorf("rebuilt: %s", told)
	}
	for _, ranking := range []string{memory.MeasuredRanking, memory.SpecifiedRanking} {
		if found := run(t, env, "memory", "search", "which dog", "--why", "--memory-ranking", ranking); !strings.Contains(found, "Hund") || !strings.Contains(found, "meaning") {
			t.Errorf("%s: found %s", ranking, found)
		}
	}
}

func TestAnInterruptedJudgementKeepsNoVerdict(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	env, things := judgeBench(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		interrupt()
		embedtest.Helpful().ServeHTTP(w, r)
	}), nil)
	p := &program{env: env, stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	if code := p.run(ctx, []string{"memory", "judge", things}); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if kept := run(t, env, "memory", "judge", "--json"); kept != "" {
		t.Errorf("kept is %s", kept)
	}
}
