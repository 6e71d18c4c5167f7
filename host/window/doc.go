// Package window decides what the model sees: the layers of the prompt, the
// conversation as far as it fits, the tools, and how an outcome reads. It is
// pure: it stores nothing, asks no model and knows no clock. The agent fills
// and stores its values, and calls the models.
//
// # Life of a window
//
//  1. Expand puts the files behind a user's message that it names as @path, and
//     Project reads the project's notes, both from the session's files only.
//  2. Shelf.Choose says which tools and guides the model reads: all where they
//     fit, else the pinned ones and those that the talk is about. Tools are
//     only added, until there is no room. A model that misses one searches, and
//     Shelf.Answer answers.
//  3. Layers, without the talk, give the fixed part of the request, and
//     RequestTokens its size. Tokens are estimated without a vocabulary; the
//     session's Meter corrects that by what the model reported.
//  4. Fit is asked before every call of the model, inside a turn, too. It gives
//     the conversation as it is, or compacts it: tool calls to lines, old turns
//     to a summary, long messages of the current turn to their ends. The last
//     three rounds stay.
//  5. Where a summary was needed, Plan.Ask may be put to a small model, and
//     Plan.Summarised takes its answer in place of the extract, if it is valid.
//  6. The plan's cut and events are stored. From then on the window is a
//     function of the stored messages and the stored cut, on any replica.
//  7. Layers.Request gives the request: what never changes first, what changes
//     with every call behind the last message.
//  8. Meter.Observe learns from the answer's usage.
//  9. Result gives what the model reads of an outcome: the data, in a shorter
//     shape where it is too long, or the problem with its hint. ResultIn also
//     says in which blob all of it lies.
//  10. After some rounds Topics cuts the session into topics with their scenes,
//     and FindTopics finds them again.
package window
