package dispatch

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// attackHooks makes the named hooks, in their order.
func attackHooks(t *testing.T, names []string) *host.Hooks {
	t.Helper()
	var list []host.Hook
	for _, name := range names {
		h := host.Hook{Name: name}
		switch before, after := hooksBefore()[name], hooksAfter()[name]; {
		case before != nil:
			h.PreToolCall = before
		case after != nil:
			h.PostToolCall = after
		default:
			t.Fatalf("there is no hook %q", name)
		}
		if name == "never answers" {
			h.Time = time.Millisecond
		}
		h.Observer = name == "watches"
		list = append(list, h)
	}
	hooks, err := host.NewHooks(list...)
	if err != nil {
		t.Fatal(err)
	}
	return hooks
}

type hookBefore = func(context.Context, host.ToolCall) (host.Opinion, error)

// thinks is a hook that has an opinion of every write.
func thinks(o host.Opinion) hookBefore {
	return func(_ context.Context, c host.ToolCall) (host.Opinion, error) {
		if c.Effect != abi.Write {
			return host.Opinion{}, nil
		}
		return o, nil
	}
}

func hooksBefore() map[string]hookBefore {
	return map[string]hookBefore{
		"allows":        thinks(host.Opinion{Tier: abi.Auto, Say: "It is fine."}),
		"allows too":    thinks(host.Opinion{Tier: abi.Auto, Say: "It was approved before."}),
		"has no view":   thinks(host.Opinion{}),
		"tells":         thinks(host.Opinion{Tier: abi.SoftGate}),
		"asks":          thinks(host.Opinion{Tier: abi.HardGate, Say: "Ask first."}),
		"blocks":        thinks(host.Opinion{Tier: abi.Block, Say: "Never."}),
		"denies":        thinks(host.Opinion{Problem: abi.NewProblem(abi.NotAllowed, "not now")}),
		"watches":       thinks(host.Opinion{Tier: abi.Auto, Problem: abi.NewProblem(abi.NotAllowed, "would not")}),
		"says nonsense": thinks(host.Opinion{Tier: "alow"}),
		"fails": func(context.Context, host.ToolCall) (host.Opinion, error) {
			return host.Opinion{}, errors.New("told to")
		},
		"allows, fails": func(context.Context, host.ToolCall) (host.Opinion, error) {
			return host.Opinion{Tier: abi.Auto}, errors.New("told to")
		},
		"panics": func(context.Context, host.ToolCall) (host.Opinion, error) { panic("told to") },
		"never answers": func(ctx context.Context, _ host.ToolCall) (host.Opinion, error) {
			<-ctx.Done()
			return host.Opinion{}, ctx.Err()
		},

		// These change what they share with others.
		"makes nines ones": func(_ context.Context, c host.ToolCall) (host.Opinion, error) {
			copy(c.Args, bytes.ReplaceAll(c.Args, []byte("9"), []byte("1")))
			return host.Opinion{}, nil
		},
		"opens the shop": func(_ context.Context, c host.ToolCall) (host.Opinion, error) {
			if c.State["rate"] != nil {
				c.State["rate"] = []byte(`"open"`)
			}
			return host.Opinion{}, nil
		},
		"opens the shop by its bytes": func(_ context.Context, c host.ToolCall) (host.Opinion, error) {
			copy(c.State["rate"], `"open!!"`)
			return host.Opinion{}, nil
		},
		"denies nines": func(_ context.Context, c host.ToolCall) (host.Opinion, error) {
			if bytes.Contains(c.Args, []byte("9")) {
				return host.Opinion{Problem: abi.NewProblem(abi.NotAllowed, "no nines")}, nil
			}
			return host.Opinion{}, nil
		},
		"denies while closed": func(_ context.Context, c host.ToolCall) (host.Opinion, error) {
			if c.Effect == abi.Write && string(c.State["rate"]) == `"closed"` {
				return host.Opinion{Problem: abi.NewProblem(abi.NotAllowed, "the shop is closed")}, nil
			}
			return host.Opinion{}, nil
		},
	}
}

// answered is a hook that has an opinion of every write's result.
func answered(o host.Opinion) func(context.Context, host.ToolCall, host.Reply) (host.Opinion, error) {
	return func(ctx context.Context, c host.ToolCall, _ host.Reply) (host.Opinion, error) {
		return thinks(o)(ctx, c)
	}
}

func hooksAfter() map[string]func(context.Context, host.ToolCall, host.Reply) (host.Opinion, error) {
	return map[string]func(context.Context, host.ToolCall, host.Reply) (host.Opinion, error){
		"allows after": answered(host.Opinion{Tier: abi.Auto, Say: "It is fine."}),
		"denies after": answered(host.Opinion{Problem: abi.NewProblem(abi.NotAllowed, "not that result")}),
		"panics after": func(_ context.Context, c host.ToolCall, _ host.Reply) (host.Opinion, error) {
			if c.Effect == abi.Write {
				panic("told to")
			}
			return host.Opinion{}, nil
		},
	}
}
