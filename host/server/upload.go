package server

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/window"
)

// uploadRoute is the one route whose body is no JSON object.
const uploadRoute = "POST /v1/sessions/{session}/uploads"

// maxUploads bounds the uploads that are served at once. Each is streamed; but
// a preview of JSON holds its longest text, which may be all of it.
const maxUploads = 4

// unknownType is the type of an upload that comes without one.
const unknownType = "application/octet-stream"

// An upload is what the caller is told of a file that was kept.
type upload struct {
	host.BlobRef
	Preview string `json:"preview,omitempty"` // as a model would see it; none of what is no text
}

// postUpload keeps a file for the session: a blob, which the caller may name in
// a turn, and which the session's skills read by its id.
func (s *Server) postUpload(w http.ResponseWriter, r *http.Request) *refusal {
	session, refused := s.findSession(r)
	if refused != nil {
		return refused
	}
	info, refused := uploadInfo(r)
	if refused != nil {
		return refused.to(session.Locale)
	}
	if s.Blobs == nil {
		return refuse(abi.NewProblem(abi.Unavailable, "this host has no store for uploads").WithHint("ask the operator to set it up")).to(session.Locale)
	}
	select {
	case s.uploads <- struct{}{}:
		defer func() { <-s.uploads }()
	default:
		problem := abi.NewProblem(abi.SystemFailure, "%d files are being uploaded, as many as this server takes", maxUploads).WithHint("upload it again in a moment")
		problem.RetryAfterMS = retryAfter.Milliseconds()
		return refuse(problem).as(http.StatusTooManyRequests).to(session.Locale)
	}
	kept, refused := s.keep(w, r, session.Ref, info)
	if refused != nil {
		return refused.to(session.Locale)
	}
	writeJSON(w, http.StatusCreated, kept)
	return nil
}

// uploadInfo reads the file's name and type from the headers. The name's header
// is required: a page of another origin cannot send it unasked, whatever the
// content type.
func uploadInfo(r *http.Request) (info abi.BlobInfo, refused *refusal) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Disposition"))
	if err != nil || params["filename"] == "" {
		return info, refuse(abi.NewProblem(abi.Missing, "the upload has no name").WithField("name").
			WithHint(`send the header Content-Disposition: attachment; filename="prices.csv"`))
	}
	info = abi.BlobInfo{Type: r.Header.Get("Content-Type"), Name: params["filename"]}
	if info.Type == "" {
		info.Type = unknownType
	}
	switch kind, _, err := mime.ParseMediaType(info.Type); {
	case err != nil:
		return info, refuse(abi.NewProblem(abi.BadValue, "the content type %.80q is none", info.Type).WithField("type").
			WithHint("send one such as Content-Type: text/csv"))
	case kind == "multipart/form-data" || kind == "application/x-www-form-urlencoded":
		return info, refuse(abi.NewProblem(abi.BadArguments, "the body is a form").WithField("type").
			WithHint("send the file's own bytes as the body, with its own content type")).as(http.StatusUnsupportedMediaType)
	}
	if problem := abi.CheckBlob(info, 0); problem != nil {
		problem.Code = abi.BadValue // there it is a host call's
		return info, refuse(problem)
	}
	return info, nil
}

// keep streams the body to the store and gives its preview.
func (s *Server) keep(w http.ResponseWriter, r *http.Request, ref host.SessionRef, info abi.BlobInfo) (upload, *refusal) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(blob.Timeout)) // not every connection has one
	body := &source{from: r.Body}
	id, size, err := s.Blobs.PutFrom(r.Context(), ref, info, body)
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case errors.As(body.err, &tooLarge):
		return upload{}, refuse(abi.NewProblem(abi.InputLimit, "the file is larger than %d bytes", tooLarge.Limit))
	case body.err != nil:
		return upload{}, refuse(abi.NewProblem(abi.BadArguments, "the body could not be read to its end; nothing was kept")).because(body.err)
	case err != nil:
		return upload{}, failed(err)
	}
	kept := upload{BlobRef: host.BlobRef{ID: id, Size: size, BlobInfo: info}}
	if kept.Preview, err = s.preview(r.Context(), ref, kept.BlobRef); err != nil {
		err = errors.Join(err, s.Blobs.Delete(context.WithoutCancel(r.Context()), ref, id)) // nobody knows its id
		return upload{}, failed(err)
	}
	return kept, nil
}

// A source remembers what was wrong with what was read from it.
type source struct {
	from io.Reader
	err  error
}

// Read reads on.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// preview gives what a model would see of a file: JSON in its shape, the ends
// of other text, and nothing of what is neither.
func (s *Server) preview(ctx context.Context, ref host.SessionRef, file host.BlobRef) (string, error) {
	if isJSON(file.Type) {
		all, err := s.Blobs.Open(ctx, ref, file.ID)
		if err != nil {
			return "", err
		}
		short, ok := window.ShortJSON(all)
		if err := all.Close(); err != nil || ok {
			return string(short), err
		}
	}
	const part = window.ResultChars * utf8.UTFMax // as much as can be shown of either end
	head, err := s.Blobs.Read(ctx, ref, file.ID, 0, part)
	if err != nil {
		return "", err
	}
	var tail []byte
	if file.Size > int64(len(head)) {
		if tail, err = s.Blobs.Read(ctx, ref, file.ID, max(int64(len(head)), file.Size-part), 0); err != nil {
			return "", err
		}
	}
	if !isText(append(head, tail...)) {
		return "", nil
	}
	return window.ShortEnds(string(head), string(tail), file.Size), nil
}

func isJSON(kind string) bool {
	essence, _, _ := strings.Cut(kind, ";")
	essence = strings.TrimSpace(essence)
	return essence == "application/json" || strings.HasSuffix(essence, "+json")
}

// isText reports whether there is no NUL and, but for characters that were cut,
// only UTF-8.
func isText(b []byte) bool {
	const cut = 4 * (utf8.UTFMax - 1) // where the head ends and the tail begins, and at the end
	broken := 0
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			broken++
		}
		if r == 0 || broken > cut {
			return false
		}
		b = b[size:]
	}
	return true
}
