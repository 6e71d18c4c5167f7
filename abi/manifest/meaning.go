package manifest

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/semver"

	"github.com/sluicehq/sluice/abi"
)

// maxGuideBytes bounds the guide: it is read into a model's window.
const maxGuideBytes = 64 * abi.KiB

// meaning checks what the form cannot say about the skill as a whole.
func (l *loader) meaning() {
	l.identity()
	l.files()
	l.limits()
	l.capabilities()
	l.hooks()
	names := map[string]int{}
	for i, t := range l.m.Tools {
		if first, twice := names[t.Name]; twice && t.Name != "" {
			l.fail(l.at("tools", i, "name"), "", "%s is the name of tools[%d] too", t.Name, first)
			continue
		}
		names[t.Name] = i
		if l.tools[i] != nil {
			l.effect(i, t)
			l.undo(i, t)
		}
	}
}

func (l *loader) identity() {
	if strings.HasSuffix(l.m.Name, ".lock") {
		l.fail(l.at("name"), "choose another last word", "a name cannot end with .lock: git takes no tag of that name")
	}
	if v := "v" + l.m.Version; l.m.Version != "" && semver.Canonical(v)+semver.Build(v) != v {
		l.fail(l.at("version"), "write three numbers, such as 1.4.0 or 2.0.0-rc.1", "%q is not a semantic version", l.m.Version)
	}
}

// files checks the names of the files beside the manifest, and that the guide
// is there. The module is the registry's business, which checks its digest.
func (l *loader) files() {
	if l.m.Module != "" {
		if err := fileName(l.m.Module); err != nil {
			l.fail(l.at("module"), "", "%v", err)
		}
	}
	if l.m.Guide == "" {
		return
	}
	err := fileName(l.m.Guide)
	if err == nil && l.fsys != nil {
		var raw []byte
		raw, err = readFile(l.fsys, l.m.Guide)
		switch {
		case err != nil:
		case len(raw) > int(maxGuideBytes):
			err = fmt.Errorf("%s is larger than %v, too long for a model", l.m.Guide, maxGuideBytes)
		case !utf8.Valid(raw):
			err = fmt.Errorf("%s is not UTF-8 text", l.m.Guide)
		}
		l.guide = withoutFrontMatter(string(raw))
	}
	if err != nil {
		l.fail(l.at("guide"), "", "%v", err)
	}
}

// withoutFrontMatter drops the block between --- lines with which a guide in
// the Agent Skills form begins: name and description, which the manifest has.
func withoutFrontMatter(guide string) string {
	guide = strings.TrimPrefix(strings.ReplaceAll(guide, "\r\n", "\n"), "\ufeff")
	rest, opened := strings.CutPrefix(guide, "---\n")
	if !opened {
		return guide
	}
	if body, opened := strings.CutPrefix(rest, "---\n"); opened {
		return body
	}
	if _, body, closed := strings.Cut(rest, "\n---\n"); closed {
		return body
	}
	return guide
}

func (l *loader) limits() {
	for _, over := range l.m.Limits.Exceeds(abi.CeilingLimits()) {
		field, what, _ := strings.Cut(over, ": ")
		l.fail(l.at("limits", field), "the host's ceiling wins; split the work into several calls", "%s", what)
	}
	if m := l.m.Limits.Memory; m%abi.PageBytes != 0 {
		up := (m/abi.PageBytes + 1) * abi.PageBytes
		l.fail(l.at("limits", "memory"), fmt.Sprintf("write %v", up), "memory comes in pages of %v, and %v is not a whole number of them", abi.PageBytes, m)
	}
	for _, f := range []struct {
		name string
		zero bool
	}{
		{"memory", l.m.Limits.Memory == 0}, {"deadline", l.m.Limits.Deadline == 0},
		{"input", l.m.Limits.Input == 0}, {"output", l.m.Limits.Output == 0}, {"logs", l.m.Limits.Logs == 0},
	} {
		if at := l.at("limits", f.name); f.zero && at.node != nil {
			l.fail(at, "leave it out for the default", "a limit of zero allows nothing")
		}
	}
}

func (l *loader) capabilities() {
	if state := l.m.Capabilities.State; l.m.Reducer && (state == nil || len(state.Writes) == 0) {
		l.fail(l.at("reducer"), "declare what it changes under capabilities.state.writes", "there is no state that the reducer may change")
	}
	for i, rule := range l.m.Capabilities.HTTP {
		if err := checkHost(rule.Host); err != nil {
			l.fail(l.at("capabilities", "http", i, "host"), "write shop.example.com, *.example.com or https://shop.example.com:8443", "%v", err)
		}
		for j, p := range rule.Paths {
			if err := checkPath(p); err != nil {
				l.fail(l.at("capabilities", "http", i, "paths", j), "write /api/prices/*", "%v", err)
			}
		}
		if rule.Auth != nil && ofConnection(rule.Auth.Header) {
			l.fail(l.at("capabilities", "http", i, "auth", "header"), "", "the header %s belongs to the connection", rule.Auth.Header)
		}
	}
}

// effect refuses on a read what only a write has.
func (l *loader) effect(i int, t abi.Tool) {
	if t.Effect == abi.Write {
		if t.Risk == abi.Auto {
			l.fail(l.at("tools", i, "risk"), "leave it out, or write soft-gate", "a write is never auto: the user is told of it")
		}
		return
	}
	for _, only := range []struct {
		field string
		set   bool
	}{
		{"breadth", t.Breadth != ""}, {"targets", t.Targets != ""}, {"undo", t.Undo != ""}, {"idempotent", t.Idempotent},
		{"artifacts", len(t.Artifacts) > 0},
	} {
		if only.set {
			l.fail(l.at("tools", i, only.field), "leave it out, or write effect: write", "says something about a write, and %s is a read", t.Name)
		}
	}
}

func (l *loader) undo(i int, t abi.Tool) {
	if t.Undo == "" {
		return
	}
	at := l.at("tools", i, "undo")
	switch other, ok := l.declared(t.Undo); {
	case !ok:
		l.fail(at, l.nearTools(t.Undo), "the skill has no tool %s", t.Undo)
	case t.Undo == t.Name:
		l.fail(at, "", "a tool cannot undo itself")
	case other.Effect != abi.Write:
		l.fail(at, "", "%s is a read and undoes nothing", t.Undo)
	}
}

// declared finds a tool of the manifest by name.
func (l *loader) declared(name string) (abi.Tool, bool) {
	i := slices.IndexFunc(l.m.Tools, func(t abi.Tool) bool { return t.Name == name })
	if i < 0 {
		return abi.Tool{}, false
	}
	return l.m.Tools[i], true
}

func (l *loader) nearTools(name string) string {
	names := make([]string, len(l.m.Tools))
	for i, t := range l.m.Tools {
		names[i] = t.Name
	}
	return guess(name, slices.Compact(names))
}
