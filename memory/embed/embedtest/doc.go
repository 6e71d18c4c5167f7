// Package embedtest owns models of a few words for tests, and labelled data that tell
// those that help from those that do not: memories in German and questions in English,
// of which words find the shelf and only meaning finds the thing on it.
//
// # Life of a test's model
//
//  1. [Helpful], [Noisy] and [Harmful] give each word a vector, the same ones every time.
//  2. [Model.WriteFolder] writes them as a folder in the form of model2vec, and
//     [Model.ServeHTTP] answers with them as an endpoint in the form of OpenAI does.
//  3. [WriteLabelled] writes a folder that memory/measure reads. By words alone each of five
//     memories is as good as the others.
package embedtest
