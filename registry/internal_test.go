package registry

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/mod/semver"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func TestOnlyReleaseTagsAreReleases(t *testing.T) {
	for ref, want := range map[string]string{
		"refs/tags/shop.pricing/v1.4.0":      "shop.pricing@1.4.0",
		"refs/tags/a/v0.0.1-rc.1":            "a@0.0.1-rc.1",
		"refs/tags/shop.v2/v10.20.30":        "shop.v2@10.20.30",
		"refs/heads/shop.pricing/v1.4.0":     "",
		"refs/tags/v1.4.0":                   "",
		"refs/tags/shop.pricing/1.4.0":       "",
		"refs/tags/shop.pricing/v1.4":        "",
		"refs/tags/shop.pricing/v1.4.0+meta": "",
		"refs/tags/shop.pricing/v1.4.0/v2":   "",
		"refs/tags/Shop/v1.4.0":              "",
		"refs/tags/shop-pricing/v1.4.0":      "",
		"refs/tags/shop..pricing/v1.4.0":     "",
		"refs/tags/1shop/v1.4.0":             "",
		"refs/tags/shop/x/v1.4.0":            "",
		"refs/tags/door.lock/v1.4.0":         "",
		"refs/tags/shop/v1.4.0-x.lock":       "",
		"refs/tags/../../x/v1.4.0":           "",
	} {
		got := ""
		if v, ok := releaseOf(ref); ok {
			got = v.String()
		}
		if got != want {
			t.Errorf("releaseOf(%q) = %q, want %q", ref, got, want)
		}
	}
}

func FuzzReleaseTagsNameOneRelease(f *testing.F) {
	for _, seed := range []string{"refs/tags/shop.pricing/v1.4.0", "refs/tags/a/v1.0.0-rc.1", "refs/tags/a/v1.0.0.lock", "refs/tags/a/vv1.0.0", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		v, ok := releaseOf(ref)
		if !ok {
			return
		}
		if v.ref() != ref || v.check() != nil {
			t.Errorf("%q reads as %+v and is written as %q", ref, v, v.ref())
		}
		if strings.ContainsAny(v.Skill+v.Version, "/\\ \x00") || strings.Contains(v.String(), "..") {
			t.Errorf("%q is no name of a file", v)
		}
	})
}

func TestConstraintsThatMeanNothingAreRefused(t *testing.T) {
	for _, text := range []string{
		"newest", "1.2.3.4", "x.1", "1.x.3", "01.2", "1..2", ">", ">= ", ">*", "^x", "1.2-rc", "1.2.3-", "1.2.3+build", "=>1", "1 || 2", "-1",
		"1.2.3-rc.01", "9999999999999999999", "99999999999999999999.x", "latest 1", "^^1", "1.2.3 >", strings.Repeat("1 ", 17), strings.Repeat(" ", 300),
	} {
		if c, err := parseConstraint(text); err == nil {
			t.Errorf("parseConstraint(%q) = %v", text, c)
		} else if p := host.ProblemOf(err); p.Code != abi.BadArguments || p.Hint == "" {
			t.Errorf("parseConstraint(%q): %v", text, err)
		}
	}
}

func TestConstraintsAllowWhatTheySay(t *testing.T) {
	for _, tt := range []struct{ text, allowed, refused string }{
		{"^1.2.3", "1.2.3 1.9.0", "1.2.2 2.0.0 2.0.0-rc.1 1.3.0-rc.1"},
		{"^0.2.3", "0.2.3 0.2.9", "0.3.0 0.2.2"},
		{"^0.0.3", "0.0.3", "0.0.4 0.0.2"},
		{"^0.0", "0.0.0 0.0.9", "0.1.0"},
		{"^0", "0.0.0 0.9.9", "1.0.0"},
		{"~1", "1.0.0 1.9.9", "2.0.0 0.9.0"},
		{"~1.2", "1.2.0 1.2.9", "1.3.0"},
		{">1.2", "1.3.0 2.0.0", "1.2.0 1.2.9"},
		{"<=1.2", "1.2.9 0.1.0", "1.3.0"},
		{">1.2.3", "1.2.4", "1.2.3"},
		{"<=1.2.3", "1.2.3", "1.2.4"},
		{"<2", "1.9.9", "2.0.0 2.0.0-rc.1"},
		{"=1.2", "1.2.7", "1.3.0"},
		{">=1.2.3-rc.1 <2", "1.2.3-rc.1 1.2.3-rc.2 1.2.3 1.9.0", "1.2.3-alpha 1.4.0-rc.1 2.0.0-rc.1"},
		{"1.2.3-rc.1", "1.2.3-rc.1", "1.2.3 1.2.3-rc.2"},
		{"latest", "0.0.1 9.9.9", "1.0.0-rc.1"},
		{">= 1.0,<2", "1.5.0", "2.0.0"},
		{"999999999999999999.x", "999999999999999999.1.0", "1.0.0"},
	} {
		c, err := parseConstraint(tt.text)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, v := range strings.Fields(tt.allowed) {
			if !c.allows(v) {
				t.Errorf("%q does not allow %s", tt.text, v)
			}
		}
		for _, v := range strings.Fields(tt.refused) {
			if c.allows(v) {
				t.Errorf("%q allows %s", tt.text, v)
			}
		}
	}
}

func FuzzConstraintsCompareWholeVersions(f *testing.F) {
	for _, seed := range []string{"", "latest", "^1.2", "~1.2.3-rc.1", ">=1.0 <2", "1.x", "*", ">= 1 , < 2.*"} {
		f.Add(seed, "1.2.3")
	}
	f.Fuzz(func(t *testing.T, text, version string) {
		c, err := parseConstraint(text)
		if err != nil {
			return
		}
		for _, one := range c {
			if !semver.IsValid(one.bound) || semver.Canonical(one.bound) != one.bound {
				t.Errorf("%q compares with %q", text, one.bound)
			}
		}
		if v, ok := c.exact(); ok && !c.allows(v) {
			t.Errorf("%q does not allow its own version %s", text, v)
		}
		if validVersion(version) && semver.Prerelease("v"+version) != "" && !strings.Contains(text, "-") && c.allows(version) {
			t.Errorf("%q allows the pre-release %s", text, version)
		}
	})
}

func TestStampingKeepsTheAuthorsFile(t *testing.T) {
	const sum = "0123456789012345678901234567890123456789012345678901234567890123"
	for _, tt := range []struct{ name, before, after string }{
		{"new fields", "name: a # the name\nmodule: skill.wasm  # built\nabi: 1\n",
			"name: a # the name\nmodule: skill.wasm  # built\nsha256: \"SUM\"\nsize: 7\nabi: 1\n"},
		{"old fields", "sha256: abc   # written by publish\nmodule: \"skill.wasm\"\n\n# end\nsize: 12\n",
			"sha256: \"SUM\"   # written by publish\nmodule: \"skill.wasm\"\n\n# end\nsize: 7\n"},
		{"one of them", "module: skill.wasm\nsize: 'x'\n", "module: skill.wasm\nsha256: \"SUM\"\nsize: 7\n"},
		{"empty ones", "module: skill.wasm\nsize:\nsha256: \n", "module: skill.wasm\nsize: 7\nsha256: \"SUM\"\n"},
		{"no last line break", "abi: 1\nmodule: skill.wasm", "abi: 1\nmodule: skill.wasm\nsha256: \"SUM\"\nsize: 7\n"},
		{"Windows line ends", "module: skill.wasm\r\nabi: 1\r\n", "module: skill.wasm\r\nsha256: \"SUM\"\r\nsize: 7\r\nabi: 1\r\n"},
		{"a document start", "---\n# c\nmodule: skill.wasm\n...\n", "---\n# c\nmodule: skill.wasm\nsha256: \"SUM\"\nsize: 7\n...\n"},
		{"indented", "  module: skill.wasm\n  abi: 1\n", "  module: skill.wasm\n  sha256: \"SUM\"\n  size: 7\n  abi: 1\n"},
		{"quoted fields", "\"module\": skill.wasm\n'size': 1\n", "\"module\": skill.wasm\nsha256: \"SUM\"\n'size': 7\n"},
		{"the words elsewhere", "summary: |\n  module: x\n  size: 9\nmodule: skill.wasm\ntools:\n- size: 3\n",
			"summary: |\n  module: x\n  size: 9\nmodule: skill.wasm\nsha256: \"SUM\"\nsize: 7\ntools:\n- size: 3\n"},
		{"a byte order mark", "\ufeffmodule: skill.wasm\n", "\ufeffmodule: skill.wasm\nsha256: \"SUM\"\nsize: 7\n"},
	} {
		after := strings.Replace(tt.after, "SUM", sum, 1)
		got, err := stamp([]byte(tt.before), sum, 7)
		if err != nil || string(got) != after {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, after)
			continue
		}
		if again, err := stamp(got, sum, 7); err != nil || string(again) != after {
			t.Errorf("%s: stamping again gives %q, %v", tt.name, again, err)
		}
	}
}

func TestStampingRefusesWhatHasNoLinesOfItsOwn(t *testing.T) {
	for _, text := range []string{
		"", "[]", "name: a\n", "{module: skill.wasm}", "module: >\n  skill.wasm\nabi: 1\n", "? module\n: skill.wasm\n",
		"module: skill.wasm\nsize: |\n  12\n", "module: a\nmodule: b\n", "module: &m skill.wasm\nsize: *m\nx: [", "name: [\n",
	} {
		if got, err := stamp([]byte(text), "abc", 7); err == nil {
			t.Errorf("stamp(%q) = %q", text, got)
		}
	}
}

func FuzzStampingChangesNothingElse(f *testing.F) {
	f.Add("module: skill.wasm # c\r\nsize: 1\r\n")
	f.Add("---\n\"module\": a\nsha256: 'x'\n")
	f.Add("module: |\n a\nsize: [1,\n 2]\n")
	f.Add("module:\n\u2028sha256: x\n")
	f.Add("module:\u2028sha256:")
	f.Fuzz(func(t *testing.T, text string) {
		stamped, err := stamp([]byte(text), strings.Repeat("1", 64), 7)
		if err != nil {
			return
		}
		if err := sameBut([]byte(text), stamped, strings.Repeat("1", 64), 7); err != nil {
			t.Errorf("%q became %q: %v", text, stamped, err)
		}
		if len(stamped) > len(text)+200 {
			t.Errorf("%d bytes became %d", len(text), len(stamped))
		}
	})
}

// packed is one entry of a pack made by hand.
type packed struct {
	kind   plumbing.ObjectType
	length int    // as declared
	base   []byte // between header and content
	data   []byte
}

// makePack writes a pack as the format says, true or not.
func makePack(objects ...packed) []byte {
	var b bytes.Buffer
	b.WriteString("PACK\x00\x00\x00\x02")
	_ = binary.Write(&b, binary.BigEndian, uint32(len(objects)))
	for _, o := range objects {
		first, rest := byte(o.kind)<<4|byte(o.length&15), o.length>>4
		for ; rest > 0; rest >>= 7 {
			b.WriteByte(first | 0x80)
			first = byte(rest & 0x7f)
		}
		b.WriteByte(first)
		b.Write(o.base)
		z := zlib.NewWriter(&b)
		_, _ = z.Write(o.data)
		_ = z.Close()
	}
	sum := sha1.Sum(b.Bytes())
	return append(b.Bytes(), sum[:]...)
}

func blobOf(data string) packed { return packed{plumbing.BlobObject, len(data), nil, []byte(data)} }

// deltaOn gives a delta on the object before it in the pack, at a distance.
func deltaOn(distance byte, source, target uint64, ops ...byte) packed {
	data := binary.AppendUvarint(binary.AppendUvarint(nil, source), target)
	data = append(data, ops...)
	return packed{plumbing.OFSDeltaObject, len(data), []byte{distance}, data}
}

func TestAPackIsWeighedBeforeItIsTaken(t *testing.T) {
	small := limits{module: 1 << 10, file: 1 << 10, total: 4 << 10}
	copyAll := []byte{0x80 | 0x10, 5} // five bytes of the base from its start
	base := blobOf("hello")
	distance := byte(len(makePack(base)) - 12 - 20)
	many := make([]packed, maxObjects+1)
	for i := range many {
		many[i] = blobOf(fmt.Sprint(i))
	}
	for _, tt := range []struct {
		name    string
		pack    []byte
		err     error // nil: any
		objects int   // taken, where err and bad are not set
		bad     bool
	}{
		{"two blobs", makePack(base, blobOf("x")), nil, 2, false},
		{"a delta", makePack(base, deltaOn(distance, 5, 10, append(copyAll, copyAll...)...)), nil, 2, false},
		{"an object that declares too much", makePack(packed{plumbing.BlobObject, 200 << 20, nil, []byte("x")}), errTooLarge, 0, true},
		{"an object that holds more than it declares", makePack(packed{plumbing.BlobObject, 1, nil, bytes.Repeat([]byte("x"), 9<<20)}), nil, 0, true},
		{"a delta that makes too much", makePack(base, deltaOn(distance, 5, 1<<40, copyAll...)), errTooLarge, 0, true},
		{"a delta with an endless number", makePack(base, packed{plumbing.OFSDeltaObject, 20, []byte{distance}, bytes.Repeat([]byte{0xff}, 20)}), errTooLarge, 0, true},
		{"an empty delta", makePack(base, packed{plumbing.OFSDeltaObject, 0, []byte{distance}, nil}), errTooLarge, 0, true},
		{"too much together", makePack(blobOf(strings.Repeat("a", 1024)), blobOf(strings.Repeat("b", 1024)), blobOf(strings.Repeat("c", 1024)),
			blobOf(strings.Repeat("d", 1024)), blobOf("e")), errTooLarge, 0, true},
		{"too many objects", makePack(many...), errTooLarge, 0, true},
		{"a delta on nothing", makePack(deltaOn(9, 5, 5, copyAll...)), nil, 0, true},
		{"a delta on an object elsewhere", makePack(packed{plumbing.REFDeltaObject, 4, make([]byte, 20), []byte{5, 5, 0x90, 5}}), nil, 0, true},
		{"an unknown kind", makePack(packed{plumbing.ObjectType(5), 1, nil, []byte("x")}), nil, 0, true},
		{"not a pack", []byte("<html>"), nil, 0, true},
		{"nothing", nil, nil, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			objects, err := readPack(bytes.NewReader(tt.pack), small)
			if tt.bad != (err != nil) || tt.err != nil && !errors.Is(err, tt.err) {
				t.Fatalf("readPack: %v", err)
			}
			if err == nil && len(objects.Objects) != tt.objects {
				t.Errorf("it holds %d objects, want %d", len(objects.Objects), tt.objects)
			}
		})
	}
	whole := makePack(base, blobOf("x"))
	for n := range len(whole) {
		if _, err := readPack(bytes.NewReader(whole[:n]), small); err == nil {
			t.Errorf("a pack cut after %d bytes of %d is taken", n, len(whole))
		}
	}
}

func TestAnEndlessAnswerIsCut(t *testing.T) {
	for _, left := range []int64{0, 1, 5, 4096} {
		b, err := io.ReadAll(&bounded{endless{}, left})
		if int64(len(b)) != left || !errors.Is(err, errTooLarge) {
			t.Errorf("a bound of %d gives %d bytes, %v", left, len(b), err)
		}
		b, err = io.ReadAll(&bounded{io.LimitReader(endless{}, left), left})
		if int64(len(b)) != left || err != nil {
			t.Errorf("just %d bytes give %d bytes, %v", left, len(b), err)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func FuzzPacksAreTakenWithinTheirBounds(f *testing.F) {
	base := blobOf("hello")
	f.Add(makePack(base))
	f.Add(makePack(base, deltaOn(byte(len(makePack(base))-32), 5, 5, 0x90, 5)))
	f.Add([]byte("PACK\x00\x00\x00\x02\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, pack []byte) {
		most := limits{module: 1 << 10, file: 1 << 10, total: 4 << 10}
		objects, err := readPack(bytes.NewReader(pack), most)
		if err != nil {
			return
		}
		var total int64
		for id, o := range objects.Objects {
			total += o.Size()
			if _, err := readObject(objects, id, plumbing.AnyObject, most.file); err != nil {
				t.Error(err)
			}
		}
		if total > int64(most.total) {
			t.Errorf("the pack gave %d bytes", total)
		}
	})
}

func TestWorkIsSharedAndGivenUpWithTheLastWhoWaits(t *testing.T) {
	var f flights
	v := Version{Skill: "a", Version: "1.0.0"}
	started, ended := make(chan context.Context, 2), make(chan struct{})
	work := func(ctx context.Context) (*Release, error) {
		started <- ctx
		select {
		case <-ended:
			return &Release{Version: v}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	type result struct {
		release *Release
		err     error
	}
	results := make(chan result, 2)
	ask := func(ctx context.Context) {
		release, err := f.do(ctx, v, work)
		results <- result{release, err}
	}
	first, leaveFirst := context.WithCancel(t.Context())
	second, leaveSecond := context.WithCancel(t.Context())
	go ask(first)
	shared := <-started
	joined := f.join(second, v, work) // as the second caller, whose arrival nothing else shows
	leaveFirst()
	if r := <-results; !errors.Is(r.err, context.Canceled) {
		t.Errorf("who left got %+v", r)
	}
	if shared.Err() != nil {
		t.Error("the work ended while somebody waited for it")
	}
	f.leave(v, joined)
	<-shared.Done()
	leaveSecond()

	go ask(t.Context()) // does not join the work that was given up
	<-started
	close(ended)
	if r := <-results; r.err != nil || r.release.Version != v {
		t.Errorf("who came later got %+v", r)
	}
	if f.mu.Lock(); len(f.running) != 0 {
		t.Errorf("%d flights are left", len(f.running))
	}
	f.mu.Unlock()
}

func TestAPinThatAnotherProcessMadeFirstStands(t *testing.T) {
	c := newCache(t.TempDir(), "repository")
	mine := Version{Skill: "a", Version: "1.0.0", Commit: strings.Repeat("1", 40)}
	theirs := mine
	theirs.Commit = strings.Repeat("2", 40)
	if _, err := c.keep(theirs, []byte("theirs")); err != nil {
		t.Fatal(err)
	}
	r := &Registry{place: place{name: "here"}, cache: c}
	err := r.keep(mine, []byte("mine"))
	if p := host.ProblemOf(err); err == nil || p.Code != abi.InvalidRegistry || !strings.Contains(p.Message, "moved") {
		t.Errorf("keep: %v", err)
	}
	if stands := c.pinned(mine); stands.commit != theirs.Commit || string(c.read(stands.digest, 100)) != "theirs" {
		t.Errorf("the pin is %+v", stands)
	}
}

func TestAPanicOverDamagedDataIsAnError(t *testing.T) {
	read := func() (err error) {
		defer recovered(&err)
		panic(errors.New("index out of range"))
	}
	err := read()
	if p := host.ProblemOf(err); p.Code != abi.InvalidRegistry || strings.Contains(p.Error(), "index") {
		t.Errorf("the panic became %v", err)
	}
}
