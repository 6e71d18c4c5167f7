package sdk

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// envelopes are what a host writes, and what it would never write.
func envelopes() []string {
	return []string{
		`{"abi":1,"tool":"quote","args":{"sku":"1001"},"call":{"id":"c","key":"k","attempt":2,"now":"2026-01-15T12:00:00.25Z","tenant":"t","live":"l","locale":"zh-CN"},"state":{"live.current":"1001","a":null},"facts":{"price":99.50}}`,
		`{}`, `null`, ` null `, `[]`, `"x"`, `1`, ``, `{`, `{"abi":1}x`, `{"abi":null,"tool":null,"args":null,"call":null,"state":null,"facts":null}`,
		`{"ABI":1,"Tool":"a","ARGS":[ 1 ],"Call":{"ID":"c","TENANT":"t"},"ſtate":{"x":1},"FactS":{}}`,
		`{"tool":"a","tool":"b","args":1,"args":2,"call":{"id":"c"},"call":{"key":"k"},"state":{"a":1},"state":{"b":2},"facts":{"a":1},"facts":null}`,
		`{"abi":"1"}`, `{"abi":1.5}`, `{"abi":1e2}`, `{"abi":-1}`, `{"abi":99999999999999999999}`, `{"tool":1}`, `{"tool":{}}`, `{"call":[]}`, `{"call":{"attempt":"1"}}`, `{"call":{"id":1}}`, `{"state":[]}`, `{"state":{"a":{"b":[1,{"c":2}]}}}`, `{"facts":"x"}`,
		`{"unknown":{"deep":[1,2,{"x":"}"}]},"tool":"a"}`, `{"tool":"\u0061\ud83d\ude00\ud83d","args":"\u0061"}`, "{\"tool\":\"\xff\"}", "{\"state\":{\"\xff\":1}}", " {\n\"tool\" :\t\"a\" , \"args\" : { } }\r\n",
		`{"call":{"now":"2026-01-15T12:00:00+08:00"}}`, `{"call":{"now":"2026-02-29T12:00:00Z"}}`, `{"call":{"now":"2024-02-29T23:59:59.999999999-23:59"}}`, `{"call":{"now":"soon"}}`, `{"call":{"now":1}}`, `{"call":{"now":null}}`, `{"call":{"now":"2026-01-15T12:00:00\u005a"}}`,
	}
}

func TestTheEnvelopeIsReadAsEncodingJSONReadsIt(t *testing.T) {
	for _, text := range envelopes() {
		compareEnvelope(t, []byte(text))
	}
}

func FuzzTheEnvelopeIsReadAsEncodingJSONReadsIt(f *testing.F) {
	for _, text := range envelopes() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { compareEnvelope(t, text) })
}

func compareEnvelope(t *testing.T, text []byte) {
	t.Helper()
	var want abi.Invocation
	err := json.Unmarshal(text, &want)
	got, ok := readInvocation(text)
	if ok != (err == nil) {
		t.Fatalf("%q: read %v, want error %v", text, ok, err)
	}
	if !ok {
		return
	}
	c := Call{invocation: got}
	info := abi.CallInfo{ID: c.ID(), Key: c.Key(), Attempt: c.Attempt(), Now: want.Call.Now, Tenant: c.Tenant(), Live: c.Live(), Locale: c.Locale()}
	read := abi.Invocation{ABI: got.ABI, Tool: got.Tool, Args: got.Args, Call: info, State: got.State, Facts: got.Facts}
	if !timeOf(c.Now()).Equal(want.Call.Now) || !reflect.DeepEqual(read, want) {
		t.Fatalf("%q: read %+v at %v, want %+v", text, read, c.Now(), want)
	}
}

func TestATimeIsReadAsPackageTimeReadsIt(t *testing.T) {
	for _, text := range []string{
		"2026-01-15T12:00:00Z", "0000-01-01T00:00:00Z", "0000-03-01T00:00:00Z", "0001-01-01T00:00:00+00:00", "1900-02-28T23:59:59Z", "1900-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "1969-12-31T23:59:59.5Z", "9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59",
		"2026-01-15T12:00:00.1Z", "2026-01-15T12:00:00.1234567891Z", "2026-01-15T12:00:00.Z", "2026-01-15T12:00:00,5Z", "2026-01-15T24:00:00Z", "2026-01-15T12:60:00Z", "2026-01-15T12:00:60Z", "2026-13-15T12:00:00Z", "2026-00-15T12:00:00Z", "2026-04-31T12:00:00Z", "2026-01-00T12:00:00Z",
		"2026-01-15T12:00:00+24:00", "2026-01-15T12:00:00+08:60", "2026-01-15T12:00:00+0800", "2026-01-15T12:00:00+08", "2026-01-15T12:00:00", "2026-01-15 12:00:00Z", "2026-01-15t12:00:00z", "2026-1-15T12:00:00Z", "2026-01-15T1:00:00Z", "2026-01-15", "", "Z", "x", "2026-01-15T12:00:00ZZ", "-026-01-15T12:00:00Z", "２026-01-15T12:00:00Z",
	} {
		compareTime(t, text)
	}
	for day := time.Date(-1, 12, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2101; day = day.AddDate(0, 0, 13) {
		if day.Year() >= 0 {
			compareTime(t, day.Format(time.RFC3339))
		}
	}
}

func FuzzATimeIsReadAsPackageTimeReadsIt(f *testing.F) {
	f.Add("2026-01-15T12:00:00.25+08:00")
	f.Fuzz(func(t *testing.T, text string) {
		if json.Valid([]byte(`"` + text + `"`)) { // all that the envelope's reader gets
			compareTime(t, text)
		}
	})
}

// timeOf is what package sdk/clock gives.
func timeOf(i Instant) time.Time { return time.Unix(i.Unix(), int64(i.Nanosecond())).UTC() }

func compareTime(t *testing.T, text string) {
	t.Helper()
	var want time.Time
	err := want.UnmarshalJSON([]byte(`"` + text + `"`))
	got, ok := parseInstant(text)
	if ok != (err == nil) || ok && !timeOf(got).Equal(want) {
		t.Errorf("%q: %v, %v; want %v, error %v", text, got, ok, want, err)
	}
}

func TestTheReplyIsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	type data struct {
		Text string `json:"text"`
		N    []int  `json:"n"`
	}
	d := data{"<你好> & \u2028\xff", nil}
	for _, tt := range []struct {
		out  any
		want abi.Reply
	}{
		{nil, abi.Reply{Data: json.RawMessage(`null`)}},
		{1.5, abi.Reply{Data: json.RawMessage(`1.5`)}},
		{d, abi.Reply{Data: mustWrite(t, d)}},
		{json.RawMessage(" [ 1 ] "), abi.Reply{Data: json.RawMessage(`[1]`)}},
		{Result[data]{Data: d, Preview: "one\nline <b>"}, abi.Reply{Data: mustWrite(t, d), Preview: "one\nline <b>"}},
		{Result[int]{State: map[string]any{"b": nil, "a": d}}, abi.Reply{Data: json.RawMessage(`0`), State: mustWrite(t, map[string]any{"b": nil, "a": d})}},
		{Result[int]{State: map[string]any{}, Preview: "p"}, abi.Reply{Data: json.RawMessage(`0`), Preview: "p"}},
	} {
		tt.want.OK = true
		got, err := success(tt.out)
		if want := mustWrite(t, tt.want); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%+v: %s, %v; want %s", tt.out, got, err, want)
		}
	}
	for _, p := range []*abi.Problem{{}, {Code: abi.OutOfBounds, Message: "<m>", Field: "f", Hint: "h", Candidates: []string{"a", "\xff"}, RetryAfterMS: 5}} {
		if got, want := refusal(p), mustWrite(t, abi.Reply{Problem: p}); !bytes.Equal(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func mustWrite(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
