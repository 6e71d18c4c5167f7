package precheck

import (
	"context"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/rewrite"
)

// Ceilings of a module's shape: many times what the largest skill that we know
// has (2,571 functions, 28 locals, 549 nested blocks), and far below what makes a
// compiler slow.
const (
	mostFunctions = 50_000
	mostLocals    = 5_000
	mostNesting   = 5_000
	mostLabels    = 50_000  // of one br_table
	mostEntries   = 100_000 // of all tables, at the start
)

// mostDescribing is the fuel for a module to say what it is, ten times the
// default of a call: enough for any manifest that fits.
const mostDescribing = 500_000_000

// bytesRules need nothing but the bytes.
func bytesRules() []Rule {
	return []Rule{{
		ID: "wasm", Severity: Failure, Title: "The module is core WebAssembly that the host runs",
		Reason: "What the host cannot read, it cannot meter.",
		Mend:   "Build it for WebAssembly 2.0 without threads, 64-bit memory, tail calls, exceptions and garbage collection.",
		check:  (*examination).isWasm,
	}, {
		ID: "size", Severity: Failure, Title: "The module is no larger than a host takes",
		Reason: "Every replica fetches, compiles and keeps it.",
		Mend:   "Leave out what the skill does not need, such as debugging sections and large tables of data.",
		check:  (*examination).isSmall,
	}, {
		ID: "secrets", Severity: Failure, Title: "No key or token stands in the module",
		Reason: "A module is read by everybody who can read the registry.",
		Mend:   "Take it out, revoke it, and have the host add it: capabilities.http.auth.",
		check:  (*examination).hasNoSecrets,
	}}
}

// binaryRules need a module that can be read.
func binaryRules() []Rule {
	return []Rule{{
		ID: "shape", Severity: Failure, Title: "The module is of a size and a shape that compile quickly",
		Reason: "A module that is made to be slow to compile stops the replica that loads it.",
		Mend:   "Split what is large; a generator that writes one huge function or table can write several.",
		check:  (*examination).isOfUsualShape,
	}, {
		ID: "exports", Severity: Failure, Title: "The module exports the functions of the contract",
		Reason: "They are how the host calls a skill.",
		Mend:   "Build it with the SDK, or export the function from your PDK: () -> i32.",
		check:  (*examination).exportsTheContract,
	}, {
		ID: "loads", Severity: Failure, Title: "A host's sandbox loads the module",
		Reason: "It is validated, metered, compiled and started here as a host does it; what fails here fails there.",
		Mend:   "See what the message names.",
		check:  (*examination).loads,
	}}
}

// isWasm reads no file that is larger than any module: its end is missing.
func (x *examination) isWasm(context.Context) {
	if abi.Size(len(x.Module)) > abi.ModuleBytesCeiling {
		x.say(Message{Kind: Skipped, Rule: x.rule.ID, Text: "needs a file that is no larger than a module"})
		return
	}
	info, err := rewrite.Inspect(x.Module)
	if err != nil {
		message, mend := because(err)
		x.find(Finding{Message: message, Mend: mend})
		return
	}
	x.info = info
}

func (x *examination) isSmall(context.Context) {
	size := abi.Size(len(x.Module))
	x.figure("module", "%.1f MiB", float64(size)/float64(abi.MiB))
	switch {
	case size > abi.ModuleBytesCeiling:
		x.findf("it has %v, and no setting lets a host take more than %v", size, abi.ModuleBytesCeiling)
	case size > abi.ModuleBytesDefault:
		x.find(Finding{Severity: Warning, Message: "it is larger than a host takes without a setting for it: " + abi.ModuleBytesDefault.String()})
	}
}

func (x *examination) isOfUsualShape(context.Context) {
	entries := uint64(0)
	for _, t := range x.info.Tables {
		entries += t.Least
	}
	for _, part := range []struct {
		what      string
		has, most uint64
	}{
		{"functions", uint64(x.info.Functions), mostFunctions},
		{"locals in one function", uint64(x.info.MostLocals), mostLocals},
		{"blocks in blocks", uint64(x.info.DeepestNesting), mostNesting},
		{"labels in one br_table", uint64(x.info.LargestTable), mostLabels},
		{"entries of tables", entries, mostEntries},
	} {
		if part.has > part.most {
			x.misshapen = true
			x.findf("%d %s are more than %d", part.has, part.what, part.most)
		}
	}
}

// contractType is that of every export that a host calls with an input.
const contractType = "() -> i32"

func (x *examination) exportsTheContract(context.Context) {
	types := map[string]string{}
	for _, e := range x.info.Exports {
		if e.Kind == "function" {
			types[e.Name] = e.Type
		}
	}
	for _, name := range []string{abi.ExportABI, abi.ExportDescribe, abi.ExportInvoke} {
		if types[name] == "" {
			x.findf("there is no function %s", name)
		}
	}
	for _, name := range []string{abi.ExportABI, abi.ExportDescribe, abi.ExportInvoke, abi.ExportCheck, abi.ExportReduce, abi.ExportHook} {
		if t := types[name]; t != "" && t != contractType {
			x.findf("%s is %s; it must be %s", name, t, contractType)
		}
	}
	for name := range types {
		if strings.HasPrefix(name, "sluice_") && !slices.Contains(contractExports, name) {
			x.find(Finding{Severity: Warning, Message: "the contract has no function " + name + "; nobody calls it",
				Mend: "is its name misspelt? There are " + strings.Join(contractExports, ", ")})
		}
	}
}

var contractExports = []string{abi.ExportABI, abi.ExportDescribe, abi.ExportInvoke, abi.ExportCheck, abi.ExportReduce, abi.ExportHook, abi.ExportWarm}

// loads runs what a host does with a release before its first call. The limits
// are the ceilings, so that only the manifest's own rules speak of limits. What is
// made to be slow to compile is not compiled here either.
func (x *examination) loads(ctx context.Context) {
	if x.misshapen {
		x.say(Message{Kind: Skipped, Rule: x.rule.ID, Text: "needs a module that compiles quickly"})
		return
	}
	limits := abi.CeilingLimits()
	limits.Fuel = mostDescribing
	module, err := x.Sandbox.Load(ctx, x.Module, limits)
	if err != nil {
		message, mend := because(err)
		x.find(Finding{Message: message, Mend: mend})
		return
	}
	x.module = module
	info := module.Info()
	if !info.Frozen {
		x.find(Finding{Severity: Warning, Message: "every call starts the module anew, which is slow: " + info.Refusal,
			Mend: "do in the start only what needs no call of the host and no limit, and leave tables as they are"})
		return
	}
	x.figure("start", "%d units of fuel, once; %v of memory", info.StartFuel, info.Memory)
}
