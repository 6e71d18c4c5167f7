// Package manifest reads skill.yaml: it parses, validates and compiles what a
// skill declares, and answers with it for every call: do these arguments fit,
// is this the tool's business, what does the call touch, how risky is it.
//
// It owns the form of the file (skill.schema.json), the JSON Schemas of the
// tools, and the CEL expressions over args, state, facts, session, user, live,
// tenant, now and last(tool, target). It does no I/O but reading the given
// file system while loading, keeps no state, and a compiled Skill is safe for
// concurrent use. An operator's policy.yaml (policy.schema.json) is read here,
// too: red lines, which are such expressions over the calls of any tool, the
// policy modules that judge them, the linters, and ranges of addresses that are
// opened.
//
// # Life of a manifest
//
//  1. Read. YAML becomes a tree that remembers lines and the order of members.
//     Size, depth, aliases, duplicate keys and numbers are bounded here, so
//     that nothing behind this step needs to fear them.
//  2. Form. The tree is held against skill.schema.json. Unknown fields are
//     errors; the nearest known name is the hint.
//  3. Meaning. What a schema cannot say: tools that undo and facts that name
//     other tools, ceilings, what a read may not declare.
//  4. Schemas. Inputs and outputs are compiled, files beside skill.yaml are
//     drawn in, nothing remote is ever fetched. A schema that would be held
//     against one value thousands of times is refused. Each gives a type for
//     CEL.
//  5. Expressions. Scopes, targets, rules, checks, artifacts, facts' arguments
//     and the parts of say texts are compiled against these types, so that a typo or a text
//     compared with a number fails here and not in front of an audience.
//  6. Examples are held against the schemas.
//
// Steps 2 to 6 gather findings instead of stopping at the first one; a later
// step runs where the earlier ones left it something to stand on.
//
// # Life of a call's checks
//
//  1. CheckArgs decodes the arguments once, within bounds, and holds them
//     against the input schema. Every finding is a problem that says where,
//     what would fit, and which candidates are near.
//  2. InScope, TargetsOf, TierOf and FactArgs evaluate compiled expressions
//     over the values that an Env gives; only what an expression mentions is
//     decoded. Evaluation is bounded by cost.
//  3. What fails to evaluate counts as the stricter answer: out of scope, or
//     the rule's tier.
//  4. CheckOutput holds the result against the output schema, CheckResult against
//     the tool's checks, which see the result as data. ArtifactsOf gives what the
//     call must have written. Here, too, what fails to evaluate is refused.
package manifest
