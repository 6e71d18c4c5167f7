package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/host"
)

// An Event is one thing that a user did, as the audit log or the business tells it.
type Event struct {
	ID      ID             `json:"id"` // of the evidence; the same event twice counts once
	Tenant  host.TenantID  `json:"tenant"`
	User    host.UserID    `json:"user"`
	Session host.SessionID `json:"session,omitempty"`
	Live    host.LiveID    `json:"live,omitempty"`
	Time    time.Time      `json:"time"`

	Topic  string   `json:"topic"`           // as of a Claim
	Value  *float64 `json:"value,omitempty"` // a number, or a word
	Unit   string   `json:"unit,omitempty"`
	Word   string   `json:"word,omitempty"`
	Entity string   `json:"entity,omitempty"`
	Domain string   `json:"domain,omitempty"`
	Scene  string   `json:"scene,omitempty"`
}

// A HabitConfig says what of a log makes a habit.
type HabitConfig struct {
	Lives     int           // the last lives of each user and topic that count; 0 for all
	Days      int           // the last days that count; 0 for all
	Since     time.Time     // what is older counts not: when the user said something new, what was before is no contradiction
	MinLives  int           // lives that make a habit
	WordShare float64       // share of lives in which a word is heard, to be the habit's
	Profiles  []string      // topics, and beginnings of topics, that tell of the audience and not of the user
	Freshness Freshness     // class of what is found
	Locale    string        // of the text
	MaxAge    time.Duration // a habit whose newest event is older is not written; 0 for any
}

// DefaultHabits gives the settings of a new host: the last five lives within a
// quarter, and at least three of them.
func DefaultHabits() HabitConfig {
	return HabitConfig{Lives: 5, Days: 90, MinLives: 3, WordShare: 0.6, Profiles: []string{"fans"}, Freshness: Slow}
}

// MaxHabitEvents bounds one aggregation: the newest are taken. It is a hundred
// lives with a thousand events.
const MaxHabitEvents = 100_000

// Habits aggregates a log into habits and profiles (L3): for each user, topic,
// entity and scene the range, median and count over the last lives, one value of
// each live (its median), or the words that most lives share. Trust grows with the
// lives that support it. Nodes have no ID yet; the order of the events does not
// matter. Events without a user, topic or value count not, nor do those after now.
func Habits(set HabitConfig, events []Event, now time.Time) []Node {
	var nodes []Node
	for _, group := range set.groups(events, now) {
		lives := set.window(group)
		if len(lives) < max(1, set.MinLives) {
			continue
		}
		if n, ok := set.habit(lives, now); ok && (set.MaxAge == 0 || now.Sub(n.At) <= set.MaxAge) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// A matter is what events of one habit have in common.
type matter struct {
	Tenant host.TenantID
	User   host.UserID
	Topic  string
	Entity string
	Scene  string
	Unit   string
	Form   string // "number" or "word"
}

func matterOf(e Event) matter {
	m := matter{e.Tenant, e.User, foldWord(e.Topic), e.Entity, e.Scene, foldWord(e.Unit), "word"}
	if e.Value != nil {
		m.Form = "number"
	}
	return m
}

func (m matter) compare(o matter) int {
	return cmp.Or(cmp.Compare(m.Tenant, o.Tenant), cmp.Compare(m.User, o.User), cmp.Compare(m.Topic, o.Topic),
		cmp.Compare(m.Entity, o.Entity), cmp.Compare(m.Scene, o.Scene), cmp.Compare(m.Unit, o.Unit), cmp.Compare(m.Form, o.Form))
}

// groups parts the events that count by their matter, each in order of time.
func (set HabitConfig) groups(events []Event, now time.Time) [][]Event {
	events = slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return !set.counts(e, now) })
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.ID, b.ID)) })
	events = events[max(0, len(events)-MaxHabitEvents):]
	seen, by := map[[2]string]bool{}, map[matter][]Event{}
	for _, e := range events {
		name := [2]string{string(e.Tenant), string(e.ID)}
		if e.ID != "" && seen[name] {
			continue
		}
		seen[name] = true
		by[matterOf(e)] = append(by[matterOf(e)], e)
	}
	groups := make([][]Event, 0, len(by))
	for _, group := range by {
		groups = append(groups, group)
	}
	slices.SortFunc(groups, func(a, b []Event) int {
		return matterOf(a[0]).compare(matterOf(b[0]))
	})
	return groups
}

func (set HabitConfig) counts(e Event, now time.Time) bool {
	switch {
	case e.Tenant == "" || e.User == "" || strings.TrimSpace(e.Topic) == "" || len(e.Topic) > MaxTopicBytes:
		return false
	case e.Live == "" && e.Session == "" || e.Value == nil && foldWord(e.Word) == "":
		return false
	case e.Value != nil && !(*e.Value > -OpenEnd && *e.Value < OpenEnd):
		return false
	}
	return !e.Time.After(now) && !e.Time.Before(set.Since) && (set.Days <= 0 || now.Sub(e.Time) <= time.Duration(set.Days)*day)
}

// window gives the events of the last lives, by live, the oldest live first.
func (set HabitConfig) window(events []Event) [][]Event {
	var order []string
	lives := map[string][]Event{}
	for _, e := range slices.Backward(events) { // newest first
		name := liveOf(e)
		if lives[name] == nil {
			if set.Lives > 0 && len(order) == set.Lives {
				continue
			}
			order = append(order, name)
		}
		lives[name] = append(lives[name], e)
	}
	var window [][]Event
	for _, name := range slices.Backward(order) {
		slices.Reverse(lives[name])
		window = append(window, lives[name])
	}
	return window
}

// liveOf takes a session for a live of its own where it belongs to none.
func liveOf(e Event) string {
	if e.Live != "" {
		return "live/" + string(e.Live)
	}
	return "session/" + string(e.Session)
}

// habit makes one node of the lives of one matter.
func (set HabitConfig) habit(lives [][]Event, now time.Time) (Node, bool) {
	read := set.spread
	if lives[0][0].Value == nil {
		read = set.words
	}
	claim, text, support := read(lives)
	if support == 0 {
		return Node{}, false
	}
	newest := lives[len(lives)-1]
	last := newest[len(newest)-1]
	n := Node{Tenant: last.Tenant, User: last.User, Text: cutText(text, MaxTextBytes-4), Layer: Behaviour, Kind: Habit, Entity: last.Entity, Domain: last.Domain,
		Scene: last.Scene, Claim: &claim, Source: Source{Session: last.Session, Live: last.Live}, Freshness: set.Freshness, Status: Active}
	for _, prefix := range set.Profiles {
		if nearTopic(prefix, claim.Topic) && len(claim.Topic) >= len(prefix) {
			n.Kind = Profile
		}
	}
	n.Valid.From, n.At = lives[0][0].Time, last.Time
	for _, live := range lives {
		for _, e := range live {
			n.Valid.From, n.At = earlier(n.Valid.From, e.Time), later(n.At, e.Time)
			if e.ID != "" {
				n.Source.Derived = addEvidence(n.Source.Derived, []ID{e.ID})
			}
		}
	}
	n.Known.From = now
	n.Trust = supportTrust(support)
	return n, true
}

// supportTrust is what a habit is to be believed that n lives bear out: 0.6 for
// three, 0.71 for five.
func supportTrust(n int) float64 { return exact(float64(n) / float64(n+2)) }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// spread gives the range of numbers over lives, each live with its median.
func (set HabitConfig) spread(lives [][]Event) (Claim, string, int) {
	var values []float64
	for _, live := range lives {
		var of []float64
		for _, e := range live {
			if e.Value != nil {
				of = append(of, *e.Value)
			}
		}
		if len(of) > 0 {
			values = append(values, Median(of))
		}
	}
	if len(values) == 0 {
		return Claim{}, "", 0
	}
	first := lives[0][0]
	claim := Between(foldWord(first.Topic), slices.Min(values), slices.Max(values), first.Unit)
	text := speakIn(set.Locale).pick("%s%s: %s in the last %d lives (median %s)", "%s%s：最近 %[4]d 场为 %[3]s（中位数 %[5]s）",
		claim.Topic, of(first.Entity), claim.Text(set.Locale), len(values), numberText(exact(Median(values))))
	return claim, text, len(values)
}

// of says what a habit is about.
func of(entity string) string {
	if entity == "" {
		return ""
	}
	return " (" + entity + ")"
}

// words gives the words that most lives share, and in how many lives the rarest of
// them is heard.
func (set HabitConfig) words(lives [][]Event) (Claim, string, int) {
	in := map[string]int{}
	for _, live := range lives {
		heard := map[string]bool{}
		for _, e := range live {
			if w := foldWord(e.Word); w != "" && !heard[w] {
				heard[w] = true
				in[w]++
			}
		}
	}
	var words []string
	support := len(lives)
	for w, n := range in {
		if float64(n) >= set.WordShare*float64(len(lives)) {
			words, support = append(words, w), min(support, n)
		}
	}
	if len(words) == 0 {
		return Claim{}, "", 0
	}
	slices.Sort(words)
	first := lives[0][0]
	claim := Claim{Topic: foldWord(first.Topic), Words: words}
	counts := make([]string, len(words))
	for i, w := range words {
		counts[i] = fmt.Sprintf("%s (%d)", w, in[w])
	}
	text := speakIn(set.Locale).pick("%s%s: %s in the last %d lives", "%s%s：最近 %[4]d 场为 %[3]s",
		claim.Topic, of(first.Entity), strings.Join(counts, ", "), len(lives))
	return claim, text, support
}

// Median gives the middle of numbers, the mean of two in the middle, and 0 of none.
func Median(numbers []float64) float64 {
	if len(numbers) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(numbers))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return sorted[half-1]/2 + sorted[half]/2
}

// Renews reports whether a newer habit or fact (L2, L3) is about the same matter as
// an older one, and takes its place: the window has moved, or the tool was asked again.
func Renews(older, newer Node) bool {
	return older.Layer == newer.Layer && (newer.Layer == Fact || newer.Layer == Behaviour) && older.Tenant == newer.Tenant && older.User == newer.User &&
		older.Entity == newer.Entity && older.Scene == newer.Scene && older.Claim != nil && newer.Claim != nil &&
		sameTopic(older.Claim.Topic, newer.Claim.Topic) && !newer.At.Before(older.At)
}
