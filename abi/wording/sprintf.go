//go:build !wasip1

package wording

import "fmt"

// Sprintf fills the arguments into a format, as fmt.Sprintf does.
func Sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }
