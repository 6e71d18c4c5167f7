package host

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
)

var session = SessionRef{Tenant: "shop-1", User: "mia", Session: "s-1"}

func TestIdsAreBoundedTextWithoutControlCharacters(t *testing.T) {
	if err := session.Valid(); err != nil {
		t.Errorf("%v: %v", session, err)
	}
	long := strings.Repeat("x", MaxIDBytes)
	for _, tt := range []struct {
		ref  SessionRef
		want string
	}{
		{SessionRef{"t", "u", SessionID(long)}, ""},
		{SessionRef{"商户", "用户 1", "会话/2"}, ""},
		{SessionRef{"", "u", "s"}, "tenant id has 0 bytes; give 1 to 128"},
		{SessionRef{"t", "", "s"}, "user id has 0 bytes"},
		{SessionRef{"t", "u", ""}, "session id has 0 bytes"},
		{SessionRef{"t", "u", SessionID(long + "x")}, "session id has 129 bytes"},
		{SessionRef{"t\x00", "u", "s"}, "tenant id has a control character at byte 1"},
		{SessionRef{"t", "u\n", "s"}, "user id has a control character at byte 1"},
		{SessionRef{"t", "u", "\x7f"}, "session id has a control character at byte 0"},
		{SessionRef{HostTenant, "u", "s"}, "is the host's own"},
		{SessionRef{"t", "u", "\xff\xfe"}, "session id is not UTF-8"},
	} {
		err := tt.ref.Valid()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q: got %v, want %q", tt.ref, err, tt.want)
		}
	}
	if got := session.String(); got != "shop-1/mia/s-1" {
		t.Errorf("got %s", got)
	}
}

func TestNewIdsSayWhatTheyAreAndDiffer(t *testing.T) {
	form := regexp.MustCompile(`^call_[0-9a-f]{32}$`)
	seen := map[string]bool{}
	for range 1_000 {
		id := NewID("call_")
		if !form.MatchString(id) || seen[id] {
			t.Fatalf("%s is malformed or came twice", id)
		}
		seen[id] = true
	}
}

func keyOf(t *testing.T, in Intent) Key {
	t.Helper()
	key, err := in.Key()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestTheSameIntentHasTheSameKeyHoweverItIsWritten(t *testing.T) {
	in := Intent{Session: session, Input: 3, Tool: "set_price", Args: json.RawMessage(`{"sku":"1001","price":89}`)}
	want := keyOf(t, in)
	for _, args := range []string{`{"price":89,"sku":"1001"}`, ` { "sku" : "1001" , "price" : 89.0 } `, `{"price":8.9e1,"sku":"\u0031001"}`} {
		in.Args = json.RawMessage(args)
		if got := keyOf(t, in); got != want {
			t.Errorf("%s has the key %s, want %s", args, got, want)
		}
	}
	id, err := uuid.Parse(string(want))
	if err != nil || id.Version() != 5 {
		t.Errorf("%s is not a UUIDv5: %v", want, err)
	}
	// Stored keys outlive a release of the host: this one must never change.
	if want != "5312df02-711d-5604-90ed-413f4f6e90ef" {
		t.Errorf("the key of a known intent is %s", want)
	}
}

func TestDifferentIntentsHaveDifferentKeys(t *testing.T) {
	base := Intent{Session: session, Input: 1, Ordinal: 0, Tool: "set_price", Args: json.RawMessage(`{"a":1}`)}
	seen := map[Key]string{keyOf(t, base): "the first"}
	for name, change := range map[string]func(*Intent){
		"another tenant":           func(in *Intent) { in.Session.Tenant = "shop-2" },
		"another user":             func(in *Intent) { in.Session.User = "ada" },
		"another session":          func(in *Intent) { in.Session.Session = "s-2" },
		"the next input":           func(in *Intent) { in.Input = 2 },
		"once more after it":       func(in *Intent) { in.Ordinal = 1 },
		"another tool":             func(in *Intent) { in.Tool = "set_prices" },
		"another value":            func(in *Intent) { in.Args = json.RawMessage(`{"a":2}`) },
		"text instead of a number": func(in *Intent) { in.Args = json.RawMessage(`{"a":"1"}`) },
		"parts that shift":         func(in *Intent) { in.Session.Tenant, in.Session.User = "shop-1m", "ia" },
		"numbers that shift":       func(in *Intent) { in.Input, in.Ordinal = 10, 0 },
	} {
		in := base
		change(&in)
		key := keyOf(t, in)
		if other, taken := seen[key]; taken {
			t.Errorf("%s has the key of %s", name, other)
		}
		seen[key] = name
	}
}

func TestArgumentsThatAreNotJSONHaveNoKey(t *testing.T) {
	for _, args := range []string{``, `{`, `{"a":1,"a":2}`, `{} {}`} {
		if key, err := (Intent{Session: session, Tool: "x", Args: json.RawMessage(args)}).Key(); err == nil || key != "" {
			t.Errorf("%q has the key %q", args, key)
		}
	}
}

func TestACallResumedHasTheIdThatItHad(t *testing.T) {
	first := CallIDFor(session, 4, 0)
	if !regexp.MustCompile(`^call_[0-9a-f]{32}$`).MatchString(string(first)) || first != CallIDFor(session, 4, 0) {
		t.Errorf("got %s, then %s", first, CallIDFor(session, 4, 0))
	}
	seen := map[CallID]bool{first: true}
	other := session
	other.User = "ada"
	shifted := SessionRef{Tenant: "shop-1\" \"mia", User: "", Session: "s-1"}
	for _, id := range []CallID{CallIDFor(session, 4, 1), CallIDFor(session, 5, 0), CallIDFor(session, 40, 0), CallIDFor(other, 4, 0), CallIDFor(shifted, 4, 0)} {
		if seen[id] {
			t.Errorf("%s came twice", id)
		}
		seen[id] = true
	}
}

func TestDigestIsSHA256InHex(t *testing.T) {
	if got := Digest(nil); got != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("got %s", got)
	}
	if got := Digest([]byte("abc")); got != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Errorf("got %s", got)
	}
}
