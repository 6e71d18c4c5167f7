package recall

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory/keeper"
)

// Nothing that memory made of a session is left after its purge, and the log, which
// stays, tells it nothing again.
func TestAPurgedSessionLeavesNothingInMemory(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	r.say(9, "我喜欢红色的包装") // of another session
	for n := 1; n <= 3; n++ {
		r.does(n, "shop.open", fmt.Sprintf(`{"minutes":%d}`, 70+n), host.Done)
	}
	r.say(2, "记住我的供应商是王小明。连衣裙定价多少？")
	r.answer(2, "上周 89 元卖出 12 件。")
	r.ends(2)
	r.say(2, "定价多少？") // declares nothing
	r.answer(2, "上周 79 元卖出 30 件。")
	r.ends(2)
	r.asked(2, "定价多少？", host.Outcome{Call: "look", Tool: "shop.look", Status: host.Done, Data: json.RawMessage(`{"sku":"1001","price":89}`)})
	r.sets(time.Now().Add(time.Minute))
	must(t, r.sessionEnded(ctx, session(2)))
	must(t, r.Observe(ctx, "shop"))
	if len(r.habits()) != 2 {
		t.Fatalf("habits %+v", r.habits())
	}
	hooks, err := host.NewHooks(r.Hooks()...)
	must(t, err)
	must(t, r.store.Record(ctx, host.Record{Session: session(2), Kind: host.RecordEvent, Detail: json.RawMessage(`{"event":"` + host.EventPurge + `"}`)}))
	if several := r.habits(); several[1].Lives != 3 || several[1].Source.Session == session(2).Session {
		t.Fatalf("no habit of several lives tells of the session by its calls alone: %+v", several)
	}
	for range 2 {
		if left, errs := hooks.Purge(ctx, session(2), true); len(left)+len(errs) > 0 {
			t.Fatal(left, errs)
		}
		must(t, r.Observe(ctx, "shop"))
		must(t, r.sessionEnded(ctx, session(2)))
	}
	all := r.have(keeper.Page{})
	if len(all) != 1 || !strings.Contains(all[0].Text, "红色") {
		t.Errorf("left of it: %+v", all)
	}
	for _, trace := range r.traces() {
		if trace.Question != "" || trace.Output != "" || trace.Session != "" {
			t.Errorf("a trace says %+v", trace)
		}
	}
}
