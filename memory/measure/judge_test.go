package measure

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/embed"
	"github.com/sluicehq/sluice/memory/embed/embedtest"
	"github.com/sluicehq/sluice/memory/index"
)

// folderOf opens a model's folder, as users have one.
func folderOf(t *testing.T, m embedtest.Model) memory.Embedder {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model")
	if err := m.WriteFolder(path); err != nil {
		t.Fatal(err)
	}
	return open(t, "model2vec:"+path)
}

// endpointOf serves a model, as vendors do.
func endpointOf(t *testing.T, m embedtest.Model) memory.Embedder {
	t.Helper()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	return open(t, fmt.Sprintf("openai:%s/v1?dimensions=%d#things", server.URL, embedtest.Dimensions))
}

func open(t *testing.T, spec string) memory.Embedder {
	t.Helper()
	e, err := embed.Open(spec, embed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func things(t *testing.T) *Folder {
	t.Helper()
	path := filepath.Join(t.TempDir(), "things")
	if err := embedtest.WriteLabelled(path); err != nil {
		t.Fatal(err)
	}
	f, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOnlyAModelThatHelpsIsJudgedOn(t *testing.T) {
	folder := things(t)
	for _, form := range []struct {
		name string
		of   func(*testing.T, embedtest.Model) memory.Embedder
	}{{"a folder", folderOf}, {"an endpoint", endpointOf}} {
		for name, tt := range map[string]struct {
			model embedtest.Model
			on    bool
		}{
			"helps": {embedtest.Helpful(), true},
			"harms": {embedtest.Harmful(), false},
			"noise": {embedtest.Noisy(), false},
		} {
			t.Run(form.name+" that "+name, func(t *testing.T) {
				model := form.of(t, tt.model)
				told := 0
				judged, err := Judge(t.Context(), index.New(), model, folder, func(done int) { told = done })
				if err != nil {
					t.Fatal(err)
				}
				if want := len(folder.Texts) + len(folder.Queries); told != want {
					t.Errorf("progress ends at %d of %d", told, want)
				}
				if judged.Model != model.Name() || judged.Digest != folder.Digest || len(judged.Digest) != 64 || len(judged.Ways) != 4 {
					t.Errorf("judged is %+v", judged)
				}
				fused, specified := judged.Judgements[0], judged.Judgements[1]
				t.Logf("fused at %v: %s", fused.Meaning, fused.Verdict.Reason)
				t.Logf("specified: %s", specified.Verdict.Reason)
				if fused.Ranking != memory.MeasuredRanking || fused.Verdict.On != tt.on {
					t.Errorf("as measured it is %+v", fused)
				}
				if specified.Ranking != memory.SpecifiedRanking || specified.Meaning != memory.Specified().Meaning || specified.Verdict.On != tt.on {
					t.Errorf("as specified it is %+v", specified)
				}
				held := judged.Ways[1].Halves[HeldOut]
				if fused.Verdict.Queries != held.Questions || held.Questions != len(folder.Queries)/2 || fused.Verdict.With != held.Quality {
					t.Errorf("the verdict is of %d questions with %v, and the held-out half is %+v", fused.Verdict.Queries, fused.Verdict.With, held)
				}
			})
		}
	}
}

// TestTheWeightIsTheBestOfTheTunedHalf judges once more with a held-out half that is
// labelled wrongly: what chooses the weight and what gives the verdict are apart.
func TestTheWeightIsTheBestOfTheTunedHalf(t *testing.T) {
	folder := things(t)
	judged, err := Judge(t.Context(), index.New(), folderOf(t, embedtest.Helpful()), folder, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	best := judged.Tried[0]
	for _, w := range judged.Tried {
		if w.Halves[Tuned].Quality > best.Halves[Tuned].Quality {
			best = w
		}
	}
	if judged.Judgements[0].Meaning != best.Meaning {
		t.Errorf("the weight is %v, the best of the tuned half %v", judged.Judgements[0].Meaning, best.Meaning)
	}
	for i := range folder.Queries {
		if folder.half(i) == HeldOut {
			folder.Queries[i].Relevant = []int{folder.Queries[i].ID/5*5 + (folder.Queries[i].ID+1)%5}
		}
	}
	wrong, err := Judge(t.Context(), index.New(), folderOf(t, embedtest.Helpful()), folder, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	if v := wrong.Judgements[0]; v.Verdict.On || v.Meaning != best.Meaning {
		t.Errorf("with the held-out half labelled wrongly: %+v", v)
	}
}

func TestNothingIsJudgedWhereTheModelFailsOrSomebodyStops(t *testing.T) {
	folder := things(t)
	broken := errors.New("the model is away")
	if _, err := Judge(t.Context(), index.New(), failing{embed.None{}, broken}, folder, func(int) {}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Judge(ctx, index.New(), folderOf(t, embedtest.Helpful()), folder, func(int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped, it gives %v", err)
	}
	folder.Queries = make([]Query, embed.LabelledMax+1)
	_, err := Judge(t.Context(), index.New(), embed.None{}, folder, func(int) {})
	if p := host.ProblemOf(err); p == nil || p.Code != abi.InputLimit || p.Hint == "" {
		t.Errorf("too many questions: %v", err)
	}
}

type failing struct {
	embed.None
	err error
}

func (f failing) Embed(context.Context, []string) ([][]float32, error) { return nil, f.err }

func TestAFolderIsKnownByItsDigest(t *testing.T) {
	if a, b := things(t), things(t); a.Digest != b.Digest {
		t.Errorf("the same data have the digests %s and %s", a.Digest, b.Digest)
	}
	small, err := Read(write(t))
	if err != nil {
		t.Fatal(err)
	}
	if other := things(t); other.Digest == small.Digest {
		t.Error("other data have the same digest")
	}
}
