package window

import "github.com/sluicehq/sluice/host/model"

// What a request has beside its texts, in tokens: the marks of roles, names
// and schemas that vendors put in.
const (
	messageTokens = 4
	callTokens    = 8
	toolTokens    = 12
)

// RequestTokens estimates the tokens of a whole request.
func RequestTokens(r model.Request) int {
	n := Tokens(r.System) + Tokens(r.Hint) + messageTokens + conversationTokens(r.Messages)
	for _, t := range r.Tools {
		n += toolTokens + Tokens(t.Name) + Tokens(t.Description) + Tokens(string(t.Parameters))
	}
	return n
}

// conversationTokens estimates the tokens of messages. Thoughts count in the
// last turn only: others are not sent.
func conversationTokens(messages []model.Message) int {
	n, turn := 0, len(messages)
	for turn > 0 && messages[turn-1].Role != model.RoleUser {
		turn--
	}
	for i, m := range messages {
		n += messageTokens + Tokens(m.Text)
		for _, c := range m.Calls {
			n += callTokens + Tokens(c.Tool) + Tokens(c.Args)
		}
		if i >= turn {
			n += Tokens(m.Reasoning)
		}
	}
	return n
}

// A Meter learns from the model's own counts. It is a value that is stored with
// its session; the zero Meter has learned nothing.
type Meter struct {
	Ratio  float64 `json:"ratio,omitempty"`  // the model's count of a request by the estimate; 0 before the first
	Input  int64   `json:"input,omitempty"`  // tokens of all requests, as the model counted them
	Cached int64   `json:"cached,omitempty"` // the part that the vendor took from its cache
	Output int64   `json:"output,omitempty"` // tokens of all answers
}

// How a Meter learns: a new count weighs a third, so that one odd request does
// not mislead, and three settle it; what is further off than a factor of three
// is another request's count and no vocabulary's.
const (
	meterWeight = 1.0 / 3
	meterLeast  = 1.0 / 3
	meterMost   = 3.0
)

// Observe gives the meter after one more answer: estimated are the request's
// tokens by RequestTokens, u is what the model reported. A usage of zero is
// that of a model that does not count.
func (m Meter) Observe(estimated int, u model.Usage) Meter {
	if u.Input <= 0 || estimated <= 0 {
		return m
	}
	m.Input += int64(u.Input)
	m.Cached += int64(min(max(u.Cached, 0), u.Input))
	m.Output += int64(max(u.Output, 0))
	ratio := float64(u.Input) / float64(estimated)
	switch {
	case ratio < meterLeast || ratio > meterMost:
	case m.Ratio == 0:
		m.Ratio = ratio
	default:
		m.Ratio += meterWeight * (ratio - m.Ratio)
	}
	return m
}

// Tokens gives what the model will count where the estimate is n.
func (m Meter) Tokens(n int) int {
	if m.Ratio == 0 {
		return n
	}
	return int(float64(n)*m.Ratio + 0.5)
}

// Uncached gives the input tokens that were not taken from a cache, and the
// output: what a budget counts.
func (m Meter) Uncached() int64 { return m.Input - m.Cached + m.Output }

// CacheHitRate gives the part of the session's input tokens that the vendor
// took from its cache, 0 to 1.
func (m Meter) CacheHitRate() float64 {
	if m.Input == 0 {
		return 0
	}
	return float64(m.Cached) / float64(m.Input)
}
