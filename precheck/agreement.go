package precheck

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/release"
)

// agreementRules hold what the binary may do against what the manifest says.
func agreementRules() []Rule {
	return []Rule{{
		ID: "imports", Severity: Failure, Title: "The module imports what its capabilities grant, and nothing else",
		Reason: "An import is the only way out of the sandbox: what is not declared is not reviewed.",
		Mend:   "Declare the capability, or do not call the function.",
		check:  (*examination).importsWhatIsGranted,
	}, {
		ID: "unused-capability", Severity: Warning, Title: "Every capability is used",
		Reason: "A capability that nothing uses is one that the next release can use without anybody noticing.",
		Mend:   "Take it out of the manifest.",
		check:  (*examination).usesWhatIsGranted,
	}, {
		ID: "stale", Severity: Failure, Title: "skill.yaml says what the module says",
		Reason: "Reviewers read the file, and the code means what the module tells.",
		Mend:   "Run `sluice skill build` and commit the skill.yaml that it writes.",
		check:  (*examination).isUpToDate,
	}, {
		ID: "starts-in-memory", Severity: Failure, Title: "The module's memory fits the limit that it asks for",
		Reason: "A module that begins above its limit never runs.",
		Mend:   "Raise limits.memory, or make the module's initial memory smaller with a flag of the linker.",
		check:  (*examination).fitsItsMemory,
	}}
}

// userFunctions is the namespace of the contract's host functions.
const userFunctions = "extism:host/user"

func (x *examination) imported() []string {
	var names []string
	for _, im := range x.info.Imports {
		if im.Module == userFunctions && !slices.Contains(abi.BlockFuncs(), im.Name) {
			names = append(names, im.Name)
		}
	}
	return names
}

func (x *examination) importsWhatIsGranted(context.Context) {
	granted := release.Granted(x.skill.Capabilities)
	for _, name := range x.imported() {
		if !slices.Contains(granted, name) {
			x.findf("it imports %s, which no declared capability grants", name)
		}
	}
}

func (x *examination) usesWhatIsGranted(context.Context) {
	imported := x.imported()
	has := x.skill.Capabilities
	for _, one := range []struct { // every capability that has host functions, by itself
		name string
		abi.Capabilities
	}{
		{"http", abi.Capabilities{HTTP: has.HTTP}}, {"kv", abi.Capabilities{KV: has.KV}}, {"memory", abi.Capabilities{Memory: has.Memory}},
		{"blob", abi.Capabilities{Blob: has.Blob}}, {"files", abi.Capabilities{Files: has.Files}}, {"progress", abi.Capabilities{Progress: has.Progress}},
	} {
		if one.name == "http" && x.asksByExtism() {
			continue
		}
		grants := release.Granted(one.Capabilities)
		if len(grants) > 0 && !slices.ContainsFunc(grants, func(f string) bool { return slices.Contains(imported, f) }) {
			x.find(Finding{File: x.ManifestFile, Field: "capabilities." + one.name,
				Message: fmt.Sprintf("the capability %s is declared, and none of its functions is imported (%s)", one.name, sorted(grants))})
		}
	}
}

// isUpToDate: source without a skill.yaml has nothing that a reviewer could read.
func (x *examination) isUpToDate(context.Context) {
	if x.Source && x.ManifestFile == "" {
		x.find(Finding{File: filepath.Join(x.Name, manifestFile), Message: "there is no skill.yaml beside the source"})
	}
	if x.ManifestFile == "" || x.described == nil {
		return
	}
	if at := differs(x.skill.Manifest, x.described.Manifest); at != "" {
		x.find(Finding{File: x.ManifestFile, Field: at, Message: "skill.yaml and the module's own description say different things"})
	}
}

// differs names the first member in which two manifests differ; what publish
// writes does not count.
func differs(file, told abi.Manifest) string {
	file.Module, file.SHA256, file.Size = "", "", 0
	told.Module, told.SHA256, told.Size = "", "", 0
	var a, b map[string]json.RawMessage
	for _, side := range []struct {
		m    abi.Manifest
		into *map[string]json.RawMessage
	}{{file, &a}, {told, &b}} {
		text, err := json.Marshal(side.m)
		if err == nil {
			err = json.Unmarshal(text, side.into)
		}
		if err != nil {
			return "a member that cannot be written: " + err.Error()
		}
	}
	maps.Copy(b, missingFrom(b, a))
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if !sameJSON(a[name], b[name]) {
			return name
		}
	}
	return ""
}

// missingFrom gives the members of other that has does not have, as nothing.
func missingFrom(has, other map[string]json.RawMessage) map[string]json.RawMessage {
	missing := map[string]json.RawMessage{}
	for name := range other {
		if _, there := has[name]; !there {
			missing[name] = nil
		}
	}
	return missing
}

// sameJSON reports whether two texts mean the same value.
func sameJSON(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	x, err := host.Canonical(a)
	if err != nil {
		return false
	}
	y, err := host.Canonical(b)
	return err == nil && bytes.Equal(x, y)
}

func (x *examination) fitsItsMemory(context.Context) {
	if x.info.Memory == nil {
		return
	}
	has, most := abi.Size(x.info.Memory.Least)*abi.PageBytes, x.skill.Limits.Memory
	if most == 0 {
		most = abi.DefaultLimits().Memory
	}
	if has > most {
		x.find(Finding{File: x.ManifestFile, Field: "limits.memory", Message: fmt.Sprintf("the module begins with %v of memory and asks for at most %v", has, most)})
	}
}
