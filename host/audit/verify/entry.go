package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"
)

// An entry is one line of entries.jsonl.
type entry struct {
	Index int64      `json:"index"`
	Leaf  *tlog.Hash `json:"leaf"`
	Seam  string     `json:"seam"`

	Seq        int64  `json:"seq"`
	Time       int64  `json:"time"`
	Kind       string `json:"kind"`
	Release    string `json:"release"`
	Salt       []byte `json:"salt"`
	User       string `json:"user"`
	Session    string `json:"session"`
	Call       string `json:"call"`
	Tool       string `json:"tool"`
	Key        string `json:"key"`
	Detail     string `json:"detail"`
	DetailData []byte `json:"detail_base64"`
	Erased     []byte `json:"erased"`

	Missing  bool `json:"missing"`
	Unsealed bool `json:"unsealed"`
}

const saltBytes = 32

// parseEntry reads one line: one object, with nothing in it that is not known.
func parseEntry(line []byte) (entry, error) {
	var e entry
	if err := unmarshalExactly(line, &e); err != nil {
		return entry{}, err
	}
	return e, e.check()
}

// unmarshalExactly reads one object into a struct: each name at most once, and as
// the tags spell it. What is hashed must be what every reader of the text sees, and
// readers differ where a name stands twice or, as Go's takes it for the same, in
// other letters.
func unmarshalExactly(data []byte, into any) error {
	if !utf8.Valid(data) {
		return errors.New("it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("it is no object")
	}
	left := fieldsOf(reflect.ValueOf(into).Elem())
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		field, ok := left[name]
		if !ok {
			return fmt.Errorf("%q stands in it twice, or is not known", name)
		}
		delete(left, name)
		if err := d.Decode(field); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more than one value")
	}
	return nil
}

// fieldsOf gives where a struct's fields are, by the names of their tags.
func fieldsOf(v reflect.Value) map[string]any {
	fields := make(map[string]any, v.NumField())
	for i := range v.NumField() {
		fields[v.Type().Field(i).Tag.Get("json")] = v.Field(i).Addr().Interface()
	}
	return fields
}

// check says what keeps an entry from having a hash.
func (e *entry) check() error {
	switch {
	case e.Missing || e.Unsealed:
		return nil
	case e.Leaf == nil:
		return errors.New("it has no leaf")
	case e.Seam != "" && !e.onlySeam():
		return errors.New("it is a seam between logs, and yet has a record")
	case e.Seam != "":
		return nil
	case e.Kind == "" || e.Seq < 1:
		return errors.New("it is neither a record nor a seam")
	case e.Erased != nil && len(e.Erased) != sha256.Size:
		return errors.New("the digest of what was erased has another length")
	case e.Erased != nil && (e.Salt != nil || e.User+e.Session+e.Call+e.Tool+e.Key+e.Detail != "" || e.DetailData != nil):
		return errors.New("it is erased, and yet has a payload")
	case e.Erased == nil && len(e.Salt) != saltBytes:
		return errors.New("it has no salt")
	case e.Detail != "" && e.DetailData != nil:
		return errors.New("it has two details")
	}
	return nil
}

// onlySeam reports whether a seam has nothing beside it that its hash leaves out.
func (e *entry) onlySeam() bool {
	bare := entry{Index: e.Index, Leaf: e.Leaf, Seam: e.Seam}
	return reflect.DeepEqual(*e, bare)
}

// hash gives what the tree must have for the entry.
func (e *entry) hash(tenant string) tlog.Hash {
	if e.Seam != "" {
		return tlog.RecordHash([]byte(e.Seam))
	}
	digest := e.Erased
	if digest == nil {
		detail := e.Detail
		if e.DetailData != nil {
			detail = string(e.DetailData)
		}
		private := "sluice-audit-private/1\n" + netstrings(e.User, e.Session, e.Call, e.Tool, e.Key, detail)
		sum := sha256.New()
		sum.Write(e.Salt)
		io.WriteString(sum, private)
		digest = sum.Sum(nil)
	}
	return tlog.RecordHash([]byte("sluice-audit-record/1\n" +
		netstrings(tenant, fmt.Sprint(e.Seq), fmt.Sprint(e.Time), e.Kind, e.Release, string(digest))))
}

func netstrings(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(strconv.Itoa(len(part)))
		b.WriteByte(':')
		b.WriteString(part)
	}
	return b.String()
}

// parseSeam reads the text of an entry between two logs: "next", the next log
// and its key; or "previous", the previous log and its last checkpoint.
func parseSeam(text string) (kind, log, value string, err error) {
	rest, ok := strings.CutPrefix(text, "sluice-audit-seam/1\n")
	var parts []string
	for ok && rest != "" && len(parts) < 4 {
		var size, part string
		if size, rest, ok = strings.Cut(rest, ":"); !ok {
			break
		}
		n, err := strconv.Atoi(size)
		if err != nil || n < 0 || n > len(rest) || strconv.Itoa(n) != size {
			ok = false
			break
		}
		part, rest = rest[:n], rest[n:]
		parts = append(parts, part)
	}
	if !ok || rest != "" || len(parts) != 3 || parts[0] != "next" && parts[0] != "previous" {
		return "", "", "", errors.New("it is no seam between logs")
	}
	return parts[0], parts[1], parts[2], nil
}

// An erasure is what a record of kind "erasure" says of other entries.
type erasure struct {
	Entries []struct {
		Log   int64 `json:"log"`
		First int64 `json:"first"`
		Last  int64 `json:"last"`
	} `json:"entries"`
}
