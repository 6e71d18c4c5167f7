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
//     its sluice_describe says. One in a repository is checked out first, in a folder
//     of its own, at the reference that is named.
//  2. The rules on the bytes run. A file that is no module ends here: everything
//     behind this step needs one, and says that it was not run.
//  3. The module is loaded by a sandbox, as a host would, and asked what it is. The
//     manifest is the one beside it, or else that; what makes it invalid are the
//     findings of one rule.
//  4. The rules on a valid manifest run, and those that hold the binary against it.
//  5. A skill that failed none of these is tried: its examples through the gate of a
//     host of its own, and the module past the gate: writes once more with their key,
//     under the reference host of Extism's plug-ins, with made arguments, and with host
//     functions that give junk.
//  6. Where it is asked for, its source is built again from a clean checkout; and it is
//     held against its last release, where one is given.
//  7. A finding that the repository waives is told, with the reason, and fails
//     nothing; a waiver that is out of date, or that nothing needs, is a finding.
//
// Every step tells one stream of messages; the writers of the reports read that
// and nothing else.
package precheck
