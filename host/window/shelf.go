package window

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host/model"
)

// Bounds of what a model sees of many tools.
const (
	DefaultTools = 24 // with more, models choose worse and the prompt grows for nothing
	MinTools     = 8  // the search, what the user's words need, and room to add
	searchHits   = 8  // tools that one search finds
	needTools    = 6  // the tools that fit the last words best are always there
)

// SearchTool is the name of the tool with which a model finds tools that it
// does not see. It has no dot, since vendors refuse dots.
const SearchTool = "skills_search"

// A Shelf holds the tools of a session's releases and decides which of them a
// model sees. It is immutable and safe for concurrent use. It is worth keeping
// as long as the releases stay: with many tools it takes milliseconds to make.
type Shelf struct {
	most   int
	stock  []stocked
	byName map[string]int // index in stock
	skills []*manifest.Skill
	pinned []int
	ranker *model.Ranker // nil where everything fits
}

// A stocked tool stands on the shelf with its skill.
type stocked struct {
	tool  *manifest.Tool
	skill int // index in skills
}

// NewShelf puts the skills' tools on a shelf, in the given order; of tools with
// one name the first counts. Most is how many a model sees, the search
// included; 0 means DefaultTools, and less than MinTools means MinTools. Pinned
// names are always shown, most-needTools-1 of them at most; unknown ones are
// passed over.
func NewShelf(skills []*manifest.Skill, pinned []string, most int) *Shelf {
	if most == 0 {
		most = DefaultTools
	}
	s := &Shelf{most: max(most, MinTools), skills: skills, byName: map[string]int{}}
	for i, skill := range skills {
		for _, t := range skill.Tools {
			if _, taken := s.byName[t.Name]; !taken {
				s.byName[t.Name] = len(s.stock)
				s.stock = append(s.stock, stocked{t, i})
			}
		}
	}
	for _, name := range pinned {
		if i, ok := s.byName[name]; ok && len(s.pinned) < s.most-needTools-1 && !slices.Contains(s.pinned, i) {
			s.pinned = append(s.pinned, i)
		}
	}
	slices.Sort(s.pinned)
	if !s.fits() {
		s.ranker = model.NewRanker(s.described())
	}
	return s
}

// fits reports whether a model sees every tool.
func (s *Shelf) fits() bool { return len(s.stock) <= s.most }

// described gives the tools as they are ranked: with what their skill is for.
func (s *Shelf) described() []model.Tool {
	tools := make([]model.Tool, len(s.stock))
	for i, item := range s.stock {
		skill := s.skills[item.skill]
		tools[i] = toolOf(item.tool)
		tools[i].Description += "\n" + skill.Summary + "\n" + skill.Positioning
	}
	return tools
}

// Shown is what a session sees of the shelf. It is stored with the session;
// the zero Shown is that of a new one.
type Shown struct {
	Tools  []string `json:"tools,omitempty"`  // empty where every tool is shown
	Guides []string `json:"guides,omitempty"` // skills whose guide the model reads, in the order in which they came into play
}

// Choose gives what a model sees next: what was shown, the tools that the
// conversation calls, and those that fit the last words of the user, what was
// said around them, the scene, and the searches of this turn. Tools are only
// added, at the end, so that the vendor's cache hits; when there is no room for
// a further one, the choice is made anew. Inside a turn it changes when a skill
// comes into play, by searches, and by calls of tools that were not shown.
//
// It depends on its arguments alone. The scene is any text that says what the
// session is about now, such as on-live; it may be empty.
func (s *Shelf) Choose(shown Shown, messages []model.Message, scene string) Shown {
	next := Shown{Guides: s.guides(shown.Guides, messages)}
	if s.fits() {
		return next
	}
	wanted := s.wanted(messages, scene)
	if len(shown.Tools) > 0 {
		if tools, ok := s.added(shown.Tools, wanted.need); ok {
			next.Tools = tools
			return next
		}
	}
	next.Tools = s.anew(wanted)
	return next
}

// guides adds the skills that are in play: a tool of theirs was called.
func (s *Shelf) guides(before []string, messages []model.Message) []string {
	guides := slices.Clone(before)
	for _, m := range messages {
		for _, c := range m.Calls {
			i, ok := s.byName[c.Tool]
			if !ok {
				continue
			}
			if skill := s.skills[s.stock[i].skill]; skill.Guide != "" && !slices.Contains(guides, skill.Name) {
				guides = append(guides, skill.Name)
			}
		}
	}
	return guides
}

// guidePart is how much of a model's window the guides may take together.
const guidePart = 8

// Guides gives the guides that are shown, for a window of so many tokens,
// without those of skills that are gone. One that finds no room behind those
// that came into play before it is left out.
func (s *Shelf) Guides(shown Shown, window int) []Guide {
	var guides []Guide
	room := cmp.Or(window, DefaultWindow) / guidePart
	for _, name := range shown.Guides {
		i := slices.IndexFunc(s.skills, func(skill *manifest.Skill) bool { return skill.Name == name })
		if i < 0 || s.skills[i].GuideText == "" {
			continue
		}
		if size := Tokens(s.skills[i].GuideText); size <= room {
			guides = append(guides, Guide{name, s.skills[i].GuideText})
			room -= size
		}
	}
	return guides
}

// added gives the shown tools and behind them those that are needed and not
// among them; it reports false where there is no room. Tools that are gone
// from the shelf are left out.
func (s *Shelf) added(shown []string, need []int) ([]string, bool) {
	tools := slices.DeleteFunc(slices.Clone(shown), func(name string) bool { _, ok := s.byName[name]; return !ok })
	for _, i := range need {
		if name := s.stock[i].tool.Name; !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	return tools, len(tools) <= s.most-1
}

// anew gives the pinned tools, the needed ones, and of the others those that
// rank best, as long as an eighth of the room stays for what is needed later.
func (s *Shelf) anew(w wanted) []string {
	chosen := slices.Clone(s.pinned)
	add := func(candidates []int, most int) {
		for _, i := range candidates {
			if len(chosen) < most && !slices.Contains(chosen, i) {
				chosen = append(chosen, i)
			}
		}
	}
	add(w.need, s.most-1)
	add(w.ranked, s.most-1-s.most/8)
	slices.Sort(chosen)
	names := make([]string, len(chosen))
	for i, at := range chosen {
		names[i] = s.stock[at].tool.Name
	}
	return names
}

// Tools gives what the model is told of the shown tools, in their order, and
// before them the search, where there are tools that it does not see.
func (s *Shelf) Tools(shown Shown) []model.Tool {
	var tools []model.Tool
	if s.fits() {
		for _, item := range s.stock {
			tools = append(tools, toolOf(item.tool))
		}
		return tools
	}
	tools = append(tools, searchTool())
	for _, name := range shown.Tools {
		if i, ok := s.byName[name]; ok {
			tools = append(tools, toolOf(s.stock[i].tool))
		}
	}
	return tools
}

// Skills gives the skills of the shown tools, in the order of the shelf.
func (s *Shelf) Skills(shown Shown) []*manifest.Skill {
	if s.fits() {
		return s.skills
	}
	of := map[int]bool{}
	for _, name := range shown.Tools {
		if i, ok := s.byName[name]; ok {
			of[s.stock[i].skill] = true
		}
	}
	var skills []*manifest.Skill
	for i, skill := range s.skills {
		if of[i] {
			skills = append(skills, skill)
		}
	}
	return skills
}

func searchTool() model.Tool {
	return model.Tool{
		Name:        SearchTool,
		Description: "Find tools that are not listed here, by what they do. The tools that it finds can be called from then on.",
		Effect:      abi.Read,
		Parameters: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["query"],"properties":{` +
			`"query":{"type":"string","description":"what the tool is to do, in a few words","minLength":1,"maxLength":200}}}`),
	}
}

// A found tool is one hit of a search.
type found struct {
	Tool    string `json:"tool"`
	Summary string `json:"summary"`
	Skill   string `json:"skill"`
}

// Answer gives the result of a call of SearchTool, and reports whether the
// call is one. Choose shows what it found.
func (s *Shelf) Answer(c model.Call) (model.Message, bool) {
	if c.Tool != SearchTool || s.fits() {
		return model.Message{}, false
	}
	result := model.Message{Role: model.RoleTool, CallID: c.ID, Tool: c.Tool}
	query := searched(c)
	if query == "" {
		result.Text = problemText(abi.NewProblem(abi.Missing, "the search has no query").WithField("query"))
		return result, true
	}
	hits := []found{}
	for _, i := range s.search(query) {
		item := s.stock[i]
		hits = append(hits, found{item.tool.Name, item.tool.Summary, s.skills[item.skill].Name})
	}
	result.OK, result.Text = true, string(encode(map[string]any{"tools": hits}))
	return result, true
}

// searched gives the query of a search, empty where there is none.
func searched(c model.Call) string {
	var args struct{ Query string }
	if c.CutOff || json.Unmarshal([]byte(c.Args), &args) != nil {
		return ""
	}
	return args.Query
}

// search gives the tools that a query finds, best first.
func (s *Shelf) search(query string) []int { return best(s.ranker.Scores(query), searchHits, 0) }

// best gives the indexes of the highest scores, highest first: those above 0
// and of at least the given part of the highest.
func best(scores []float64, most int, part float64) []int {
	var order []int
	for i, score := range scores {
		if score > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	order = order[:min(most, len(order))]
	for len(order) > 0 && scores[order[len(order)-1]] < part*scores[order[0]] {
		order = order[:len(order)-1]
	}
	return order
}

// toolOf gives what a model is told of a tool.
func toolOf(t *manifest.Tool) model.Tool {
	return model.Tool{Name: t.Name, Description: t.Summary, Parameters: t.Input, Effect: t.Effect, Examples: t.Examples}
}
