// Package precheck judges a skill before it is reviewed and released: what its
// binary is and may do, whether its manifest says so, and whether it behaves. It
// owns the rules, each with an id, a severity, a reason and a way to mend, and
// the reports. It judges by the host's own means (host/rewrite, host/sandbox,
// abi/manifest), so that what passes here is what a host loads.
//
// # Life of a check
//
//  1. A subject is read: a folder of source, which host/toolchain builds, a folder
//     with skill.yaml and a module, or a module alone, whose manifest is then what
//     its sluice_describe says.
//  2. The rules on the bytes run. A file that is no module ends here: everything
//     behind this step needs one, and says that it was not run.
//  3. The rules on the manifest run, on one that is valid; what makes it invalid
//     are the findings of the first of them.
//  4. The module is loaded by a sandbox, as a host would, and the rules on what
//     it became run.
//  5. Waivers of the repository are applied: a finding that is waived is told, with
//     the reason, and fails nothing; a waiver that is out of date, or that nothing
//     needs, is a finding.
//
// Every step tells one stream of messages; the writers of the reports read that
// and nothing else.
package precheck
