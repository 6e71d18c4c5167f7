package embed

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// Bounds of what an embedder takes and gives.
const (
	MaxDimensions = 8192    // twice the longest that vendors give; 32 KiB a vector
	MaxTexts      = 1 << 16 // of one Embed: their vectors are all in memory at once
)

// Settings are what Open needs beside a spec. The zero value is good for a spec that
// names no key.
type Settings struct {
	Client *http.Client                                     // of requests; one that honours no proxy of the environment if nil
	Getenv func(name string) string                         // gives the key that a spec names
	Now    func() time.Time                                 // time.Now if nil
	Sleep  func(ctx context.Context, d time.Duration) error // waits for d or the end of ctx; a timer if nil
}

// specHint shows the forms of a spec.
const specHint = "write none, model2vec:FOLDER, or openai:URL?dimensions=N&key=VARIABLE#MODEL such as " +
	"openai:https://api.openai.com/v1?dimensions=1536&key=OPENAI_API_KEY#text-embedding-3-small"

// Open makes the embedder that a spec describes:
//
//	none
//	model2vec:/var/lib/sluice/potion-base-8M
//	openai:https://api.openai.com/v1?dimensions=512&shorten=true&key=OPENAI_API_KEY#text-embedding-3-small
//
// Options of openai are dimensions (required), key (the environment variable that
// holds it), shorten (true asks the endpoint for that many dimensions) and batch (texts
// of one request). Errors are of host.Fail and have a hint.
func Open(spec string, s Settings) (memory.Embedder, error) {
	form, rest, _ := strings.Cut(spec, ":")
	switch {
	case spec == "none":
		return None{}, nil
	case form == "model2vec" && rest != "":
		return opened(OpenFolder(rest))
	case form == "openai" && rest != "":
		config, problem := parseOpenAI(rest, s)
		if problem != nil {
			return nil, host.Fail("embed.Open", problem, nil)
		}
		return opened(NewOpenAI(config))
	}
	return nil, host.Fail("embed.Open", badSpec("%q is no kind of embedder", short(form)), nil)
}

// opened gives an embedder, or nil with the error: a nil pointer would be none.
func opened[E memory.Embedder](e E, err error) (memory.Embedder, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}

// badSpec makes a problem that shows how a spec is written.
func badSpec(format string, args ...any) *abi.Problem {
	return abi.NewProblem(abi.BadValue, format, args...).WithHint(specHint).WithField("embedder")
}

// parseOpenAI reads the part of a spec behind "openai:".
func parseOpenAI(text string, s Settings) (OpenAIConfig, *abi.Problem) {
	u, err := url.Parse(text)
	if err != nil {
		return OpenAIConfig{}, badSpec("the address of the embedder cannot be read") // err quotes it, with what may be a secret
	}
	c := OpenAIConfig{Model: u.Fragment, Client: s.Client, Now: s.Now, Sleep: s.Sleep}
	options, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return c, badSpec("the options of the embedder cannot be read")
	}
	for name, values := range options {
		if len(values) != 1 {
			return c, badSpec("the option %q of the embedder stands there twice", short(name))
		}
		if problem := c.option(name, values[0], s); problem != nil {
			return c, problem
		}
	}
	u.RawQuery, u.Fragment, u.RawFragment = "", "", ""
	c.BaseURL = u.String()
	return c, nil
}

// option sets one option of a spec.
func (c *OpenAIConfig) option(name, value string, s Settings) *abi.Problem {
	var err error
	switch name {
	case "dimensions":
		c.Dimensions, err = strconv.Atoi(value)
	case "batch":
		c.Batch, err = strconv.Atoi(value)
	case "shorten":
		c.Shorten, err = strconv.ParseBool(value)
	case "key":
		return c.keyFrom(value, s.Getenv)
	default:
		return badSpec("%q is no option of an embedder", short(name)).WithCandidates("dimensions", "key", "shorten", "batch")
	}
	if err != nil {
		return badSpec("the option %s of the embedder cannot be %q", name, short(value))
	}
	return nil
}

// keyFrom reads the key from the environment. Who writes the key itself in the place
// of the variable's name is not quoted.
func (c *OpenAIConfig) keyFrom(variable string, getenv func(string) string) *abi.Problem {
	if !isVariable(variable) {
		return badSpec("the option key of the embedder is no name of an environment variable").
			WithHint("put the key into a variable such as OPENAI_API_KEY, and write key=OPENAI_API_KEY; never the key itself")
	}
	if getenv != nil {
		c.Key = getenv(variable)
	}
	if c.Key == "" {
		return badSpec("the environment variable that the embedder's option key names is not set"). // and not quoted: it may be a key of capitals
														WithHint("set it, or leave out key= where the endpoint needs none")
	}
	return nil
}

// isVariable reports whether a text is a name as environments have them: capitals,
// digits and underscores. Keys of vendors have small letters or hyphens.
func isVariable(name string) bool {
	if name == "" || len(name) > 64 || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// short quotes no more of a setting than shows which it is.
func short(text string) string {
	const most = 40
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// None is the embedder of who has no model. Every vector is nil.
type None struct{}

var _ memory.Embedder = None{}

// Name is "none".
func (None) Name() string { return "none" }

// Dimensions is 0.
func (None) Dimensions() int { return 0 }

// Embed gives a nil vector for each text.
func (None) Embed(_ context.Context, texts []string) ([][]float32, error) {
	return make([][]float32, len(texts)), nil
}

// normalise divides a vector by its length. It fails on what has none: zeros, and
// values that are not finite.
func normalise(v []float32) error {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return fmt.Errorf("a vector of the length %v", math.Sqrt(sum))
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
	return nil
}

// checkTexts refuses more than an Embed takes.
func checkTexts(op string, texts []string) error {
	if len(texts) > MaxTexts {
		return host.Fail(op, abi.NewProblem(abi.InputLimit, "%d texts at once are more than the embedder takes (%d)", len(texts), MaxTexts).
			WithHint("give them in parts"), nil)
	}
	for i, text := range texts {
		if len(text) > memory.MaxTextBytes {
			return host.Fail(op, abi.NewProblem(abi.InputLimit, "text %d has %d bytes; a memory has %d at most", i+1, len(text), memory.MaxTextBytes).
				WithHint("cut it into several memories"), nil)
		}
	}
	return nil
}
