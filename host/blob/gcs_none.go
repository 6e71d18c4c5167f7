//go:build !sluice_gcs

package blob

// nativeGCS is for builds with the tag sluice_gcs.
func nativeGCS() opener { return nil }
