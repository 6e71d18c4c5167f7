package wire

import (
	"bytes"
	"encoding/base64"
	"testing"
)

func FuzzBase64IsThatOfItsPackage(f *testing.F) {
	for _, text := range []string{
		"", "YQ==", "YWI=", "YWJj", "YWJjZA==", "Y", "YQ", "YQ=", "YQ=x", "YQ==x", "YWI", "YWI=x", "YWI==", "=", "Y=", "====", "YQ\n==", "YQ=\r\n=", "YQ==\n", "\nYW\rJj\n", "YWJj YWJj", "-_-_", "+/+/", "YWJjYWJjYWJ!", "YWJjYWJjYQ=\n", "YR==", "YWJ=", "\xff", "YWJjYWJjYWJjYWJjYWJj",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		n, wrong := base64.StdEncoding.Decode(want, text)
		got, err := decodeBase64(text)
		switch {
		case (err == nil) != (wrong == nil), err != nil && err.Error() != wrong.Error():
			t.Errorf("%q: %v, want %v", text, err, wrong)
		case err == nil && !bytes.Equal(got, want[:n]):
			t.Errorf("%q reads as %q, want %q", text, got, want[:n])
		}
		if got, want := string(appendBase64(nil, text)), base64.StdEncoding.EncodeToString(text); got != want {
			t.Errorf("%q is written as %s, want %s", text, got, want)
		}
	})
}
