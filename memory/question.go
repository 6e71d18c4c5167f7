package memory

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory/tokens"
)

// A Question asks a user whether their words still hold, since what they do
// contradicts them, or which of two declarations of theirs counts, since they contradict
// each other (see NewChoice). It is asked once, and then waits for the answer: of the
// user's next words, or of whoever tells it later. Where none comes and the contradiction
// goes on, it lapses, and another question takes its place: see Reconcile.
type Question struct {
	ID       string        `json:"id"`
	Tenant   host.TenantID `json:"tenant"`
	User     host.UserID   `json:"user"`
	Memory   ID            `json:"memory"`          // the L1; of two the one that was said first
	Other    ID            `json:"other,omitempty"` // the L1 that contradicts it; empty where habits do
	Topic    string        `json:"topic"`
	Domain   string        `json:"domain,omitempty"`
	Scene    string        `json:"scene,omitempty"`
	Said     Claim         `json:"said"`
	Seen     Claim         `json:"seen"`           // in the newest gap, or the other L1's
	Gaps     []string      `json:"gaps,omitempty"` // that made it; later ones name it
	Evidence []ID          `json:"evidence"`
	Raised   time.Time     `json:"raised"`
	Asking   *Asking       `json:"asking,omitempty"` // nil where no turn is about to ask it
	Asked    time.Time     `json:"asked,omitzero"`
	Answered time.Time     `json:"answered,omitzero"`
	Answer   Resolution    `json:"answer,omitempty"`

	AskedIn    host.SessionID `json:"asked_in,omitempty"`    // the session in which it was asked
	AskedInput int            `json:"asked_input,omitempty"` // how many inputs of that session the user had said when it was asked

	Moot bool `json:"moot,omitempty"` // nobody answered it: what it is about ceased to count
}

// askedTerms is the part of the user's quoted words that an answer must share to ask
// about them: models put a question in words of their own, and other answers at the same
// point share a word or two with it.
const askedTerms = 1.0 / 3

// Asks reports whether an answer asks the user about some words of theirs: it has a
// question, and a third of the terms of each of them. One that it takes for no question
// is asked again. One that it takes for a question and was none waits for an answer that
// the user was never asked for, until new gaps make another one; so it leans to neither.
func Asks(answer string, about ...string) bool {
	answer = cutBytes(answer, MaxHeardBytes)
	if len(about) == 0 || !hasQuestion(answer) {
		return false
	}
	has := map[uint32]bool{}
	for _, term := range tokens.Bag(answer) {
		has[term.ID] = true
	}
	for _, words := range about {
		bag, shared := tokens.Bag(words), 0
		for _, term := range bag {
			if has[term.ID] {
				shared++
			}
		}
		if float64(shared) < askedTerms*float64(len(bag)) {
			return false
		}
	}
	return true
}

// hasQuestion reports whether a text asks something, also in quotation marks.
func hasQuestion(text string) bool {
	return strings.ContainsAny(text, "?？") || slices.ContainsFunc(sentences(text), func(s sentence) bool { return s.question })
}

// answerWithin is how many inputs after a question may answer it: the next one, or
// the one after a question back.
const answerWithin = 2

// AnswerableBy reports whether an input of a session, of which the user had said so many
// by then, may answer the question: it follows closely on where the question was asked.
// What is said elsewhere, or later, is about something else.
func (q Question) AnswerableBy(session host.SessionID, input int) bool {
	return !q.Asked.IsZero() && q.Answered.IsZero() && q.AskedIn != "" && q.AskedIn == session &&
		input > q.AskedInput && input <= q.AskedInput+answerWithin
}

// AskedBy gives the question as one that was asked beside the answer to an input, which
// counts as in AnswerableBy. Nobody is about to ask it then.
func (q Question) AskedBy(session host.SessionID, input int, now time.Time) Question {
	q.Asked, q.AskedIn, q.AskedInput, q.Asking = now, session, input, nil
	return q
}

// Ceased gives the question as one that has nothing left to ask: what it is about does not
// count any more, by a resolution that is no answer to it.
func (q Question) Ceased(by Resolution, now time.Time) Question {
	q.Answer, q.Answered, q.Moot = by, now, true
	return q
}

// Reopened gives the question as one that waits again, since what it is about counts
// again. One that nobody answered is as it was: asked once, if it was. An answer was
// undone with what it had done, so that the user may be asked once more.
func (q Question) Reopened() Question {
	if !q.Moot {
		q.Asked, q.AskedIn, q.AskedInput = time.Time{}, "", 0
	}
	q.Answer, q.Answered, q.Moot, q.Asking = "", time.Time{}, false, nil
	return q
}

// Unanswered gives the question as one that nobody answered, and that asks for no answer
// any more.
func (q Question) Unanswered(now time.Time) Question {
	q.Answered, q.Answer = now, Unanswered
	return q
}

// newQuestion makes the question of open gaps, oldest first. One memory has one
// question of the same gaps.
func newQuestion(said Node, open []Gap, now time.Time) Question {
	q := Question{Tenant: said.Tenant, User: said.User, Memory: said.ID, Topic: said.Claim.Topic, Domain: said.Domain,
		Scene: said.Scene, Said: *said.Claim, Raised: now}
	for _, g := range open {
		q.Gaps = append(q.Gaps, g.ID)
		q.Evidence = addEvidence(q.Evidence, g.Evidence)
		q.Seen = g.Seen
	}
	q.ID = "ask_" + host.Digest([]byte(strings.Join(q.Gaps, "/")))[:32]
	return q
}

// A Point is where a decision is made: what it is about. Empty fields are not known.
type Point struct {
	Tenant host.TenantID
	User   host.UserID
	Topic  string
	Domain string
	Scene  string
}

// NextQuestion gives the oldest question that fits a decision point and was not
// asked before, marked as asked. The caller keeps it before it asks.
func NextQuestion(questions []Question, at Point, now time.Time) (Question, bool) {
	var next *Question
	for i, q := range questions {
		if q.Asked.IsZero() && q.Answered.IsZero() && q.fits(at) && (next == nil || q.Raised.Before(next.Raised)) {
			next = &questions[i]
		}
	}
	if next == nil {
		return Question{}, false
	}
	q := *next
	q.Asked = now
	return q, true
}

// fits: the topics or the domains are the same; where the point names neither, the
// scenes are. Another scene never fits.
func (q Question) fits(at Point) bool {
	if q.Tenant != at.Tenant || q.User != at.User || q.Scene != "" && at.Scene != "" && q.Scene != at.Scene {
		return false
	}
	if at.Topic == "" && at.Domain == "" {
		return q.Scene != "" && q.Scene == at.Scene
	}
	return at.Topic != "" && nearTopic(q.Topic, at.Topic) || at.Domain != "" && q.Domain == at.Domain
}

// nearTopic: "opening" is about "opening.minutes".
func nearTopic(a, b string) bool {
	a, b = foldWord(a), foldWord(b)
	return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".")
}

// Text words the question for the user, in Chinese for a Chinese locale and else
// in English. The memory gives the user's own words. Of what was seen it tells numbers,
// and words that Subjects has: others may be those of a call's arguments, which anybody
// may have written.
func (q Question) Text(said Node, locale string) string {
	speak := speakIn(locale)
	return speak.pick(
		"You told me: \"%[1]s\". The last %[2]d times it was different: %[3]s. Has this changed? "+
			"Say what holds now, \"keep it\" if your words still hold, or \"drop it\" if they no longer matter.",
		"您之前说过：“%[1]s”。但最近 %[2]d 次的实际情况不同：%[3]s。是否有变化？"+
			"请直接说新的要求；如果原来的仍然有效请说“保持不变”；如果不再需要请说“取消”。",
		cutText(oneLine(said.Text), maxToldBytes), len(q.Gaps), q.Seen.known().textOr(speak.pick("something else", "别的"), locale))
}

// known gives a claim with those of its words that the subject of its topic has, and
// its unit if it is one that is known.
func (c Claim) known() Claim {
	var words []string
	for _, s := range Subjects() {
		if sameTopic(s.Topic, c.Topic) {
			words = append(words, slices.Collect(maps.Values(s.Words))...)
		}
	}
	c.Words = slices.DeleteFunc(slices.Clone(c.Words), func(w string) bool { return !slices.Contains(words, w) })
	if unit := unitOf(c.Unit); unit.measure == foldWord(c.Unit) && unit.measure != percent {
		c.Unit = ""
	}
	return c
}

// textOr words a claim, or gives other words where it has nothing to say.
func (c Claim) textOr(otherwise, locale string) string {
	if len(c.Words) == 0 && (c.Low == nil || c.High == nil) {
		return otherwise
	}
	return c.Text(locale)
}

// maxToldBytes bounds the user's words in a question: a sentence or two.
const maxToldBytes = 400

// Text words a claim for people.
func (c Claim) Text(locale string) string {
	speak := speakIn(locale)
	var parts []string
	if c.Low != nil && c.High != nil {
		parts = append(parts, c.rangeText(speak))
	}
	if len(c.Words) > 0 {
		parts = append(parts, oneLine(strings.Join(c.Words, speak.pick(" or ", "或"))))
	}
	text := strings.Join(parts, speak.pick(", ", "，"))
	if c.Not {
		text = speak.pick("not ", "不是") + text
	}
	return cutText(text, maxToldBytes)
}

func (c Claim) rangeText(speak speaker) string {
	low, high, of := numberText(*c.Low), numberText(*c.High), ""
	if c.Unit != "" {
		of = " " + c.Unit
	}
	switch {
	case *c.High >= OpenEnd:
		return speak.pick("at least %s%s", "至少 %s%s", low, of)
	case *c.Low <= -OpenEnd:
		return speak.pick("at most %s%s", "最多 %s%s", high, of)
	case low == high:
		return low + of
	}
	return low + "–" + high + of
}

func numberText(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// A Resolution is what the user's answer does to the memory, and why gaps are closed.
type Resolution string

// The resolutions.
const (
	Updated Resolution = "updated" // new words take its place
	Kept    Resolution = "kept"
	Retired Resolution = "retired" // it holds no longer, and nothing takes its place

	// Unanswered is no answer: the question was asked, and newer gaps or a long time
	// have made it void.
	Unanswered Resolution = "unanswered"
)

// An Answer is what the user said to a question.
type Answer struct {
	Resolution Resolution
	Text       string // the user's words
	Claim      *Claim // of the new words, where updated
	Source     Source
	At         time.Time
}

// A Resolved question, with all that must be written.
type Resolved struct {
	Question Question
	Memory   Node  // the L1 after the answer; its text is what it was
	Other    *Node // likewise the other one, where the question was which of two counts
	New      *Node // the user's new words, where updated; it has no ID yet, and Memory.SupersededBy is to name it
	Gaps     []Gap // those that the answer closes, with their evidence
}

// Resolve applies the user's answer to the memory that a question is about. The
// evidence is kept in the question and the gaps. Problems are BadArguments: an
// answer to another memory's question, to one that is answered, or without words.
func Resolve(set ReconcileConfig, q Question, said Node, gaps []Gap, a Answer) (Resolved, error) {
	if problem := q.refuses(said, a); problem != nil {
		return Resolved{}, host.Fail("memory.Resolve", problem, nil)
	}
	q.Answered, q.Answer = a.At, a.Resolution
	r := Resolved{Question: q, Memory: said, Gaps: CloseGaps(gaps, said, a.Resolution)}
	switch a.Resolution {
	case Kept:
		r.Memory.Trust = exact(unit01(said.Trust + (1-said.Trust)*set.Gain))
		r.Memory.Verified++
		r.Memory.Agreed = a.At
	case Retired:
		r.Memory.Status, r.Memory.Valid.Until = Superseded, a.At
	case Updated:
		r.Memory.Status, r.Memory.Valid.Until = Superseded, a.At
		r.New = q.renewed(said, a)
	}
	return r, nil
}

func (q Question) refuses(said Node, a Answer) *abi.Problem {
	switch {
	case q.Tenant != said.Tenant || q.User != said.User || q.Memory != said.ID || said.Layer != Declared:
		return abi.NewProblem(abi.BadArguments, "question %s is about memory %s and not about %s", q.ID, q.Memory, said.ID).
			WithHint("answer it with the memory that it names")
	case q.Answer == Unanswered:
		return abi.NewProblem(abi.BadArguments, "question %s was closed at %s, since nobody had answered it", q.ID, q.Answered.Format(time.RFC3339)).
			WithHint("answer the newer one about the same memory, or say what holds now; that makes a memory of its own")
	case !q.Answered.IsZero():
		return abi.NewProblem(abi.BadArguments, "question %s was answered at %s", q.ID, q.Answered.Format(time.RFC3339)).
			WithHint("say what holds now; that makes a memory of its own")
	case said.Status != Active:
		return abi.NewProblem(abi.BadArguments, "memory %s is %s already", said.ID, said.Status).WithHint("close the question's gaps; there is nothing left to decide")
	case a.Resolution != Updated && a.Resolution != Kept && a.Resolution != Retired:
		return abi.NewProblem(abi.BadArguments, "%q is no resolution", a.Resolution).WithHint("give %s, %s or %s", Updated, Kept, Retired)
	case a.Resolution == Updated && (strings.TrimSpace(a.Text) == "" || len(a.Text) > MaxTextBytes):
		return abi.NewProblem(abi.BadArguments, "new words have %d bytes; give 1 to %d", len(a.Text), MaxTextBytes).WithHint("give the user's own words")
	}
	return nil
}

// renewed gives the memory of the user's new words. They are about the same, and
// count from now on.
func (q Question) renewed(said Node, a Answer) *Node {
	n := Node{Tenant: said.Tenant, User: said.User, Text: a.Text, Layer: Declared, Kind: said.Kind, Entity: said.Entity,
		Domain: said.Domain, Scene: said.Scene, Claim: a.Claim, Source: a.Source, At: a.At, Valid: Span{From: a.At}, Known: Span{From: a.At},
		Freshness: said.Freshness, Trust: said.Trust, Pinned: said.Pinned, Priority: said.Priority, Status: Active}
	n.Source.Derived = addEvidence(slices.Clone(a.Source.Derived), append([]ID{said.ID}, q.Evidence...))
	return &n
}

// CloseGaps gives the open gaps of a memory, closed. It is also for a memory that
// the user changed without being asked.
func CloseGaps(gaps []Gap, said Node, by Resolution) []Gap {
	var closed []Gap
	for _, g := range byMemory(gaps)[nameOf(said)] {
		if g.Closed == "" {
			g.Closed = string(by)
			closed = append(closed, g)
		}
	}
	return closed
}

// ReopenGaps gives the gaps of a memory that counts again, open: those that were closed
// when it ceased to count. What its user answered by keeping it stays answered.
func ReopenGaps(gaps []Gap, said Node) []Gap {
	var open []Gap
	for _, g := range byMemory(gaps)[nameOf(said)] {
		if g.Closed == string(Updated) || g.Closed == string(Retired) {
			g.Closed = ""
			open = append(open, g)
		}
	}
	return open
}

// A speaker words what people read, in English or Chinese.
type speaker struct{ zh bool }

func speakIn(locale string) speaker {
	return speaker{zh: strings.HasPrefix(strings.ToLower(locale), "zh")}
}

func (s speaker) pick(en, zh string, args ...any) string {
	if s.zh {
		en = zh
	}
	if len(args) == 0 {
		return en
	}
	return fmt.Sprintf(en, args...)
}
