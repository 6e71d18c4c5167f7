//go:build !wasip1

package abi

import (
	"embed"
	"io/fs"
)

// A folder's own package is the only one that can embed it. Guests do without: the
// sources would be in each of their modules.
//
//go:embed *.go value/*.go wire/*.go wording/*.go
var source embed.FS

// Source gives the Go files of this package and of those below it that an SDK
// needs, tests included, as this program was built with them. New skills are laid
// out with it.
func Source() fs.FS { return source }
