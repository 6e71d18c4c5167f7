package grant_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/grant"
)

// everything grants all that a manifest may declare, but http.
var everything = abi.Capabilities{
	KV: kv.KV, State: &abi.StateAccess{Reads: []string{"goal"}}, Memory: &abi.MemoryUse{Recall: []string{"fact", "preference"}, Remember: []string{"fact"}},
	Blob: abi.AccessWrite, Files: abi.AccessWrite, Progress: true,
}

// memory plays a store of memories.
func (r *rig) memory() *[]abi.Memory {
	var kept []abi.Memory
	r.config.Recall = func(_ context.Context, ref host.SessionRef, q abi.RecallQuery) ([]abi.Memory, error) {
		hits := []abi.Memory{{Kind: "secret", Text: "of a kind that nobody asked for"}, {Kind: "fact", Text: fmt.Sprint(ref, q.Query, q.Kinds, q.Limit), Score: 0.5}}
		return append(hits, kept...), nil
	}
	r.config.Remember = func(_ context.Context, from host.CallRef, memories []abi.Memory) error {
		if from.Session != ref || from.Call != "call-1" || from.Live != "live-1" {
			r.t.Errorf("remembered from %+v", from)
		}
		kept = append(kept, memories...)
		return nil
	}
	return &kept
}

// arguments gives what a function may be asked, without a mistake.
func arguments(name string) []string {
	return map[string][]string{
		"kv_get": {"k"}, "kv_put": {"k", "v"}, "kv_delete": {"k"}, "kv_scan": {`{"prefix":""}`}, "state_get": {"goal"},
		"memory_recall": {`{"query":"q"}`}, "memory_remember": {`{"kind":"fact","text":"t"}`},
		"blob_read": {`{"id":"x"}`}, "blob_write": {"data", `{}`},
		"files_read": {"a"}, "files_write": {"a", "data", `{}`}, "files_list": {""}, "files_remove": {"a"},
		"http": {`{"method":"GET","url":"https://example.com"}`, ""}, "progress": {`{"done":1}`},
	}[name]
}

func functions() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(abi.HostFuncs())) {
		names = append(names, strings.TrimPrefix(name, "sluice_"))
	}
	return names
}

// Every function, every parameter, every way in which a handle can be wrong.
func TestAHandleThatNamesNoBlockIsRefused(t *testing.T) {
	r := newRig(t)
	r.memory()
	for _, name := range functions() {
		args := arguments(name)
		if len(args) != abi.HostFuncs()["sluice_"+name] {
			t.Fatalf("%s has no arguments here", name)
		}
		var calls []hostCall
		for at := range args {
			for _, bad := range []string{"none", "freed", "overlapping", "before", "far", "4 GiB", "behind 4 GiB", "negative"} {
				c := call(name, args...)
				if c.At, c.Bad = at, bad; len(args[at]) == 0 {
					c.Args[at] = []byte("x")
				}
				calls = append(calls, c)
			}
		}
		g := r.grant(everything, abi.Write)
		for i, got := range r.run(g, calls...) {
			if got.String() != "problem 4009" {
				t.Errorf("%s with a handle that is %s at %d gives %s", name, calls[i].Bad, calls[i].At, got)
			}
		}
		if g.Failed() != nil {
			t.Errorf("%s: a mistake of the guest counts as the host's: %v", name, g.Failed())
		}
	}
}

// Every parameter that is JSON, and everything that is no such JSON.
func TestAnArgumentThatIsNotTheJSONItShouldBeIsRefused(t *testing.T) {
	r := newRig(t)
	r.memory()
	for name, at := range map[string]int{"kv_scan": 0, "memory_recall": 0, "memory_remember": 0, "blob_read": 0, "blob_write": 1, "files_write": 2, "progress": 0} {
		var calls []hostCall
		for _, bad := range []string{
			"", " ", "{", "null", "[]", "1", `"x"`, "{}{}", `{"nobody":1}`, `{"id":1,"query":1,"kind":1,"if_hash":1,"type":1,"done":"1","prefix":1}`, "{}x",
			"{\"\xff\":1}", strings.Repeat(`{"a":`, 10_000), strings.Repeat("[", 10_000), `{"a":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + "}",
		} {
			c := call(name, arguments(name)...)
			c.Args[at] = []byte(bad)
			calls = append(calls, c)
		}
		calls = append(calls, call(name, arguments(name)...).sized(at, 16<<20))
		for i, got := range r.run(r.grant(everything, abi.Write), calls...) {
			if got.String() != "problem 4009" {
				t.Errorf("%s with %.40q gives %s", name, calls[i].Args[at], got)
			}
		}
	}
}

func TestAReadGetsNothingThatWrites(t *testing.T) {
	r := newRig(t)
	kept := r.memory()
	g := r.grant(everything, abi.Read)
	for _, name := range []string{"kv_put", "kv_delete", "memory_remember", "blob_write", "files_write", "files_remove"} {
		got := r.run(g, call(name, arguments(name)...))[0]
		if got.String() != "problem 4010" || !strings.Contains(got.Problem, "effect is read") {
			t.Errorf("%s gives %s: %s", name, got, got.Problem)
		}
	}
	r.mustSettle(g)
	if len(*kept) != 0 {
		t.Errorf("it remembers %+v", *kept)
	}
}

func TestACapabilityToReadDoesNotWrite(t *testing.T) {
	r := newRig(t)
	c := abi.Capabilities{Blob: abi.AccessRead, Files: abi.AccessRead, Memory: &abi.MemoryUse{Recall: []string{"fact"}}}
	r.memory()
	g := r.grant(c, abi.Write)
	r.want(r.run(g, call("blob_write", "x", "{}"), call("files_write", "a", "x", "{}"), call("files_remove", "a"), call("memory_remember", `{"kind":"fact","text":"t"}`),
		call("files_list", ""), call("files_read", "a"), call("blob_read", `{"id":"blob_0"}`)),
		"problem 4010", "problem 4010", "problem 4010", "problem 4010", "[]", "problem 3004", "problem 3004")
}

func TestWhatTheHostDoesNotHaveIsSaid(t *testing.T) {
	r := newRig(t)
	r.config = grant.Config{Store: r.store}
	c := everything
	c.HTTP = []abi.HTTPRule{{Host: "example.com"}}
	g := r.grant(c, abi.Write)
	for _, name := range []string{"memory_recall", "memory_remember", "blob_read", "blob_write", "files_read", "files_write", "files_list", "files_remove", "http"} {
		got := r.run(g, call(name, arguments(name)...))[0]
		if got.String() != "problem 4010" || !strings.Contains(got.Problem, "this host has no") {
			t.Errorf("%s gives %s: %s", name, got, got.Problem)
		}
	}
	for _, name := range functions() {
		if got := r.run(r.grant(abi.Capabilities{}, abi.Write), call(name, arguments(name)...))[0]; got.String() != "problem 4010" {
			t.Errorf("%s, which nothing declares, gives %s", name, got)
		}
	}
}

func TestBlobsAreKeptWithTheCallThatWroteThem(t *testing.T) {
	r := newRig(t)
	g := r.grant(everything, abi.Write)
	id := r.run(g, call("blob_write", "0123456789", `{"type":"text/plain","name":"n"}`))[0].String()
	read := func(id, rest string) hostCall { return call("blob_read", `{"id":"`+id+`"`+rest+`}`) }
	parts := []hostCall{read(id, ""), read(id, `,"offset":4,"length":3`), read(id, `,"offset":10`), read(id, `,"offset":11`), read(id, `,"offset":-1`),
		read(id, `,"length":99`), read(id, `,"length":16777217`), read(id+"0", ""), read("../"+id, "")}
	want := []string{"0123456789", "456", "", "problem 3001", "problem 4009", "0123456789", "problem 3008", "problem 3004", "problem 3004"}
	r.want(r.run(g, parts...), want...)
	r.want(r.run(r.grant(everything, abi.Read), read(id, "")), "problem 3004")
	r.mustSettle(g)
	r.want(r.run(r.grant(everything, abi.Read), parts...), want...)
	stranger := grant.For(r.config, grant.Call{Session: host.SessionRef{Tenant: "other", User: "mia", Session: "s1"}, Capabilities: everything, Effect: abi.Read})
	r.want(r.run(stranger, read(id, "")), "problem 3004")
}

func TestFilesAreKeptWithTheCallThatWroteThem(t *testing.T) {
	r := newRig(t)
	g := r.grant(everything, abi.Write)
	hash := host.Digest([]byte("v1"))
	steps := []hostCall{
		call("files_write", "a/b.txt", "v1", `{"if_hash":""}`), call("files_write", "a/b.txt", "v1", `{"if_hash":""}`),
		call("files_write", "a/b.txt", "v2", `{"if_hash":""}`), call("files_write", "empty", "", `{}`),
		call("files_read", "a/b.txt"), call("files_read", "empty"), call("files_list", "a"), call("files_read", "a/c.txt"),
	}
	list := `[{"name":"b.txt","size":2,"hash":"` + hash + `"}]`
	r.want(r.run(g, steps...), hash, hash, "problem 3003", host.Digest(nil), "v1", "", list, "problem 3004")
	r.want(r.run(r.grant(everything, abi.Read), call("files_list", "")), "[]")
	r.mustSettle(g)
	r.want(r.run(r.grant(everything, abi.Read), call("files_list", "a")), list)
	for _, name := range []string{"../x", "a\x00b", "a\nb", "\xff", "/abs", "CON"} {
		r.want(r.run(g, call("files_write", name, "x", "{}"), call("files_read", name), call("files_list", name), call("files_remove", name)),
			"problem 4009", "problem 4009", "problem 4009", "problem 4009")
	}
}

func TestMemoriesAreOfDeclaredKinds(t *testing.T) {
	r := newRig(t)
	kept := r.memory()
	g := r.grant(everything, abi.Write)
	long := strings.Repeat("x", abi.MemoryBytes+1)
	r.want(r.run(g,
		call("memory_recall", `{"query":"q"}`), call("memory_recall", `{"query":"q","kinds":["fact"],"limit":1}`), call("memory_recall", `{"query":"q","kinds":["preference"]}`),
		call("memory_recall", `{"query":"q","kinds":["secret"]}`), call("memory_recall", `{"query":""}`), call("memory_recall", `{"query":"q","limit":51}`),
		call("memory_remember", `{"kind":"fact","text":"t","entity":"e"}`), call("memory_remember", `{"kind":"preference","text":"t"}`),
		call("memory_remember", `{"kind":"fact","text":""}`), call("memory_remember", `{"kind":"fact","text":"`+long+`"}`), call("memory_remember", `{"kind":"fact","text":"t","score":1}`)),
		`[{"kind":"fact","text":"acme/mia/s1q[fact preference] 50","score":0.5}]`, `[{"kind":"fact","text":"acme/mia/s1q[fact] 1","score":0.5}]`, "[]",
		"problem 4010", "problem 4009", "problem 4009", "nothing", "problem 4010", "problem 4009", "problem 4009", "problem 4009")
	if len(*kept) != 0 {
		t.Errorf("before the end of the call it remembers %+v", *kept)
	}
	r.mustSettle(g)
	if want := []abi.Memory{{Kind: "fact", Text: "t", Entity: "e"}}; !slices.Equal(*kept, want) {
		t.Errorf("it remembers %+v, want %+v", *kept, want)
	}
}

func TestProgressIsToldInOneLine(t *testing.T) {
	r := newRig(t)
	g := r.grant(everything, abi.Read)
	r.want(r.run(g, call("progress", `{"done":1,"total":3,"say":" 一\n\u001b[31m二\u202e "}`), call("progress", `{"done":-1}`), call("progress", `{"done":2,"say":"`+strings.Repeat("价", 300)+`"}`)),
		"nothing", "problem 4009", "nothing")
	if len(r.reports) != 2 || r.reports[0] != (abi.ProgressReport{Done: 1, Total: 3, Say: "一  [31m二"}) || r.reports[1].Say != strings.Repeat("价", abi.ProgressRunes-1)+"…" {
		t.Errorf("the user is told %+v", r.reports)
	}
}

func TestOneCallMayWriteSoMuchEverywhere(t *testing.T) {
	r := newRig(t)
	r.memory()
	many := func(name string, args ...string) answer {
		return r.run(r.grant(everything, abi.Write), call(name, args...).times(10_000))[0]
	}
	for name, got := range map[string]answer{
		"a put of 10,000 keys": many("kv_put", "k", "v"),
		"files":                many("files_write", "f", "x", "{}"),
	} {
		if got.Done != abi.CallWrites || got.problem().Code != abi.QuotaReached {
			t.Errorf("%s: %d, then %s", name, got.Done, got)
		}
	}
	if got := many("blob_write", "x", "{}"); got.Done != abi.CallBlobs || got.problem().Code != abi.QuotaReached {
		t.Errorf("blobs: %d, then %s", got.Done, got)
	}
	for name, c := range map[string]hostCall{
		"blobs": call("blob_write", "", "{}").sized(0, 6<<20), "files": call("files_write", "f", "", "{}").sized(1, 6<<20).times(3),
	} {
		g := r.grant(everything, abi.Write)
		got := r.run(g, c, c, c)
		if last := got[2]; name == "files" {
			last = got[0]
			if last.Done != 2 || last.problem().Code != abi.QuotaReached {
				t.Errorf("%s: %d times 6 MiB, then %s", name, last.Done, last)
			}
		} else if last.String() != "problem 3008" {
			t.Errorf("%s: the third 6 MiB give %s", name, last)
		}
	}
}

// A scan that never ends is ended by the number of host calls.
func TestAScanWithoutAnEndIsEnded(t *testing.T) {
	r := newRig(t)
	g := r.grant(kv, abi.Read)
	result := r.try(g, call("kv_scan", `{"prefix":""}`), hostCall{Func: "kv_get", Args: [][]byte{[]byte("k")}, Times: 1 << 30})
	if result == nil || result.Code != abi.QuotaReached {
		t.Errorf("it ended with %v", result)
	}
}

// What cannot be kept leaves nothing of the call.
func TestACallThatCannotBeKeptIsTakenBack(t *testing.T) {
	ctx := context.Background()
	r := newRig(t)
	r.memory()
	write := func() (*grant.Grant, string) {
		g := r.grant(everything, abi.Write)
		id := r.run(g, call("blob_write", "x", "{}"), call("files_write", "a", "x", "{}"), call("memory_remember", `{"kind":"fact","text":"t"}`))[0].String()
		return g, id
	}
	gone := func(id string) {
		t.Helper()
		r.want(r.run(r.grant(everything, abi.Read), call("files_list", ""), call("blob_read", `{"id":"`+id+`"}`)), "[]", "problem 3004")
	}
	g, id := write()
	kept, err := g.Keep(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.Undo(ctx); err != nil {
		t.Error(err)
	}
	gone(id)
	r.config.Remember = func(context.Context, host.CallRef, []abi.Memory) error { return errors.New("no") }
	g, id = write()
	if _, err := g.Keep(ctx); err == nil {
		t.Error("memories that cannot be kept are no error")
	}
	gone(id)
}
