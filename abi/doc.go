// Package abi is the contract between a skill and the host, as Go types: the
// manifest, the envelope of one invocation, the problems that either side may
// answer with, the names and codecs of the host functions, and the limits.
//
// Both sides build on it. The sdk compiles it into guests, so it imports the
// standard library, abi/wire and abi/wording only, keeps no state, and in a
// guest links neither fmt nor encoding/json nor time. Version 1 only ever grows: a field
// or a code may be added, none changes its meaning. The vectors in testdata/
// are read by the tests of both sides.
//
// Parsing skill.yaml, its JSON Schema and its CEL expressions are the business
// of abi/manifest, which no guest needs.
package abi

// Version is the version of this contract: of the manifest (`sluice: 1`), of
// the envelope (`"abi":1`) and of what the export sluice_abi returns.
const Version = 1

// Exports of a skill's module. Describe and Invoke follow Extism's calling
// convention (input and output by the ABI, i32 result, 0 is success).
const (
	ExportABI      = "sluice_abi"      // () -> i32: Version
	ExportDescribe = "sluice_describe" // the Manifest as JSON, without module, sha256 and size
	ExportInvoke   = "sluice_invoke"   // an Invocation in, a Reply out
	ExportCheck    = "sluice_check"    // optional: an Invocation in, a Verdict out
	ExportReduce   = "sluice_reduce"   // optional: a Reduction in, the new state out
	ExportHook     = "sluice_hook"     // of a policy module: an Occasion in, an Opinion out
	ExportWarm     = "sluice_warm"     // optional: () -> (); run once when a host prepares the module, so that what it fills is there in every call
)

// Import namespaces of a guest.
const (
	NamespaceExtism = "extism:host/env"  // Extism's own ABI
	NamespaceHost   = "extism:host/user" // the host functions of Sluice
)
