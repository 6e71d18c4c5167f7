// Package measure owns the benchmark of recall: how much of what answers a question
// is found in labelled folders of data, and how fast and how small the embedded index, and
// memory as users have it, is with many memories.
//
// # Life of a measurement
//
//  1. [Read] takes a folder: docs.jsonl has the texts, queries.jsonl the questions
//     with the ids of what answers them, sessions.jsonl, which may lack, the dates.
//  2. Each scope becomes a user, each text a memory with the index text that a turn
//     of a conversation has, and all go into a store of the caller's.
//  3. Each question is searched among its user's memories and ranked as in service.
//     [Recall] counts what was found, for two halves apart: constants are chosen on
//     the tuned half only, and the held-out half shows what they are worth.
//  4. [Scale] makes memories from a seed, and takes times and heap of an index. [Keep] has
//     a keeper remember, recall and rebuild as many, over its database.
//  5. A [Report] is a table of the figures, each beside what it must be and what it
//     should be.
//
// # Life of a judgement
//
//  1. [Judge] fills a store with texts and their vectors, and asks both legs each question
//     once. What they gave is ranked by words alone and with the dense leg, as measured
//     with some weights, and as specified.
//  2. The weight that is best on the tuned half is chosen.
//  3. What the held-out half found with it, and without, is weighed (embed.Judge): the
//     verdict is of questions that chose nothing.
package measure
