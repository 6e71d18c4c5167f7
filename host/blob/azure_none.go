//go:build !sluice_azure

package blob

// nativeAzure is for builds with the tag sluice_azure.
func nativeAzure() opener { return nil }
