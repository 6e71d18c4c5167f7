package window

import (
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host/model"
)

func TestRepair(t *testing.T) {
	two := model.Message{Role: model.RoleAssistant, Calls: []model.Call{{ID: "a", Tool: "quote", Args: "{}"}, {ID: "b", Tool: "set_price", Args: "{}"}}}
	ra, rb := result("a", "quote", "1", true), result("b", "set_price", "2", true)
	for _, tt := range []struct {
		name   string
		stored []model.Message
		want   string // roles and texts
	}{
		{"whole", []model.Message{user("u"), two, ra, rb, says("s")}, "u,calls,1,2,s"},
		{"a result of no call", []model.Message{user("u"), ra, says("s"), rb}, "u,s"},
		{"a missing result", []model.Message{user("u"), two, rb, says("s")}, "u,calls,interrupted,2,s"},
		{"all results missing", []model.Message{user("u"), two, user("v")}, "u,calls,interrupted,interrupted,v"},
		{"results in another order", []model.Message{user("u"), two, rb, ra}, "u,calls,1,2"},
		{"a result behind the next message", []model.Message{user("u"), two, ra, user("v"), rb}, "u,calls,1,2,v"},
		{"a result twice", []model.Message{user("u"), two, ra, ra, rb}, "u,calls,1,2"},
		{"an id that is used again", []model.Message{user("u"), calls("a", "quote", "{}"), ra, calls("a", "quote", "{}"), result("a", "quote", "3", true)}, "u,calls,1,calls,3"},
		{"a later result is no earlier call's", []model.Message{user("u"), calls("a", "quote", "{}"), calls("a", "quote", "{}"), ra}, "u,calls,interrupted,calls,1"},
		{"nothing before a user's message", []model.Message{says("s"), two, ra, rb, user("u")}, "u"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			view := Conversation{Messages: tt.stored}.View()
			var got []string
			for _, m := range view {
				switch {
				case len(m.Calls) > 0:
					got = append(got, "calls")
				case strings.Contains(m.Text, "it was interrupted"):
					got = append(got, "interrupted")
				default:
					got = append(got, m.Text)
				}
			}
			if strings.Join(got, ",") != tt.want {
				t.Errorf("it is %v, want %s", got, tt.want)
			}
			if err := wellFormed(view); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOldCallsHaveOneLineWithTheirBlob(t *testing.T) {
	long := `[{"sku":"1001","title":"` + strings.Repeat("thermos ", 100) + `"}]`
	for _, tt := range []struct {
		name string
		m    model.Message
		want string
	}{
		{"a success", model.Message{Role: model.RoleTool, OK: true, Text: long, Blob: "b1"}, "ok: " + long[:lineOutcome] + "… [whole result: blob b1]"},
		{"many lines", model.Message{Role: model.RoleTool, OK: true, Text: strings.Repeat("a\n", 30)}, "ok: " + strings.TrimSuffix(strings.Repeat("a ", 30), " ")},
		{"a problem", result("a", "t", `{"problem":{"code":3001,"message":"too low"},"hint":"`+strings.Repeat("x", 50)+`"}`, false), "failed: too low"},
		{"short as it is", result("a", "t", "89", true), "89"},
		{"a user's message", user(long), long},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := lined(tt.m); got.Text != tt.want {
				t.Errorf("it is %q, want %q", got.Text, tt.want)
			}
		})
	}
	m := calls("a", "set_text", `{"sku":"1001","text":"`+strings.Repeat("青", 5000)+`"}`)
	got := lined(m)
	if args := got.Calls[0].Args; len(args) > 3*lineArgs || !strings.HasPrefix(args, `{"sku":"1001","text":"青`) || len(m.Calls[0].Args) < 5000 {
		t.Errorf("the arguments are %s", args)
	}
}

func TestAResultInABlobSaysWhere(t *testing.T) {
	long := done(items(1000, `{"sku":"1001"}`))
	if !Shortens(long) || Shortens(done(`{"sku":"1001"}`)) {
		t.Error("what is shortened is not told")
	}
	if got := ResultIn(long, "b7"); !strings.HasPrefix(got, Result(long)+"\n[all 15001 bytes of it are in blob b7;") {
		t.Errorf("it ends in %q", got[len(got)-120:])
	}
	for want, readers := range map[string][]string{
		"read parts of that by its id, offset and length]": nil, "by its id, with run_shell]": {"run_shell"}, "with query_json, run_shell or read_blob]": {"query_json", "run_shell", "read_blob"},
	} {
		if got := ResultIn(long, "b7", readers...); !strings.HasSuffix(got, want) {
			t.Errorf("with %q it ends with %q", readers, got[len(got)-100:])
		}
	}
}
