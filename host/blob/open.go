package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/s3blob"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Options of a store. The zero value is good.
type Options struct {
	Timeout time.Duration // of one operation; Timeout by default
}

// opener opens the bucket that a URL names.
type opener func(context.Context, *url.URL) (*blob.Bucket, error)

// openers gives what this build can open, by scheme.
func openers() map[string]opener {
	all := map[string]opener{"file": openFolder, "s3": openS3, "oss": openOSS, "gs": openGCS}
	for scheme, native := range map[string]opener{"gs": nativeGCS(), "azblob": nativeAzure()} {
		if native != nil {
			all[scheme] = native
		}
	}
	return all
}

// Open opens the store that a URL names; see the package for the forms. What
// has no scheme is a folder, which is made where there is none. A bucket must
// exist; whether it can be reached shows with its first use. Credentials are
// found as the service's own tools find them, in the environment or in files.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	const op = "blob.Open"
	u, err := parse(address)
	if err != nil {
		return nil, host.Fail(op, abi.NewProblem(abi.BadValue, "the address of the blob store cannot be read").
			WithHint("give a folder, or a URL such as s3://bucket?region=eu-central-1"), err)
	}
	if u.User != nil {
		return nil, host.Fail(op, abi.NewProblem(abi.BadValue, "the address of the blob store holds credentials").
			WithHint("give them as the service's own tools take them, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"), nil)
	}
	known := openers()
	open, ok := known[u.Scheme]
	if !ok {
		return nil, host.Fail(op, unknownScheme(u.Scheme, known), nil)
	}
	s, err := openStore(ctx, u, open, syncFile)
	if err != nil {
		return nil, host.Fail(op, abi.NewProblem(abi.StoreFailure, "the blob store at %s cannot be opened", place(u)), err)
	}
	s.timeout = cmp.Or(o.Timeout, Timeout)
	return s, nil
}

// openStore opens a bucket, and makes the folder that it may be durable.
func openStore(ctx context.Context, u *url.URL, open opener, sync func(name string, dir bool) error) (*Store, error) {
	s := &Store{}
	var err error
	if u.Scheme == "file" {
		if s.folder, err = newFolder(filepath.FromSlash(u.Path), sync); err != nil {
			return nil, err
		}
	}
	if s.bucket, err = open(ctx, u); err != nil {
		return nil, err
	}
	if err = s.folder.made(); err != nil {
		return nil, errors.Join(err, s.bucket.Close())
	}
	return s, nil
}

func parse(address string) (*url.URL, error) {
	if scheme, _, ok := strings.Cut(address, "://"); !ok || strings.ContainsAny(scheme, `/\`) {
		if address == "" {
			return nil, fmt.Errorf("the address is empty")
		}
		return &url.URL{Scheme: "file", Path: filepath.ToSlash(address)}, nil
	}
	return url.Parse(address)
}

// place names a store without its parameters.
func place(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }

func unknownScheme(scheme string, known map[string]opener) *abi.Problem {
	p := abi.NewProblem(abi.BadValue, "this build has no blob store %s://", scheme)
	if scheme == "azblob" {
		return p.WithHint("build with -tags sluice_azure")
	}
	var schemes []string
	for name := range known {
		schemes = append(schemes, name)
	}
	slices.Sort(schemes)
	return p.WithHint("it has %s", strings.Join(schemes, ", ")).WithCandidates(schemes...)
}

// openFolder keeps what is half written beside what is whole: a rename does not
// cross file systems.
func openFolder(_ context.Context, u *url.URL) (*blob.Bucket, error) {
	if u.RawQuery != "" || u.Host != "" && u.Host != "localhost" {
		return nil, fmt.Errorf("a folder is file:///path, without a host and parameters")
	}
	return fileblob.OpenBucket(filepath.FromSlash(u.Path), &fileblob.Options{CreateDir: true, DirFileMode: 0o700, NoTempDir: true})
}

// openS3 asks for no checksums beyond what the service requires: others that
// speak S3 do not know them.
func openS3(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	own := *u
	q := own.Query()
	if !q.Has("endpoint") {
		return new(s3blob.URLOpener).OpenBucketURL(ctx, &own)
	}
	for _, name := range []string{"request_checksum_calculation", "response_checksum_validation"} {
		if !q.Has(name) {
			q.Set(name, "when_required")
		}
	}
	own.RawQuery = q.Encode()
	return new(s3blob.URLOpener).OpenBucketURL(ctx, &own)
}

// openOSS opens a bucket of OSS by its S3 interface, which wants the bucket in
// the host's name.
func openOSS(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	region := u.Query().Get("region")
	if region == "" {
		return nil, fmt.Errorf("an OSS bucket needs its region, such as oss://bucket?region=oss-cn-hangzhou")
	}
	return openS3(ctx, compatible(u, "https://"+region+".aliyuncs.com", region))
}

// openGCS opens a bucket of GCS by its S3 interface, with HMAC keys.
func openGCS(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	return openS3(ctx, compatible(u, "https://storage.googleapis.com", "auto"))
}

// compatible gives the address of a bucket of a service that speaks S3. An
// endpoint that is given wins.
func compatible(u *url.URL, endpoint, region string) *url.URL {
	own := *u
	own.Scheme = "s3"
	q := own.Query()
	q.Set("endpoint", cmp.Or(q.Get("endpoint"), endpoint))
	q.Set("region", cmp.Or(q.Get("region"), region))
	own.RawQuery = q.Encode()
	return &own
}
