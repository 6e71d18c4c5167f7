// Package model asks language models. It owns the form of a conversation that
// is the same for every model, and the three providers of answers: OpenAI (a
// remote endpoint of the form that OpenAI made common), Replay (a recorded
// conversation) and Offline (no model at all). It runs no tool and keeps no
// conversation: a request holds everything that its answer depends on.
//
// # Life of a completion
//
//  1. The caller gives a Request: system prompt, messages, tools. Nothing that
//     an earlier request left behind plays a part, so a turn that is resumed on
//     another replica asks the same.
//  2. OpenAI translates it. Tool names become names that vendors accept; the
//     arguments of earlier calls that are not JSON are left out, since vendors
//     refuse a conversation with them for ever. The same request gives the same
//     bytes, so that the vendor's prefix cache hits.
//  3. One attempt sends it. The wait for the first byte and between two bytes
//     is bounded, the time that the caller takes for a piece is not; the answer
//     is bounded in bytes and in calls.
//  4. Pieces of text go to the caller as they come. Pieces of calls are put
//     together, in whatever way the vendor parts them, and given at the end.
//  5. An answer is whole when the vendor gives a reason to finish. Where it
//     finished for another reason than being done, a call whose arguments are
//     not whole is marked CutOff and must not be executed.
//  6. An attempt that fails for a passing reason is repeated, up to three
//     times: connection refused or cut, silence, 408, 429, 500, 502, 503, 504.
//     The wait grows from half a second and is partly random; the vendor's
//     Retry-After comes on top of it, and one that is longer than two minutes
//     ends the completion, with the time in the problem. If text was given, an
//     Event with Restart comes before the next attempt: what was given is void.
//  7. What is refused (400, 401, 403, 404 and the like) is not repeated. The
//     error carries a problem with the vendor's words, short, on one line and
//     without the key, and as its cause the reasons of all attempts.
//
// Replay and Offline have steps 1 and 4 only. Replay looks for the place in its
// recording at which the request's messages end, and answers what was recorded
// there, or says where the two part. Offline ranks the tools by the words of
// the last user message, fills the arguments of the best one from the same
// words, and calls it, asks, or tells a result.
//
// Tokens are counted as the vendor counts them. What an attempt cost that
// broke off is not known, and not counted.
package model
