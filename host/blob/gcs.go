//go:build sluice_gcs

package blob

import (
	"context"
	"net/url"

	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
)

// nativeGCS opens buckets by Google's own interface, with the default
// credentials.
func nativeGCS() opener {
	return func(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
		credentials, err := gcp.DefaultCredentials(ctx)
		if err != nil {
			return nil, err
		}
		client, err := gcp.NewHTTPClient(gcp.DefaultTransport(), gcp.CredentialsTokenSource(credentials))
		if err != nil {
			return nil, err
		}
		return (&gcsblob.URLOpener{Client: client}).OpenBucketURL(ctx, u)
	}
}
