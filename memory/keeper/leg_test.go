package keeper

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/embed"
	"github.com/sluicehq/sluice/memory/index"
)

// verdictOn makes a verdict on a model in the measured ranking.
func verdictOn(model memory.Embedder, on bool) Verdict {
	return Verdict{Model: model.Name(), Ranking: memory.MeasuredRanking, Meaning: 0.35, Figures: embed.Verdict{On: on, Reason: "as judged"}, Data: "digest"}
}

func (k *Keeper) testOnlyJudged(t testing.TB, v ...Verdict) {
	t.Helper()
	must(t, k.KeepVerdicts(t.Context(), v))
}

// waitForLeg waits until the follower of verdicts saw one.
func waitForLeg(t testing.TB, k *Keeper, on bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); k.Leg().On != on; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the leg stays %+v", k.Leg())
		}
	}
}

func fast(c *Config) { c.Poll = time.Millisecond }

func TestAModelThatNobodyJudgedIsAskedForNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		model := &fakeEmbedder{}
		k := r.open(fast, func(c *Config) { c.Embedder = model })
		k.testOnlyRemember(t, ann, said("prefers tea"))
		if got := recall(t, k, Query{Filter: of(ann), Text: "tea"}); len(got) != 1 {
			t.Errorf("by words it recalls %v", got)
		}
		signal(k.toEmbed)
		must(t, k.SyncVectors(t.Context(), nil))
		s, err := k.State(t.Context())
		must(t, err)
		if s.Leg != (Leg{Model: model.Name(), Why: NotJudged}) || s.Waiting != 0 {
			t.Errorf("%+v", s)
		}
		must(t, k.Close())
		if n := model.asked.Load(); n != 0 {
			t.Errorf("the model was asked for %d texts", n)
		}
		var listed int
		_, err = row(t.Context(), r.db.Reads, countWaiting, nil, &listed)
		must(t, err)
		if listed != 0 {
			t.Errorf("%d memories wait for a vector that nobody gives", listed)
		}
	})
}

// TestAVerdictIsFollowedByEveryReplica keeps verdicts with a keeper that has neither
// index nor model, as a command beside the hosts does.
func TestAVerdictIsFollowedByEveryReplica(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		model := &fakeEmbedder{}
		with := func(c *Config) { c.Embedder, c.Poll = model, time.Millisecond }
		a, b := r.open(with), r.again().open(with)
		command := r.again().open(func(c *Config) { c.Store = nil })
		a.testOnlyRemember(t, ann, said("prefers tea"), said("likes coffee a lot"))
		command.testOnlyJudged(t, verdictOn(model, true))
		for _, k := range []*Keeper{a, b} {
			waitForLeg(t, k, true)
			must(t, k.SyncVectors(t.Context(), nil))
			waitForVectors(t, k, 2)
			if leg := k.Leg(); leg.Why != Judged || leg.Meaning != 0.35 || leg.Verdict.Terms != entryVersion || leg.Verdict.At.IsZero() {
				t.Errorf("%+v of %+v", leg, leg.Verdict)
			}
		}
		if n := model.asked.Load(); n != 2 {
			t.Errorf("the model was asked for %d texts; want one for each memory", n)
		}
		command.testOnlyJudged(t, verdictOn(model, false))
		for _, k := range []*Keeper{a, b} {
			waitForLeg(t, k, false)
		}
		a.testOnlyRemember(t, ann, said("drinks water on Sundays"))
		recall(t, a, Query{Filter: of(ann), Text: "tea"})
		must(t, a.SyncVectors(t.Context(), nil))
		if n := model.asked.Load(); n != 2 {
			t.Errorf("a model that was judged off was asked again: %d", n)
		}
		command.testOnlyJudged(t, verdictOn(model, true))
		waitForLeg(t, a, true)
		must(t, a.SyncVectors(t.Context(), nil))
		waitForVectors(t, a, 3)
	})
}

// Only a verdict on exactly this model, these terms and this ranking counts.
func TestAVerdictOnAnotherCountsForNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		model := &fakeEmbedder{name: "mine"}
		k := r.open(func(c *Config) { c.Embedder, c.Poll = model, time.Hour })
		specified := verdictOn(model, true)
		specified.Ranking = memory.SpecifiedRanking
		k.testOnlyJudged(t, verdictOn(&fakeEmbedder{name: "another"}, true), specified)
		must(t, k.change(t.Context(), func(ctx context.Context, t *tx) error {
			_, err := exec(ctx, t.on, makeVerdict, model.Name(), "terms of another time", memory.MeasuredRanking, []byte("{}"))
			return err
		}))
		k.look(t.Context())
		if leg := k.Leg(); leg.On || leg.Why != NotJudged {
			t.Errorf("%+v", leg)
		}
		mine := verdictOn(model, true)
		k.testOnlyJudged(t, mine)
		k.look(t.Context())
		if !k.Leg().On {
			t.Errorf("its own verdict counts for nothing: %+v", k.Leg())
		}
	})
}

func TestAVerdictThatCannotBeReadTurnsTheLegOffAndIsTold(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		command := r.open(func(c *Config) { c.Store = nil })
		for name, detail := range map[string]string{
			"no JSON":        `{`,
			"empty":          `{}`,
			"another model":  `{"model":"x","terms":"terms 2","ranking":"measured","meaning":0.5,"data":"d","figures":{"on":true}}`,
			"no weight":      `{"model":"fake ","terms":"terms 2","ranking":"measured","data":"d","figures":{"on":true}}`,
			"a wild weight":  `{"model":"fake ","terms":"terms 2","ranking":"measured","meaning":1e300,"data":"d","figures":{"on":true}}`,
			"another's rank": `{"model":"fake ","terms":"terms 2","ranking":"specified","meaning":0.2,"data":"d","figures":{"on":true}}`,
		} {
			model, said := &fakeEmbedder{}, &log{}
			command.testOnlyJudged(t, verdictOn(model, true))
			k := r.open(func(c *Config) { c.Embedder, c.Poll, c.Logger = model, time.Hour, said.logger() })
			if !k.Leg().On {
				t.Fatalf("it is off before: %+v", k.Leg())
			}
			must(t, k.change(t.Context(), func(ctx context.Context, t *tx) error {
				_, err := exec(ctx, t.on, "UPDATE memory_verdict SET detail = ? WHERE model = ?", []byte(detail), model.Name())
				return err
			}))
			k.look(t.Context())
			k.look(t.Context())
			if leg := k.Leg(); leg.On || leg.Why != Unreadable {
				t.Errorf("%s: %+v", name, leg)
			}
			if n := strings.Count(said.text(), "cannot be read"); n != 1 {
				t.Errorf("%s: it was told %d times: %s", name, n, said.text())
			}
			if _, err := k.Verdicts(t.Context()); name != "another model" && name != "another's rank" {
				wantCode(t, err, abi.StoreFailure)
			}
			must(t, k.Close())
		}
	})
}

// A log keeps what is said.
type log struct {
	mu  sync.Mutex
	all strings.Builder // guarded by mu
}

// Write keeps a line.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func (l *log) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func TestADatabaseThatIsAwayTurnsTheLegOff(t *testing.T) {
	model := &fakeEmbedder{}
	r := sqliteRig(t)
	k := r.open(func(c *Config) { c.Embedder, c.Poll = model, time.Hour })
	k.testOnlyJudged(t, verdictOn(model, true))
	k.look(t.Context())
	rename := func(from, to string) {
		must(t, k.change(t.Context(), func(ctx context.Context, t *tx) error {
			_, err := exec(ctx, t.on, "ALTER TABLE "+from+" RENAME TO "+to)
			return err
		}))
	}
	rename("memory_verdict", "memory_away")
	k.look(t.Context())
	if leg := k.Leg(); leg.On || leg.Why != Unreadable {
		t.Errorf("%+v", leg)
	}
	rename("memory_away", "memory_verdict")
	k.look(t.Context())
	if !k.Leg().On {
		t.Errorf("it stays off when the verdict is back: %+v", k.Leg())
	}
}

func TestTheStartSaysOnceWhyWordsAloneAnswer(t *testing.T) {
	r := sqliteRig(t)
	for name, tt := range map[string]struct {
		alter func(*Config)
		want  string
	}{
		"a model that was not judged": {func(c *Config) { c.Embedder = &fakeEmbedder{} }, "sluice memory judge DIR"},
		"specified without a model":   {func(c *Config) { c.Ranking = memory.Specified() }, "there is no embedder: words alone answer"},
		"specified without an index":  {func(c *Config) { c.Ranking, c.Store = memory.Specified(), nil }, ""},
		"measured without a model":    {func(c *Config) {}, ""},
		"asked for":                   {func(c *Config) { c.Embedder, c.Unjudged = &fakeEmbedder{}, true }, ""},
	} {
		said := &log{}
		k := r.open(fast, tt.alter, func(c *Config) { c.Logger = said.logger() })
		for range 3 {
			k.look(t.Context())
		}
		must(t, k.Close())
		if n := strings.Count(said.text(), "\n"); tt.want == "" && n != 0 || tt.want != "" && (n != 1 || !strings.Contains(said.text(), tt.want)) {
			t.Errorf("%s: it says %q", name, said.text())
		}
	}
}

func TestWhatIsNoVerdictIsNotKept(t *testing.T) {
	k := sqliteRig(t).open(func(c *Config) { c.Store = nil })
	good := verdictOn(&fakeEmbedder{}, true)
	for name, spoil := range map[string]func(*Verdict){
		"no model":        func(v *Verdict) { v.Model = "" },
		"a long model":    func(v *Verdict) { v.Model = strings.Repeat("m", abi.KeyBytes+1) },
		"another ranking": func(v *Verdict) { v.Ranking = "another" },
		"no weight":       func(v *Verdict) { v.Meaning = 0 },
		"NaN":             func(v *Verdict) { v.Meaning = math.NaN() },
		"too much weight": func(v *Verdict) { v.Meaning = 11 },
		"no data":         func(v *Verdict) { v.Data = "" },
	} {
		bad := good
		spoil(&bad)
		err := k.KeepVerdicts(t.Context(), []Verdict{good, bad})
		wantCode(t, err, abi.BadValue)
		if all, err := k.Verdicts(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("%s: kept are %v, %v", name, all, err)
		}
	}
}

// A meaningful model gives each of some words a direction, whatever stands beside it.
type meaningful map[string][]float32

func (m meaningful) Name() string    { return "meaningful" }
func (m meaningful) Dimensions() int { return 2 }

func (m meaningful) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		for word, v := range m {
			if strings.Contains(text, word) {
				vectors[i] = v
			}
		}
	}
	return vectors, nil
}

// TestEveryHitExplainsItsScoreInBothRankings recalls with and without a dense leg.
func TestEveryHitExplainsItsScoreInBothRankings(t *testing.T) {
	model := meaningful{"tea": {1, 0}, "drink": {1, 0}, "train": {0, 1}}
	for _, ranking := range []memory.Ranking{memory.Measured(), memory.Specified()} {
		for _, on := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, by meaning: %v", ranking.Name(), on), func(t *testing.T) {
				k := sqliteRig(t).open(fast, func(c *Config) {
					c.Ranking, c.Embedder, c.Logger = ranking, model, slog.New(slog.NewTextHandler(io.Discard, nil))
				})
				v := verdictOn(model, on)
				v.Ranking = ranking.Name()
				k.testOnlyJudged(t, v)
				waitForLeg(t, k, on)
				k.testOnlyRemember(t, ann, said("prefers jasmine tea"), said("goes by train"), said("drink water at noon"))
				must(t, k.SyncVectors(t.Context(), nil))
				k.testOnlySync(t)
				hits, err := k.Recall(t.Context(), Query{Filter: of(ann), Text: "which drink at noon"})
				must(t, err)
				found, meant := map[string]bool{}, false
				for _, h := range hits {
					sum := 0.0
					for _, p := range h.Parts {
						sum += p.Value
						meant = meant || p.Name == "meaning"
					}
					if len(h.Parts) == 0 || math.Abs(sum-h.Score) > 1e-9 {
						t.Errorf("%q has the score %v of %v", h.Node.Text, h.Score, h.Parts)
					}
					found[h.Node.Text] = true
				}
				if len(hits) == 0 || hits[0].Node.Text != "drink water at noon" || meant != on || found["prefers jasmine tea"] != on {
					t.Errorf("it finds %v, by meaning: %v", found, meant)
				}
			})
		}
	}
}

// TestVectorsOfALegThatWasOffAreThereWhenItIsOnAgain starts a keeper of an index of its
// own while the leg is off, and turns that on: the index need not be filled anew.
func TestVectorsOfALegThatWasOffAreThereWhenItIsOnAgain(t *testing.T) {
	r := sqliteRig(t)
	model := &fakeEmbedder{}
	first := r.open(func(c *Config) { c.Embedder, c.Unjudged = model, true })
	first.testOnlyRemember(t, ann, said("prefers tea"), said("likes coffee a lot"))
	waitForVectors(t, first, 2)
	must(t, first.Close())
	store := &counting{Store: index.New()}
	k := r.open(fast, func(c *Config) { c.Embedder, c.Store = model, store })
	k.testOnlyJudged(t, verdictOn(model, true))
	waitForLeg(t, k, true)
	waitForVectors(t, k, 2)
	if n := model.asked.Load(); n != 2 {
		t.Errorf("the model was asked for %d texts", n)
	}
	if n := store.resets.Load(); n != 1 {
		t.Errorf("the index was filled %d times", n)
	}
}

// A windowed store notes how many of the nearest it is asked for.
type windowed struct {
	memory.Store
	near atomic.Int64
}

func (s *windowed) Dense(ctx context.Context, filter memory.Filter, query []float32, limit int) ([]memory.Found, error) {
	s.near.Store(int64(limit))
	return s.Store.Dense(ctx, filter, query, limit)
}

func TestTheSpecifiedRankingTakesTheThirtyfoldNearest(t *testing.T) {
	store := &windowed{Store: index.New()}
	k := sqliteRig(t).open(func(c *Config) {
		c.Embedder, c.Unjudged, c.Ranking, c.Store = &fakeEmbedder{}, true, memory.Specified(), store
	})
	k.testOnlyRemember(t, ann, said("prefers tea"))
	recall(t, k, Query{Filter: of(ann), Text: "tea", Limit: 5})
	if near := store.near.Load(); near != 150 {
		t.Errorf("for five memories it asks for the %d nearest", near)
	}
}

func TestWhoWaitsForVectorsIsToldThatTheModelIsDown(t *testing.T) {
	model := &fakeEmbedder{}
	model.down.Store(true)
	k := sqliteRig(t).open(func(c *Config) { c.Embedder, c.Unjudged = model, true })
	k.testOnlyRemember(t, ann, said("prefers tea"))
	for k.failing.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	k.failing.Store(embedTries + 1) // without the waits between failures
	waiting := 0
	if p := wantCode(t, k.SyncVectors(t.Context(), func(n int) { waiting = n }), abi.Unavailable); p.Hint == "" || waiting > 1 {
		t.Errorf("%+v; %d wait", p, waiting)
	}
	s, err := k.State(t.Context())
	must(t, err)
	if s.Waiting != 1 || !s.Leg.On || s.Leg.Why != Unjudged {
		t.Errorf("%+v", s)
	}
}

func FuzzAVerdictIsReadOnlyWhereItIsOne(f *testing.F) {
	for _, detail := range []string{
		`{"model":"m","terms":"terms 2","ranking":"measured","meaning":0.35,"data":"d","figures":{"on":true},"at":"2026-03-01T08:00:00Z"}`,
		`{"model":"m","ranking":"measured","meaning":1e999,"data":"d"}`, `{"figures":{"on":true}}`, `[]`, `null`, `{`, ``,
	} {
		f.Add([]byte(detail))
	}
	f.Fuzz(func(t *testing.T, detail []byte) {
		v, err := verdictFrom(detail)
		if err != nil && v != (Verdict{}) {
			t.Errorf("of what cannot be read there is %+v", v)
		}
		if err == nil && !(v.Meaning > 0 && v.Meaning <= maxMeaning && v.Model != "" && v.Data != "") {
			t.Errorf("%+v is a verdict", v)
		}
	})
}
