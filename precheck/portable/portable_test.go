package portable_test

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/precheck/portable"
)

func peer(t *testing.T, wasm []byte, limits abi.Limits) *portable.Peer {
	t.Helper()
	p, err := portable.New(t.Context(), wasm, limits, filepath.Join(sandboxtest.CacheDir(t), "peer"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// A skill as it is built for our host, block functions and all, keeps what it does in
// the store that the caller gives.
func TestASkillOfThisHouseRunsInTheReferenceHost(t *testing.T) {
	p := peer(t, sandboxtest.Build(t, "skills/shop/pricing"), abi.Limits{})
	described, err := p.Call(t.Context(), portable.Request{Export: abi.ExportDescribe})
	if err != nil || !bytes.Contains(described, []byte(`"shop.pricing"`)) {
		t.Fatalf("it describes itself as %.100q, %v", described, err)
	}
	kv := map[string][]byte{"product/1001": []byte(`{"sku":"1001","title":"x","price":129,"cost":60,"currency":"CNY"}`)}
	functions := []sandbox.Function{
		{Name: abi.FuncKVGet, Call: func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) { return kv[string(args[0])], nil }},
		{Name: abi.FuncKVPut, Call: func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) {
			kv[string(args[0])] = bytes.Clone(args[1])
			return nil, nil
		}},
	}
	invoke := func(functions []sandbox.Function) abi.Reply {
		t.Helper()
		input, err := json.Marshal(abi.Invocation{ABI: abi.Version, Tool: "set_price", Args: json.RawMessage(`{"sku":"1001","price":120}`),
			Call: abi.CallInfo{ID: "call_1", Key: "018d0d5a-7f3c-7000-8000-000000000001", Attempt: 1, Now: time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC), Tenant: "t"}})
		if err != nil {
			t.Fatal(err)
		}
		output, err := p.Call(t.Context(), portable.Request{Export: abi.ExportInvoke, Input: input, Functions: functions})
		if err != nil {
			t.Fatal(err)
		}
		var reply abi.Reply
		if err := json.Unmarshal(output, &reply); err != nil {
			t.Fatal(err)
		}
		return reply
	}
	if reply := invoke(functions); !reply.OK || !bytes.Contains(kv["product/1001"], []byte("120")) {
		t.Errorf("it answers %+v, and keeps %s", reply, kv["product/1001"])
	}
	if reply := invoke(nil); reply.OK || reply.Problem.Code != abi.NotGranted {
		t.Errorf("with nothing granted it answers %+v", reply)
	}
}

// module is one whose memory begins with some pages, and whose functions run, take and
// loop do what their names say.
func module(pages byte) []byte {
	return []byte("\x00asm\x01\x00\x00\x00" +
		"\x01\x05\x01\x60\x00\x01\x7f" + // type () -> i32
		"\x03\x04\x03\x00\x00\x00" + // three functions
		"\x05\x03\x01\x00" + string(pages) + // memory
		"\x07\x15\x03\x03run\x00\x00\x04take\x00\x01\x04loop\x00\x02" +
		"\x0a\x18\x03" +
		"\x04\x00\x41\x00\x0b" + // return 0
		"\x07\x00\x41\x80\x01\x40\x00\x0b" + // memory.grow(128), which gives -1 where it may not
		"\x09\x00\x03\x40\x0c\x00\x0b\x41\x00\x0b")
}

func TestAGuestIsBoundedInTimeAndMemory(t *testing.T) {
	p := peer(t, module(1), abi.Limits{Memory: abi.MiB, Deadline: abi.Duration(50 * time.Millisecond)})
	if _, err := p.Call(t.Context(), portable.Request{Export: "run"}); err != nil {
		t.Errorf("a guest that returns gives %v", err)
	}
	if _, err := p.Call(t.Context(), portable.Request{Export: "take"}); err == nil || !strings.Contains(err.Error(), "4294967295") {
		t.Errorf("a guest that asks for 8 MiB is told %v", err)
	}
	if _, err := p.Call(t.Context(), portable.Request{Export: "loop"}); err == nil {
		t.Error("a guest that loops returns")
	}
	if _, err := p.Call(t.Context(), portable.Request{Export: "none"}); err == nil {
		t.Error("an export that there is not returns")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Call(ended, portable.Request{Export: "loop"}); err == nil {
		t.Error("a call whose caller is gone returns")
	}
}

func TestWhatTheReferenceHostDoesNotTakeIsTold(t *testing.T) {
	for name, wasm := range map[string][]byte{"no module": []byte("no"), "more memory than its limit": module(32)} {
		p, err := portable.New(t.Context(), wasm, abi.Limits{Memory: abi.MiB}, "")
		if err == nil {
			_, err = p.Call(t.Context(), portable.Request{Export: "run"})
			_ = p.Close(t.Context())
		}
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
