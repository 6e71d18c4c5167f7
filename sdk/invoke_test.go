package sdk_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	_ "github.com/sluicehq/sluice/sdk/testdata/probe"
)

// A probeCase is one invocation of the probe skill. It gives the same bytes
// natively and as a module.
type probeCase struct {
	name       string
	invocation string
	reply      string // as JSON, to the byte
	log        string // a part of the log
}

func probeCases() []probeCase {
	return slices.Concat(echoCases(), endCases(), aboutCases(), storeCases())
}

func echoCases() []probeCase {
	return []probeCase{
		{"fills in defaults", call("echo", `{"text":"a"}`), `{"ok":true,"data":{"text":"a","mode":"quiet","count":3}}`, ""},
		{"keeps what is given over a default", call("echo", `{"text":"a","mode":"loud","count":4}`), `{"ok":true,"data":{"text":"a","mode":"loud","count":4}}`, ""},
		{"keeps Chinese and markup readable", call("echo", `{"text":"<你好> & 再见","count":1}`), `{"ok":true,"data":{"text":"<你好> & 再见","mode":"quiet","count":1}}`, ""},
		{"carries every kind of value",
			call("echo", `{"text":"a","ratio":0.5,"when":"2026-01-15T12:00:00Z","nested":[{"name":"n","size":255}],"labels":{"b":"2","a":"1"},"bytes":"AQI="}`),
			`{"ok":true,"data":{"text":"a","mode":"quiet","count":3,"ratio":0.5,"when":"2026-01-15T12:00:00Z","nested":[{"name":"n","size":255}],"labels":{"a":"1","b":"2"},"bytes":"AQI="}}`, ""},
		{"refuses an unknown tool with the nearest", call("ecko", `{}`), `{"ok":false,"problem":{"code":4004,"message":"test.probe has no tool \"ecko\"","candidates":["echo"]}}`, ""},
		{"refuses another version of the contract", `{"abi":2,"tool":"echo","args":{}}`,
			`{"ok":false,"problem":{"code":4000,"message":"the invocation has version 2 of the contract; this skill speaks version 1"}}`, ""},
		{"refuses what is no envelope", `[]`, `{"ok":false,"problem":{"code":4001,"message":"the invocation is not an envelope that this skill reads"}}`, ""},
		{"refuses no input", ``, `{"ok":false,"problem":{"code":4001,"message":"the invocation is not an envelope that this skill reads"}}`, ""},
		{"refuses another type", call("echo", `{"text":1}`), `{"ok":false,"problem":{"code":4002,"message":"must be of type string, not number","field":"text"}}`, ""},
		{"refuses another type further in", call("echo", `{"nested":[{"size":"big"}]}`), `{"ok":false,"problem":{"code":4002,"message":"must be of type integer, not string","field":"nested.size"}}`, ""},
		{"refuses a number that is too large for its type", call("echo", `{"nested":[{"size":256}]}`), `{"ok":false,"problem":{"code":4002,"message":"must be of type integer, not number 256","field":"nested.size"}}`, ""},
		{"refuses arguments that are a list", call("echo", `[]`), `{"ok":false,"problem":{"code":4002,"message":"must be of type object, not array"}}`, ""},
		{"refuses an unknown argument", call("echo", `{"txt":"a"}`), `{"ok":false,"problem":{"code":4008,"message":"there is no argument \"txt\"","field":"txt"}}`, ""},
		{"repeats no more than the start of what it refuses", call("echo", `{"`+strings.Repeat("x", 1000)+`":1}`),
			`{"ok":false,"problem":{"code":4008,"message":"there is no argument \"` + strings.Repeat("x", 79) + `","field":"` + strings.Repeat("x", 80) + `"}}`, ""},
		{"refuses a time that is none", call("echo", `{"when":"soon"}`), `{"ok":false,"problem":{"code":4007,"message":"\"soon\" is not a time; write one such as 2026-01-15T12:00:00Z"}}`, ""},
	}
}

func endCases() []probeCase {
	end := func(how string) string { return call("end", `{"how":"`+how+`"}`) }
	neutral := `{"ok":false,"problem":{"code":5000,"message":"end could not do this now"}}`
	panicked := `{"ok":false,"problem":{"code":9001,"message":"the handler of end panicked"}}`
	return []probeCase{
		{"gives null for nothing", end("well"), `{"ok":true,"data":null}`, "ending by well"},
		{"passes a refusal on", end("refuse"), `{"ok":false,"problem":{"code":3001,"message":"it is 3 too many","hint":"Take fewer.","candidates":["1","2"]}}`, ""},
		{"passes a code of the skill's own on", end("own code"), `{"ok":false,"problem":{"code":3107,"message":"no"}}`, ""},
		{"passes a bad argument on", end("bad argument"), `{"ok":false,"problem":{"code":4007,"message":"it is not a date","field":"flights[1].date"}}`, ""},
		{"passes when to try again on", end("unavailable"), `{"ok":false,"problem":{"code":5002,"message":"the shop does not answer","retry_after_ms":1500}}`, ""},
		{"finds a wrapped problem", end("wrapped problem"), `{"ok":false,"problem":{"code":5002,"message":"the shop does not answer"}}`, ""},
		{"keeps the text of an error to the log", end("plain error"), neutral, "secret detail"},
		{"takes no verdict from a skill", end("verdict of the host"), `{"ok":false,"problem":{"code":5000,"message":"ask somebody","hint":"Wait."}}`, "1001"},
		{"does not take a nil problem for success", end("nil problem"), neutral, "nil *abi.Problem"},
		{"turns a panic into a trap", end("panic"), panicked, "panic: secret detail"},
		{"turns a nil pointer into a trap", end("nil pointer"), panicked, "nil pointer"},
		{"turns an index out of range into a trap", end("index"), panicked, "out of range"},
		{"turns a panic of a type as it is written into a trap", end("panic when written"), panicked, "panic: secret detail"},
		{"turns a result that is not JSON into a trap", end("no JSON"), `{"ok":false,"problem":{"code":9001,"message":"end gave a result that cannot be written as JSON"}}`, "unsupported type"},
	}
}

func aboutCases() []probeCase {
	info := `"call":{"id":"c","key":"k","attempt":2,"now":"2026-01-15T12:00:00Z","tenant":"t","live":"l","locale":"zh-CN"}`
	return []probeCase{
		{"tells about its call", `{"abi":1,"tool":"about",` + info + `,"state":{"live.current":"1001"},"facts":{"price":99.5}}`,
			`{"ok":true,"data":{"ID":"c","Key":"k","Tenant":"t","Live":"l","Locale":"zh-CN","Attempt":2,"Now":"2026-01-15T12:00:00Z","Current":"1001","Price":99.5,"Found":[true,true]}}`, ""},
		{"tells that there is no state and no fact", `{"abi":1,"tool":"about",` + info + `}`,
			`{"ok":true,"data":{"ID":"c","Key":"k","Tenant":"t","Live":"l","Locale":"zh-CN","Attempt":2,"Now":"2026-01-15T12:00:00Z","Current":"","Price":0,"Found":[false,false]}}`, ""},
		{"refuses a fact of another form", `{"abi":1,"tool":"about",` + info + `,"facts":{"price":"cheap"}}`,
			`{"ok":false,"problem":{"code":5000,"message":"fact price has another form than this skill reads"}}`, ""},
		{"gives preview and state beside its data", call("patch", `{}`), `{"ok":true,"data":"done","state":{"live.current":"1002"},"preview":"It is done."}`, ""},
	}
}

func storeCases() []probeCase {
	long := strings.Repeat("k", abi.KeyBytes+1)
	return []probeCase{
		{"sees its own writes", call("store", `{"steps":[{"do":"put","key":"b","value":"12345678"},{"do":"get","key":"b"},{"do":"delete","key":"b"},{"do":"get","key":"b"}]}`),
			`{"ok":true,"data":["put","12345678","deleted","nothing"]}`, ""},
		{"reads and writes JSON", call("store", `{"steps":[{"do":"put json","key":"b","value":"<v>"},{"do":"get json","key":"b"},{"do":"get","key":"b"},{"do":"get json","key":"c"}]}`),
			`{"ok":true,"data":["put","<v>true","\"<v>\"","<nil> false"]}`, ""},
		{"refuses a value that is not JSON", call("store", `{"steps":[{"do":"put","key":"b","value":"{"},{"do":"get json","key":"b"}]}`),
			`{"ok":false,"problem":{"code":5000,"message":"the value of key \"b\" has another form than this skill reads"}}`, ""},
		{"scans page by page", call("store", `{"steps":[{"do":"scan","key":"p/","times":2},{"do":"scan","key":"p/","value":"p/2","times":2},{"do":"keys","key":"p/"}]}`),
			`{"ok":true,"data":["[{p/1 one} {p/2 two}] after \"p/2\"","[{p/3 three}] after \"\"","[{p/1 } {p/2 } {p/3 }] after \"\""]}`, ""},
		{"ranges over all pages", call("store", `{"steps":[{"do":"each","key":"n/"},{"do":"each","key":"none"}]}`), `{"ok":true,"data":["2500 n/2499","0 "]}`, ""},
		{"ranges over values that are JSON", call("store", `{"steps":[{"do":"put","key":"i/1","value":"1"},{"do":"put","key":"i/2","value":"2"},{"do":"each json","key":"i/"},{"do":"each json","key":"i/","times":1}]}`),
			`{"ok":true,"data":["put","put","[1 2]","[1]"]}`, ""},
		{"ends a range at a value of another form", call("store", `{"steps":[{"do":"each json","key":"p/"}]}`),
			`{"ok":false,"problem":{"code":5000,"message":"the value of key \"p/1\" has another form than this skill reads"}}`, ""},
		{"ends a range when the host refuses", call("store", `{"steps":[{"do":"each json","key":"forbidden"}]}`),
			`{"ok":false,"problem":{"code":4010,"message":"not this key","hint":"Take another."}}`, ""},
		{"moves a value that is no multiple of eight", call("store", `{"steps":[{"do":"put","key":"b","value":"abc","times":10},{"do":"get","key":"b"}]}`),
			`{"ok":true,"data":["put","` + strings.Repeat("abc", 11) + `"]}`, ""},
		{"refuses an empty key", call("store", `{"steps":[{"do":"get","key":""}]}`), `{"ok":false,"problem":{"code":4009,"message":"a key has 0 bytes; it must have 1 to 512"}}`, ""},
		{"refuses a key that is too long", call("store", `{"steps":[{"do":"delete","key":"`+long+`"}]}`), `{"ok":false,"problem":{"code":4009,"message":"a key has 513 bytes; it must have 1 to 512"}}`, ""},
		{"refuses an empty value", call("store", `{"steps":[{"do":"put","key":"b"}]}`), `{"ok":false,"problem":{"code":4009,"message":"the value of key \"b\" has 0 bytes; it must have 1 to 1048576"}}`, ""},
		{"refuses a value that is too long", call("store", `{"steps":[{"do":"put","key":"b","value":"12345678","times":131072}]}`),
			`{"ok":false,"problem":{"code":4009,"message":"the value of key \"b\" has 1048584 bytes; it must have 1 to 1048576"}}`, ""},
		{"refuses a scan that is too wide", call("store", `{"steps":[{"do":"scan","key":"","times":1001}]}`),
			`{"ok":false,"problem":{"code":4009,"message":"a scan asks for 1001 entries; it may ask for 1 to 1000"}}`, ""},
		{"passes a problem of the host on", call("store", `{"steps":[{"do":"get","key":"forbidden"}]}`),
			`{"ok":false,"problem":{"code":4010,"message":"not this key","hint":"Take another."}}`, ""},
		{"passes a failing store on as a failure of the system", call("store", `{"steps":[{"do":"put","key":"forbidden","value":"v"}]}`),
			`{"ok":false,"problem":{"code":5000,"message":"the store is away","retry_after_ms":20}}`, "5004"},
		{"passes a failing scan on", call("store", `{"steps":[{"do":"each","key":"forbidden"}]}`),
			`{"ok":false,"problem":{"code":4010,"message":"not this key","hint":"Take another."}}`, ""},
	}
}

func call(tool, args string) string {
	return `{"abi":1,"tool":"` + tool + `","args":` + args + `,"call":{"id":"c","attempt":1,"now":"2026-01-15T12:00:00Z","tenant":"t"}}`
}

func TestInvokeAnswersNatively(t *testing.T) {
	for _, tt := range probeCases() {
		t.Run(tt.name, func(t *testing.T) {
			s := newShelf()
			if got := sdk.Invoke([]byte(tt.invocation), s); string(got) != tt.reply {
				t.Errorf("reply\n%.400s\nwant\n%s", got, tt.reply)
			}
			if !strings.Contains(s.log.String(), tt.log) {
				t.Errorf("log %q, want a part %q", s.log.String(), tt.log)
			}
		})
	}
}

func FuzzInvokeAlwaysReplies(f *testing.F) {
	for _, tt := range probeCases() {
		if len(tt.invocation) < 1000 {
			f.Add([]byte(tt.invocation))
		}
	}
	f.Fuzz(func(t *testing.T, invocation []byte) {
		var reply abi.Reply
		if err := json.Unmarshal(sdk.Invoke(invocation, newShelf()), &reply); err != nil {
			t.Fatal(err)
		}
		if reply.OK == (reply.Problem != nil) || !reply.OK && !reply.Problem.Code.OfSkill() {
			t.Errorf("reply %+v", reply)
		}
	})
}

var _ sdk.Grants = (*shelf)(nil)

// A shelf is a store in memory, with one key at which it refuses.
type shelf struct {
	values map[string][]byte
	log    strings.Builder
}

func newShelf() *shelf {
	s := &shelf{values: map[string][]byte{"p/1": []byte("one"), "p/2": []byte("two"), "p/3": []byte("three"), "q": []byte("other")}}
	for i := range 2500 {
		s.values[fmt.Sprintf("n/%04d", i)] = []byte("v")
	}
	return s
}

func (s *shelf) KVGet(key string) ([]byte, bool, error) {
	value, found := s.values[key]
	return value, found, forbidden(key)
}

func (s *shelf) KVPut(key string, value []byte) error {
	if key == "forbidden" {
		return &abi.Problem{Code: abi.StoreFailure, Message: "the store is away", RetryAfterMS: 20}
	}
	s.values[key] = value
	return nil
}

func (s *shelf) KVDelete(key string) error {
	delete(s.values, key)
	return nil
}

func (s *shelf) KVScan(q abi.ScanQuery) (abi.Page, error) {
	if q.Limit == 0 {
		q.Limit = abi.ScanPageEntries
	}
	var page abi.Page
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		if !strings.HasPrefix(key, q.Prefix) || key <= q.After {
			continue
		}
		if len(page.Entries) == q.Limit {
			page.After = page.Entries[q.Limit-1].Key
			break
		}
		e := abi.Entry{Key: key}
		if !q.KeysOnly {
			e.Value = s.values[key]
		}
		page.Entries = append(page.Entries, e)
	}
	return page, forbidden(q.Prefix)
}

func (s *shelf) Log(line string) { s.log.WriteString(line + "\n") }

func forbidden(key string) error {
	if key == "forbidden" {
		return abi.NewProblem(abi.NotGranted, "not this key").WithHint("Take another.")
	}
	return nil
}
