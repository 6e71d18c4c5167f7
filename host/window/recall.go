package window

import (
	"encoding/json"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/model"
)

// TopicsTool is the name of the tool with which a model finds what was talked
// about earlier in the session, when it has left the window.
const TopicsTool = "session_topics"

// topicHits bounds the topics that one search gives: each has a short summary.
const topicHits = 5

// SearchTopics is what a model is told of TopicsTool. It is shown as soon as
// the session has topics.
func SearchTopics() model.Tool {
	return model.Tool{
		Name:        TopicsTool,
		Description: "Look up earlier topics of this conversation: what was asked, done and agreed. By words, by scene, or by both; without either, the newest.",
		Effect:      abi.Read,
		Parameters: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{` +
			`"query":{"type":"string","description":"what it was about, in a few words","maxLength":200},` +
			`"scene":{"type":"string","description":"pre-live, on-live, post-live, or another scene of the business","maxLength":60}}}`),
	}
}

// A foundTopic is one hit of a search.
type foundTopic struct {
	Title  string   `json:"title"`
	Scenes []string `json:"scenes,omitempty"`
	Summary
}

// AnswerTopics gives the result of a call of TopicsTool from a session's
// topics. Arguments that cannot be read are told, not guessed.
func AnswerTopics(c model.Call, topics []Topic) model.Message {
	result := model.Message{Role: model.RoleTool, CallID: c.ID, Tool: c.Tool}
	var args struct{ Query, Scene string }
	if c.CutOff || c.Args != "" && json.Unmarshal([]byte(c.Args), &args) != nil {
		result.Text = problemText(abi.NewProblem(abi.NotJSON, "the search cannot be read").WithHint(`give {"query":"…"}, {"scene":"…"} or {}`))
		return result
	}
	hits := FindTopics(topics, args.Scene, args.Query)
	found := make([]foundTopic, min(len(hits), topicHits))
	for i := range found {
		found[i] = foundTopic{hits[i].Title, hits[i].Scenes, hits[i].Summary}
	}
	answer := map[string]any{"topics": found, "of": len(topics)}
	if len(found) == 0 {
		answer["hint"] = "nothing fits; try other words, or no scene"
	}
	result.OK, result.Text = true, string(encode(answer))
	return result
}
