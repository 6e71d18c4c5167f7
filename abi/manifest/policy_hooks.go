package manifest

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/sluicehq/sluice/abi"
)

// MaxHookDeadline bounds what a policy module may take for one question: a call,
// or an answer, waits for it.
const MaxHookDeadline = 10 * time.Second

// A PolicyHook is a policy module that an operator names: a release whose
// sluice_hook is asked about calls and answers.
type PolicyHook struct {
	Skill, Version string
	SHA256         string          // of the module, hex; empty takes what is published
	Tenants        []string        // whose sessions it judges; nil for all
	Points         []abi.HookPoint // nil for those that the module declares
	Observer       bool            // decides nothing
	Deadline       time.Duration   // for one question; 0 for the host's default
}

// String gives name@version, as the audit log names a release.
func (h PolicyHook) String() string { return h.Skill + "@" + h.Version }

// Hooks lists the policy modules in the order in which they are asked. The
// caller must not change the slice.
func (p *Policy) Hooks() []PolicyHook {
	if p == nil {
		return nil
	}
	return p.hooks
}

// Opened lists the ranges of addresses that the operator opens for skills:
// egress.allow. Whether a range may be opened at all is for host/egress to say.
// The caller must not change the slice.
func (p *Policy) Opened() []netip.Prefix {
	if p == nil {
		return nil
	}
	return p.opened
}

// policyHooks reads the policy modules into p, which is nil where the file
// cannot be read.
func (l *loader) policyHooks(p *Policy) {
	var declared struct {
		Hooks []struct {
			Skill, SHA256 string
			Tenants       []string
			Points        []abi.HookPoint
			Observer      bool
			Deadline      *abi.Duration
		}
	}
	if p == nil {
		return // policy has said so
	}
	if err := json.Unmarshal(l.root.appendJSON(nil), &declared); err != nil {
		l.fail(l.at("hooks"), "", "cannot be read: %v", err)
		return
	}
	for i, d := range declared.Hooks {
		name, version, _ := strings.Cut(d.Skill, "@")
		h := PolicyHook{Skill: name, Version: version, SHA256: d.SHA256, Tenants: d.Tenants, Points: d.Points, Observer: d.Observer}
		if v := "v" + version; semver.Canonical(v)+semver.Build(v) != v {
			l.fail(l.at("hooks", i, "skill"), "write the exact version, such as acme.rules@1.2.0", "%q is not a semantic version", version)
		}
		if slices.ContainsFunc(p.hooks, func(other PolicyHook) bool { return other.String() == h.String() }) {
			l.fail(l.at("hooks", i, "skill"), "name all its tenants and points on one line", "%s stands twice", h)
		}
		if d.Deadline != nil {
			h.Deadline = time.Duration(*d.Deadline)
			if h.Deadline <= 0 || h.Deadline > MaxHookDeadline {
				l.fail(l.at("hooks", i, "deadline"), "a call waits for it", "%s is not more than 0 and at most %s", h.Deadline, MaxHookDeadline)
			}
		}
		p.hooks = append(p.hooks, h)
	}
}

// policyEgress reads the opened ranges into p, as policyHooks does.
func (l *loader) policyEgress(p *Policy) {
	var declared struct{ Egress struct{ Allow []string } }
	if p == nil {
		return
	}
	if err := json.Unmarshal(l.root.appendJSON(nil), &declared); err != nil {
		l.fail(l.at("egress"), "", "cannot be read: %v", err)
		return
	}
	for i, text := range declared.Egress.Allow {
		prefix, err := netip.ParsePrefix(text)
		if err != nil || prefix != prefix.Masked() {
			l.fail(l.at("egress", "allow", i), "write one such as 10.1.0.0/16 or 10.1.2.3/32", "%.60q is not a range of addresses", text)
			continue
		}
		p.opened = append(p.opened, prefix)
	}
}
