// Package eval plays recorded work through the host and says whether it came
// out as recorded. The model is the recording; agent, gate, sandbox and store
// are the real ones.
//
// # Life of a replay
//
//  1. The caller has loaded the skills and imported the data once, under a
//     base tenant.
//  2. Every case gets a tenant of its own, a copy-on-write fork of the base.
//  3. A recorded conversation runs turn by turn: the user's words as recorded,
//     the model's answers from model.Replay, the calls through the gate. Gold
//     actions, which have no conversation, go to the gate one by one.
//  4. Every outcome is compared with the recorded result, and the fork's own
//     entries with the recorded final state.
package eval
