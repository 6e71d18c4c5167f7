// Package embed gives vectors of texts, for the dense leg of recall: by a remote
// endpoint of the form that OpenAI made common ([OpenAI]), by a folder of static
// vectors in the form of model2vec ([Folder]), or not at all ([None]). It also owns the
// judgement whether a dense leg helps ([Judge]).
//
// Every vector is normalised, finite, and of the promised length. A text of which a
// model makes nothing, a blank one or one without a known token, has a nil vector: a
// vector of zeros would be equally near to everything.
//
// # Life of a text at an endpoint
//
//  1. A blank text is answered here. One that is too long is refused, and not cut: half
//     of a memory would be found as if it were the whole.
//  2. Texts are put into batches, by count and by bytes. A few batches are under way at
//     once, whoever asked for them; the rest wait.
//  3. An attempt sends one batch in bounded time, and reads no more than vectors of that
//     number and length can be. Redirects are not followed: they would carry what is
//     remembered of users, and the key, to a host that nobody named.
//  4. What fails for a passing reason (no connection, 408, 429, 5xx) is tried again, three
//     times at most, with growing waits that are partly random, on top of what
//     Retry-After asks for. What asks for more than two minutes ends the request.
//  5. The answer must have each index once, and vectors as promised. Else all of it is
//     refused: one wrong vector in an index is found by nobody.
//
// # Life of a text in a folder
//
//  1. The folder was read once, with bounds on everything: config.json, tokenizer.json
//     (WordPiece, Unigram or BPE, with the steps before them), model.safetensors. What is
//     not understood is refused at the start, since a step that is left out gives other
//     tokens and so quietly other vectors.
//  2. The text is normalised and split as tokenizer.json says, and each part is cut into
//     tokens. Marks of models such as [CLS] are text like any other here.
//  3. Tokens that are unknown are left out, and those after the 512th.
//  4. The vector is the mean of the rows of the tokens, times their weights where the
//     model has any, normalised.
//
// # Life of a judgement
//
//  1. A labelled set has queries and what each should find.
//  2. Whoever judges searched each without and with the dense leg (memory/measure does);
//     where the right hits stand gives the quality of each search.
//  3. The differences are resampled, with a seed. The leg is on only where even the
//     lower end of the gain's interval is above the margin. Few queries, noise and harm
//     are off.
package embed
