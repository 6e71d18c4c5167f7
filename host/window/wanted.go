package window

import (
	"slices"

	"github.com/sluicehq/sluice/host/model"
)

// Weights of what speaks for a tool, beside the user's last words, which weigh
// 1. They were tried on recorded conversations among many other tools.
const (
	weightEarlier   = 0.5 // of each earlier message of the user, times itself
	weightAssistant = 0.5 // of what the assistant said before
	weightScene     = 0.3 // of the scene
	weightSkill     = 2.0 // of the skill's best tools
	weightInPlay    = 1   // of a skill of which a tool was called
	needPart        = 0.7 // of the best score, that a tool has which is always there
	earlierMessages = 4   // of the user, that are read
	skillTools      = 3   // best tools of a skill that speak for it
)

// wanted is what a conversation speaks for, as indexes of the stock.
type wanted struct {
	need   []int // called, searched for, or best
	ranked []int // all that anything speaks for, best first
}

func (s *Shelf) wanted(messages []model.Message, scene string) wanted {
	scores := s.scores(messages, scene)
	called, searches := s.calls(messages)
	inPlay := map[int]bool{}
	for _, i := range called {
		inPlay[s.stock[i].skill] = true
	}
	s.addSkills(scores, inPlay)
	w := wanted{ranked: best(scores, len(scores), 0)}
	add := func(tools []int) {
		for _, i := range tools {
			if !slices.Contains(w.need, i) {
				w.need = append(w.need, i)
			}
		}
	}
	for _, query := range searches {
		add(s.search(query))
	}
	add(best(scores, needTools, needPart))
	add(called[:min(len(called), s.most/2)]) // the rest of the room is for what comes
	return w
}

// scores weighs the words of the conversation up to the user's last message.
func (s *Shelf) scores(messages []model.Message, scene string) []float64 {
	total := make([]float64, len(s.stock))
	add := func(text string, weight float64) {
		scores := s.ranker.Scores(text)
		if top := slices.Max(scores); top > 0 {
			for i, score := range scores {
				total[i] += weight * score / top
			}
		}
	}
	add(scene, weightScene)
	weight, users := 1.0, 0
	for i := len(messages) - 1; i >= 0 && users < earlierMessages; i-- {
		switch m := messages[i]; {
		case m.Role == model.RoleUser:
			add(m.Text, weight)
			users++
			weight *= weightEarlier
		case m.Role == model.RoleAssistant && users > 0 && m.Text != "":
			add(m.Text, weight*weightAssistant/weightEarlier)
		}
	}
	return total
}

// addSkills adds to each tool what speaks for its skill as a whole: a task
// needs several tools of one skill, and its words name only the first.
func (s *Shelf) addSkills(scores []float64, inPlay map[int]bool) {
	tools := make([][]float64, len(s.skills))
	for i, item := range s.stock {
		tools[item.skill] = append(tools[item.skill], scores[i])
	}
	skill := make([]float64, len(s.skills))
	for i := range skill {
		slices.Sort(tools[i])
		slices.Reverse(tools[i])
		for _, score := range tools[i][:min(skillTools, len(tools[i]))] {
			skill[i] += score / skillTools
		}
		if inPlay[i] {
			skill[i] += weightInPlay
		}
	}
	for i, item := range s.stock {
		scores[i] += weightSkill * skill[item.skill]
	}
}

// calls gives the tools that the conversation calls, last first, and the
// searches of its last turn, last first.
func (s *Shelf) calls(messages []model.Message) (called []int, searches []string) {
	inTurn := true
	for i := len(messages) - 1; i >= 0; i-- {
		inTurn = inTurn && messages[i].Role != model.RoleUser
		for _, c := range messages[i].Calls {
			if at, ok := s.byName[c.Tool]; ok && !slices.Contains(called, at) {
				called = append(called, at)
			}
			if query := searched(c); c.Tool == SearchTool && inTurn && query != "" {
				searches = append(searches, query)
			}
		}
	}
	return called, searches
}
