//go:build !race

package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// Every skill of the repository, with the inputs of its examples changed at
// random: what it answers and what it writes is the same frozen and unfrozen.
func TestSkillsAreTheSameFrozen(t *testing.T) { skillsAreTheSameFrozen(t, seededInputs) }

func skillsAreTheSameFrozen(t *testing.T, count int) {
	for _, pkg := range skillPackages(t) {
		t.Run(pkg, func(t *testing.T) {
			t.Parallel()
			wasm := sandboxtest.Build(t, pkg)
			skill := sandboxtest.Describe(t, sandboxtest.Shared(t), wasm)
			p := newPair(t, wasm, skill.Limits)
			random, fuel, answers := rand.New(rand.NewPCG(15, 16)), fuelBook{}, map[abi.Code]int{}
			for range count {
				c := seededCall(t, random, skill)
				wrote := []map[string][]byte{}
				res := p.same(t, c.request, func() []sandbox.Function {
					wrote = append(wrote, maps.Clone(c.kv))
					return kvFunctions(wrote[len(wrote)-1], c.state)
				})
				if !reflect.DeepEqual(wrote[0], wrote[1]) {
					t.Fatalf("%s writes %v frozen, and %v unfrozen", c.request.Input, wrote[0], wrote[1])
				}
				again := c.request
				again.Functions = kvFunctions(maps.Clone(c.kv), c.state)
				fuel[string(again.Input)] = res.Usage.Fuel // the same input with other data is another call
				fuel.check(t, again.Input, p.frozen.Call(context.Background(), again).Usage.Fuel)
				answers[answerOf(res)]++
			}
			t.Logf("answers by code, 0 is success: %v; %d calls in slots that had served before; %+v", answers, p.reused, p.frozen.Info())
			if len(answers) < 3 || answers[0] == 0 {
				t.Error("the inputs are all alike: little was shown")
			}
		})
	}
}

// answerOf gives the code with which a skill refused a call, or 0.
func answerOf(res sandbox.Result) abi.Code {
	var reply abi.Reply
	switch {
	case res.Problem != nil:
		return res.Problem.Code
	case json.Unmarshal(res.Output, &reply) == nil && reply.Problem != nil:
		return reply.Problem.Code
	}
	return 0
}

// skillPackages gives every package of skills/ that declares a skill.
func skillPackages(t *testing.T) (packages []string) {
	t.Helper()
	root := os.DirFS(filepath.Join("..", ".."))
	err := fs.WalkDir(root, "skills", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		b, err := fs.ReadFile(root, name)
		if bytes.Contains(b, []byte("= sdk.Skill(")) {
			packages = append(packages, path.Dir(name))
		}
		return err
	})
	if err != nil || len(packages) == 0 {
		t.Fatalf("found skills %v, %v", packages, err)
	}
	return packages
}

type skillCall struct {
	request sandbox.Request
	kv      map[string][]byte
	state   map[string]json.RawMessage
}

// seededCall takes an example and changes it a little, or not at all.
func seededCall(t *testing.T, random *rand.Rand, skill *manifest.Skill) skillCall {
	t.Helper()
	if len(skill.Hooks) > 0 {
		return skillCall{request: seededQuestion(t, random), kv: map[string][]byte{}}
	}
	tool := skill.Tools[random.IntN(len(skill.Tools))]
	example := tool.Examples[random.IntN(len(tool.Examples))]
	c := skillCall{kv: map[string][]byte{}, state: example.State}
	for _, key := range slices.Sorted(maps.Keys(example.KV)) {
		if random.IntN(20) > 0 {
			c.kv[key] = mutate(t, random, example.KV[key], 10)
		}
	}
	input, err := json.Marshal(abi.Invocation{
		ABI: 1, Tool: tool.Name, Args: mutate(t, random, example.Args, 1), State: example.State,
		Call: abi.CallInfo{ID: "c", Key: "k", Attempt: 1, Now: time.Unix(1_700_000_000, 0).UTC(), Tenant: "t"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if random.IntN(20) == 0 && len(input) > 0 {
		input[random.IntN(len(input))] ^= 1 << random.IntN(8)
	}
	c.request = sandbox.Request{Export: abi.ExportInvoke, Input: input, Seed: [32]byte{byte(random.Uint32())}}
	return c
}

// seededQuestion takes one of the vectors of what a policy module is asked, with
// another price and other words.
func seededQuestion(t *testing.T, random *rand.Rand) sandbox.Request {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "abi", "testdata", "occasions.json"))
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct{ JSON json.RawMessage }
	if err := json.Unmarshal(b, &vectors); err != nil {
		t.Fatal(err)
	}
	input := string(vectors[random.IntN(len(vectors))].JSON)
	price := []string{"84", "89", "1e300", `"84"`, "null"}[random.IntN(5)]
	words := []string{"全网最低价", "fine", ""}[random.IntN(3)]
	input = strings.NewReplacer("89.5", price, "全网最低价", words).Replace(input)
	return sandbox.Request{Export: abi.ExportHook, Input: []byte(input), Seed: [32]byte{byte(random.Uint32())}}
}

// mutate changes a value in half of the cases, or more seldom by so many times.
func mutate(t *testing.T, random *rand.Rand, raw json.RawMessage, seldom int) json.RawMessage {
	t.Helper()
	if random.IntN(2*seldom) > 0 {
		return raw
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(mutated(random, v))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// mutated changes one thing in a value.
func mutated(random *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		if len(keys) == 0 || random.IntN(10) == 0 {
			v["added"] = random.IntN(100)
			return v
		}
		key := keys[random.IntN(len(keys))]
		if random.IntN(8) == 0 {
			delete(v, key)
		} else {
			v[key] = mutated(random, v[key])
		}
		return v
	case []any:
		if len(v) == 0 || random.IntN(4) == 0 {
			return append(v, random.IntN(100))
		}
		v[random.IntN(len(v))] = mutated(random, v[random.IntN(len(v))])
		return v
	case float64:
		return []any{v + 1, -v, v / 3, v * 1e6, 0, "12"}[random.IntN(6)]
	case string:
		return []any{v + v, v[:len(v)/2], strings.ToUpper(v), "", v + "é\u202e𝛑", 7, "no such thing"}[random.IntN(7)]
	default:
		return []any{nil, true, "text", 1.5, []any{}, map[string]any{}}[random.IntN(6)]
	}
}

// filePrefix is before the paths of files, which lie beside the kv entries.
const filePrefix = "file "

// kvFunctions serve a guest from a map.
func kvFunctions(kv map[string][]byte, state map[string]json.RawMessage) []sandbox.Function {
	answer := func(name string, call func(args [][]byte) ([]byte, *abi.Problem)) sandbox.Function {
		return sandbox.Function{Name: name, Call: func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) { return call(args) }}
	}
	return []sandbox.Function{
		answer(abi.FuncKVGet, func(args [][]byte) ([]byte, *abi.Problem) { return kv[string(args[0])], nil }),
		answer(abi.FuncKVPut, func(args [][]byte) ([]byte, *abi.Problem) { kv[string(args[0])] = args[1]; return nil, nil }),
		answer(abi.FuncKVDelete, func(args [][]byte) ([]byte, *abi.Problem) { delete(kv, string(args[0])); return nil, nil }),
		answer(abi.FuncKVScan, func(args [][]byte) ([]byte, *abi.Problem) {
			var q abi.ScanQuery
			if err := json.Unmarshal(args[0], &q); err != nil {
				return nil, abi.NewProblem(abi.BadHostCall, "%v", err)
			}
			return pageOf(kv, q).Encode(), nil
		}),
		answer(abi.FuncStateGet, func(args [][]byte) ([]byte, *abi.Problem) { return state[string(args[0])], nil }),
		answer(abi.FuncBlobRead, func(args [][]byte) ([]byte, *abi.Problem) { return partOf(seededBlob, args[0]) }),
		answer(abi.FuncFilesList, func([][]byte) ([]byte, *abi.Problem) { return []byte("[]"), nil }),
		answer(abi.FuncFilesRead, func(args [][]byte) ([]byte, *abi.Problem) {
			if b := kv[filePrefix+string(args[0])]; b != nil {
				return b, nil
			}
			return nil, abi.NewProblem(abi.NotFound, "there is no %s", args[0])
		}),
		answer(abi.FuncFilesWrite, func(args [][]byte) ([]byte, *abi.Problem) {
			kv[filePrefix+string(args[0])] = args[1]
			return []byte("a hash"), nil
		}),
	}
}

// seededBlob is what every blob holds.
const seededBlob = `{"items":[{"name":"a"},{"name":"青柠 timeout"},{"name":"c"},{"name":"d"},{"name":"1001"}]}`

func partOf(data string, query []byte) ([]byte, *abi.Problem) {
	var r abi.BlobRange
	if err := json.Unmarshal(query, &r); err != nil {
		return nil, abi.NewProblem(abi.BadHostCall, "%v", err)
	}
	if r.Offset < 0 || r.Offset > int64(len(data)) {
		return nil, abi.NewProblem(abi.OutOfBounds, "the blob has %d bytes", len(data))
	}
	rest := data[r.Offset:]
	return []byte(rest[:min(int64(len(rest)), max(r.Length, 0))]), nil
}

func pageOf(kv map[string][]byte, q abi.ScanQuery) (page abi.Page) {
	limit := abi.ScanPageEntries
	if q.Limit > 0 {
		limit = min(limit, q.Limit)
	}
	for _, key := range slices.Sorted(maps.Keys(kv)) {
		switch {
		case !strings.HasPrefix(key, q.Prefix) || key <= q.After:
			continue
		case len(page.Entries) == limit:
			page.After = page.Entries[limit-1].Key
			return page
		case q.KeysOnly:
			page.Entries = append(page.Entries, abi.Entry{Key: key})
		default:
			page.Entries = append(page.Entries, abi.Entry{Key: key, Value: kv[key]})
		}
	}
	return page
}
