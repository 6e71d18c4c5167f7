package agent

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/window"
)

// message gives the user's words with the files of the session that they name, and
// tells the ones from the others.
func (t *turn) message(text string) model.Message {
	m := model.Message{Role: model.RoleUser, Text: t.words(text)}
	if len(m.Text) > len(text) {
		m.Said = len(text)
	}
	return m
}

// words gives the user's words, and behind them the files of the session that they
// name. Names that lead to nothing are told to the user, and the words stay.
func (t *turn) words(text string) string {
	if t.Dispatch.Files == nil {
		return text
	}
	tree, closes, err := t.Dispatch.Files.Tree(t.session.Ref)
	if err != nil {
		t.untold = append(t.untold, host.ProblemOf(err))
		return text
	}
	defer closes()
	expanded := window.Expand(tree, text)
	t.untold = append(t.untold, expanded.Problems...)
	return expanded.Text
}

// notes gives the project's notes from the session's files, read once in a
// turn, so that all its requests begin alike. Notes that cannot be read are
// told to the user, and the turn goes without.
func (t *turn) notes() string {
	if t.Dispatch.Files == nil || t.noted {
		return t.project
	}
	t.noted = true
	tree, closes, err := t.Dispatch.Files.Tree(t.session.Ref)
	if err == nil {
		defer closes()
		t.project, err = window.Project(tree)
	}
	if err != nil {
		t.tell(host.ProblemOf(err))
	}
	return t.project
}

// tell tells the user of something about their own files.
func (t *turn) tell(p *abi.Problem) {
	text := abi.RowOf(p.Code).User(t.session.Locale)
	if p.Field != "" {
		text = p.Field + ": " + text
	}
	t.sink.emit(host.Event{Kind: host.EventNotice, Text: text, Problem: p})
}
