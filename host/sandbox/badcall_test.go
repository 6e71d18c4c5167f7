package sandbox_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
)

// Where things lie in the guest of bad calls: every export makes two blocks of
// 16 bytes and frees the second.
const (
	badBlock  = 77
	badFreed  = badBlock + 16 + 12
	badOwned  = 1000    // the allocator's, in no block
	badEnd    = 1 << 20 // of the memory that loads and stores may reach
	badTaken  = 64 << 10
	fourGiB   = 1 << 32
	ownMemory = 64 << 10 // of the guest itself
	blanks    = 0x2020202020202020
)

// A badCall is one call with something that is not what it should be.
type badCall struct {
	function string
	args     []int64
	want     abi.Code // 0: it is answered with 0 or nothing, and harms nobody
}

// notHandles are numbers that are not the handle of a block.
var notHandles = []int64{1, 8, badBlock - 1, badBlock + 1, badFreed, badOwned, badTaken, badEnd, fourGiB - 1, fourGiB, fourGiB + badBlock, -badBlock, -8, -1}

// badCalls has rows for every function of the ABI.
func badCalls() []badCall {
	handles := func(want abi.Code, function string, args func(h int64) []int64) (calls []badCall) {
		for _, h := range notHandles {
			calls = append(calls, badCall{function, args(h), want})
		}
		return calls
	}
	one := func(h int64) []int64 { return []int64{h} }
	calls := slices.Concat(
		handles(0, "free", one), handles(0, "length", one), handles(0, "length_unsafe", one),
		handles(abi.BadHostCall, "config_get", one), handles(abi.BadHostCall, "var_get", one),
		handles(abi.BadHostCall, "var_set", func(h int64) []int64 { return []int64{h, 0} }),
		handles(abi.BadHostCall, "var_set", func(h int64) []int64 { return []int64{badBlock, h} }),
		handles(abi.BadHostCall, "http_request", func(h int64) []int64 { return []int64{h, 0} }),
		handles(abi.BadHostCall, "http_request", func(h int64) []int64 { return []int64{badBlock, h} }),
	)
	for _, level := range []string{"trace", "debug", "info", "warn", "error"} {
		calls = append(calls, handles(abi.BadHostCall, "log_"+level, one)...)
	}
	for _, at := range []int64{0, 63, badEnd, fourGiB, fourGiB + badBlock, -8, -1} {
		calls = append(calls,
			badCall{"load_u8", []int64{at}, abi.BadHostCall}, badCall{"store_u8", []int64{at, 1}, abi.BadHostCall},
			badCall{"load_u64", []int64{at}, abi.BadHostCall}, badCall{"store_u64", []int64{at, 1}, abi.BadHostCall},
			badCall{abi.FuncBlockRead, []int64{at, 0, 1}, abi.BadHostCall}, badCall{abi.FuncBlockWrite, []int64{at, 0, 1}, abi.BadHostCall},
		)
	}
	for _, at := range []int64{badEnd - 7, 60} { // the first or the last byte exists
		calls = append(calls, badCall{"load_u64", []int64{at}, abi.BadHostCall}, badCall{"store_u64", []int64{at, 1}, abi.BadHostCall})
	}
	for _, s := range [][2]int64{{8, 4}, {64, 16}, {badBlock, fourGiB}, {badBlock, -1}, {badTaken - 8, 16}, {badEnd, 1}, {fourGiB + badBlock, 4}, {-4, 8}, {0, 1}} {
		calls = append(calls, badCall{"output_set", s[:], abi.BadHostCall}, badCall{"input_set", s[:], abi.BadHostCall})
	}
	for _, s := range [][3]int64{{badBlock, ownMemory, 1}, {badBlock, ownMemory - 1, 2}, {badBlock, 0, -1}, {badBlock, -1, 16}, {badBlock, -16, 32}, {badEnd - 8, 0, 16}, {badBlock, 0, ownMemory + 1}} {
		calls = append(calls, badCall{abi.FuncBlockRead, s[:], abi.BadHostCall}, badCall{abi.FuncBlockWrite, s[:], abi.BadHostCall})
	}
	for _, h := range []int64{1, 64, badEnd, fourGiB, fourGiB + badBlock, -1} {
		calls = append(calls, badCall{"error_set", one(h), abi.BadHostCall})
	}
	for _, n := range []int64{1 << 30, fourGiB - 12, fourGiB, 1 << 40, -12, -1} {
		calls = append(calls, badCall{"alloc", one(n), abi.OutOfMemory})
	}
	return append(calls,
		badCall{"error_set", one(badFreed), 0}, badCall{"error_set", one(badOwned), 0},
		badCall{"input_load_u8", one(0), 0}, badCall{"input_load_u8", one(fourGiB), 0}, badCall{"input_load_u8", one(-1), 0},
		badCall{"input_load_u64", one(0), abi.BadHostCall}, badCall{"input_load_u64", one(-1), abi.BadHostCall},
		badCall{abi.FuncBlockRead, []int64{-1, ownMemory, 0}, 0}, badCall{abi.FuncBlockWrite, []int64{-1, ownMemory, 0}, 0},
		badCall{"http_request", []int64{0, 0}, abi.BadHostCall}, // no JSON
	)
}

// badCallsGuest has an export for every call, named by its number, and one that
// tells what the next call finds. Its first block holds JSON.
func badCallsGuest(calls []badCall) *module {
	m := newModule()
	signatures := sandbox.ExtismSignatures()
	for _, name := range abi.BlockFuncs() {
		signatures[name] = [2][]byte{{i64t, i32t, i32t}, nil}
	}
	indices := map[string]uint32{}
	for _, name := range slices.Sorted(maps.Keys(signatures)) {
		namespace := abi.NamespaceExtism
		if slices.Contains(abi.BlockFuncs(), name) {
			namespace = abi.NamespaceHost
		}
		indices[name] = m.imported(namespace, name, signatures[name][0], signatures[name][1])
	}
	block := func(of ...[]byte) []byte {
		return slices.Concat(i64c(16), callf(indices["alloc"]), slices.Concat(of...))
	}
	setUp := slices.Concat(block(drop), block(callf(indices["free"])),
		i64c(badBlock), i64c(blanks^('{'^' ')^('}'^' ')<<8), callf(indices["store_u64"]), i64c(badBlock+8), i64c(blanks), callf(indices["store_u64"])) // {} and blanks
	for i, c := range calls {
		body := setUp
		for j, arg := range c.args {
			if signatures[c.function][0][j] == i32t {
				body = append(slices.Clone(body), i32c(int32(arg))...)
			} else {
				body = append(slices.Clone(body), i64c(arg)...)
			}
		}
		body = slices.Concat(body, callf(indices[c.function]))
		switch results := signatures[c.function][1]; {
		case len(results) == 0:
			body = append(body, i32c(0)...)
		case results[0] == i64t:
			body = append(body, 0xa7) // what is not 0 is the exit code
		}
		m.export(fmt.Sprint(i), body)
	}
	m.export("where", block(i64c(16), callf(indices["output_set"])), callf(indices["output_offset"]), []byte{0xa7})
	return m
}

func TestABadCallEndsWithItsCodeAndHarmsNobody(t *testing.T) {
	calls := badCalls()
	m := load(t, badCallsGuest(calls), abi.Limits{Memory: abi.MiB, Input: abi.KiB, Output: abi.KiB})
	http := func(context.Context, abi.HTTPRequest, []byte) (abi.HTTPResponse, *abi.Problem) {
		t.Error("a request was sent")
		return abi.HTTPResponse{}, nil
	}
	for i, c := range calls {
		res := m.Call(context.Background(), sandbox.Request{Export: fmt.Sprint(i), HTTP: http})
		if c.want == 0 && (res.Problem != nil || res.Exit != 0) || c.want != 0 && (res.Problem == nil || res.Problem.Code != c.want) {
			t.Errorf("%s%v ended with %v, exit %d; want code %d", c.function, c.args, res.Problem, res.Exit, c.want)
		}
		if len(res.Output) > 0 || len(res.Logs) > 0 {
			t.Errorf("%s%v gave %q and logs %q", c.function, c.args, res.Output, res.Logs)
		}
		if where := m.Call(context.Background(), sandbox.Request{Export: "where"}); where.Exit != badBlock || string(where.Output) != string(make([]byte, 16)) {
			t.Fatalf("after %s%v a block lies at %d with %q", c.function, c.args, where.Exit, where.Output)
		}
	}
}

func TestEveryFunctionOfTheABIHasBadCalls(t *testing.T) {
	harmless := []string{ // they take nothing
		"error_get", "get_log_level", "http_headers", "http_status_code", "input_length", "input_offset",
		"memory_bytes", "output_length", "output_offset", "reset",
	}
	for name, signature := range sandbox.ExtismSignatures() {
		tried := slices.ContainsFunc(badCalls(), func(c badCall) bool { return c.function == name })
		if tried == slices.Contains(harmless, name) || tried == (len(signature[0]) == 0) {
			t.Errorf("%s: tried is %v, and it takes %d parameters", name, tried, len(signature[0]))
		}
	}
}
