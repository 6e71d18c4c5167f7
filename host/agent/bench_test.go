package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
)

// benchTurns is how many turns a session has in BenchmarkTurn before the next
// one begins: a turn's cost grows with what the model sees.
const benchTurns = 20

func benchAgent(b *testing.B, dsn string) *Agent {
	b.Helper()
	store, err := state.Open(b.Context(), dsn, state.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	set := release.NewSet(nil, nil)
	return New(Config{
		Store: store, Releases: set, Dispatch: dispatch.New(dispatch.Config{Config: grant.Config{Store: store}}),
		Model: asked(func(context.Context, model.Request) (model.Reply, error) { return says("Yes.")() }),
	})
}

func benchSession(n int) Session {
	return Session{Ref: host.SessionRef{Tenant: "acme", User: "mia", Session: host.SessionID(fmt.Sprint("s", n))}, Locale: "en"}
}

func mustAnswer(b *testing.B, a *Agent, s Session, n int) time.Duration {
	b.Helper()
	begun := time.Now()
	if _, err := a.Turn(b.Context(), s, Input{ID: host.InputID(fmt.Sprint("in", n)), Text: "Is the thermos on sale?"}, nil); err != nil {
		b.Fatal(err)
	}
	return time.Since(begun)
}

func reportMedian(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*9/10].Microseconds())/1000, "p90-ms")
}

// BenchmarkTurn is a turn without a skill whose model answers at once: what
// the agent and the store add to it, with two transactions on the disk.
func BenchmarkTurn(b *testing.B) {
	for name, fresh := range databases() {
		b.Run(name, func(b *testing.B) {
			a := benchAgent(b, fresh(b))
			mustAnswer(b, a, benchSession(-1), 0) // connections are made
			var took []time.Duration
			for n := 0; b.Loop(); n++ {
				took = append(took, mustAnswer(b, a, benchSession(n/benchTurns), n))
			}
			reportMedian(b, took)
		})
	}
}

// BenchmarkLongSession is a turn in a session of 10,000 messages by an agent
// that has not seen it before.
func BenchmarkLongSession(b *testing.B) {
	for name, fresh := range databases() {
		b.Run(name, func(b *testing.B) {
			dsn := fresh(b)
			a := benchAgent(b, dsn)
			s := benchSession(0)
			mustAnswer(b, a, s, 0)
			sayLong(b, a.Store, s.Ref, 10_000)
			var took []time.Duration
			for n := 1; b.Loop(); n++ {
				took = append(took, mustAnswer(b, New(a.Config), s, n))
			}
			reportMedian(b, took)
		})
	}
}

// sayLong makes a session as long as it is to be.
func sayLong(b *testing.B, store *state.Store, ref host.SessionRef, messages int) {
	b.Helper()
	c := conversation{ref: ref}
	if err := c.find(b.Context(), store, ""); err != nil {
		b.Fatal(err)
	}
	c.first = c.meta.Messages
	for c.count() < messages {
		for said := 0; said < 90 && c.count() < messages; said += 2 {
			c.say(model.Message{Role: model.RoleUser, Text: strings.Repeat("Is the thermos on sale? ", 8)},
				model.Message{Role: model.RoleAssistant, Text: strings.Repeat("It is on sale today. ", 10)})
		}
		if err := store.SaveState(b.Context(), ref, c.changes()...); err != nil {
			b.Fatal(err)
		}
		c.saved()
	}
}
