package precheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host/sandbox"
)

// describedRules need a module that can be called.
func describedRules() []Rule {
	return []Rule{{
		ID: "version", Severity: Failure, Title: "The module speaks the contract's version",
		Reason: "A host refuses to guess what another version means.",
		Mend:   "Build it with an SDK of that version.",
		check:  (*examination).speaks,
	}, {
		ID: "describe", Severity: Failure, Title: "The module tells one manifest, always the same",
		Reason: "The manifest that was reviewed must be the one that the code means.",
		Mend:   "Make sluice_describe a constant: no clock, no chance, no host functions, no map in its own order.",
		check:  (*examination).describes,
	}, {
		ID: "manifest", Severity: Failure, Title: "The manifest is valid",
		Reason: "A host loads no other: its form, its schemas, its expressions and its examples are held against each other.",
		Mend:   "Mend the line that is named.",
		check:  (*examination).isDeclared,
	}}
}

func (x *examination) speaks(ctx context.Context) {
	if !x.module.Has(abi.ExportABI) {
		return // the rule exports has said so
	}
	answer := x.module.Call(ctx, sandbox.Request{Export: abi.ExportABI})
	switch {
	case answer.Problem != nil:
		x.findf("%s does not answer: %s", abi.ExportABI, answer.Problem.Message)
	case answer.Exit != abi.Version:
		x.findf("it speaks version %d of the contract; this host speaks %d", answer.Exit, abi.Version)
	}
}

// describes asks twice, with another seed and at another time: a description
// that is a constant does not notice.
func (x *examination) describes(ctx context.Context) {
	if !x.module.Has(abi.ExportDescribe) {
		return
	}
	first := x.module.Call(ctx, sandbox.Request{Export: abi.ExportDescribe})
	if first.Problem != nil {
		x.findf("%s fails: %s", abi.ExportDescribe, first.Problem.Message)
		return
	}
	second := x.module.Call(ctx, x.otherwise(sandbox.Request{Export: abi.ExportDescribe}))
	if second.Problem != nil || !bytes.Equal(first.Output, second.Output) {
		x.findf("%s says something else when it is asked again", abi.ExportDescribe)
		return
	}
	x.told = first.Output
}

// otherwise gives the request with another clock and other random bytes.
func (x *examination) otherwise(r sandbox.Request) sandbox.Request {
	r.Now = x.Now().AddDate(1, 1, 1)
	r.Seed = [32]byte{1}
	return r
}

// isDeclared takes the manifest beside the module, or what the module tells.
func (x *examination) isDeclared(context.Context) {
	if x.Invalid != nil {
		x.issues(x.Invalid)
	}
	if x.told == nil {
		return
	}
	var m abi.Manifest
	d := json.NewDecoder(bytes.NewReader(x.told))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		x.findf("%s gave something that is no manifest: %v", abi.ExportDescribe, err)
		return
	}
	m.Module = "skill.wasm"
	described, err := manifest.Compile(m)
	var issues manifest.Errors
	switch {
	case err == nil:
		x.described = described
	case x.ManifestFile != "": // its own findings name lines
	case errors.As(err, &issues):
		x.issues(issues)
	default:
		x.findf("%v", err)
	}
	if x.skill == nil && x.ManifestFile == "" {
		x.skill = x.described
	}
}

// issues tells what is wrong with a manifest. It names files from its own folder.
func (x *examination) issues(list manifest.Errors) {
	for _, i := range list {
		file := x.ManifestFile
		if file != "" && i.File != "" {
			file = filepath.Join(filepath.Dir(file), filepath.FromSlash(i.File))
		}
		x.find(Finding{File: file, Line: i.Line, Field: i.Field, Message: i.Message, Mend: i.Hint})
	}
}
