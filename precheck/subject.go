package precheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/toolchain"
)

// Files of a skill's folder.
const (
	manifestFile = toolchain.ManifestFile
	moduleFile   = toolchain.ModuleFile
	ConfigFile   = "precheck.yaml" // waivers; beside skill.yaml, or named
)

// maxConfigBytes bounds a file of waivers, and maxWaivers their number: what is
// waived more often than that is not checked.
const (
	maxConfigBytes = 64 << 10
	maxWaivers     = 100
)

// Open reads a subject: a folder of source, which is built, a folder with
// skill.yaml and the module that it names, or a module alone. The error says why
// nothing can be judged, such as that the source does not compile; a manifest that
// is not valid is a finding, not an error.
func Open(ctx context.Context, sb *sandbox.Sandbox, name string) (Subject, error) {
	info, err := os.Stat(name)
	if err != nil {
		return Subject{}, err
	}
	if !info.IsDir() {
		module, err := readModule(name)
		return Subject{Name: name, Module: module}, err
	}
	source, err := toolchain.HasSource(name)
	if err != nil {
		return Subject{}, err
	}
	s, file, err := besideModule(name)
	if err != nil {
		return Subject{}, err
	}
	if source {
		s.Source = true
		s.Module, err = build(ctx, sb, name)
		return s, err
	}
	s.Module, err = readModule(filepath.Join(name, file))
	if errors.Is(err, fs.ErrNotExist) {
		return Subject{}, fmt.Errorf("%s has no %s: run `sluice skill build %s` first", name, file, name)
	}
	return s, err
}

// besideModule reads the skill.yaml of a folder, if there is one, and gives the
// module's file, as it is named there.
func besideModule(dir string) (s Subject, module string, err error) {
	s = Subject{Name: dir, ManifestFile: filepath.Join(dir, manifestFile)}
	if _, err := os.Stat(s.ManifestFile); errors.Is(err, fs.ErrNotExist) {
		s.ManifestFile = ""
		return s, moduleFile, nil
	}
	s.Manifest, err = manifest.Load(os.DirFS(dir), manifestFile)
	if errors.As(err, &s.Invalid) {
		return s, moduleFile, nil
	}
	if err != nil {
		return Subject{}, "", err
	}
	return s, s.Manifest.Module, nil
}

// build makes the module of a folder of source in a folder of its own, and leaves
// the author's as it is. A module of Go is asked for its description on the way; what
// it says of itself is the rules' to judge.
func build(ctx context.Context, sb *sandbox.Sandbox, dir string) ([]byte, error) {
	out, err := os.MkdirTemp("", "sluice-precheck-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(out)
	module := filepath.Join(out, moduleFile)
	if err := toolchain.Compile(ctx, dir, module, toolchain.Builder{Sandbox: sb}.Ask); err != nil {
		return nil, err
	}
	return readModule(module)
}

// readModule reads no more than the largest module and a byte, so that the rule
// on sizes has something to say.
func readModule(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(abi.ModuleBytesCeiling)+1))
}

// ReadWaivers reads a repository's file of waivers:
//
//	waivers:
//	  - rule: way-back
//	    tool: send_gift
//	    reason: the carrier has no way to take a parcel back
//	    until: 2027-03-01
//
// A file that is not there waives nothing.
func ReadWaivers(name string) ([]Waiver, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err != nil {
		return nil, err
	}
	waivers, err := parseWaivers(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return waivers, nil
}

func parseWaivers(text []byte) ([]Waiver, error) {
	if len(text) > maxConfigBytes {
		return nil, fmt.Errorf("is larger than %d bytes", maxConfigBytes)
	}
	var file struct {
		Waivers []struct {
			Rule, Tool, Reason, Until string
		}
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(file.Waivers) > maxWaivers {
		return nil, fmt.Errorf("%d waivers are more than %d", len(file.Waivers), maxWaivers)
	}
	var waivers []Waiver
	for i, w := range file.Waivers {
		until, err := time.Parse(time.DateOnly, w.Until)
		_, known := RuleOf(w.Rule)
		switch {
		case !known:
			return nil, fmt.Errorf("waiver %d: there is no rule %q; see `precheck rules`", i+1, w.Rule)
		case strings.TrimSpace(w.Reason) == "":
			return nil, fmt.Errorf("waiver %d of %s has no reason", i+1, w.Rule)
		case err != nil:
			return nil, fmt.Errorf("waiver %d of %s has no date such as 2027-03-01 as until", i+1, w.Rule)
		}
		waivers = append(waivers, Waiver{w.Rule, w.Tool, w.Reason, until})
	}
	return waivers, nil
}
