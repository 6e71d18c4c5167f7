package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

// BenchmarkRouteSearch searches a route of the airline's whole data base: by
// its skill through the gate, by its skill in the sandbox alone, and by reading
// the same rows natively.
func BenchmarkRouteSearch(b *testing.B) {
	data := filepath.Join("..", "..", "..", "shared", "data", "tau-airline")
	if _, err := os.Stat(data); err != nil {
		b.Skip("the airline's data is not beside this checkout: ", data)
	}
	ctx := context.Background()
	p := &program{env: os.Getenv, stdout: io.Discard, stderr: io.Discard, home: b.TempDir()}
	h, err := p.open(ctx, p.home, filepath.Join(p.home, "registry.git"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { h.close(ctx) })
	if err := p.publishFrom(ctx, h, filepath.Join(p.home, "registry.git"), filepath.Join("..", "..", "skills", "airline")); err != nil {
		b.Fatal(err)
	}
	if err := p.loadAll(ctx, h); err != nil {
		b.Fatal(err)
	}
	entries, err := airdb.Entries(os.DirFS(data))
	if err != nil {
		b.Fatal(err)
	}
	if err := h.store.Import(ctx, "bench", "airline", entries); err != nil {
		b.Fatal(err)
	}
	catalog, _ := h.releases.Catalog(ctx, nil)
	ref := host.SessionRef{Tenant: "bench", User: "mia", Session: "s"}
	args := json.RawMessage(`{"origin":"JFK","destination":"SEA","date":"2024-05-20"}`)

	b.Run("gate", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			o := h.dispatch.Do(ctx, catalog, host.Call{ID: host.CallIDFor(ref, b.N, i), Session: ref, Tool: "search_direct_flight", Args: string(args)})
			if o.Problem != nil {
				b.Fatal(o.Problem)
			}
		}
	})
	b.Run("sandbox", func(b *testing.B) {
		entry, problem := catalog.Resolve("search_direct_flight")
		if problem != nil {
			b.Fatal(problem)
		}
		input, err := json.Marshal(abi.Invocation{ABI: abi.Version, Tool: "search_direct_flight", Args: args, Call: abi.CallInfo{ID: "c", Attempt: 1, Tenant: "bench"}})
		if err != nil {
			b.Fatal(err)
		}
		capabilities := entry.Release.Skill.Capabilities
		for b.Loop() {
			g := grant.For(grant.Config{Store: h.store}, grant.Call{Session: ref, Effect: abi.Read, Capabilities: capabilities})
			if res := entry.Release.Module.Call(ctx, sandbox.Request{Export: abi.ExportInvoke, Input: input, Functions: g.Functions}); res.Problem != nil {
				b.Fatal(res.Problem)
			}
		}
	})
	b.Run("native", func(b *testing.B) {
		for b.Loop() {
			page, err := h.store.View("bench", "airline").Scan(ctx, abi.ScanQuery{Prefix: airdb.RoutePrefix("2024-05-20", "JFK", "SEA")})
			if err != nil || len(page.Entries) == 0 {
				b.Fatal(err, page)
			}
			for _, e := range page.Entries {
				var day airdb.FlightDay
				if err := json.Unmarshal(e.Value, &day); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
