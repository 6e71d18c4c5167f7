package main

// The tools of this file read and write no data: thinking, handing over and
// calculating.

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

// A Thought is something that the model writes down for itself.
type Thought struct {
	Thought string `json:"thought" desc:"A thought to think about."`
}

var _ = sdk.Tool("think", think,
	sdk.Summary("Use the tool to think about something. It will not obtain new information or change the database, but just append the thought to the log. Use it when complex reasoning is needed."),
	sdk.Repeatable,
	sdk.Example("Think it over.", Thought{"Business can always be cancelled; basic economy only with insurance."}, sdk.Returns("")),
	sdk.Example("想一想", Thought{"先查预订，再看舱位。"}, sdk.Returns("")),
)

// A Transfer hands the customer over to a person.
type Transfer struct {
	Summary string `json:"summary" desc:"A summary of the user's issue."`
}

var _ = sdk.Tool("transfer_to_human_agents", transfer,
	sdk.Summary("Transfer the user to a human agent, with a summary of the user's issue. Only transfer if the user explicitly asks for a human agent, or if the user's issue cannot be resolved by the agent with the available tools."),
	sdk.Example("I want to talk to a person.", Transfer{"The user asks for a human agent."}, sdk.Returns("Transfer successful")),
	sdk.Example("转人工", Transfer{"用户要求人工服务。"}, sdk.Returns("Transfer successful")),
)

// A Calculation is an expression in digits, + - * / ( ) . and spaces.
type Calculation struct {
	Expression string `json:"expression" desc:"The mathematical expression to calculate, such as '2 + 2'. The expression can contain numbers, operators (+, -, *, /), parentheses, and spaces."`
}

var _ = sdk.Tool("calculate", calculate,
	sdk.Summary("Calculate the result of a mathematical expression."),
	sdk.Example("What are two seats at 152 and one bag?", Calculation{"152 * 2 + 50"}, sdk.Returns("354.0")),
	sdk.Example("三个人平分 100 美元，每人多少？", Calculation{"100 / 3"}, sdk.Returns("33.33")),
	sdk.Example("What is 2 to the 10th?", Calculation{"2^10"}, sdk.Refuses(abi.OutOfBounds)),
)

func think(c sdk.Call, in Thought) (string, error) {
	sdk.Logf(c, "thought: %s", in.Thought)
	return "", nil
}

func transfer(c sdk.Call, in Transfer) (string, error) {
	sdk.Logf(c, "transfer: %s", in.Summary)
	return "Transfer successful", nil
}

func calculate(_ sdk.Call, in Calculation) (string, error) {
	result, err := evaluate(in.Expression)
	if err != nil {
		return "", sdk.Refuse(abi.OutOfBounds, "%s", err).WithField("expression").
			WithHint("Write it with numbers, + - * / and parentheses only, such as (152 + 103) * 2.")
	}
	return result, nil
}
