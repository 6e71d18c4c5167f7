package grant_test

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/grant"
)

func TestARecordingIsCutWhereItIsTooLong(t *testing.T) {
	ctx := context.Background()
	r := newRig(t)
	for _, tt := range []struct {
		name             string
		size, times, cut int // cut is how many calls are kept
		inline           bool
	}{
		{"short", 100, 3, 3, true},
		{"long", 1 << 20, 3, 3, false},
		{"too long", 1 << 20, 6, 3, false},
		{"too many", 1, 10_000, 1_000, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := r.grant(kv, abi.Write)
			r.run(g, call("kv_put", "k", "").sized(1, tt.size).times(tt.times))
			s, err := g.Store(ctx, []byte(`{"x":1}`))
			if err != nil || (s.Inline != nil) != tt.inline || (s.Blob != "") == tt.inline {
				t.Fatalf("stored as %+v, %v", s, err)
			}
			got, err := s.Load(ctx, r.config.Blobs, ref)
			if err != nil || string(got.Input) != `{"x":1}` || len(got.Calls) < tt.cut || got.Cut != s.Cut || s.Cut != (len(got.Calls) < s.Count) {
				t.Fatalf("%d of %d calls, cut %v and %v, %v", len(got.Calls), s.Count, got.Cut, s.Cut, err)
			}
			if !got.Cut {
				return
			}
			replay := grant.NewReplay(got)
			r.run(&grant.Grant{Functions: replay.Functions}, call("kv_put", "k", "").sized(1, tt.size).times(tt.times))
			if p := replay.Differs(); p == nil || !strings.Contains(p.Message, "was cut") {
				t.Errorf("played back: %v", p)
			}
		})
	}
}

func TestARecordingOfAnotherSessionIsNotFound(t *testing.T) {
	ctx := context.Background()
	r := newRig(t)
	g := r.grant(kv, abi.Write)
	r.run(g, call("kv_put", "k", "").sized(1, 1<<20))
	s, err := g.Store(ctx, []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(ctx, r.config.Blobs, host.SessionRef{Tenant: "other", User: "mia", Session: "s1"}); host.ProblemOf(err).Code != abi.NotFound {
		t.Errorf("another tenant: %v", err)
	}
	if _, err := (&grant.Stored{Count: 3}).Load(ctx, r.config.Blobs, ref); host.ProblemOf(err).Code != abi.NotFound {
		t.Errorf("one that was not kept: %v", err)
	}
}

func TestADamagedRecordingIsRefused(t *testing.T) {
	ctx := context.Background()
	r := newRig(t)
	for name, damaged := range map[string][]byte{
		"nothing": {}, "noise": []byte("noise"), "no JSON": packed(t, []byte("{")), "a bomb": packed(t, make([]byte, 32<<20)), "unknown": packed(t, []byte(`{"x":1}`)),
	} {
		id, err := r.config.Blobs.Put(ctx, ref, abi.BlobInfo{}, damaged)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (&grant.Stored{Blob: id}).Load(ctx, r.config.Blobs, ref); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.StoreFailure {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func packed(t testing.TB, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Whatever a recording says, it loads or is refused, and what it plays is what
// it says.
func FuzzRecording(f *testing.F) {
	for _, seed := range []string{`{}`, `{"input":{},"granted":["sluice_kv_get"],"calls":[{"function":"sluice_kv_get","args":["aw=="],"result":"dg=="}]}`, `{"calls":null,"cut":true}`, `[`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		r, err := (&grant.Stored{Inline: raw}).Load(context.Background(), nil, ref)
		if err != nil {
			return
		}
		replay := grant.NewReplay(r)
		for _, c := range r.Calls {
			for _, f := range replay.Functions {
				if f.Name != c.Function {
					continue
				}
				result, problem := f.Call(context.Background(), c.Args)
				if replay.Differs() == nil && (!bytes.Equal(result, c.Result) || problem != c.Problem) {
					t.Errorf("%s gives %q, %v", c.Function, result, problem)
				}
				break
			}
		}
	})
}

// BenchmarkRecording is what the record of a call costs beside the call: noting
// the host calls of a shop's write, and keeping them beside the outcome or, of
// a long one, as a blob in a folder.
func BenchmarkRecording(b *testing.B) {
	input := []byte(`{"abi":1,"tool":"set_price","args":{"sku":"1001","price":89},"call":{"id":"call_1"}}`)
	r := newConfig(b)
	for _, tt := range []struct {
		name string
		size int
	}{{"inline", 172}, {"64KiB", 64 << 10}, {"1MiB", 1 << 20}} {
		b.Run(tt.name, func(b *testing.B) {
			value := []byte(strings.Repeat(`{"sku":"1001","price":99.5}`, tt.size/27+1))
			for b.Loop() {
				g := grant.For(r, grant.Call{Session: ref, Capabilities: kv, Effect: abi.Write, Record: grant.RecordBlob})
				put := g.Functions[2]
				if put.Name != abi.FuncKVPut {
					b.Fatal(put.Name)
				}
				if _, p := put.Call(context.Background(), [][]byte{[]byte("k"), value[:min(len(value), 1<<20)]}); p != nil {
					b.Fatal(p)
				}
				if _, err := g.Store(context.Background(), input); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
