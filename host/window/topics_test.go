package window

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host/model"
)

// threeTopics is a talk about prices, then coupons, then a parcel; four rounds
// each, in Chinese and English.
func threeTopics() Conversation {
	c := Conversation{}
	for _, topic := range []struct {
		tool  string
		words [4]string
	}{
		{"set_price", [4]string{"请把保温杯 1001 的价格改到 89 元", "马克杯 1002 的价格也改低一点", "保温杯的价格再改到 85 元", "马克杯的价格改回原来的价格"}},
		{"issue_coupon", [4]string{"给粉丝发 100 张优惠券", "优惠券面额 10 元，满 100 可用", "再发 50 张优惠券给会员", "优惠券发了多少张？"}},
		{"track_parcel", [4]string{"Where is the parcel to Berlin?", "Has the parcel left the warehouse for Berlin?", "Tell the carrier to deliver the parcel on Monday", "Is the parcel insured by the carrier?"}},
	} {
		for i, words := range topic.words {
			id := fmt.Sprint(i)
			c.Messages = append(c.Messages, user(words), calls(id, topic.tool, "{}"), result(id, topic.tool, "{}", true), says("ok"))
		}
	}
	return c
}

func TestASessionIsCutWhereItsTalkChanges(t *testing.T) {
	topics := Topics(threeTopics(), nil, nil)
	if len(topics) != 3 {
		t.Fatalf("there are %d topics: %+v", len(topics), topics)
	}
	for i, tt := range []struct{ title, word string }{{"保温杯", "set_price"}, {"优惠券", "issue_coupon"}, {"parcel", "track_parcel"}} {
		if topics[i].From != 16*i || topics[i].To != 16*i+16 {
			t.Errorf("topic %d is %d to %d", i, topics[i].From, topics[i].To)
		}
		if !strings.Contains(topics[i].Title+strings.Join(topics[i].Summary.Requests, ""), tt.title) || !slices.Contains(topics[i].Words, tt.word) || len(topics[i].Summary.Done) == 0 {
			t.Errorf("topic %d is %+v", i, topics[i])
		}
	}
	if again := Topics(threeTopics(), nil, nil); string(encode(again)) != string(encode(topics)) {
		t.Error("the same session is cut otherwise")
	}
}

func TestTopicsHaveTheirScene(t *testing.T) {
	c := threeTopics()
	starts := []SceneStart{{0, PreLive}, {24, OnLive}, {40, PostLive}} // both in the middle of a topic
	own := []Scene{{"logistics", "parcel carrier warehouse"}, {"refunds", "refund complaint"}}
	topics := Topics(c, starts, own)
	for _, topic := range topics {
		if topic.Scenes[0] != sceneAt(starts, topic.From) || topic.Scenes[0] != sceneAt(starts, topic.To-1) {
			t.Errorf("messages %d to %d are tagged %v", topic.From, topic.To, topic.Scenes)
		}
	}
	if found := FindTopics(topics, "logistics", ""); len(found) == 0 || found[0].From < 32 {
		t.Errorf("logistics finds %+v", found)
	}
	if found := FindTopics(topics, "refunds", ""); len(found) != 0 {
		t.Errorf("refunds finds %+v", found)
	}
	if found := FindTopics(topics, PreLive, "优惠券"); len(found) != 1 || found[0].From != 16 {
		t.Errorf("coupons before the live are %+v", found)
	}
	if found := FindTopics(topics, PostLive, "价格"); len(found) != 0 {
		t.Errorf("prices after the live are %+v", found)
	}
	if found := FindTopics(topics, "", ""); len(found) != len(topics) || found[0].From != topics[len(topics)-1].From {
		t.Errorf("all topics are %+v", found)
	}
}

func TestTopicsCoverTheSession(t *testing.T) {
	for i, run := range recordedRuns(t)[:30] {
		c := Conversation{Messages: messagesOf(run)}
		topics := Topics(c, nil, nil)
		at := 0
		for _, topic := range topics {
			if topic.From != at || topic.To <= topic.From || c.Messages[topic.From].Role != model.RoleUser || topic.Title == "" {
				t.Fatalf("run %d: topic %+v does not follow on %d", i, topic, at)
			}
			at = topic.To
		}
		if at != len(c.Messages) {
			t.Errorf("run %d: the topics end at %d of %d", i, at, len(c.Messages))
		}
	}
	if topics := Topics(Conversation{}, nil, nil); topics != nil {
		t.Errorf("an empty session has %v", topics)
	}
}

func TestAModelMayNameTopics(t *testing.T) {
	topics := Topics(threeTopics(), nil, nil)
	ask := AskTitles(topics)
	if text := ask.Messages[0].Text; !strings.Contains(text, "# Topic 3\n") || !strings.Contains(text, "优惠券") || len(ask.Tools) != 0 {
		t.Errorf("the request is %s", text)
	}
	named, err := Titled(topics, "```json\n[\"“改价”\", \"\", \"two\\nlines\"]\n```")
	if err != nil || named[0].Title != "改价" || named[1].Title != topics[1].Title || named[2].Title != topics[2].Title {
		t.Errorf("the titles are %q, %q, %q: %v", named[0].Title, named[1].Title, named[2].Title, err)
	}
	for _, bad := range []string{"", "none", `["a"]`, `[1,2,3]`, `{"a":["b"]`, `["` + strings.Repeat("x", summaryAnswerMost) + `"]`} {
		if kept, err := Titled(topics, bad); err == nil || kept[0].Title != topics[0].Title {
			t.Errorf("%.40s is taken", bad)
		}
	}
}
