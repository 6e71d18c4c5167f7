package keeper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/memory"
)

// A fakeEmbedder plays a model: its vectors tell the length of a text.
type fakeEmbedder struct {
	name   string
	down   atomic.Bool
	refuse string // a text with this in it fails all that come with it
	blank  string // a text of which it makes nothing
	asked  atomic.Int64
}

func (e *fakeEmbedder) Name() string    { return "fake " + e.name }
func (e *fakeEmbedder) Dimensions() int { return 4 }

func (e *fakeEmbedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	if e.down.Load() {
		return nil, errors.New("the model is down")
	}
	var vectors [][]float32
	for _, text := range texts {
		if e.refuse != "" && strings.Contains(text, e.refuse) {
			return nil, errors.New("the model refuses a text")
		}
		e.asked.Add(1)
		if text == e.blank {
			vectors = append(vectors, nil)
			continue
		}
		v := []float32{0, 0, 0, 0}
		v[len(text)%4] = 1
		vectors = append(vectors, v)
	}
	return vectors, nil
}

// vectorsIn counts the entries of an index that have a vector.
func vectorsIn(t testing.TB, store memory.Store, o Owner) (n int) {
	t.Helper()
	for i := range 4 {
		query := []float32{0, 0, 0, 0}
		query[i] = 1
		found, err := store.Dense(t.Context(), memory.Filter{Tenant: o.Tenant, User: o.User}, query, 1000)
		must(t, err)
		for _, f := range found {
			if f.Score > 0.9 {
				n++
			}
		}
	}
	return n
}

func waitForVectors(t testing.TB, k *Keeper, want int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); vectorsIn(t, k.store, ann) != want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d memories have a vector; want %d", vectorsIn(t, k.store, ann), want)
		}
	}
}

func TestVectorsComeAfterTheWriteAndToEveryReplica(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		model := &fakeEmbedder{}
		with := func(c *Config) { c.Embedder, c.Unjudged = model, true }
		a, b := r.open(with), r.again().open(with)
		for i := range 5 {
			a.testOnlyRemember(t, ann, said(fmt.Sprintf("tea number%d %s", i, strings.Repeat(".", i))))
		}
		waitForVectors(t, a, 5)
		waitForVectors(t, b, 5)
		if model.asked.Load() != 5 {
			t.Errorf("the model was asked for %d texts; want 5", model.asked.Load())
		}
		c := r.again().open(with) // takes them from the database
		if n := vectorsIn(t, c.store, ann); n != 5 {
			t.Errorf("a new replica has %d vectors", n)
		}
	})
}

func TestAnEmbedderThatIsDownKeepsNobody(t *testing.T) {
	model := &fakeEmbedder{}
	model.down.Store(true)
	k := sqliteRig(t).open(func(c *Config) { c.Embedder, c.Unjudged = model, true })
	k.testOnlyRemember(t, ann, said("prefers jasmine tea"))
	k.testOnlySync(t)
	if len(finds(t, k.store, ann, "jasmine")) != 1 {
		t.Error("words do not find it")
	}
	model.down.Store(false)
	waitForVectors(t, k, 1)
}

func TestATextThatTheModelRefusesKeepsNoOtherFromItsVector(t *testing.T) {
	model := &fakeEmbedder{refuse: "poison"}
	k := sqliteRig(t).open(func(c *Config) { c.Embedder, c.Unjudged = model, true })
	k.testOnlyRemember(t, ann, said("prefers tea"), said("this is poison"), said("likes coffee more than milk"))
	waitForVectors(t, k, 2)
}

func TestATextThatFailedTooOftenIsTriedAgain(t *testing.T) {
	model := &fakeEmbedder{}
	model.down.Store(true)
	k := sqliteRig(t).open(func(c *Config) { c.Embedder, c.Unjudged = model, true })
	k.testOnlyRemember(t, ann, said("prefers tea"))
	for k.failing.Load() == 0 { // before its first failure the duty sets what is listed to no tries
		time.Sleep(time.Millisecond)
	}
	must(t, k.change(t.Context(), func(ctx context.Context, t *tx) error {
		_, err := exec(ctx, t.on, "UPDATE memory_unembedded SET tries = ?", embedTries)
		return err
	}))
	model.down.Store(false)
	if more, err := k.embedSome(t.Context()); err != nil || more {
		t.Fatalf("it was tried at once: %v, %v", more, err)
	}
	for vectorsIn(t, k.store, ann) == 0 { // a try of before the model was up may be noted after one of these
		must(t, k.oneMoreTry(t.Context()))
		time.Sleep(5 * time.Millisecond)
	}
}

func TestAnotherModelGivesAllMemoriesNewVectors(t *testing.T) {
	r := sqliteRig(t)
	a := r.open()
	a.testOnlyRemember(t, ann, said("prefers tea"), said("likes coffee a lot"))
	must(t, a.Close())
	for _, name := range []string{"one", "two"} {
		model := &fakeEmbedder{name: name}
		k := r.open(func(c *Config) { c.Embedder, c.Unjudged = model, true })
		waitForVectors(t, k, 2)
		if model.asked.Load() != 2 {
			t.Errorf("model %s was asked for %d texts", name, model.asked.Load())
		}
		must(t, k.Close())
	}
}

func TestAReplicaWithoutAnEmbedderLeavesItsMemoriesToOneThatHas(t *testing.T) {
	r := sqliteRig(t)
	k := r.open(func(c *Config) { c.Embedder, c.Unjudged = &fakeEmbedder{}, true })
	command := r.again().open(func(c *Config) { c.Store = nil })
	command.testOnlyRemember(t, ann, said("prefers tea"))
	waitForVectors(t, k, 1)
}

// A text of which the model makes nothing has no vector, and is done.
func TestATextThatMeansNothingKeepsNoOtherFromItsVector(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		model := &fakeEmbedder{blank: "!!!"}
		k := r.open(func(c *Config) { c.Embedder, c.Unjudged = model, true })
		k.testOnlyRemember(t, ann, said("prefers tea"), said("!!!"), said("likes coffee more than milk"))
		waitForVectors(t, k, 2)
		k.testOnlySync(t)
		var waiting int
		_, err := row(t.Context(), r.db.Reads, "SELECT COUNT(*) FROM memory_unembedded", nil, &waiting)
		must(t, err)
		if asked := model.asked.Load(); waiting != 0 || asked != 3 {
			t.Errorf("%d wait for a vector; the model was asked %d times", waiting, asked)
		}
		if got := recall(t, k, Query{Filter: of(ann), Text: "!!!"}); len(got) != 0 {
			t.Errorf("a query that means nothing recalls %v", got)
		}
	})
}

// A rewordedEmbedder plays a model that takes a while, in which words are forgotten.
type rewordedEmbedder struct {
	fakeEmbedder
	during func(texts []string)
}

func (e *rewordedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.during(texts)
	return e.fakeEmbedder.Embed(ctx, texts)
}

// What the vector of forgotten words is like is kept no more than the words.
func TestAMemoryThatLosesWordsWhileTheyAreEmbeddedGetsNoVectorOfThem(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		n := said("plain words")
		n.IndexText = "secret!! plain words" // of another length, by which the vectors differ
		var k *Keeper
		forgotten := false
		e := &rewordedEmbedder{during: func(texts []string) {
			if forgotten || !strings.Contains(texts[0], "secret") {
				return
			}
			forgotten = true
			all, err := k.List(t.Context(), ann, Page{})
			if err == nil {
				err = k.change(t.Context(), func(ctx context.Context, t *tx) error { return t.clearPrefaces(ctx, ann, []memory.ID{all[0].ID}) })
			}
			if err != nil {
				t.Error(err)
			}
		}}
		k = r.open(func(c *Config) { c.Embedder, c.Unjudged = e, true })
		id := k.testOnlyRemember(t, ann, n)[0]
		must(t, k.SyncVectors(t.Context(), nil))
		var raw []byte
		_, err := row(t.Context(), k.db.Reads, "SELECT vector FROM memory_vector"+ofMemory, memoryArgs(ann, id), &raw)
		must(t, err)
		if v := vectorFrom(raw); !forgotten || len(v) != 4 || v[len(n.Text)%4] != 1 {
			t.Errorf("forgotten %v; the vector is %v", forgotten, v)
		}
	})
}
