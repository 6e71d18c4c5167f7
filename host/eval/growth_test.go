//go:build !race

package eval

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/state"
)

// A talker answers at length.
type talker struct{}

func (talker) Complete(context.Context, model.Request, func(model.Event)) (model.Reply, error) {
	return model.Reply{Text: strings.Repeat("It sells well. ", 60), Finish: model.FinishStop}, nil
}

// What a session takes on the disk grows by what was said (H46): twice as many
// messages take twice the room, also where the window is small, so that the
// session is compacted again and again.
func TestASessionGrowsOnDiskByWhatWasSaid(t *testing.T) {
	const turns, most = 60, 2.2
	empty, some, twice := sizeAfter(t, 0), sizeAfter(t, turns), sizeAfter(t, 2*turns)
	grown := float64(twice-empty) / float64(some-empty)
	t.Logf("%d turns take %d KiB, %d take %d KiB: %.2f times as much", turns, (some-empty)>>10, 2*turns, (twice-empty)>>10, grown)
	if grown > most || some-empty < turns*1000 {
		t.Errorf("twice as much was said, and it takes %.2f times the room", grown)
	}
}

// sizeAfter gives the bytes of a store file after so many turns of one session.
func sizeAfter(t *testing.T, turns int) int64 {
	t.Helper()
	ctx, file := context.Background(), filepath.Join(t.TempDir(), "store.db")
	store, err := state.Open(ctx, file, state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := agent.New(agent.Config{Store: store, Model: talker{}, Window: 6000, Releases: release.NewSet(sandboxtest.Shared(t), nil),
		Dispatch: dispatch.New(dispatch.Config{Config: grant.Config{Store: store}})})
	session := agent.Session{Ref: host.SessionRef{Tenant: "shop", User: "mia", Session: "long"}, Locale: "en"}
	for i := range turns {
		in := agent.Input{ID: host.InputID(fmt.Sprint("i", i)), Text: fmt.Sprintf("Question %d: how does the thermos sell? ", i) + strings.Repeat("Look closely. ", 20)}
		if _, err := a.Turn(ctx, session, in, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
