// Package dispatch takes ONE tool call from intent to outcome. It is the gate:
// guards, hooks, claim, run, verification and recovery act on the same call,
// and their order is the safety property, so they are files of one package and
// Do is one list that is read from top to bottom.
//
// # Life of a tool call
//
//	 1 resolve   name -> release and tool, pinned for the session     check.go
//	 2 check     JSON, schema, one deterministic repair, scope         check.go, repair.go
//	 3 breaker   repeated calls without progress, budgets              breaker.go
//	 4 hooks     before the call: may tighten or refuse; the           hooks.go
//	             policy's modules are among them (host/rules)
//	 5 gate      the tier, the strictest of all opinions, and what it  gate.go, tier.go,
//	             means for this call                                   policy.go, verdict.go, facts.go,
//	                                                                   approval.go
//	 6 claim     the idempotency key: done, in flight, unknown, ours   claim.go
//	 7 intent    the record, durable before a write's effect           claim.go
//	 8 run       the sandbox with the call's grants, and its           run.go, envelope.go,
//	             envelope; what a replay compares with is noted        ran.go
//	 9 verify    output schema, one kind of change of state, the       verify.go, reduce.go
//	             tool's checks, what it says that it wrote; other
//	             files are linted
//	10 reduce    the new state, by the patch or the skill's reducer    reduce.go
//	11 hooks     after the call: may refuse the result                 hooks.go
//	12 spill     data that a model does not see whole: to a blob       spill.go
//	13 settle    host calls on record; blobs and files; then one
//	             transaction: state, kv, claim, records; a read's      settle.go, hostcalls.go,
//	             records may wait for a batch of them                  reads.go
//	14 recover   by problem code: again, or tell, or stop              recover.go, evidence.go
//
// Opinions on the tier are the manifest's risk and rules, what the effect
// implies, the session's mode, that the very same was done for the same words of
// the user, the hooks', the operator's red lines and the skill's own check. None
// can loosen another one, and what cannot be decided counts as the stricter
// answer. A call that is refused at the door, in steps 1 and 2, is held against
// the breaker's rules as well. How a call ended badly is told to the hooks, and
// counted for alerts (alert.go).
//
// Steps 6 and 7 are one transaction, so that neither a claim without its
// intent nor an intent without its claim can exist. A write that would be
// refused before them, and was done by the same call earlier, is answered with
// its stored outcome all the same. Steps 8 to 13 are one attempt; recovery may
// ask for another, under the same key and within the claim's lease, and then
// scope, hooks and tier are held against what is true by then; what the facts of a
// write were read from must be as it was when it is settled. Every early exit is
// recorded too, and a call whose record cannot be written does not run.
//
// # Life of a verdict (verdicts.go)
//
//  1. Whoever is asked about a call is heard: scope, breaker and budgets, hooks,
//     the manifest's risk and each of its rules, effect, mode, repetition, red
//     lines, the skill's check with its fuel, and whose yes or no counted.
//  2. Who lets it pass is one name in a list; who asks for more or refuses has
//     tier or code and words. None is left out. Hooks' notes stand beside that,
//     some of them, with the number of the others.
//  3. They go on the call's own record: the intent, the refusal or the duplicate.
//     Those of an attempt, such as of hooks after the call, go on the record of
//     its end. So do the repairs of the arguments, on the former.
//
// # Life of a result
//
//  1. The guest's answer must be one envelope. That it ended well is no success.
//  2. Its data are held against the output schema and against the tool's checks,
//     which see them beside the arguments and the facts that the gate fetched. A
//     check that cannot be decided counts as one that does not hold.
//  3. The files and blobs that the tool says it writes are looked at as the call
//     would leave them: in the memory of its grant, from where they are kept, so
//     that nobody can change them in between. One that is missing, empty or does
//     not parse, or that could not be looked at, ends the call; nothing is kept.
//  4. Other files that it wrote are linted where their type is known. What is
//     found is told to the model behind the result, and the call stands.
//
// # Life of an approval (approval.go)
//
//  1. A call of the tier hard-gate has a digest: of the tool, the release and its
//     bytes, the canonical arguments and the tier. Whatever of these changes makes
//     another question.
//  2. The newest question of the session about that digest is looked up. A yes is
//     used by this call and no other; after a crash the same call has it still.
//     Where the facts, the state, the targets or the words of the skill's check
//     that it was given on are others by now, it is asked for once more. A no, contrary answers and a question that was taken back are told with the
//     person's words, as long as the call serves the same input of the user.
//  3. A standing grant for the tool, up to this tier and with a condition that
//     holds, lets the call run and is noted on its record. One that cannot be
//     decided covers nothing, and a no outranks it. What was done for the same
//     words already, what a rule could not decide, and every change in a session
//     that only suggests, is asked about all the same.
//  4. Else the question is put, durably, and the call is pending: its outcome and
//     the model's problem name the question. Nobody waits.
//  5. After a yes the agent makes the call again, in the question's name: it uses
//     that approval or does not run. After a no, another write of the tool to the
//     same thing is a question, too, as long as the same words are served.
//
// # Life of a session's state
//
//  1. A write answers with a merge patch of state keys, or with an action.
//  2. A patch is applied to the keys that it names. For an action the release's
//     sluice_reduce runs, on the keys that the manifest declares as they are now,
//     with no clock, no chance and no host functions: equal input gives equal
//     bytes. It may change the keys that are declared as writes.
//  3. What was read, and what the reducer saw, must be unchanged when the call is
//     settled; else the attempt runs again.
//  4. The record of the outcome has the patch or the action, the versions that it
//     was applied to, and the digests of the new values. State that changes
//     outside of calls goes through SetState, which records the same (state.go).
//  5. Rebuild makes every value again from those records alone, and compares it
//     with what is stored (rebuild.go).
//
// # Life of a replay (replay.go, replay_run.go, replay_reducer.go)
//
//  1. The record of each attempt has its host calls, and the digests of the
//     module that ran, of its input and of its output, with its own fuel (ran.go).
//  2. A Replayer reads the records of a call, gets the release by its name, and
//     holds module, recording and input against those digests and the intent.
//  3. The guest runs again with host functions that know the recording alone.
//     Where it leaves it, it is stopped: that is the host call at which it parted.
//  4. The end, the bytes and the fuel are compared, then what the record tells of
//     the answer. A reducer runs again on the state that the records before give.
//  5. What differs, what cannot be the same (a deadline, a recording that was
//     cut), what was never there and what is gone are told apart
//     (replay_finding.go).
//
// # Life of an intervention (intervention.go)
//
//  1. A write that is about to settle is held against what was done to its targets
//     before: it undoes the newest write, if that one's manifest names its tool for
//     it, or does the same otherwise for newer words of the user.
//  2. That is a record of its own, kept with the write's outcome.
//  3. What a soft-gate told, the user may object to; Object keeps that.
//  4. InterventionRates counts them by tool (intervention_rate.go).
package dispatch
