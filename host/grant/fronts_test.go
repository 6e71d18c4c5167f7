package grant_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"github.com/sluicehq/sluice/host/egress"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/sdk/skilltest"
	"github.com/sluicehq/sluice/sdk/testdata/room"
)

// The skill that uses every typed front answers alike as a module under the
// real grants and natively in skilltest.
func TestTheTypedFrontsAnswerAlikeInAModuleAndInATest(t *testing.T) {
	r := newRig(t)
	r.module = sandboxtest.Load(t, sandboxtest.Build(t, "sdk/testdata/room/module"), abi.Limits{})
	r.memory()
	known := abi.Memory{Kind: "fact", Text: "the shop sells tea"}
	r.config.Recall = func(context.Context, host.SessionRef, abi.RecallQuery) ([]abi.Memory, error) {
		return []abi.Memory{known}, nil
	}
	answer := func(q abi.HTTPRequest, body []byte) abi.HTTPResponse {
		return abi.HTTPResponse{Status: 404, Headers: map[string]string{"x": q.Headers["Accept"]}, Body: fmt.Append(nil, q.Method, q.URL, string(body))}
	}
	r.config.Egress = leadingTo(t, answer)
	h := skilltest.New(t)
	h.Examples()
	c := h.Manifest().Capabilities
	for _, tt := range []struct {
		name, tool string
		steps      []room.Step
	}{
		{"a blob", "write", []room.Step{{Do: "blob write", Name: "表", Data: "0123456789"}, {Do: "blob read", From: 3, Size: 4}, {Do: "blob read"}, {Do: "blob read", From: 10}}},
		{"behind a blob", "write", []room.Step{{Do: "blob write", Data: "0123456789"}, {Do: "blob read", From: 11}}},
		{"no blob", "read", []room.Step{{Do: "blob read"}}},
		{"files", "write", []room.Step{
			{Do: "file write", Name: "a/b", Data: "1"}, {Do: "file write if", Name: "c", Data: ""}, {Do: "file read", Name: "a/b"}, {Do: "file read", Name: "c"},
			{Do: "file list"}, {Do: "file list", Name: "a"}, {Do: "file remove", Name: "c"}, {Do: "file list"},
		}},
		{"files that were kept", "read", []room.Step{{Do: "file list"}, {Do: "file read", Name: "a/b"}}},
		{"a file that changed", "write", []room.Step{{Do: "file write if", Name: "a/b", Data: "2", Hash: "0"}}},
		{"a path that leads out", "write", []room.Step{{Do: "file write", Name: "../x"}}},
		{"no file", "read", []room.Step{{Do: "file read", Name: "x"}}},
		{"a read that writes", "read", []room.Step{{Do: "file write", Name: "x"}}},
		{"memories", "write", []room.Step{{Do: "remember", Name: "fact", Data: "it is new"}, {Do: "recall", Data: "tea"}}},
		{"a memory of no declared kind", "write", []room.Step{{Do: "remember", Name: "secret", Data: "x"}}},
		{"progress", "read", []room.Step{{Do: "progress", From: 1, Size: 2, Data: "一半"}}},
		{"progress of less than nothing", "read", []room.Step{{Do: "progress", From: -1}}},
		{"http", "read", []room.Step{{Do: "http", Name: "https://example.com/x", Data: "body"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			effect := abi.Effect(tt.tool)
			h.ServeHTTP(answer)
			if len(h.Memories()) == 0 {
				h.PutMemory(known)
			}
			native := h.Call(tt.tool, room.Steps{Steps: tt.steps})
			g := r.grant(c, effect)
			module := r.invoke(g, tt.tool, room.Steps{Steps: tt.steps})
			if module.OK {
				r.mustSettle(g)
			}
			if module.OK != native.OK || string(module.Data) != string(native.Data) || codeOf(module) != codeOf(native) {
				t.Errorf("the module answers\n%s %v\nand natively it is\n%s %v", module.Data, module.Problem, native.Data, native.Problem)
			}
		})
	}
	if !slices.Equal(h.Reports(), r.reports) || len(r.reports) != 1 {
		t.Errorf("reports are %+v and %+v", r.reports, h.Reports())
	}
}

func codeOf(r abi.Reply) abi.Code {
	if r.Problem == nil {
		return 0
	}
	return r.Problem.Code
}

// leadingTo is a way out that ends at a server which answers for example.com.
func leadingTo(t *testing.T, answer func(abi.HTTPRequest, []byte) abi.HTTPResponse) *egress.Client {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r := answer(abi.HTTPRequest{Method: q.Method, URL: "https://" + q.Host + q.URL.Path, Headers: map[string]string{"Accept": q.Header.Get("Accept")}}, body)
		for name, value := range r.Headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(r.Status)
		_, _ = w.Write(r.Body)
	}))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	client, err := egress.New(egress.Config{
		RootCAs: roots,
		Lookup: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		},
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// envelope is the input of one call of a skill's tool.
func envelope(t *testing.T, tool string, args any) []byte {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(abi.Invocation{ABI: abi.Version, Tool: tool, Args: raw, Call: abi.CallInfo{
		ID: "call_1", Key: "00000000-0000-5000-8000-000000000001", Attempt: 1, Now: time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC), Tenant: "acme",
	}})
	if err != nil {
		t.Fatal(err)
	}
	return input
}

func (r *rig) invoke(g *grant.Grant, tool string, args any) (reply abi.Reply) {
	r.t.Helper()
	result := r.module.Call(context.Background(), sandbox.Request{Export: abi.ExportInvoke, Input: envelope(r.t, tool, args), Functions: g.Functions})
	if result.Problem != nil {
		r.t.Fatal(result.Problem)
	}
	if err := json.Unmarshal(result.Output, &reply); err != nil {
		r.t.Fatal(err)
	}
	return reply
}

// A call of the shop is played back to the byte and to the instruction, and
// nothing is read or written for it.
func TestARecordedCallIsPlayedBack(t *testing.T) {
	ctx := context.Background()
	r := newRig(t)
	skill := sandboxtest.Describe(t, sandboxtest.Shared(t), sandboxtest.Build(t, "skills/shop/pricing"))
	r.module = sandboxtest.Load(t, sandboxtest.Build(t, "skills/shop/pricing"), abi.Limits{})
	seed := r.store.View(ref.Tenant, skill.Capabilities.KV.Namespace)
	if err := seed.Put("product/1001", []byte(`{"sku":"1001","name":"茶","price":99,"cost":40,"currency":"CNY","stock":5}`)); err != nil {
		t.Fatal(err)
	}
	r.calls++
	if err := r.store.Settle(ctx, settlement(r.calls, seed)); err != nil {
		t.Fatal(err)
	}
	input := envelope(t, "set_price", map[string]any{"sku": "1001", "price": 89, "currency": "CNY"})
	run := func(functions []sandbox.Function, input []byte) sandbox.Result {
		return r.module.Call(ctx, sandbox.Request{Export: abi.ExportInvoke, Input: input, Functions: functions})
	}
	g := r.grant(skill.Capabilities, abi.Write)
	live := run(g.Functions, input)
	var reply abi.Reply
	if err := json.Unmarshal(live.Output, &reply); err != nil || !reply.OK {
		t.Fatalf("the call ended with %s %v", live.Output, live.Problem)
	}
	stored, err := g.Store(ctx, input)
	if err != nil {
		t.Fatal(err)
	}
	recording, err := stored.Load(ctx, r.config.Blobs, ref)
	if err != nil {
		t.Fatal(err)
	}
	r.store.Close() // nothing is read any more
	replay := grant.NewReplay(recording)
	again := run(replay.Functions, recording.Input)
	if string(again.Output) != string(live.Output) || again.Usage.Fuel != live.Usage.Fuel || again.Usage.HostCalls != live.Usage.HostCalls || replay.Differs() != nil {
		t.Errorf("played back: %s, %d of fuel, %v;\nit was %s, %d", again.Output, again.Usage.Fuel, replay.Differs(), live.Output, live.Usage.Fuel)
	}
	other := grant.NewReplay(recording)
	run(other.Functions, envelope(t, "set_price", map[string]any{"sku": "1002", "price": 89, "currency": "CNY"}))
	if p := other.Differs(); p == nil || !strings.Contains(p.Message, "host call 1") {
		t.Errorf("a call that asks for something else: %v", p)
	}
	if p := grant.NewReplay(recording).Differs(); p == nil || !strings.Contains(p.Message, "0 of") {
		t.Errorf("a call that asks for nothing: %v", p)
	}
	t.Logf("%d host calls of %d bytes take %d bytes inline", stored.Count, stored.Bytes, len(stored.Inline))
}
