package window

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/sluicehq/sluice/host/model"
)

// Bounds of topics.
const (
	DefaultTopicRounds = 20  // rounds after which a session is cut into topics
	topicBlock         = 2   // rounds on either side of a cut that are compared
	topicLeast         = 2   // rounds of a topic, but where the scene changes
	topicsMost         = 200 // of one session; more rounds go to the last one
	topicWords         = 8   // that stand for a topic
	titleRunes         = 60
	topicTokens        = 300 // of a topic's summary
)

// Scenes of a live. A tenant may have others.
const (
	PreLive  = "pre-live"
	OnLive   = "on-live"
	PostLive = "post-live"
)

// A SceneStart says from which message on a scene holds, by index in the
// session: a live's start and end make them.
type SceneStart struct {
	Message int    `json:"message"`
	Scene   string `json:"scene"`
}

// A Scene of a tenant's own is known by its words. Where a topic has at least
// two of them, it is tagged with it beside the scene that held.
type Scene struct {
	Name  string
	Words string
}

// A Topic is a part of a session about one thing, from a user's message on.
type Topic struct {
	From    int      `json:"from"` // messages, by index in the session
	To      int      `json:"to"`   // the message after the last
	Title   string   `json:"title"`
	Summary Summary  `json:"summary"`
	Scenes  []string `json:"scenes,omitempty"`
	Words   []string `json:"words"` // what it is about, most telling first
}

// Topics cuts a conversation into topics: where its words and tools change
// most, and where the scene changes. Starts are in order. It is deterministic
// and needs no model; Titled takes better titles. The whole conversation
// is one topic as long as it has fewer than four rounds.
func Topics(c Conversation, starts []SceneStart, own []Scene) []Topic {
	rounds := roundsOf(c)
	if len(rounds) == 0 {
		return nil
	}
	rarity := rarityIn(rounds)
	var topics []Topic
	from := 0
	for _, cut := range append(cutsOf(rounds, rarity, starts), len(rounds)) {
		t := topicOf(c, rounds[from:cut])
		t.tag(block(rounds[from:cut], rarity), starts, own)
		topics = append(topics, t)
		from = cut
	}
	return topics
}

// A round is a user's message and what follows on it.
type round struct {
	from, to int // messages, by index in the session
	words    map[string]float64
}

func roundsOf(c Conversation) []round {
	var rounds []round
	for _, e := range c.entriesFrom(c.First) {
		if e.message.Role == model.RoleUser {
			rounds = append(rounds, round{from: e.at, words: map[string]float64{}})
		}
		r := &rounds[len(rounds)-1]
		r.to = e.at + 1
		r.learn(e.message)
	}
	return rounds
}

// What a word weighs by where it stands: tools tell more than words, the
// user's words more than the assistant's. Results are too many words.
const (
	weightUser  = 2.0
	weightReply = 1.0
	weightTool  = 3.0
	replyRunes  = 600
)

func (r *round) learn(m model.Message) {
	switch m.Role {
	case model.RoleUser:
		r.count(m.Text, weightUser)
	case model.RoleAssistant:
		r.count(oneLine(m.Text, replyRunes), weightReply)
		for _, call := range m.Calls {
			r.words[call.Tool] += weightTool
			r.count(call.Tool, weightReply)
		}
	}
}

func (r *round) count(text string, weight float64) {
	for _, w := range model.Words(text) {
		r.words[w] += weight
	}
}

// cutsOf gives the rounds before which a new topic begins: those where the
// rounds before and after are less alike than usual, and than at the
// neighbours; and those where the scene changes. The method is TextTiling's.
func cutsOf(rounds []round, rarity map[string]float64, starts []SceneStart) []int {
	likeness := likenessOf(rounds, rarity)
	low := usualLow(likeness)
	var cuts []int
	last := 0
	for i := 1; i < len(rounds) && len(cuts) < topicsMost-1; i++ {
		valley := likeness[i] < low && likeness[i] <= likeness[i-1] && (i+1 == len(rounds) || likeness[i] <= likeness[i+1])
		if sceneAt(starts, rounds[i].from) != sceneAt(starts, rounds[i-1].from) ||
			valley && i-last >= topicLeast && len(rounds)-i >= topicLeast {
			cuts = append(cuts, i)
			last = i
		}
	}
	return cuts
}

// likenessOf says for each round, 0 to 1, how much the rounds before it are
// like it and those behind it.
func likenessOf(rounds []round, rarity map[string]float64) []float64 {
	likeness := make([]float64, len(rounds))
	likeness[0] = 1
	for i := 1; i < len(rounds); i++ {
		before := block(rounds[max(0, i-topicBlock):i], rarity)
		after := block(rounds[i:min(len(rounds), i+topicBlock)], rarity)
		likeness[i] = cosine(before, after)
	}
	return likeness
}

// usualLow is the mean without half of the standard deviation.
func usualLow(likeness []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, l := range likeness[1:] {
		sum += l
		squares += l * l
	}
	n := math.Max(1, float64(len(likeness)-1))
	mean := sum / n
	return mean - math.Sqrt(math.Max(0, squares/n-mean*mean))/2
}

// rarityIn weighs words: one that stands in many rounds parts none of them.
func rarityIn(rounds []round) map[string]float64 {
	rarity := map[string]float64{}
	for _, r := range rounds {
		for w := range r.words {
			rarity[w]++
		}
	}
	for w, holders := range rarity {
		rarity[w] = math.Log(1 + float64(len(rounds))/holders)
	}
	return rarity
}

func block(rounds []round, rarity map[string]float64) map[string]float64 {
	words := map[string]float64{}
	for _, r := range rounds {
		for w, weight := range r.words {
			words[w] += weight * rarity[w]
		}
	}
	return words
}

// cosine compares two weighted sets of words. It adds in the order of the
// words, since the order changes the last digit of a sum.
func cosine(a, b map[string]float64) float64 {
	product := 0.0
	for _, w := range slices.Sorted(maps.Keys(a)) {
		product += a[w] * b[w]
	}
	return product / math.Max(1e-9, length(a)*length(b))
}

func length(words map[string]float64) float64 {
	squares := 0.0
	for _, w := range slices.Sorted(maps.Keys(words)) {
		squares += words[w] * words[w]
	}
	return math.Sqrt(squares)
}

// sceneAt gives the scene that holds at a message, empty before the first.
func sceneAt(starts []SceneStart, message int) string {
	scene := ""
	for _, s := range starts {
		if s.Message <= message {
			scene = s.Scene
		}
	}
	return scene
}

func topicOf(c Conversation, rounds []round) Topic {
	t := Topic{From: rounds[0].from, To: rounds[len(rounds)-1].to}
	entries := repaired(c.entriesIn(t.From, t.To))
	t.Summary = extract(entries, c).bounded(topicTokens)
	t.Title = oneLine(entries[0].message.Text, titleRunes)
	if len(t.Summary.Requests) > 0 {
		t.Title = oneLine(t.Summary.Requests[0], titleRunes)
	}
	return t
}

// tag sets the words that tell the topic from the others, and its scenes.
func (t *Topic) tag(words map[string]float64, starts []SceneStart, own []Scene) {
	all := slices.Sorted(maps.Keys(words))
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(words[b], words[a]) })
	t.Words = slices.Clone(all[:min(topicWords, len(all))])
	if scene := sceneAt(starts, t.From); scene != "" {
		t.Scenes = append(t.Scenes, scene)
	}
	for _, scene := range own {
		if scene.isOf(words) && !slices.Contains(t.Scenes, scene.Name) {
			t.Scenes = append(t.Scenes, scene.Name)
		}
	}
}

// sceneWords is how many of a scene's words a topic of that scene has.
const sceneWords = 2

func (s Scene) isOf(words map[string]float64) bool {
	shared := 0
	for _, w := range model.Words(s.Words) {
		if words[w] > 0 {
			shared++
		}
	}
	return shared >= sceneWords
}

// FindTopics gives the topics of a scene, or of all scenes where it is empty,
// that the words are about; without words all of them. Those that fit best come
// first, of equal ones the newer.
func FindTopics(topics []Topic, scene, query string) []Topic {
	asked := model.Words(query)
	type hit struct {
		Topic
		score int
	}
	var hits []hit
	for _, t := range slices.Backward(topics) {
		if scene != "" && !slices.Contains(t.Scenes, scene) {
			continue
		}
		known := append(model.Words(t.Title+"\n"+t.Summary.body()), t.Words...)
		score := 0
		for _, w := range asked {
			if slices.Contains(known, w) {
				score++
			}
		}
		if score > 0 || len(asked) == 0 {
			hits = append(hits, hit{t, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return b.score - a.score })
	found := make([]Topic, len(hits))
	for i, h := range hits {
		found[i] = h.Topic
	}
	return found
}
