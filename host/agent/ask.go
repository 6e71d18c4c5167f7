package agent

import (
	"context"
	"encoding/json"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
)

// askedTokens bounds an answer to Ask: a short list, and the thoughts before it.
const askedTokens = 4000

// askTool is the tool by whose arguments a model answers Ask.
const askTool = "answer"

// Ask puts a question of the host's own to a model, which belongs to no conversation,
// and gives the answer with what it used by the price. The schema is told as that of a
// tool's arguments: every vendor's models know these. The words of a model that calls no
// tool are its answer. Whether it fits the schema is for the caller to see. The time is
// that of ctx; the errors are those of model.Provider.
func Ask(ctx context.Context, m model.Provider, price Price, system, user string, schema json.RawMessage) (answer string, used host.Amount, err error) {
	asked := model.Request{
		System: system, MaxTokens: askedTokens, Messages: []model.Message{{Role: model.RoleUser, Text: user}},
		Tools: []model.Tool{{Name: askTool, Description: "Gives your answer. Call it once.", Parameters: schema}},
	}
	reply, err := m.Complete(ctx, asked, nil)
	if err != nil {
		return "", host.Amount{}, err
	}
	answer = reply.Text
	for _, c := range reply.Calls {
		if c.Tool == askTool && !c.CutOff {
			answer = c.Args
			break
		}
	}
	return answer, price.cost(usage(asked, reply)), nil
}
