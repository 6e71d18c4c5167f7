// Package rules owns policy modules: it makes hooks of the host out of skills
// that judge calls and answers, so that a tenant's own rules need no new host.
//
// # Life of a policy module
//
//  1. The operator's policy names it, by its exact version: hooks in policy.yaml.
//  2. Load has the release fetched and prepared. It must have an export
//     sluice_hook and no host functions, be the bytes that the policy pins if it
//     pins any, and judge at the points that the policy names. One module that
//     fails fails all: a host whose rules are not whole must not run.
//  3. Its hook stands in the order of the policy, for the tenants that the policy
//     names, and is never made anew: another version is another policy, and a host
//     that is started with it.
//
// # Life of a question
//
//  1. The host asks the hook about a call or an answer. What is known of it
//     becomes one abi.Occasion.
//  2. The module runs in the sandbox, with nothing but its logs: no host
//     functions, no clock, no chance, and as new for every question.
//  3. Its answer is read strictly as one abi.Opinion, and its texts are cut. It
//     can tighten and refuse; an empty one, or a tier below others, loosens
//     nothing.
//  4. A module that traps, runs out of fuel, memory or time, or gives what is no
//     opinion has not consented. A guard refuses then: as a red line does, which
//     alerts the operator, where to ask again would give the same; as something
//     that does not answer, where it may pass. An observer has decided nothing.
//  5. The release with the digest of its bytes, what it decided, its note, its
//     logs and its fuel go on record, whatever it said.
package rules
