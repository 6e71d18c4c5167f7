package registry_test

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/registry"
)

// An entry is one line of a tree as git ls-tree shows it.
type entry struct{ mode, name, content string }

// tagTree makes a release by hand, out of git's own plumbing, with nothing
// checked.
func tagTree(t *testing.T, repo, tag string, entries ...entry) {
	t.Helper()
	initBare(t, repo)
	git(t, repo, "tag", "-a", "-m", "by hand", tag, commitTree(t, repo, entries))
}

func commitTree(t *testing.T, repo string, entries []entry) string {
	t.Helper()
	return git(t, repo, "commit-tree", "-m", "by hand", writeTree(t, repo, entries))
}

// writeTree stores a tree without git mktree, which would refuse the bad ones.
func writeTree(t *testing.T, repo string, entries []entry) string {
	t.Helper()
	var raw strings.Builder
	blobs := map[string]string{}
	for _, e := range entries {
		id := e.content // of a tree or a commit
		if e.mode == "100644" || e.mode == "120000" || e.mode == "100755" {
			if blobs[e.content] == "" {
				blobs[e.content] = gitIn(t, repo, e.content, "hash-object", "-w", "--stdin")
			}
			id = blobs[e.content]
		}
		b, err := hex.DecodeString(id)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&raw, "%s %s\x00%s", e.mode, e.name, b)
	}
	return gitIn(t, repo, raw.String(), "hash-object", "-t", "tree", "-w", "--stdin", "--literally")
}

// stamped gives a whole skill.yaml of shop.pricing 1.0.0 with what publish adds.
func stamped(module string) string {
	return plain("shop.pricing", "1.0.0") + fmt.Sprintf("sha256: %q\nsize: %d\n", host.Digest([]byte(module)), len(module))
}

func plain(name, version string) string {
	text := fmt.Sprintf(manifestText, name, version)
	return strings.NewReplacer("schemas/quote.json", schemaText, "guide: SKILL.md\n", "").Replace(text)
}

func TestATreeThatIsNoReleaseIsRefused(t *testing.T) {
	const blob, link, folder, submodule = "100644", "120000", "40000", "160000"
	good := []entry{{blob, "skill.wasm", "module"}, {blob, "skill.yaml", stamped("module")}}
	with := func(more ...entry) []entry { return append(more, good...) }
	nested := func(depth int) func(*testing.T, string) []entry {
		return func(t *testing.T, repo string) []entry {
			id := writeTree(t, repo, []entry{{blob, "x", "x"}})
			for range depth {
				id = writeTree(t, repo, []entry{{folder, "d", id}})
			}
			return with(entry{folder, "d", id})
		}
	}
	fixed := func(entries ...entry) func(*testing.T, string) []entry {
		return func(*testing.T, string) []entry { return entries }
	}
	for _, tt := range []struct {
		name  string
		tree  func(t *testing.T, repo string) []entry
		code  abi.Code // 0: it is a release
		words []string
	}{
		{"a whole one", fixed(good...), 0, nil},
		{"with an executable", fixed(with(entry{"100755", "a.sh", "x"})...), 0, nil},
		{"no skill.yaml", fixed(good[0]), abi.InvalidRegistry, []string{"there is no skill.yaml"}},
		{"no module", fixed(good[1]), abi.InvalidRegistry, []string{"skill.wasm"}},
		{"an empty tree", fixed(), abi.InvalidRegistry, []string{"there is no skill.yaml"}},
		{"a manifest that is none", fixed(good[0], entry{blob, "skill.yaml", "name: ["}), abi.InvalidManifest, []string{"shop.pricing@1.0.0"}},
		{"no digest", fixed(good[0], entry{blob, "skill.yaml", plain("shop.pricing", "1.0.0")}), abi.InvalidRegistry, []string{"sha256 and size"}},
		{"another module", fixed(entry{blob, "skill.wasm", "modul!"}, good[1]), abi.DigestMismatch, []string{"skill.wasm", host.Digest([]byte("modul!"))}},
		{"a longer module", fixed(entry{blob, "skill.wasm", "module!"}, good[1]), abi.DigestMismatch, []string{"7 bytes"}},
		{"another name", fixed(good[0], entry{blob, "skill.yaml", strings.Replace(stamped("module"), "shop.pricing", "shop.coupon", 1)}),
			abi.InvalidRegistry, []string{"says shop.coupon 1.0.0"}},
		{"another version", fixed(good[0], entry{blob, "skill.yaml", strings.Replace(stamped("module"), "1.0.0", "1.0.1", 1)}),
			abi.InvalidRegistry, []string{"says shop.pricing 1.0.1"}},
		{"a symbolic link", fixed(with(entry{link, "link", "/etc/passwd"})...), abi.InvalidRegistry, []string{`"link" is a symbolic link`}},
		{"the manifest as a link", fixed(good[0], entry{link, "skill.yaml", "other.yaml"}), abi.InvalidRegistry, []string{"symbolic link"}},
		{"a submodule", fixed(with(entry{submodule, "dep", strings.Repeat("1", 40)})...), abi.InvalidRegistry, []string{`"dep" is a submodule`}},
		{"a way up", fixed(with(entry{blob, "..", "x"})...), abi.InvalidRegistry, []string{`".."`}},
		{"a path for a name", fixed(with(entry{blob, "../up", "x"})...), abi.InvalidRegistry, []string{`"../up"`}},
		{"an absolute name", fixed(with(entry{blob, "/abs", "x"})...), abi.InvalidRegistry, []string{`"/abs"`}},
		{"a backslash", fixed(with(entry{blob, `a\b`, "x"})...), abi.InvalidRegistry, []string{`a\\b`}},
		{"a drive", fixed(with(entry{blob, "c:x", "x"})...), abi.InvalidRegistry, []string{`"c:x"`}},
		{"a repository inside", fixed(with(entry{blob, ".GIT", "x"})...), abi.InvalidRegistry, []string{`".GIT"`}},
		{"a control character", fixed(with(entry{blob, "a\nb", "x"})...), abi.InvalidRegistry, []string{`a\nb`}},
		{"one name twice", fixed(with(entry{blob, "a", "1"}, entry{blob, "a", "2"})...), abi.InvalidRegistry, []string{`"a"`}},
		{"eight folders deep", nested(7), 0, nil},
		{"a hundred folders deep", nested(100), abi.InvalidRegistry, []string{"deep"}},
		{"three hundred files", func(*testing.T, string) []entry {
			var many []entry
			for i := range 300 {
				many = append(many, entry{blob, fmt.Sprintf("f%03d", i), "same"})
			}
			return with(many...)
		}, abi.InvalidRegistry, []string{"256"}},
		{"a file of 5 MiB", fixed(with(entry{blob, "big", strings.Repeat("0", 5<<20)})...), abi.ModuleTooLarge, []string{"5242880", "4MiB"}},
		{"many files of 3 MiB", func(*testing.T, string) []entry {
			var many []entry
			for i := range 8 {
				many = append(many, entry{blob, fmt.Sprintf("f%d", i), strings.Repeat(fmt.Sprint(i), 3<<20)})
			}
			return with(many...)
		}, abi.ModuleTooLarge, []string{"together"}},
		{"a module over the limit", fixed(entry{blob, "skill.wasm", strings.Repeat("m", 2<<20)}, entry{blob, "skill.yaml", stamped(strings.Repeat("m", 2<<20))}),
			abi.ModuleTooLarge, []string{"2097152", "1MiB"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			s, repo := serve(t, root), filepath.Join(root, "repo")
			initBare(t, repo)
			tagTree(t, repo, "shop.pricing/v1.0.0", tt.tree(t, repo)...)
			for _, url := range []string{repo, s.URL + "/repo"} {
				_, err := fetchOne(t.Context(), open(t, registry.Config{URL: url, ModuleBytes: abi.MiB}), "shop.pricing", "1.0.0")
				if tt.code != 0 {
					wantProblem(t, err, tt.code, tt.words...)
				} else if err != nil {
					t.Errorf("%s: %v", url, err)
				}
			}
		})
	}
}

func TestATagOnSomethingElseThanACommitIsNoRelease(t *testing.T) {
	for _, kind := range []string{"blob", "tree"} {
		eachWay(t, func(t *testing.T, repo string) {
			tagTree(t, repo, "shop.coupon/v1.0.0", entry{"100644", "skill.yaml", "x"})
			object := map[string]string{"blob": "shop.coupon/v1.0.0:skill.yaml", "tree": "shop.coupon/v1.0.0^{tree}"}[kind]
			git(t, repo, "tag", "shop.pricing/v1.0.0", object)
			git(t, repo, "tag", "-a", "-m", "annotated", "shop.pricing/v1.0.1", object)
		}, func(t *testing.T, url, _ string) {
			r := open(t, registry.Config{URL: url})
			for _, version := range []string{"1.0.0", "1.0.1"} {
				_, err := r.Fetch(t.Context(), registry.Version{Skill: "shop.pricing", Version: version})
				wantProblem(t, err, abi.InvalidRegistry, "not a release", kind)
			}
		})
	}
}

func TestATagOnATagIsFollowed(t *testing.T) {
	eachWay(t, func(t *testing.T, repo string) {
		tagTree(t, repo, "signed", entry{"100644", "skill.wasm", "module"}, entry{"100644", "skill.yaml", stamped("module")})
		git(t, repo, "tag", "-a", "-m", "again", "shop.pricing/v1.0.0", "signed")
	}, func(t *testing.T, url, repo string) {
		release, err := fetchOne(t.Context(), open(t, registry.Config{URL: url}), "shop.pricing", "")
		if err != nil {
			t.Fatal(err)
		}
		if want := git(t, repo, "rev-parse", "signed^{commit}"); release.Version.Commit != want {
			t.Errorf("the commit is %s, want %s", release.Version.Commit, want)
		}
	})
}

func TestAHugeModuleIsRefusedBeforeItIsRead(t *testing.T) {
	root := t.TempDir()
	s, repo := serve(t, root), filepath.Join(root, "repo")
	// At a path even the object's content may be missing; only its head is read.
	initBare(t, repo)
	id := "aa" + strings.Repeat("0", 38)
	var object bytes.Buffer
	z := zlib.NewWriter(&object)
	fmt.Fprintf(z, "blob %d\x00and so on", 200<<20)
	z.Close()
	writeFile(t, filepath.Join(repo, "objects", id[:2], id[2:]), object.String())
	git(t, repo, "tag", "shop.pricing/v1.0.0", gitIn(t, repo, "", "commit-tree", "-m", "x",
		writeTree(t, repo, []entry{{"0100644", "skill.wasm", id}, {"100644", "skill.yaml", stamped("")}})))
	// A server sends it, compressed to nearly nothing.
	module := strings.Repeat("\x00", 40<<20)
	tagTree(t, filepath.Join(root, "served"), "shop.pricing/v1.0.0",
		entry{"100644", "skill.wasm", module}, entry{"100644", "skill.yaml", stamped(module)})
	for url, size := range map[string]string{repo: "209715200", s.URL + "/served": "41943040"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := fetchOne(t.Context(), open(t, registry.Config{URL: url}), "shop.pricing", "")
		runtime.ReadMemStats(&after)
		wantProblem(t, err, abi.ModuleTooLarge, size, "16MiB")
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
			t.Errorf("refusing it took %d bytes", used)
		}
	}
}

func TestAServerThatAnnouncesAnotherCommitIsNotBelieved(t *testing.T) {
	root := t.TempDir()
	s := serve(t, root)
	v := publish(t, filepath.Join(root, "repo"), "shop.pricing", "1.0.0", []byte("module"))
	v.Commit = strings.Repeat("ab", 20)
	stands := git(t, filepath.Join(root, "repo"), "rev-parse", "shop.pricing/v1.0.0^{commit}")
	s.fault = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			if r.Method == http.MethodGet {
				fmt.Fprint(w, strings.Replace(answer.Body.String(), stands, v.Commit, 1))
				return
			}
			_, _ = w.Write(answer.Body.Bytes())
		})
	}
	_, err := open(t, registry.Config{URL: s.URL + "/repo"}).Fetch(t.Context(), v)
	wantProblem(t, err, abi.InvalidRegistry, "announced on "+v.Commit)
}
