// Package newskill owns what a new skill begins with: the files of each language,
// and the SDK that lies beside a skill in Go, so that it builds without network.
//
// # Life of a new skill
//
//  1. The name and the folder are checked: the name is one that a manifest may have,
//     and the folder is not there, or empty but for .git.
//  2. The language's files are gathered and given the name. A skill in Go gets its
//     template; one in Rust, AssemblyScript or C gets that of skills/polyglot.
//  3. A skill in Go gets the SDK: the sources of the packages sdk and abi, as this
//     program was built with them, and of the one library that their tests for
//     skills need. The skill's go.mod leads to both by relative paths.
//  4. The files for GitLab and GitHub are written for the language, and all of it is
//     laid in the folder. Where that fails, what was laid is taken away again.
package newskill
