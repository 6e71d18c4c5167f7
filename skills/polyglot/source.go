// Package polyglot carries the sources of one skill in the languages beside Go, as
// new skills in them begin. Skills do not import it.
package polyglot

import (
	"embed"
	"io/fs"
)

//go:embed c/*.c c/*.h c/manifest.json
//go:embed rust/Cargo.toml rust/manifest.json rust/src/*.rs rust/.cargo/config.toml
//go:embed assemblyscript/*.json assemblyscript/assembly/*.ts
var source embed.FS

// Source gives the skill in the folders c, rust and assemblyscript.
func Source() fs.FS { return source }
