package precheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/sluicehq/sluice/host/sandbox"
)

// A Subject is what is judged: the bytes of a module, and the manifest beside
// it, if there is one.
type Subject struct {
	Name         string // as it was asked for, such as a folder
	Module       []byte
	ManifestFile string // the path of skill.yaml, for findings; empty if there is none
	Source       bool   // the module was built from the folder's source

	// Rebuild builds the source again, for the rule that compares; nil compares nothing.
	Rebuild Rebuild

	// Manifest is what skill.yaml says, and Invalid what is wrong with it, where it
	// is not valid. Both are nil without a skill.yaml.
	Manifest *manifest.Skill
	Invalid  manifest.Errors
}

// A Config is what subjects are judged with. It is not changed.
type Config struct {
	Sandbox *sandbox.Sandbox
	Others  []*manifest.Skill // what else is in the registry, for names that are too near
	Waivers []Waiver

	// Last gives the last release of a skill, nil if there is none. A nil Last
	// compares with nothing.
	Last func(ctx context.Context, skill string) (*Previous, error)

	// Through is the id of the last rule that is run; empty runs all. Of waivers
	// nothing is said then.
	Through string

	// PeerCache is the folder for code of the reference host, which only the user may
	// write; empty keeps none, and compiles anew.
	PeerCache string

	Now func() time.Time // says which waivers are in date
}

// An examination is the check of one subject. Its rules run one after the other.
type examination struct {
	Config
	Subject
	info      *rewrite.Info
	module    *sandbox.Module // with the ceilings as its limits
	limited   *sandbox.Module // with its own
	misshapen bool            // it is not compiled
	described *manifest.Skill // as the module tells it
	told      []byte          // the same, in its own bytes
	skill     *manifest.Skill // the manifest that the rules look at
	trial     *trial          // opened for the rules that run tools
	runs      []run           // of the examples
	previous  *Previous       // the release to compare with

	rule    Rule // that is looked at
	tell    func(Message)
	waived  map[int]bool // waivers that something needed, by their place
	verdict Verdict
}

// Check judges one subject by every rule and tells what it finds, in the order
// of the rules. It fails only if the context ends: whatever else goes wrong is
// a finding.
func Check(ctx context.Context, cfg Config, subject Subject, tell func(Message)) (Verdict, error) {
	x := &examination{Config: cfg, Subject: subject, tell: tell, skill: subject.Manifest, waived: map[int]bool{}}
	defer x.close(ctx)
	x.say(Message{Kind: Begin})
	if err := x.look(ctx); err != nil {
		return x.verdict, err
	}
	if cfg.Through == "" {
		x.lookAtWaivers()
	}
	verdict := x.verdict
	x.say(Message{Kind: End, Verdict: &verdict})
	return verdict, nil
}

// look runs the rules in their order.
func (x *examination) look(ctx context.Context) error {
	for _, s := range stages() {
		if s.open != nil {
			s.open(ctx, x)
		}
		for _, rule := range s.rules {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			x.rule = rule
			if s.missing(x) {
				if s.needs != "" {
					x.say(Message{Kind: Skipped, Rule: rule.ID, Text: "needs " + s.needs})
				}
			} else {
				rule.check(x, ctx)
			}
			if rule.ID == x.Through {
				return nil
			}
		}
	}
	return nil
}

func (x *examination) close(ctx context.Context) {
	for _, m := range []*sandbox.Module{x.module, x.limited} {
		if m != nil {
			m.Close(context.WithoutCancel(ctx))
		}
	}
	if x.trial != nil {
		_ = x.trial.close(ctx) // a folder that is left over harms nothing
	}
}

func (x *examination) say(m Message) {
	m.Subject = x.Name
	if x.skill != nil {
		m.Release = x.skill.Name + "@" + x.skill.Version
	}
	x.verdict.count(m)
	x.tell(m)
}

// find tells a finding of the rule that is looked at. What it leaves empty is
// the rule's.
func (x *examination) find(f Finding) {
	if f.Severity == "" {
		f.Severity = x.rule.Severity
	}
	if f.Mend == "" {
		f.Mend = x.rule.Mend
	}
	f.Waived = x.waiver(x.rule.ID, f.Tool)
	x.say(Message{Kind: Found, Rule: x.rule.ID, Finding: &f})
}

// findf is find for a finding about the module as a whole.
func (x *examination) findf(format string, args ...any) {
	x.find(Finding{Message: fmt.Sprintf(format, args...)})
}

// inTool is find for a finding about one tool's declaration.
func (x *examination) inTool(tool, field, format string, args ...any) {
	x.find(Finding{File: x.ManifestFile, Tool: tool, Field: field, Message: fmt.Sprintf(format, args...)})
}

// figure tells something that was measured.
func (x *examination) figure(of, format string, args ...any) {
	x.say(Message{Kind: Figure, Rule: x.rule.ID, Text: of, Value: fmt.Sprintf(format, args...)})
}

// because gives what a person can read of an error, with its hint.
func because(err error) (message, mend string) {
	var p *abi.Problem
	if !errors.As(err, &p) {
		p = host.ProblemOf(err)
	}
	return p.Message, p.Hint
}
