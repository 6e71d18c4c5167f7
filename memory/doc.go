// Package memory owns what an agent knows about its users: the words for it, the
// pure rules by which it is believed, doubted and forgotten, and the interface of
// the indexes in which it is found. It does no I/O itself.
//
// The rooms beside it:
//
//   - memory/tokens cuts text into weighted terms, the same for every index.
//   - memory/index is the embedded index, memory/qdrant the one of a Qdrant server;
//     both are a [Store]. They are derived, and may be lost at any time.
//   - memory/embed has the models that give vectors, each an [Embedder].
//   - memory/documents cuts texts into memories that lead back to where they are from.
//   - memory/keeper keeps the truth in the host's database, and the index after it.
//   - memory/measure has the benchmark of recall, with the figures that it must reach, and
//     judges models by labelled data.
//   - memory/memorytest is the contract that every Store is held to.
//
// The rules here are functions of values, with the time as an argument: the same
// values give the same answer on every replica.
//
//   - [Listen] hears what a user declares, by rules; [ListenWith] by a model, held to
//     the user's words. [Facts] reads what tools return, [Habits] what a log shows.
//   - [Compare] and [Reconcile] hold habits to words, [Settle] words to words; where it
//     is for the user to say which counts, [NewChoice] asks and [Choose] does it.
//   - [ReadReaction] reads what a user does with an output, [Attribute] and [Replay] move
//     trust, and [FormOf] and [CheckForm] say what it allows.
//   - [ForgetConfig.Judge] says what a job archives, and why.
//   - [Layered] and [Quote] put memories before a model, as data.
//
// # Life of a memory
//
//  1. Somebody says something, a tool returns a fact, or a job sees a habit. It
//     becomes a [Node], of layer L1, L2 or L3, with where it comes from.
//  2. The keeper writes it to the database, with a line in the outbox. Each replica's
//     index follows the outbox.
//  3. A question is cut into terms and, by a model that was judged to help, made a
//     vector. The Store gives candidates of both legs, [Rank] makes one list of them, and
//     each hit says why.
//  4. What contradicts the user's own words never replaces them: [Reconcile] notes
//     a [Gap]. The third open one makes one [Question]. It is asked at the next decision
//     point that fits, once, and the user's answer updates, keeps or retires the words.
//  5. What was recommended, and what came of it, is a [Trace]. Traces move the trust
//     of a user in a domain, and trust decides in which form an answer may be given.
//  6. A job weighs each memory. What is worth little is archived, and comes back
//     until it is purged. What a user wants forgotten is gone from everywhere.
package memory
