package memory

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/host"
)

// A ReconcileConfig says when behaviour agrees with words, and what follows.
type ReconcileConfig struct {
	Tolerance float64 // share by which a closed range is widened
	GapsToAsk int     // open gaps of one memory that make a question
	Gain      float64 // share of the missing trust that one agreement gives
}

// DefaultReconcile gives the settings of a new host. With a fifth of tolerance,
// "10 minutes" agrees with lives that open with 10 to 12.
func DefaultReconcile() ReconcileConfig {
	return ReconcileConfig{Tolerance: 0.2, GapsToAsk: 3, Gain: 0.1}
}

// maxOpenGaps bounds the open gaps of one memory, of a question that nobody comes to ask:
// beyond them the oldest are closed. What the newest ones show is what counts.
const maxOpenGaps = 64

// maxGapEvidence bounds the evidence of one gap or agreement: what was seen last is
// kept, and more than that nobody reads.
const maxGapEvidence = 64

// An Agreement is behaviour that bears out the user's words. Apply gives what
// becomes of the memory.
type Agreement struct {
	Memory   ID        `json:"memory"`
	Topic    string    `json:"topic"`
	Said     Claim     `json:"said"`
	Seen     Claim     `json:"seen"`
	Gain     float64   `json:"gain"`  // of trust
	Trust    float64   `json:"trust"` // after it
	Evidence []ID      `json:"evidence"`
	At       time.Time `json:"at"` // when it was seen
}

// Apply gives the memory with the confidence that the agreement adds. No word of
// it changes.
func (a Agreement) Apply(said Node) Node {
	said.Trust, said.Agreed = a.Trust, a.At
	said.Verified++
	return said
}

// A Reconciliation is what a comparison of words and behaviour says must be
// written. It holds nothing that changes what the user said.
type Reconciliation struct {
	Agreed    []Agreement
	Gaps      []Gap             // new ones
	Questions []Question        // new ones
	Asked     map[string]string // by id of an earlier gap, the question that it has led to
	Lapsed    []Question        // earlier ones that nobody answered, closed
	Closed    []Gap             // earlier ones that count toward no question any more
}

// Reconcile compares what users declared (L1) with what they do (L3), given all gaps
// so far, open and closed. Behaviour that agrees raises confidence, once; that
// contradicts is a gap, at most one of a live (or of a session without one) and a
// memory, and each piece of evidence counts in one gap only. When a memory has GapsToAsk open gaps, they make
// one question; later gaps join it, and after it was asked it is not asked again. Where
// as many gaps as make a question are noted after that and it has no answer, it lapses
// with the gaps before them, and those make another one. The same values give the same
// ids and the same order.
//
// Waiting are the questions without an answer; a memory has one at most, choices
// aside. A gap that names another one counts toward the next. Only active nodes with a
// claim are compared, within one tenant, user, entity and scene, and only such behaviour
// contradicts that began after the words.
func Reconcile(set ReconcileConfig, declared, seen []Node, gaps []Gap, waiting []Question, now time.Time) Reconciliation {
	r := Reconciliation{Asked: map[string]string{}}
	behaviour, earlier, asks := byTopic(ordered(seen)), byMemory(gaps), asking(waiting)
	for _, said := range ordered(declared) {
		if !comparable(said, Declared) || !holds(said, now) {
			continue
		}
		own := earlier[nameOf(said)]
		agreeing, opposing := set.sort(said, behaviour[topicOf(said)], now)
		fresh := newGaps(said, opposing, own, now)
		if a, ok := set.agreement(said, agreeing); ok && len(fresh) == 0 {
			r.Agreed = append(r.Agreed, a)
		}
		r.ask(set, said, openOf(own), fresh, asks[nameOf(said)], now)
	}
	return r
}

// ordered gives nodes by when they were seen, then by id. Their places are sorted,
// since a node is large.
func ordered(nodes []Node) []Node {
	places := make([]int, len(nodes))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(i, j int) int {
		a, b := &nodes[i], &nodes[j]
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID), cmp.Compare(i, j))
	})
	in := make([]Node, len(nodes))
	for i, place := range places {
		in[i] = nodes[place]
	}
	return in
}

// A userTopic is what two claims must share to be compared.
type userTopic struct {
	tenant host.TenantID
	user   host.UserID
	topic  string
}

func topicOf(n Node) userTopic { return userTopic{n.Tenant, n.User, foldWord(n.Claim.Topic)} }

// byTopic spares the comparison of everything with everything.
func byTopic(seen []Node) map[userTopic][]Node {
	by := map[userTopic][]Node{}
	for _, n := range seen {
		if comparable(n, Behaviour) {
			by[topicOf(n)] = append(by[topicOf(n)], n)
		}
	}
	return by
}

func comparable(n Node, layer Layer) bool {
	return n.Layer == layer && n.Status == Active && n.Claim != nil
}

// holds reports whether a node is true at a time.
func holds(n Node, now time.Time) bool {
	return !n.Valid.From.After(now) && (n.Valid.Until.IsZero() || now.Before(n.Valid.Until))
}

// A memoryName names a memory among those of all tenants.
type memoryName struct {
	tenant host.TenantID
	user   host.UserID
	id     ID
}

func nameOf(n Node) memoryName { return memoryName{n.Tenant, n.User, n.ID} }

func byMemory(gaps []Gap) map[memoryName][]Gap {
	by := map[memoryName][]Gap{}
	for _, g := range gaps {
		name := memoryName{g.Tenant, g.User, g.Memory}
		by[name] = append(by[name], g)
	}
	return by
}

// sort parts the behaviour of a topic into what agrees with some words and what
// contradicts them, in the order given.
func (set ReconcileConfig) sort(said Node, seen []Node, now time.Time) (agreeing, opposing []Node) {
	for _, n := range seen {
		if !sameMatter(said, n) || n.At.After(now) {
			continue
		}
		switch Compare(*said.Claim, *n.Claim, set.Tolerance, said.Kind == Constraint) {
		case Agrees:
			agreeing = append(agreeing, n)
		case Contradicts:
			// What began before the words were said is what they were to change.
			if !begins(n).Before(begins(said)) {
				opposing = append(opposing, n)
			}
		}
	}
	return agreeing, opposing
}

// sameMatter: words about everything hold for each product and each scene, and
// words about one hold for that one only.
func sameMatter(said, seen Node) bool {
	return said.Tenant == seen.Tenant && said.User == seen.User &&
		(said.Entity == "" || said.Entity == seen.Entity) && (said.Scene == "" || said.Scene == seen.Scene)
}

func begins(n Node) time.Time {
	if !n.Valid.From.IsZero() {
		return n.Valid.From
	}
	return n.At
}

func evidenceOf(n Node) []ID {
	if len(n.Source.Derived) > 0 {
		return n.Source.Derived
	}
	return []ID{n.ID}
}

// agreement makes one of all that was seen since the last.
func (set ReconcileConfig) agreement(said Node, agreeing []Node) (Agreement, bool) {
	a := Agreement{Memory: said.ID, Topic: said.Claim.Topic, Said: *said.Claim}
	for _, n := range agreeing {
		if n.At.After(said.Agreed) {
			a.Evidence = addEvidence(a.Evidence, evidenceOf(n))
			a.Seen, a.At = *n.Claim, n.At
		}
	}
	if len(a.Evidence) == 0 {
		return a, false
	}
	a.Trust = exact(unit01(said.Trust + (1-said.Trust)*set.Gain))
	a.Gain = exact(a.Trust - said.Trust)
	return a, true
}

func addEvidence(to, more []ID) []ID {
	for _, id := range more {
		if !slices.Contains(to, id) {
			to = append(to, id)
		}
	}
	return to[max(0, len(to)-maxGapEvidence):]
}

// occasion is what one gap of a memory may be of: a live, whatever sessions it took, or a
// session that belongs to none. It is "" where neither is known.
func occasion(live host.LiveID, session host.SessionID) string {
	if live != "" || session != "" {
		return liveOf(Event{Live: live, Session: session})
	}
	return ""
}

// newGaps makes at most one gap of each live or session, of its newest behaviour, and
// none of what is in a gap already.
func newGaps(said Node, opposing []Node, own []Gap, now time.Time) []Gap {
	had, used := map[string]bool{}, map[ID]bool{}
	for _, g := range own {
		if at := occasion(g.Live, g.Session); at != "" {
			had[at] = true
		}
		for _, id := range g.Evidence {
			used[id] = true
		}
	}
	var fresh []Gap
	place := map[string]int{}
	for _, n := range opposing {
		when, evidence := occasion(n.Source.Live, n.Source.Session), evidenceOf(n)
		if had[when] || !slices.ContainsFunc(evidence, func(id ID) bool { return !counted(n, used, id) }) {
			continue
		}
		at, again := place[when]
		if !again {
			at = len(fresh)
			place[when] = at
			fresh = append(fresh, Gap{Tenant: said.Tenant, User: said.User, Memory: said.ID, Topic: said.Claim.Topic,
				Said: *said.Claim, Session: n.Source.Session, Live: n.Source.Live, At: now})
		}
		fresh[at].Seen = *n.Claim
		fresh[at].Evidence = addEvidence(fresh[at].Evidence, evidence)
		fresh[at].Habits = addEvidence(fresh[at].Habits, []ID{n.ID})
	}
	for i := range fresh {
		fresh[i].ID = gapID(fresh[i])
	}
	return fresh
}

// counted reports whether a piece of evidence is in a gap. A habit that is written
// anew under its old id tells by its session that it is another one.
func counted(n Node, used map[ID]bool, id ID) bool {
	return used[id] && (n.Source.Session == "" || len(n.Source.Derived) > 0)
}

// gapID is the same for the same contradiction, whichever replica finds it.
func gapID(g Gap) string {
	when := string(g.Session)
	if g.Live != "" {
		when = occasion(g.Live, "")
	}
	name := fmt.Sprintf("%q/%q", []string{string(g.Tenant), string(g.User), string(g.Memory), when}, occasionless(g))
	return "gap_" + host.Digest([]byte(name))[:32]
}

// occasionless gives what else tells a gap apart that is of no live and no session.
func occasionless(g Gap) []ID {
	if g.Session != "" || g.Live != "" {
		return nil
	}
	return g.Evidence
}

// asking gives the question that waits about each memory, choices aside.
func asking(waiting []Question) map[memoryName]*Question {
	by := map[memoryName]*Question{}
	for i, q := range waiting {
		if q.Answered.IsZero() && !q.IsChoice() {
			by[memoryName{q.Tenant, q.User, q.Memory}] = &waiting[i]
		}
	}
	return by
}

// openOf gives the gaps that are open, oldest first.
func openOf(gaps []Gap) []Gap {
	open := slices.DeleteFunc(slices.Clone(gaps), func(g Gap) bool { return g.Closed != "" })
	slices.SortFunc(open, func(a, b Gap) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return open
}

// ask notes new gaps, and makes the one question that they lead to with the open ones.
func (r *Reconciliation) ask(set ReconcileConfig, said Node, open, fresh []Gap, waits *Question, now time.Time) {
	enough := max(1, set.GapsToAsk)
	if since := gapsSince(open, waits); waits != nil && !waits.Asked.IsZero() && len(since)+len(fresh) >= enough {
		r.Lapsed = append(r.Lapsed, waits.Unanswered(now))
		r.close(open[:len(open)-len(since)])
		waits, open = nil, since
	}
	if more := min(len(open)+len(fresh)-max(maxOpenGaps, enough), len(open)); more > 0 {
		r.close(open[:more])
		open = open[more:]
	}
	question := ""
	if waits != nil {
		question = waits.ID
	} else if all := slices.Concat(open, fresh); len(all) >= enough {
		q := newQuestion(said, all, now)
		r.Questions = append(r.Questions, q)
		question = q.ID
	}
	for _, g := range open {
		if question != "" && g.Question != question {
			r.Asked[g.ID] = question
		}
	}
	for _, g := range fresh {
		g.Question = question
		r.Gaps = append(r.Gaps, g)
	}
}

// gapsSince gives those of some gaps, oldest first, that were noted after a question was
// asked.
func gapsSince(open []Gap, q *Question) []Gap {
	if q == nil {
		return nil
	}
	at := slices.IndexFunc(open, func(g Gap) bool { return g.At.After(q.Asked) })
	if at < 0 {
		return nil
	}
	return open[at:]
}

func (r *Reconciliation) close(gaps []Gap) {
	for _, g := range gaps {
		g.Closed = string(Unanswered)
		r.Closed = append(r.Closed, g)
	}
}
