package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/sluicehq/sluice/abi"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// namedImports bounds the imports that one message names.
const namedImports = 40

// An offer is what the host has for import: signatures by namespace and name.
type offer map[string]map[string]signature

// newOffer asks the engine for what its WASI has and adds our own.
func newOffer(ctx context.Context) (offer, error) {
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer func() { _ = r.Close(ctx) }() // an interpreter has nothing to lose
	wasi, err := wasi_snapshot_preview1.NewBuilder(r).Compile(ctx)
	if err != nil {
		return nil, err
	}
	o := offer{wasi_snapshot_preview1.ModuleName: {}, abi.NamespaceExtism: {}, abi.NamespaceHost: {}}
	for name, f := range wasi.ExportedFunctions() {
		o[wasi_snapshot_preview1.ModuleName][name] = signature{f.ParamTypes(), f.ResultTypes()}
	}
	for _, f := range extismFuncs() {
		o[abi.NamespaceExtism][f.name] = f.signature()
	}
	for _, f := range userFuncs() {
		o[abi.NamespaceHost][f.name] = f.signature()
	}
	return o, nil
}

// refuse names every import that the host does not have, or gives nil.
func (o offer) refuse(imports []imported) *abi.Problem {
	var unknown []string
	advice := "import only from " + abi.NamespaceExtism + ", " + abi.NamespaceHost + " and " + wasi_snapshot_preview1.ModuleName
	for _, im := range imports {
		if reason := o.missing(im); reason != "" {
			unknown = append(unknown, reason)
			advice = adviceOn(im.module, advice)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	if n := len(unknown) - namedImports; n > 0 {
		unknown = append(unknown[:namedImports], fmt.Sprintf("and %d more", n))
	}
	return abi.NewProblem(abi.UnknownImport, "the module imports what this host does not have: %s; %s", strings.Join(unknown, ", "), advice)
}

// missing says what is wrong with an import, or nothing.
func (o offer) missing(im imported) string {
	name := printable(fmt.Sprintf("%.60s.%.100s", im.module, im.name))
	if im.kind != kindFunction {
		return name + [...]string{kindTable: " (a table)", kindMemory: " (a memory)", kindGlobal: " (a global)"}[im.kind]
	}
	has, ok := o[im.module][im.name]
	if ok && (!slices.Equal(has.params, im.signature.params) || !slices.Equal(has.results, im.signature.results)) {
		return fmt.Sprintf("%s as %v (it is %v)", name, im.signature, has)
	}
	if !ok {
		return name
	}
	return ""
}

// printable keeps a name that a module chose from breaking a message.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, name)
}

// adviceOn knows what makes toolchains import from elsewhere.
func adviceOn(namespace, otherwise string) string {
	switch {
	case namespace == "go" || namespace == "gojs":
		return "it was built with GOOS=js; build it with GOOS=wasip1"
	case namespace == "wasi_unstable":
		return "its WASI is too old; build it for wasi_snapshot_preview1"
	case strings.HasPrefix(namespace, "wasi:"):
		return "it was built for WASI preview 2; build it for wasm32-wasip1"
	case strings.HasPrefix(namespace, "__wbindgen") || namespace == "wbg":
		return "it was built with wasm-bindgen, which is for browsers; build it without"
	}
	return otherwise
}
