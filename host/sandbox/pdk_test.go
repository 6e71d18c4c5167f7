//go:build wasip1

package sandbox

// The guests below testdata, which the go command does not look into, are
// built with the reference's kit; this keeps it in go.mod.
import _ "github.com/extism/go-pdk"
