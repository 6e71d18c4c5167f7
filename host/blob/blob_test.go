package blob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
)

var (
	ctx = context.Background()
	ref = host.SessionRef{Tenant: "acme", User: "mia", Session: "s1"}
)

// strangers are sessions that are nearly ref.
var strangers = []host.SessionRef{
	{Tenant: "other", User: "mia", Session: "s1"}, {Tenant: "acme", User: "ada", Session: "s1"}, {Tenant: "acme", User: "mia", Session: "s2"},
	{Tenant: "acmemia", User: "s", Session: "1"}, {Tenant: "acme", User: "mias1", Session: "-"},
}

// onEvery runs a test on a folder and on a server that speaks S3.
func onEvery(t *testing.T, test func(t *testing.T, s *blob.Store)) {
	t.Run("folder", func(t *testing.T) { test(t, open(t, filepath.Join(t.TempDir(), "blobs"))) })
	t.Run("s3", func(t *testing.T) { test(t, open(t, serveS3(t, "s3://bucket"))) })
}

func open(t *testing.T, address string) *blob.Store {
	t.Helper()
	s, err := blob.Open(ctx, address, blob.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// serveS3 plays S3 with one bucket and gives its address.
func serveS3(t *testing.T, address string) string {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	return address + "?endpoint=" + server.URL + "&use_path_style=true&region=us-east-1"
}

func put(t *testing.T, s *blob.Store, r host.SessionRef, info abi.BlobInfo, data string) string {
	t.Helper()
	id, err := s.Put(ctx, r, info, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func codeOf(err error) abi.Code {
	if p := host.ProblemOf(err); p != nil {
		return p.Code
	}
	return 0
}

func TestABlobIsReadAsItWasWritten(t *testing.T) {
	onEvery(t, func(t *testing.T, s *blob.Store) {
		big := strings.Repeat("0123456789abcdef", 1<<16)
		for _, data := range []string{"", "x", "价格\x00\xff", big} {
			id := put(t, s, ref, abi.BlobInfo{Type: "text/csv; charset=utf-8", Name: "价格 表.csv"}, data)
			got, err := s.Read(ctx, ref, id, 0, 0)
			if err != nil || string(got) != data {
				t.Errorf("%d bytes came back as %d: %v", len(data), len(got), err)
			}
			info, err := s.Stat(ctx, ref, id)
			if want := (blob.Info{BlobInfo: abi.BlobInfo{Type: "text/csv; charset=utf-8", Name: "价格 表.csv"}, Size: int64(len(data))}); err != nil || info != want {
				t.Errorf("it is %+v, want %+v: %v", info, want, err)
			}
		}
	})
}

func TestARangeIsGivenAsFarAsThereIsData(t *testing.T) {
	onEvery(t, func(t *testing.T, s *blob.Store) {
		id := put(t, s, ref, abi.BlobInfo{}, "0123456789")
		for _, tt := range []struct {
			offset, length int64
			want           string
			code           abi.Code
		}{
			{0, 0, "0123456789", 0}, {0, 4, "0123", 0}, {4, 3, "456", 0}, {9, 1, "9", 0}, {7, 0, "789", 0}, {8, 99, "89", 0},
			{10, 0, "", 0}, {10, 5, "", 0}, {0, int64(abi.BlobReadBytes), "0123456789", 0},
			{11, 0, "", abi.OutOfBounds}, {11, 1, "", abi.OutOfBounds}, {1 << 62, 1, "", abi.OutOfBounds},
			{-1, 0, "", abi.BadHostCall}, {0, -1, "", abi.BadHostCall}, {-1 << 63, -1 << 63, "", abi.BadHostCall},
			{0, int64(abi.BlobReadBytes) + 1, "", abi.QuotaReached}, {0, 1<<63 - 1, "", abi.QuotaReached},
		} {
			got, err := s.Read(ctx, ref, id, tt.offset, tt.length)
			if codeOf(err) != tt.code || string(got) != tt.want || tt.code == 0 && got == nil {
				t.Errorf("%d+%d is %q, %v; want %q and code %d", tt.offset, tt.length, got, err, tt.want, tt.code)
			}
		}
	})
}

func TestOneReadGivesSoMuch(t *testing.T) {
	onEvery(t, func(t *testing.T, s *blob.Store) {
		data := make([]byte, abi.BlobReadBytes+1)
		id := put(t, s, ref, abi.BlobInfo{}, string(data))
		if got, err := s.Read(ctx, ref, id, 0, 0); codeOf(err) != abi.QuotaReached || got != nil {
			t.Errorf("read of %d: %d bytes, %v", len(data), len(got), err)
		}
		if got, err := s.Read(ctx, ref, id, 1, 0); err != nil || abi.Size(len(got)) != abi.BlobReadBytes {
			t.Errorf("read of the largest part: %d bytes, %v", len(got), err)
		}
	})
}

// Whoever has the right id in the wrong session learns nothing from it.
func TestABlobOfAnotherSessionIsNotFound(t *testing.T) {
	onEvery(t, func(t *testing.T, s *blob.Store) {
		id := put(t, s, ref, abi.BlobInfo{Name: "secret"}, "secret")
		never := blob.NewID()
		for _, other := range strangers {
			for what, do := range map[string]func(string) error{
				"read": func(id string) error { _, err := s.Read(ctx, other, id, 0, 0); return err },
				"stat": func(id string) error { _, err := s.Stat(ctx, other, id); return err },
			} {
				mine, none := do(id), do(never)
				if codeOf(mine) != abi.NotFound || strings.ReplaceAll(mine.Error(), id, never) != none.Error() {
					t.Errorf("%s as %v: %v; of an id that never was: %v", what, other, mine, none)
				}
			}
			if err := errors.Join(s.Delete(ctx, other, id), s.PurgeSession(ctx, other)); err != nil {
				t.Error(err)
			}
		}
		if got, err := s.Read(ctx, ref, id, 0, 0); err != nil || string(got) != "secret" {
			t.Errorf("its own session reads %q, %v", got, err)
		}
	})
}

func TestAnIdThatIsNoneNamesNothing(t *testing.T) {
	onEvery(t, func(t *testing.T, s *blob.Store) {
		id := put(t, s, ref, abi.BlobInfo{}, "x")
		for _, bad := range []string{
			"", "blob_", id + "0", id[:len(id)-1], strings.ToUpper(id), "../" + id, id + "/../" + id, "/" + id, id + ".attrs", id + "\x00", id + "\n",
			"\xff\xfe", "blob_" + strings.Repeat("z", 40), "blob_" + strings.Repeat("../", 13) + "x", strings.Repeat("x", 1<<20), "%2e%2e/" + id,
		} {
			if _, err := s.Read(ctx, ref, bad, 0, 0); codeOf(err) != abi.NotFound {
				t.Errorf("read of %.60q: %v", bad, err)
			}
			if err := s.Delete(ctx, ref, bad); codeOf(err) != abi.NotFound {
				t.Errorf("delete of %.60q: %v", bad, err)
			}
		}
	})
}

// A name is for people: it never becomes a part of a path.
func TestANameIsMetadataOnly(t *testing.T) {
	onEvery(t, func(t *testing.T, s *blob.Store) {
		for _, name := range []string{"../../etc/passwd", "/abs", `C:\x`, "CON", ".", "..", "a/b/../c", "a b+c%2f&d=e", "..;/", "é\u202e.exe", strings.Repeat("x", abi.BlobNameBytes)} {
			id := put(t, s, ref, abi.BlobInfo{Name: name}, "x")
			if info, err := s.Stat(ctx, ref, id); err != nil || info.Name != name {
				t.Errorf("%q came back as %q: %v", name, info.Name, err)
			}
		}
		for _, info := range []abi.BlobInfo{
			{Name: "a\x00b"}, {Name: "a\nb"}, {Name: "\xff"}, {Name: strings.Repeat("x", abi.BlobNameBytes+1)},
			{Type: "text"}, {Type: "text/html\r\nx: y"}, {Type: "\xff/x"}, {Type: "a/" + strings.Repeat("x", abi.BlobTypeBytes)}, {Type: "/x"}, {Type: "a b/c"}, {Type: "é/x"},
		} {
			if _, err := s.Put(ctx, ref, info, nil); codeOf(err) != abi.BadHostCall {
				t.Errorf("%.40q: %v", info, err)
			}
		}
		if _, err := s.Put(ctx, ref, abi.BlobInfo{}, make([]byte, abi.BlobBytes+1)); codeOf(err) != abi.QuotaReached {
			t.Errorf("a byte too many: %v", err)
		}
	})
}

func TestABlobGoesWithItsSession(t *testing.T) {
	onEvery(t, func(t *testing.T, s *blob.Store) {
		theirs := put(t, s, strangers[0], abi.BlobInfo{}, "theirs")
		var ids []string
		for range 30 {
			ids = append(ids, put(t, s, ref, abi.BlobInfo{Name: "n"}, "mine"))
		}
		if err := errors.Join(s.Delete(ctx, ref, ids[0]), s.Delete(ctx, ref, ids[0])); err != nil {
			t.Errorf("a blob that is deleted twice: %v", err)
		}
		if err := errors.Join(s.PurgeSession(ctx, ref), s.PurgeSession(ctx, ref)); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if _, err := s.Stat(ctx, ref, id); codeOf(err) != abi.NotFound {
				t.Errorf("after the purge: %v", err)
			}
		}
		if got, err := s.Read(ctx, strangers[0], theirs, 0, 0); err != nil || string(got) != "theirs" {
			t.Errorf("another session reads %q, %v", got, err)
		}
		if err := s.PurgeSession(ctx, host.SessionRef{}); codeOf(err) != abi.BadValue {
			t.Errorf("a purge of no session: %v", err)
		}
	})
}

func TestAPurgeGoesOverAllPagesOfAList(t *testing.T) {
	s := open(t, serveS3(t, "s3://bucket"))
	var last string
	for range 1005 { // a page has 1,000
		last = put(t, s, ref, abi.BlobInfo{}, "x")
	}
	theirs := put(t, s, strangers[0], abi.BlobInfo{}, "theirs")
	if err := s.PurgeSession(ctx, ref); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stat(ctx, ref, last); codeOf(err) != abi.NotFound {
		t.Errorf("after the purge: %v", err)
	}
	if _, err := s.Stat(ctx, strangers[0], theirs); err != nil {
		t.Errorf("another session's blob: %v", err)
	}
}

func TestAStreamIsReadAsItWasWritten(t *testing.T) {
	onEvery(t, func(t *testing.T, s *blob.Store) {
		data := strings.Repeat("0123456789abcdef", 1<<16)
		id, size, err := s.PutFrom(ctx, ref, abi.BlobInfo{Type: "text/csv", Name: "价格.csv"}, strings.NewReader(data))
		if err != nil || size != int64(len(data)) {
			t.Fatalf("%d bytes, %v", size, err)
		}
		if info, err := s.Stat(ctx, ref, id); err != nil || info.Name != "价格.csv" || info.Size != size {
			t.Errorf("it is %+v, %v", info, err)
		}
		r, err := s.Open(ctx, ref, id)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil || string(got) != data {
			t.Errorf("%d bytes came back, %v", len(got), err)
		}
		for _, other := range strangers {
			if _, err := s.Open(ctx, other, id); codeOf(err) != abi.NotFound {
				t.Errorf("opened as %v: %v", other, err)
			}
		}
	})
}

func TestIdsCannotBeGuessed(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := blob.NewID()
		if !regexp.MustCompile(`^blob_[0-9a-f]{40}$`).MatchString(id) || seen[id] {
			t.Fatalf("%s is malformed or came twice", id)
		}
		seen[id] = true
	}
}

func TestAFolderTellsNothingOfWhoseItIs(t *testing.T) {
	root := filepath.Join(t.TempDir(), "blobs")
	s := open(t, "file://"+filepath.ToSlash(root))
	put(t, s, ref, abi.BlobInfo{Name: "../up"}, "x")
	files := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, name)
		if strings.Contains(rel, "acme") || strings.Contains(rel, "mia") || strings.Contains(rel, "up") {
			t.Errorf("the path %s tells something", rel)
		}
		if info, err := d.Info(); err == nil && d.IsDir() && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("the folder %s may be opened by others: %v", rel, info.Mode())
		}
		if !d.IsDir() {
			files++
		}
		return err
	})
	if err != nil || files != 2 {
		t.Errorf("%d files, %v; want the blob and its metadata", files, err)
	}
	if err := s.PurgeSession(ctx, ref); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(root, "*", "*")); len(left) != 0 {
		t.Errorf("after the purge there are %q", left)
	}
}

func TestAnAddressThatCannotBeUsedIsRefused(t *testing.T) {
	for _, tt := range []struct {
		address string
		code    abi.Code
		part    string
	}{
		{"", abi.BadValue, "cannot be read"},
		{"ftp://host/x", abi.BadValue, "file, gs, oss, s3"},
		{"azblob://container", abi.BadValue, "sluice_azure"},
		{"mem://", abi.BadValue, "no blob store mem://"},
		{"s3://key:sesame@bucket", abi.BadValue, "holds credentials"},
		{"s3://bucket?sesame=1", abi.StoreFailure, "s3://bucket cannot be opened"},
		{"s3://?endpoint=http://127.0.0.1:1&region=x", abi.StoreFailure, "cannot be opened"},
		{"oss://bucket", abi.StoreFailure, "oss://bucket cannot be opened"},
		{"file:///x?metadata=skip", abi.StoreFailure, "cannot be opened"},
		{"file://host/x", abi.StoreFailure, "cannot be opened"},
		{"s3://bu\x00cket", abi.BadValue, "cannot be read"},
	} {
		_, err := blob.Open(ctx, tt.address, blob.Options{})
		if codeOf(err) != tt.code || !strings.Contains(host.ProblemOf(err).Error(), tt.part) || strings.Contains(host.ProblemOf(err).Error(), "sesame") {
			t.Errorf("%q: %v; want code %d and %q", tt.address, err, tt.code, tt.part)
		}
	}
}

// The S3 interface of OSS and GCS is one: here it is S3's own that answers.
func TestOthersAreReachedByTheirS3Interface(t *testing.T) {
	for _, address := range []string{"oss://bucket", "gs://bucket"} {
		s := open(t, serveS3(t, address))
		id := put(t, s, ref, abi.BlobInfo{Name: "n"}, "x")
		if got, err := s.Read(ctx, ref, id, 0, 0); err != nil || string(got) != "x" {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
}

func TestABucketThatFailsIsAFailureOfTheStore(t *testing.T) {
	root := filepath.Join(t.TempDir(), "blobs")
	folder := open(t, root)
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Put(ctx, ref, abi.BlobInfo{}, bytes.Repeat([]byte("x"), 10)); codeOf(err) != abi.StoreFailure {
		t.Errorf("a folder that is a file: %v", err)
	}
	address := serveS3(t, "s3://nowhere")
	s := open(t, address)
	if _, err := s.Put(ctx, ref, abi.BlobInfo{}, []byte("x")); codeOf(err) != abi.StoreFailure {
		t.Errorf("a bucket that is not there: %v", err)
	}
	if err := s.PurgeSession(ctx, ref); codeOf(err) != abi.StoreFailure {
		t.Errorf("a purge of a bucket that is not there: %v", err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Stat(stopped, ref, blob.NewID()); codeOf(err) != abi.Cancelled {
		t.Errorf("a caller that has gone: %v", err)
	}
	hurried, err := blob.Open(ctx, address, blob.Options{Timeout: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	defer hurried.Close()
	if _, err := hurried.Stat(ctx, ref, blob.NewID()); codeOf(err) != abi.StoreFailure {
		t.Errorf("a bucket that takes too long: %v", err)
	}
}
