package wording

// Sprintf fills the arguments into a format, as fmt.Sprintf does but for what
// the package says.
func Sprintf(format string, args ...any) string { return formatted(format, args) }
