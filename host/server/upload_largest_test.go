//go:build !race

package server

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

// The largest file goes through in one piece, as it came.
func TestTheLargestFileIsUploaded(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 64 MiB")
	}
	s, _ := newUploads(t, Config{})
	c := serve(t, s)
	path, ref := uploadsOf(c)
	body := strings.Repeat(`{"sku":"1001"},`, int(abi.BlobBytes)/15)
	body = `[` + strings.TrimSuffix(body, ",") + `]`
	body += strings.Repeat(" ", int(abi.BlobBytes)-len(body))
	status, text := named(c, "all.json", "application/json").call("POST", path, body)
	u := uploadIn(t, status, text)
	if u.Size != int64(abi.BlobBytes) || !json.Valid([]byte(u.Preview)) {
		t.Fatalf("it gives %+v", u)
	}
	all, err := s.Blobs.Open(t.Context(), ref, u.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if got, err := io.ReadAll(all); err != nil || !bytes.Equal(got, []byte(body)) {
		t.Errorf("%d bytes were kept: %v", len(got), err)
	}
}
