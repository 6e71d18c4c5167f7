// Package window decides what the model sees: the system prompt, the tools,
// and how an outcome reads. It is pure; the agent fills and stores the
// conversation.
//
// # Life of a window
//
//  1. System gives the static layers first, so that a provider's prefix cache
//     hits: identity and boundaries, then the skills' positioning.
//  2. Tools gives the session's tools in a stable order.
//  3. Result gives what the model reads of an outcome: the data, in a shorter
//     shape where it is too long, or the problem with its hint.
package window
