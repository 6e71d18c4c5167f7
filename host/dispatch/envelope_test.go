package dispatch

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// TestAnEnvelopeIsWrittenAsEncodingJSONDoes: what is on record of the arguments
// is held against the envelope when a call is replayed, to the byte.
func TestAnEnvelopeIsWrittenAsEncodingJSONDoes(t *testing.T) {
	now := time.Date(2026, 11, 30, 16, 0, 0, 123456000, time.UTC)
	for _, in := range []abi.Invocation{
		{ABI: 1, Tool: "order", Args: json.RawMessage(`{}`), Call: abi.CallInfo{ID: "call_1", Attempt: 1, Now: now, Tenant: "acme"}},
		{
			ABI: 1, Tool: "order", Args: json.RawMessage(`{"item":"ice cream","note":"a\"b"}`),
			Call:  abi.CallInfo{ID: "call_1/price", Key: "k", Attempt: 3, Now: now.Truncate(time.Second), Tenant: "商户", Live: "l<1>", Locale: "zh-CN"},
			State: map[string]json.RawMessage{"goal": json.RawMessage(`{ "text" : "x" }`), "a": json.RawMessage(`1`)},
			Facts: map[string]json.RawMessage{"price": json.RawMessage(`69.30`)},
		},
	} {
		wantWritten(t, in)
	}
}

func wantWritten(t *testing.T, in abi.Invocation) {
	t.Helper()
	want, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := writeEnvelope(in); err != nil || string(got) != string(want) {
		t.Errorf("%v; it is\n%s\nand encoding/json writes\n%s", err, got, want)
	}
}

func TestAStateThatIsNoJSONMakesNoEnvelope(t *testing.T) {
	if b, err := writeEnvelope(abi.Invocation{Args: json.RawMessage(`{}`), State: map[string]json.RawMessage{"goal": json.RawMessage(`{`)}}); err == nil {
		t.Errorf("it is %s", b)
	}
}

func FuzzAnEnvelopeIsWrittenAsEncodingJSONDoes(f *testing.F) {
	f.Add(`{"item":"pen"}`, "acme", "zh-CN")
	f.Add(` { "item" : "a b\\\" <i>&" , "n" : [ 1.0 , 1e3 , null ] } `, "a\"c\\me\x7f", "")
	f.Add("{\"line\":\"\u2028 \u2029 \u2026 \xff\"}", "\u2028<\xff", "a b")
	f.Fuzz(func(t *testing.T, args, tenant, locale string) {
		if !json.Valid([]byte(args)) {
			t.Skip()
		}
		wantWritten(t, abi.Invocation{ABI: 1, Tool: tenant, Args: json.RawMessage(args), Call: abi.CallInfo{ID: tenant, Key: locale, Attempt: 1, Tenant: tenant, Locale: locale}})
	})
}

// FuzzAnEnvelopeIsReadAsEncodingJSONDoes: but that a member may not stand twice,
// and not too many do.
func FuzzAnEnvelopeIsReadAsEncodingJSONDoes(f *testing.F) {
	for _, answer := range []string{
		`{"ok":true,"data":{"item":"pen","total":2},"preview":"two pens"}`,
		` { "OK" : null , "data" : null , "State" : { } , "action" : [ 1 , "}" ] , "more" : -1.5e3 } `,
		`{"ok":false,"problem":{"code":3001,"message":"no \u0022such\u0022 thing","candidates":["a"]}}`,
		`{"o\u006b":true,"\u017ftate":{"a":"\\"},"preview":"\ud800","":{}}`,
		`{"ok":true,"ok":false}`, `{"ok":1}`, `{"preview":{}}`, `{"problem":[]}`, `[]`, `null`, `{}`, "", `{"ok":true}}`, "{\"\u212a\":1,\"o\u212a\":true,\"\xff\":1,\"\xfe\":2}",
	} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		var got, want abi.Reply
		err := readEnvelope(answer, &got)
		wantErr := json.Unmarshal(answer, &want)
		var parts map[string]json.RawMessage
		switch {
		case json.Unmarshal(answer, &parts) != nil || wantErr != nil:
			if err == nil {
				t.Errorf("%s is read as %+v, and encoding/json says %v", answer, got, wantErr)
			}
		case err != nil:
			if _, twice := err.(twiceError); !twice && strings.Count(string(answer), ":") <= maxReplyMembers && len(answer) <= maxNameBytes {
				t.Errorf("%s is not read: %v", answer, err)
			}
		case !reflect.DeepEqual(got, want):
			t.Errorf("%s is read as %+v, and encoding/json reads %+v", answer, got, want)
		}
	})
}

func TestAnAnswerOfTooManyMembersIsNoEnvelope(t *testing.T) {
	answer := `{"ok":true`
	for i := range maxReplyMembers - 1 {
		answer += fmt.Sprintf(`,"m%d":1`, i)
	}
	if err := readEnvelope([]byte(answer+"}"), &abi.Reply{}); err != nil {
		t.Errorf("%d members: %v", maxReplyMembers, err)
	}
	if err := readEnvelope([]byte(answer+`,"one":1}`), &abi.Reply{}); err == nil {
		t.Error("one more is taken")
	}
	for extra, refused := range []bool{false, true} {
		name := strings.Repeat("n", maxNameBytes+extra)
		if err := readEnvelope([]byte(`{"ok":true,"`+name+`":1}`), &abi.Reply{}); (err != nil) != refused {
			t.Errorf("a name of %d bytes: %v", len(name), err)
		}
	}
}

// What is kept of an answer is counted by its own length, so it may not hold the
// rest of a long answer.
func TestAShortPartDoesNotHoldALongAnswer(t *testing.T) {
	for _, tt := range []struct {
		pad    int
		shares bool
	}{{10, true}, {2 * keptWhole, false}} {
		answer := []byte(`{"ok":true,"data":"abc","pad":"` + strings.Repeat("x", tt.pad) + `"}`)
		var reply abi.Reply
		if err := readEnvelope(answer, &reply); err != nil {
			t.Fatal(err)
		}
		copy(answer, strings.Repeat(" ", len(answer)))
		if shares := string(reply.Data) != `"abc"`; shares != tt.shares {
			t.Errorf("beside %d bytes the data is %q", tt.pad, reply.Data)
		}
	}
}

func TestAYearThatJSONCannotTellMakesNoEnvelope(t *testing.T) {
	if b, err := writeEnvelope(abi.Invocation{Call: abi.CallInfo{Now: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}}); err == nil {
		t.Errorf("it is %s", b)
	}
}
