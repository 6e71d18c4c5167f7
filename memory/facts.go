package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A FactField says that a member of a tool's result is a fact to be kept (L2).
type FactField struct {
	Names     []string // of the member, in lower case
	Topic     string   // of the claim
	Unit      string
	Freshness Freshness
	Days      bool // names end in a number of days: exposure_7d, 曝光_30日
}

// ShopFacts gives the facts of live commerce: products and prices, coupon prices,
// risk words, goals, slots, and figures of the last N days.
func ShopFacts() []FactField {
	return []FactField{
		{Names: []string{"price", "sale_price", "current_price"}, Topic: "price", Unit: "CNY", Freshness: Fast},
		{Names: []string{"coupon_price", "price_after_coupon", "after_coupon"}, Topic: "price.coupon", Unit: "CNY", Freshness: Fast},
		{Names: []string{"stock", "inventory"}, Topic: "stock", Freshness: Fast},
		{Names: []string{"risk_words", "risk_word", "banned_words", "forbidden_words"}, Topic: "risk.words", Freshness: Fast},
		{Names: []string{"title", "name"}, Topic: "title", Freshness: Slow},
		{Names: []string{"goal", "target", "gmv_goal"}, Topic: "goal", Freshness: Slow},
		{Names: []string{"slot", "time_slot"}, Topic: "slot", Freshness: Slow},
		{Names: []string{"exposure", "impressions"}, Topic: "exposure", Freshness: Fast, Days: true},
		{Names: []string{"click", "clicks"}, Topic: "clicks", Freshness: Fast, Days: true},
		{Names: []string{"conversion", "conversions", "conversion_rate"}, Topic: "conversion", Freshness: Fast, Days: true},
		{Names: []string{"gmv", "sales", "orders"}, Topic: "sales", Freshness: Fast, Days: true},
	}
}

// FactFreshness gives how fast a fact in words goes stale: what is about prices or stock
// is fast, as [ShopFacts] has it, and all else slow.
func FactFreshness(text string) Freshness {
	low := simplified.Replace(asciiLower(cutBytes(text, MaxHeardBytes)))
	for _, s := range Subjects() {
		if (s.Domain == "pricing" || s.Domain == "stock") && s.namedIn(low) {
			return Fast
		}
	}
	return Slow
}

// Bounds of the facts of one result.
const (
	MaxFacts       = 200     // ten products with all that is known of each, twice over
	maxResultBytes = 4 << 20 // the most that a tool gives
	maxFactDepth   = 16      // objects in objects; beyond it nothing is read
	maxFactWords   = 100     // of a list
)

// FactTrust is how far a fact is believed that a tool returned.
const FactTrust = 0.9

// A Result is what a tool returned, with where and when.
type Result struct {
	Tenant  host.TenantID
	User    host.UserID
	Session host.SessionID
	Live    host.LiveID
	Call    host.CallID
	Tool    string
	Data    json.RawMessage
	At      time.Time
}

// Facts gives a fact for each declared scalar, and each declared list of words, of a
// result, in the order in which they stand, MaxFacts at most. A fact is about the
// sku (or product, or coupon) of the nearest object around it. What is not JSON is
// BadArguments. Nodes have no ID yet; numbers and words are also a claim.
func Facts(fields []FactField, r Result) ([]Node, error) {
	if len(r.Data) > maxResultBytes {
		return nil, factFailure("it has %d bytes, more than %d", len(r.Data), maxResultBytes)
	}
	d := json.NewDecoder(bytes.NewReader(r.Data))
	d.UseNumber()
	w := factWalk{fields: fields, result: r}
	value, err := readOrdered(d, 0)
	if err != nil {
		return nil, factFailure("%v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, factFailure("something follows the JSON")
	}
	w.walk(value, "")
	return w.nodes, nil
}

func factFailure(format string, args ...any) error {
	return host.Fail("memory.Facts", abi.NewProblem(abi.BadArguments, "the result of a tool cannot be read for facts").
		WithHint("facts are read from JSON of at most %d MiB", maxResultBytes>>20), fmt.Errorf(format, args...))
}

// A member is one of an object, in the order of the text: a map would lose it.
type member struct {
	name  string
	value any
}

// readOrdered reads objects as []member, lists as []any, and scalars as they are.
func readOrdered(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	delim, isDelim := token.(json.Delim)
	if err != nil || !isDelim {
		return token, err
	}
	if depth > maxFactDepth {
		return nil, fmt.Errorf("it is deeper than %d", maxFactDepth)
	}
	var members []member
	var list []any
	for d.More() {
		name := ""
		if delim == '{' {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			name, _ = key.(string)
		}
		value, err := readOrdered(d, depth+1)
		if err != nil {
			return nil, err
		}
		members, list = append(members, member{name, value}), append(list, value)
	}
	_, err = d.Token() // the end
	if delim == '{' {
		return members, err
	}
	return list, err
}

type factWalk struct {
	fields []FactField
	result Result
	nodes  []Node
}

// walk visits a value about an entity.
func (w *factWalk) walk(value any, entity string) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			w.walk(item, entity)
		}
	case []member:
		entity = entityOf(value, entity)
		for _, m := range value {
			if f, topic, ok := w.field(m.name); ok {
				w.add(f, topic, entity, m.value)
			}
			w.walk(m.value, entity)
		}
	}
}

// entityOf gives what an object is about, by its own member or the one around it.
func entityOf(members []member, around string) string {
	for _, name := range [...]string{"sku", "product", "product_id", "coupon", "coupon_id", "id"} {
		for _, m := range members {
			if !strings.EqualFold(m.name, name) {
				continue
			}
			if text := scalarText(m.value); text != "" && len(text) <= MaxEntityBytes {
				return text
			}
		}
	}
	return around
}

func scalarText(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case json.Number:
		return value.String()
	}
	return ""
}

// field finds the field that a member is, and its topic: that of figures ends in
// their number of days.
func (w *factWalk) field(name string) (FactField, string, bool) {
	low := foldWord(name)
	for _, f := range w.fields {
		if slices.Contains(f.Names, low) {
			return f, f.Topic, true
		}
		if at := strings.LastIndexByte(low, '_'); f.Days && at > 0 && slices.Contains(f.Names, low[:at]) {
			days, ok := strings.CutSuffix(low[at+1:], "d")
			if n, err := strconv.Atoi(days); ok && err == nil && n > 0 && n <= 3650 {
				return f, fmt.Sprintf("%s.%dd", f.Topic, n), true
			}
		}
	}
	return FactField{}, "", false
}

func (w *factWalk) add(f FactField, topic, entity string, value any) {
	claim, text, ok := claimOf(topic, f.Unit, value)
	if !ok || len(w.nodes) == MaxFacts || len(topic) > MaxTopicBytes {
		return
	}
	about := topic
	if entity != "" {
		about = entity + " " + topic
	}
	r := w.result
	w.nodes = append(w.nodes, Node{Tenant: r.Tenant, User: r.User, Text: cutText(about+": "+text, MaxTextBytes-4), Layer: Fact, Kind: FactOf,
		Entity: entity, Claim: claim, Source: Source{Session: r.Session, Live: r.Live, Call: r.Call}, At: r.At, Valid: Span{From: r.At},
		Known: Span{From: r.At}, Freshness: f.Freshness, Trust: FactTrust, Status: Active})
}

// claimOf reads a scalar, or a list of words.
func claimOf(topic, unit string, value any) (*Claim, string, bool) {
	switch value := value.(type) {
	case json.Number:
		n, err := value.Float64()
		if err != nil {
			return nil, "", false
		}
		c := Between(topic, n, n, unit)
		return &c, strings.TrimSpace(value.String() + " " + unit), true
	case string:
		return wordClaim(topic, []string{value})
	case bool:
		return wordClaim(topic, []string{strconv.FormatBool(value)})
	case []any:
		var words []string
		for _, item := range value[:min(len(value), maxFactWords)] {
			if text, ok := item.(string); ok {
				words = append(words, text)
			}
		}
		return wordClaim(topic, words)
	}
	return nil, "", false
}

func wordClaim(topic string, words []string) (*Claim, string, bool) {
	c := Claim{Topic: topic}
	for _, w := range words {
		if w = foldWord(oneLine(w)); w != "" && len(w) <= MaxTopicBytes {
			c.Words = append(c.Words, w)
		}
	}
	text := oneLine(strings.Join(words, ", "))
	if len(c.Words) == 0 { // a text too long to be compared
		return nil, text, text != ""
	}
	return &c, text, true
}
