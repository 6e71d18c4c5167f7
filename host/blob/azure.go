//go:build sluice_azure

package blob

import (
	"context"
	"net/url"

	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
)

// nativeAzure opens containers with what AZURE_STORAGE_ACCOUNT and its kin say.
func nativeAzure() opener {
	return func(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
		o := azureblob.URLOpener{MakeClient: azureblob.NewDefaultClient, ServiceURLOptions: *azureblob.NewDefaultServiceURLOptions()}
		return o.OpenBucketURL(ctx, u)
	}
}
