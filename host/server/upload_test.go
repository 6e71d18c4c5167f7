package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/window"
)

// newUploads is a server that keeps uploads in a folder.
func newUploads(t *testing.T, cfg Config) (s *Server, folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "blobs")
	blobs, err := blob.Open(t.Context(), folder, blob.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { blobs.Close() })
	cfg.Blobs = blobs
	return newServer(t, says("x"), cfg), folder
}

// kept counts the files in a folder.
func kept(t *testing.T, folder string) (n int) {
	t.Helper()
	err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// named gives a client whose uploads have a name and a type.
func named(c *client, name, kind string) *client {
	return c.with("Content-Disposition", `attachment; filename="`+name+`"`, "Content-Type", kind)
}

func uploadsOf(c *client) (path string, ref host.SessionRef) {
	turns := c.newSession(`{}`)
	session := strings.Split(turns, "/")[3]
	return "/v1/sessions/" + session + "/uploads", host.SessionRef{Tenant: local, User: local, Session: host.SessionID(session)}
}

type uploaded struct {
	ID, Type, Name, Preview string
	Size                    int64
}

func uploadIn(t *testing.T, status int, text string) (u uploaded) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &u); err != nil || status != http.StatusCreated {
		t.Fatalf("%d %.300s", status, text)
	}
	return u
}

func TestAFileIsUploadedToItsSession(t *testing.T) {
	s, _ := newUploads(t, Config{})
	c := serve(t, s)
	path, ref := uploadsOf(c)
	list := `{"items":[` + strings.TrimSuffix(strings.Repeat(`{"sku":"1001","name":"青柠"},`, 5000), ",") + `]}`
	lines := strings.Repeat("1001,青柠,89.90\n", 10_000)
	for _, tt := range []struct{ name, kind, body, preview string }{
		{"prices.csv", "text/csv", "sku,price\n1001,89\n", "sku,price\n1001,89\n"},
		{"long.csv", "text/csv; charset=utf-8", lines, "bytes left out"},
		{"list.json", "application/json", list, "more items left out"},
		{"list.json", "application/ld+json; charset=utf-8", `{"a": 1}`, `{"a":1}`},
		{"broken.json", "application/json", `{"a":`, `{"a":`},
		{"photo.png", "image/png", "\x89PNG\r\n\x1a\n\x00\x00" + strings.Repeat("\xff\x00", 50_000), ""},
		{"empty.txt", "text/plain", "", ""},
		{"价格 表.csv", "text/csv", "青柠", "青柠"},
	} {
		t.Run(tt.name+" "+tt.kind, func(t *testing.T) {
			status, text := named(c, tt.name, tt.kind).call("POST", path, tt.body)
			u := uploadIn(t, status, text)
			if u.Type != tt.kind || u.Name != tt.name || u.Size != int64(len(tt.body)) || !strings.Contains(u.Preview, tt.preview) || tt.preview == "" && u.Preview != "" {
				t.Errorf("it gives %+v", u)
			}
			if n := utf8.RuneCountInString(u.Preview); n > window.ResultChars+100 {
				t.Errorf("the preview has %d characters", n)
			}
			if strings.HasPrefix(tt.name, "list") && !json.Valid([]byte(u.Preview)) {
				t.Errorf("the preview is no JSON: %.200s", u.Preview)
			}
			all, err := s.Blobs.Open(t.Context(), ref, u.ID)
			if err != nil {
				t.Fatal(err)
			}
			defer all.Close()
			if got, err := io.ReadAll(all); err != nil || string(got) != tt.body {
				t.Errorf("%d bytes were kept of %d: %v", len(got), len(tt.body), err)
			}
			if info, err := s.Blobs.Stat(t.Context(), ref, u.ID); err != nil || info.BlobInfo != (abi.BlobInfo{Type: tt.kind, Name: tt.name}) {
				t.Errorf("it is kept as %+v, %v", info, err)
			}
			ref.User = "ada"
			if _, err := s.Blobs.Stat(t.Context(), ref, u.ID); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.NotFound {
				t.Errorf("another user finds it: %v", err)
			}
			ref.User = local
		})
	}
}

func TestANameMayBeWrittenInASCII(t *testing.T) {
	s, _ := newUploads(t, Config{})
	c := serve(t, s)
	path, _ := uploadsOf(c)
	status, text := c.with("Content-Disposition", "attachment; filename*=UTF-8''%E4%BB%B7%E6%A0%BC.csv", "Content-Type", "").call("POST", path, "x")
	if u := uploadIn(t, status, text); u.Name != "价格.csv" || u.Type != unknownType {
		t.Errorf("it gives %+v", u)
	}
}

func TestAnUploadThatCannotBeKeptIsRefusedAndLeavesNothing(t *testing.T) {
	s, folder := newUploads(t, Config{UploadBytes: 1000})
	c := serve(t, s)
	path, _ := uploadsOf(c)
	csv := func(headers ...string) []string {
		return append([]string{"Content-Disposition", `attachment; filename="a.csv"`, "Content-Type", "text/csv"}, headers...)
	}
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		code                     abi.Code
		says                     string
	}{
		{"too large", "POST", path, strings.Repeat("x", 1001), csv(), 413, abi.InputLimit, "1000 bytes"},
		{"no name", "POST", path, "x", []string{"Content-Type", "text/csv"}, 400, abi.Missing, "Content-Disposition"},
		{"a page's plain text", "POST", path, "x", []string{"Content-Type", "text/plain"}, 400, abi.Missing, "Content-Disposition"},
		{"an empty name", "POST", path, "x", csv("Content-Disposition", `attachment; filename=""`), 400, abi.Missing, "name"},
		{"a name with a newline", "POST", path, "x", csv("Content-Disposition", `attachment; filename*=UTF-8''a%0Ab`), 400, abi.BadValue, "name"},
		{"a long name", "POST", path, "x", csv("Content-Disposition", `attachment; filename="`+strings.Repeat("x", 256)+`"`), 400, abi.BadValue, "255"},
		{"no type", "POST", path, "x", csv("Content-Type", "text"), 400, abi.BadValue, "text/csv"},
		{"a long type", "POST", path, "x", csv("Content-Type", "text/"+strings.Repeat("x", abi.BlobTypeBytes)), 400, abi.BadValue, "type"},
		{"a form", "POST", path, "x", csv("Content-Type", "multipart/form-data; boundary=x"), 415, abi.BadArguments, "own bytes"},
		{"curl's own form", "POST", path, "x", csv("Content-Type", "application/x-www-form-urlencoded"), 415, abi.BadArguments, "own bytes"},
		{"a foreign host", "POST", path, "x", csv("Host", "evil.example"), 403, abi.NotAllowed, "evil.example"},
		{"another tenant", "POST", path, "x", csv(HeaderTenant, "other"), 404, abi.NotFound, "tenant other"},
		{"another user", "POST", path, "x", csv(HeaderUser, "other"), 404, abi.NotFound, "other of tenant"},
		{"an unknown session", "POST", "/v1/sessions/session_0/uploads", "x", csv(), 404, abi.NotFound, "session_0"},
		{"a wrong method", "GET", path, "", nil, 405, abi.BadArguments, "POST"},
		{"a preflight", "OPTIONS", path, "", []string{"Origin", "https://evil.example"}, 405, abi.BadArguments, "POST"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, text := c.with(tt.headers...).call(tt.method, tt.path, tt.body)
			f := failureIn(t, text)
			if status != tt.status || f.Problem.Code != int(tt.code) || !strings.Contains(f.Problem.Message+f.Problem.Hint, tt.says) {
				t.Errorf("%d %s, want %d, code %d and %q", status, text, tt.status, tt.code, tt.says)
			}
			if n := kept(t, folder); n != 0 {
				t.Errorf("%d files are left", n)
			}
		})
	}
}

// A JSON body of a turn is still held to its own bound and type.
func TestOnlyUploadsMayBeLargeAndOfAnyType(t *testing.T) {
	s, _ := newUploads(t, Config{})
	c := serve(t, s)
	turns := c.newSession(`{}`)
	if status, _ := c.call("POST", turns, `{"text":"`+strings.Repeat("x", maxBodyBytes)+`"}`); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large turn gives %d", status)
	}
	if status, _ := named(c, "a.csv", "text/csv").call("POST", turns, `{"text":"a"}`); status != http.StatusUnsupportedMediaType {
		t.Errorf("a turn of another type gives %d", status)
	}
}

func TestAnUploadThatBreaksOffLeavesNothing(t *testing.T) {
	s, folder := newUploads(t, Config{})
	path, _ := uploadsOf(serve(t, s))
	r := httptest.NewRequest("POST", "http://localhost"+path, io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("gone"))))
	r.Header.Set("Content-Disposition", `attachment; filename="a.csv"`)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if f := failureIn(t, w.Body.String()); f.Problem.Code != int(abi.BadArguments) || kept(t, folder) != 0 {
		t.Errorf("%s, and %d files are left", w.Body, kept(t, folder))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r = httptest.NewRequestWithContext(ctx, "POST", "http://localhost"+path, strings.NewReader("x"))
	r.Header.Set("Content-Disposition", `attachment; filename="a.csv"`)
	w = httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code < 400 || kept(t, folder) != 0 {
		t.Errorf("a client that has gone gets %d, and %d files are left", w.Code, kept(t, folder))
	}
}

func TestWithoutAStoreUploadsAreRefused(t *testing.T) {
	c := serve(t, newServer(t, says("x"), Config{}))
	path, _ := uploadsOf(c)
	if status, text := named(c, "a.csv", "text/csv").call("POST", path, "x"); status != http.StatusServiceUnavailable || failureIn(t, text).Problem.Code != int(abi.Unavailable) {
		t.Errorf("%d %s", status, text)
	}
	s, folder := newUploads(t, Config{})
	if err := errors.Join(os.RemoveAll(folder), os.WriteFile(folder, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	c = serve(t, s)
	path, _ = uploadsOf(c)
	if status, text := named(c, "a.csv", "text/csv").call("POST", path, "x"); status != http.StatusServiceUnavailable || failureIn(t, text).Problem.Code != int(abi.StoreFailure) {
		t.Errorf("a store that fails: %d %s", status, text)
	}
}

func TestMoreUploadsThanAreServedAreRefused(t *testing.T) {
	s, folder := newUploads(t, Config{})
	c := serve(t, s)
	path, _ := uploadsOf(c)
	for range maxUploads {
		s.uploads <- struct{}{}
	}
	resp := named(c, "a.csv", "text/csv").do(t.Context(), "POST", path, "x")
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" || kept(t, folder) != 0 {
		t.Errorf("%d, Retry-After %q, %d files", resp.StatusCode, resp.Header.Get("Retry-After"), kept(t, folder))
	}
	<-s.uploads
	for range 2 { // the place is free again each time
		if status, text := named(c, "a.csv", "text/csv").call("POST", path, "x"); status != http.StatusCreated {
			t.Errorf("%d %s", status, text)
		}
	}
}
