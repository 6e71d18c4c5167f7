package blob

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Timeout bounds one operation where its context does not: a remote store that
// hangs must not hold a call or a purge for ever.
const Timeout = 60 * time.Second

// storedType is every object's type in the bucket. A browser that is led to the
// bucket must not show what a guest wrote as a page.
const storedType = "application/octet-stream"

// A Store keeps blobs in one bucket. It is safe for concurrent use.
//
// A blob that is not the session's is NotFound, whether it exists or not.
// Failures of the bucket are StoreFailure; they may be tried again.
type Store struct {
	bucket  *blob.Bucket
	folder  *folder // behind the bucket; nil where it is remote, and sees to its disks itself
	timeout time.Duration
}

// An Info describes a blob.
type Info struct {
	abi.BlobInfo
	Size int64 // bytes
}

// NewID draws an id that nobody can guess.
func NewID() string {
	var random [20]byte
	rand.Read(random[:]) // never fails
	return idPrefix + hex.EncodeToString(random[:])
}

const (
	idPrefix = "blob_"
	idDigits = 40
)

// Put writes a blob of a session and gives its id. Every Put makes a new one.
func (s *Store) Put(ctx context.Context, ref host.SessionRef, info abi.BlobInfo, data []byte) (string, error) {
	id := NewID()
	if err := s.PutAs(ctx, ref, id, info, data); err != nil {
		return "", err
	}
	return id, nil
}

// PutAs is Put with an id that NewID has drawn: for who must tell it before the
// blob is written. It may be repeated with the same bytes.
func (s *Store) PutAs(ctx context.Context, ref host.SessionRef, id string, info abi.BlobInfo, data []byte) error {
	const op = "blob.Put"
	key, problem := keyOf(ref, id)
	if problem == nil {
		problem = abi.CheckBlob(info, len(data))
	}
	if problem != nil {
		return host.Fail(op, problem, nil)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	err := s.bucket.WriteAll(ctx, key, data, optionsOf(info))
	if err == nil {
		err = s.secure(ctx, key)
	}
	if err != nil {
		return failure(ctx, op, "the blob cannot be written", err)
	}
	return nil
}

// PutFrom is Put for what comes as a stream; it holds a small part of it at a
// time. Nothing is kept where the stream fails, which is StoreFailure with the
// stream's error as a cause, or is longer than a blob may be, which is
// QuotaReached.
func (s *Store) PutFrom(ctx context.Context, ref host.SessionRef, info abi.BlobInfo, from io.Reader) (id string, size int64, err error) {
	const op = "blob.PutFrom"
	id = NewID()
	key, problem := keyOf(ref, id)
	if problem == nil {
		problem = abi.CheckBlob(info, 0)
	}
	if problem != nil {
		return "", 0, host.Fail(op, problem, nil)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	size, err = s.write(ctx, key, info, io.LimitReader(from, int64(abi.BlobBytes)+1))
	switch {
	case err != nil:
		return "", 0, failure(ctx, op, "the blob cannot be written", err)
	case abi.Size(size) > abi.BlobBytes:
		return "", 0, host.Fail(op, abi.NewProblem(abi.QuotaReached, "the blob has more than %s, which is the most that is kept", abi.BlobBytes), nil)
	}
	return id, size, nil
}

// write writes a stream, unless it turns out to be too long.
func (s *Store) write(ctx context.Context, key string, info abi.BlobInfo, from io.Reader) (size int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := s.bucket.NewWriter(ctx, key, optionsOf(info))
	if err != nil {
		return 0, err
	}
	size, err = io.Copy(w, from)
	if err != nil || abi.Size(size) > abi.BlobBytes {
		cancel() // before Close, which would keep it
		_ = w.Close()
		return size, err
	}
	if err = w.Close(); err == nil {
		err = s.secure(ctx, key)
	}
	return size, err
}

// secure makes a blob that was written outlive a power cut, or removes it.
func (s *Store) secure(ctx context.Context, key string) error {
	err := s.folder.keep(key)
	if err != nil {
		_ = s.bucket.Delete(context.WithoutCancel(ctx), key) // what stays goes with the session
	}
	return err
}

func optionsOf(info abi.BlobInfo) *blob.WriterOptions {
	meta := map[string]string{metaType: info.Type, metaName: info.Name}
	maps.DeleteFunc(meta, func(_, value string) bool { return value == "" }) // not every bucket keeps an empty one
	return &blob.WriterOptions{ContentType: storedType, Metadata: meta}
}

// Names of an object's metadata.
const (
	metaType = "sluice-type"
	metaName = "sluice-name"
)

// Read gives a part of a blob: length bytes from offset on, or to the end where
// length is 0 or there are fewer. More than abi.BlobReadBytes is QuotaReached, an
// offset behind the end OutOfBounds.
func (s *Store) Read(ctx context.Context, ref host.SessionRef, id string, offset, length int64) ([]byte, error) {
	const op = "blob.Read"
	key, problem := keyOf(ref, id)
	if problem == nil {
		problem = abi.BlobRange{Offset: offset, Length: length}.Check()
	}
	if problem != nil {
		return nil, host.Fail(op, problem, nil)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	data, size, err := s.read(ctx, key, offset, length)
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		return nil, host.Fail(op, NotThere(id), nil)
	case err != nil:
		return s.atEnd(ctx, op, ref, id, offset, err)
	case offset > size:
		return nil, host.Fail(op, Behind(offset, size), nil)
	case abi.Size(len(data)) > abi.BlobReadBytes:
		return nil, host.Fail(op, abi.BlobRange{Length: size - offset}.Check(), nil)
	}
	return data, nil
}

// read gives the part, and one byte more than may be read where it is too long.
func (s *Store) read(ctx context.Context, key string, offset, length int64) (data []byte, size int64, err error) {
	if length == 0 {
		length = int64(abi.BlobReadBytes) + 1
	}
	r, err := s.bucket.NewRangeReader(ctx, key, offset, length, nil)
	if err != nil {
		return nil, 0, err
	}
	data, err = io.ReadAll(io.LimitReader(r, length))
	return data, r.Size(), errors.Join(err, r.Close())
}

// atEnd is the end of a read that failed. Some buckets refuse a range that
// begins at the end or behind it, which is no failure.
func (s *Store) atEnd(ctx context.Context, op string, ref host.SessionRef, id string, offset int64, cause error) ([]byte, error) {
	info, err := s.Stat(ctx, ref, id)
	switch {
	case err != nil || offset < info.Size:
		return nil, failure(ctx, op, "the blob cannot be read", errors.Join(cause, err))
	case offset > info.Size:
		return nil, host.Fail(op, Behind(offset, info.Size), nil)
	}
	return []byte{}, nil
}

// Open gives all of a blob as a stream, for who has a use for more than one
// Read gives. It ends with the store's time for one operation. Close it.
func (s *Store) Open(ctx context.Context, ref host.SessionRef, id string) (io.ReadCloser, error) {
	const op = "blob.Open"
	key, problem := keyOf(ref, id)
	if problem != nil {
		return nil, host.Fail(op, problem, nil)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	r, err := s.bucket.NewReader(ctx, key, nil)
	if err != nil {
		defer cancel()
		if gcerrors.Code(err) == gcerrors.NotFound {
			return nil, host.Fail(op, NotThere(id), nil)
		}
		return nil, failure(ctx, op, "the blob cannot be read", err)
	}
	return stream{r, cancel}, nil
}

// A stream is a reader whose time ends with it.
type stream struct {
	*blob.Reader
	cancel context.CancelFunc
}

// Close ends the stream.
func (s stream) Close() error {
	defer s.cancel()
	return s.Reader.Close()
}

// Behind is the problem of a read that begins behind the end of a blob.
func Behind(offset, size int64) *abi.Problem {
	return abi.NewProblem(abi.OutOfBounds, "the blob has %d bytes, and the read begins at %d", size, offset).WithField("offset")
}

// NotThere is the problem of an id that names no blob of the session.
func NotThere(id string) *abi.Problem {
	return abi.NewProblem(abi.NotFound, "the session has no blob %.60q", id).WithField("id").WithHint("use an id that a call of this session gave")
}

// Stat tells about a blob.
func (s *Store) Stat(ctx context.Context, ref host.SessionRef, id string) (Info, error) {
	const op = "blob.Stat"
	key, problem := keyOf(ref, id)
	if problem != nil {
		return Info{}, host.Fail(op, problem, nil)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	a, err := s.bucket.Attributes(ctx, key)
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		return Info{}, host.Fail(op, NotThere(id), nil)
	case err != nil:
		return Info{}, failure(ctx, op, "the blob cannot be looked up", err)
	}
	return Info{BlobInfo: abi.BlobInfo{Type: a.Metadata[metaType], Name: a.Metadata[metaName]}, Size: a.Size}, nil
}

// Delete removes a blob; one that is not there is no error.
func (s *Store) Delete(ctx context.Context, ref host.SessionRef, id string) error {
	const op = "blob.Delete"
	key, problem := keyOf(ref, id)
	if problem != nil {
		return host.Fail(op, problem, nil)
	}
	if err := s.remove(ctx, key); err != nil {
		return failure(ctx, op, "the blob cannot be removed", err)
	}
	return nil
}

// remove removes an object, which may be gone already.
func (s *Store) remove(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	err := s.bucket.Delete(ctx, key)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil
	}
	return err
}

// PurgeSession removes all blobs of a session. It may be repeated, and must be
// where it fails. What is written meanwhile may stay. Each step has the store's
// time for one operation; the whole lasts as long as its context lets it.
func (s *Store) PurgeSession(ctx context.Context, ref host.SessionRef) error {
	const op = "blob.PurgeSession"
	if err := ref.Valid(); err != nil {
		return host.Fail(op, abi.NewProblem(abi.BadValue, "%v", err), nil)
	}
	err := s.purgeListed(ctx, prefixOf(ref))
	if err == nil {
		err = s.folder.purge(prefixOf(ref))
	}
	if err != nil {
		return failure(ctx, op, "the session's blobs cannot be removed", err)
	}
	return nil
}

// purgeListed removes what the bucket lists.
func (s *Store) purgeListed(ctx context.Context, prefix string) error {
	for objects := s.bucket.List(&blob.ListOptions{Prefix: prefix}); ; {
		object, err := s.next(ctx, objects)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = s.remove(ctx, object.Key)
		}
		if err != nil {
			return err
		}
	}
}

// listTries is how often a folder is listed before what it does not find counts
// as a failure: each time may meet the temporary file of another write.
const listTries = 10

// next gives the next object of a list, and io.EOF behind the last one. A bucket
// that is not found is not there; a folder's list breaks off where a file goes
// away under it, and is then made again.
func (s *Store) next(ctx context.Context, objects *blob.ListIterator) (object *blob.ListObject, err error) {
	tries := 1
	if s.folder != nil {
		tries = listTries
	}
	for range tries {
		if object, err = s.nextOnce(ctx, objects); gcerrors.Code(err) != gcerrors.NotFound {
			break
		}
	}
	return object, err
}

func (s *Store) nextOnce(ctx context.Context, objects *blob.ListIterator) (*blob.ListObject, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return objects.Next(ctx)
}

// Close ends the use of the bucket.
func (s *Store) Close() error { return s.bucket.Close() }

// keyOf gives the key of a blob in the bucket. What is no id of ours can name
// no blob, and never becomes a part of a key.
func keyOf(ref host.SessionRef, id string) (string, *abi.Problem) {
	if err := ref.Valid(); err != nil {
		return "", abi.NewProblem(abi.BadValue, "%v", err)
	}
	digits, ours := strings.CutPrefix(id, idPrefix)
	if !ours || len(digits) != idDigits || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", NotThere(id)
	}
	return prefixOf(ref) + id, nil
}

// prefixOf gives what the keys of a session begin with: no text of a tenant's.
// Lengths keep ids apart that are the same text when joined.
func prefixOf(ref host.SessionRef) string {
	h := sha256.New()
	for _, id := range []string{string(ref.Tenant), string(ref.User), string(ref.Session)} {
		fmt.Fprintf(h, "%d:%s", len(id), id)
	}
	return hex.EncodeToString(h.Sum(nil)) + "/"
}

// failure is a fault of the bucket, or the end of the caller's time; the cause
// is for operators only.
func failure(ctx context.Context, op, message string, cause error) error {
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return host.Fail(op, host.ProblemOf(err), cause)
	}
	return host.Fail(op, abi.NewProblem(abi.StoreFailure, "%s", message), cause)
}
