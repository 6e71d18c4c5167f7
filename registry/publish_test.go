package registry_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/registry"
)

func TestPublishMakesWhatGitTakesForARelease(t *testing.T) {
	eachWay(t, initBare, func(t *testing.T, url, repo string) {
		dir := writeSkill(t, "shop.pricing", "1.4.0", noise(1, 500))
		before := snapshot(t, dir)
		v, err := registry.Publish(t.Context(), url, dir, registry.PublishOptions{
			Author: "Ann", Email: "ann@example.com", Message: "First prices.", Now: someTime,
		})
		if err != nil {
			t.Fatal(err)
		}
		if after := snapshot(t, dir); after != before {
			t.Errorf("the author's folder was changed:\n%s", after)
		}
		git(t, repo, "fsck", "--strict")
		tag := git(t, repo, "cat-file", "-p", "shop.pricing/v1.4.0")
		for _, want := range []string{"object " + v.Commit, "type commit", "tag shop.pricing/v1.4.0", "tagger Ann <ann@example.com> 1772366400 +0000", "First prices."} {
			if !strings.Contains(tag, want) {
				t.Errorf("the tag %q does not say %q", tag, want)
			}
		}
		if commit := git(t, repo, "cat-file", "-p", v.Commit); strings.Contains(commit, "parent") || !strings.Contains(commit, "author Ann <ann@example.com>") {
			t.Errorf("the commit is %q", commit)
		}
		want := "SKILL.md\nschemas/quote.json\nskill.wasm\nskill.yaml"
		if files := git(t, repo, "ls-tree", "-r", "--name-only", "shop.pricing/v1.4.0"); files != want {
			t.Errorf("the tree has %q, want %q", files, want)
		}
		clone := filepath.Join(t.TempDir(), "clone")
		git(t, ".", "clone", "--quiet", "--branch=shop.pricing/v1.4.0", url, clone)
		if b, err := os.ReadFile(filepath.Join(clone, "skill.wasm")); err != nil || !slices.Equal(b, noise(1, 500)) {
			t.Errorf("a clone of the tag has another module: %v", err)
		}
	})
}

// snapshot gives every file of a folder with its digest.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all = append(all, path+" "+host.Digest(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

func TestTheSameFolderPublishedTwiceHasTheSameCommit(t *testing.T) {
	var commits []string
	for range 2 {
		commits = append(commits, publish(t, filepath.Join(t.TempDir(), "repo"), "shop.pricing", "1.4.0", noise(1, 500)).Commit)
	}
	if commits[0] != commits[1] {
		t.Errorf("the commits are %v", commits)
	}
}

func TestAReleaseIsNeverPublishedTwice(t *testing.T) {
	eachWay(t, func(t *testing.T, repo string) {
		publish(t, repo, "shop.pricing", "1.4.0", []byte("first"))
		git(t, repo, "pack-refs", "--all") // the tag is not a file of its own any more
	}, func(t *testing.T, url, _ string) {
		_, err := registry.Publish(t.Context(), url, writeSkill(t, "shop.pricing", "1.4.0", []byte("second")), registry.PublishOptions{})
		wantProblem(t, err, abi.Conflict, "shop.pricing@1.4.0", "never changes", "raise the version")
		release, err := fetchOne(t.Context(), open(t, registry.Config{URL: url}), "shop.pricing", "")
		if err != nil || string(release.Module) != "first" {
			t.Errorf("the release is %v, %v", release, err)
		}
	})
}

func TestOneOfManyWhoPublishTheSameVersionWins(t *testing.T) {
	eachWay(t, initBare, func(t *testing.T, url, repo string) {
		const many = 6
		published := make(chan registry.Version, many)
		var all sync.WaitGroup
		for i := range many {
			dir := writeSkill(t, "shop.pricing", "1.4.0", noise(uint64(i), 100))
			other := writeSkill(t, fmt.Sprintf("shop.n%d", i), "1.0.0", noise(uint64(i), 100))
			all.Go(func() {
				v, err := registry.Publish(t.Context(), url, dir, registry.PublishOptions{})
				if err == nil {
					published <- v
				} else if code := host.ProblemOf(err).Code; code != abi.Conflict && code != abi.NotAllowed {
					t.Error(err) // NotAllowed: the server has the tag locked, and it is not there yet
				}
				if _, err := registry.Publish(t.Context(), url, other, registry.PublishOptions{}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(published) != 1 {
			t.Fatalf("%d were told that they had published", len(published))
		}
		release, err := fetchOne(t.Context(), open(t, registry.Config{URL: url}), "shop.pricing", "1.4.0")
		if err != nil || release.Version != <-published {
			t.Errorf("the release is %v, %v", release, err)
		}
		listed, err := open(t, registry.Config{URL: url}).List(t.Context(), "")
		if err != nil || len(listed) != many+1 {
			t.Errorf("List gives %v, %v", listed, err)
		}
		git(t, repo, "fsck", "--strict")
	})
}

func TestCreateMakesABareRepository(t *testing.T) {
	for name, path := range map[string]string{
		"nothing there":   filepath.Join(t.TempDir(), "a", "b", "repo"),
		"an empty folder": t.TempDir(),
		"a file URL":      "file://" + filepath.Join(t.TempDir(), "repo"),
	} {
		dir := writeSkill(t, "shop.pricing", "1.0.0", []byte("module"))
		_, err := registry.Publish(t.Context(), path, dir, registry.PublishOptions{})
		wantProblem(t, err, abi.InvalidRegistry, "no git repository", "--create")
		if _, err := registry.Publish(t.Context(), path, dir, registry.PublishOptions{Create: true}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		repo := strings.TrimPrefix(path, "file://")
		if bare := git(t, repo, "rev-parse", "--is-bare-repository"); bare != "true" {
			t.Errorf("%s: bare is %s", name, bare)
		}
		publish(t, path, "shop.coupon", "1.0.0", []byte("module")) // Create leaves what there is
		if tags := git(t, repo, "tag"); tags != "shop.coupon/v1.0.0\nshop.pricing/v1.0.0" {
			t.Errorf("%s: the tags are %q", name, tags)
		}
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(repo), ".sluice-new-*")); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind %v, %v", name, left, err)
		}
	}
	taken := t.TempDir()
	writeFile(t, filepath.Join(taken, "notes.txt"), "mine")
	_, err := registry.Publish(t.Context(), taken, writeSkill(t, "shop.pricing", "1.0.0", []byte("m")), registry.PublishOptions{Create: true})
	wantProblem(t, err, abi.InvalidRegistry, taken)
}

func TestManyWhoCreateOneRepositoryGetOne(t *testing.T) {
	repo := filepath.Join(t.TempDir(), "repo")
	var all sync.WaitGroup
	for i := range 6 {
		dir := writeSkill(t, fmt.Sprintf("shop.n%d", i), "1.0.0", []byte("module"))
		all.Go(func() {
			if _, err := registry.Publish(t.Context(), repo, dir, registry.PublishOptions{Create: true}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if listed, err := open(t, registry.Config{URL: repo}).List(t.Context(), ""); err != nil || len(listed) != 6 {
		t.Errorf("List gives %v, %v", listed, err)
	}
}

func TestAFolderThatIsNoSkillIsNotPublished(t *testing.T) {
	replace := func(old, new string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, "skill.yaml")
			b, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(b), old) {
				t.Fatalf("no %q, %v", old, err)
			}
			writeFile(t, path, strings.Replace(string(b), old, new, 1))
		}
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		code   abi.Code
		words  []string
	}{
		{"no folder", remove(""), abi.NotFound, []string{"cannot be opened"}},
		{"no skill.yaml", remove("skill.yaml"), abi.InvalidManifest, []string{"skill.yaml"}},
		{"no module", remove("skill.wasm"), abi.NotFound, []string{"skill.wasm", "sluice skill build"}},
		{"no guide", remove("SKILL.md"), 0, []string{"SKILL.md"}},
		{"no schema", remove("schemas"), abi.InvalidManifest, []string{"schemas/quote.json"}},
		{"no module named", replace("module: skill.wasm", "#"), abi.InvalidManifest, []string{"names no module"}},
		{"not a version", replace(`"1.0.0"`, `"1.0"`), 0, []string{"1.0"}},
		{"build metadata", replace(`"1.0.0"`, "1.0.0+build.7"), 0, []string{"1.0.0+build.7"}},
		{"a name that git cannot hold", replace("shop.pricing", "door.lock"), abi.InvalidManifest, []string{".lock"}},
		{"a field that is none", replace("abi: 1", "abi: one"), abi.InvalidManifest, []string{"abi"}},
		{"a module elsewhere", replace("module: skill.wasm", "module: ../skill.wasm"), 0, []string{"skill.wasm"}},
		{"a module that is a folder", func(t *testing.T, dir string) {
			remove("skill.wasm")(t, dir)
			writeFile(t, filepath.Join(dir, "skill.wasm", "x"), "x")
		}, 0, []string{"skill.wasm"}},
		{"a link out of the folder", func(t *testing.T, dir string) {
			remove("skill.wasm")(t, dir)
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "skill.wasm")); err != nil {
				t.Fatal(err)
			}
		}, 0, []string{"skill.wasm"}},
		{"a module of 65 MiB", func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, "skill.wasm"), 65<<20); err != nil {
				t.Fatal(err)
			}
		}, abi.ModuleTooLarge, []string{"68157440", "64MiB"}},
		{"an empty module", func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "skill.wasm"), "") }, 0, nil},
		{"one line in braces", func(t *testing.T, dir string) {
			writeFile(t, filepath.Join(dir, "skill.yaml"), `{"sluice": 1, "name": "shop.pricing", "version": "1.0.0", "summary": "s", "module": "skill.wasm", "abi": 1, "tools": [`+
				`{"name": "quote", "summary": "s", "effect": "read", "input": {"type": "object"}, "examples": [{"say": "x", "args": {}}]}]}`)
		}, abi.InvalidManifest, []string{"sha256 and size cannot be written"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			repo, dir := filepath.Join(t.TempDir(), "repo"), writeSkill(t, "shop.pricing", "1.0.0", []byte("module"))
			tt.damage(t, dir)
			_, err := registry.Publish(t.Context(), repo, dir, registry.PublishOptions{Create: true})
			if tt.code == 0 && err != nil {
				tt.code = host.ProblemOf(err).Code
			}
			wantProblem(t, err, tt.code, tt.words...)
			if _, err := os.Stat(repo); !errors.Is(err, os.ErrNotExist) {
				t.Error("the repository was created")
			}
		})
	}
}

func TestAnAuthorThatGitCannotHoldIsRefused(t *testing.T) {
	repo := filepath.Join(t.TempDir(), "repo")
	for _, author := range []string{"Ann\ncommitter Eve", "<ann>"} {
		_, err := registry.Publish(t.Context(), repo, writeSkill(t, "shop.pricing", "1.0.0", []byte("m")),
			registry.PublishOptions{Create: true, Author: author})
		wantProblem(t, err, abi.BadArguments, "author")
	}
}

func TestAServerThatTakesNoReleases(t *testing.T) {
	root := t.TempDir()
	s, repo := serve(t, root), filepath.Join(root, "repo")
	initBare(t, repo)
	dir := writeSkill(t, "shop.pricing", "1.0.0", []byte("module"))
	attempt := func() error {
		_, err := registry.Publish(t.Context(), s.URL+"/repo", dir, registry.PublishOptions{Create: true})
		return err
	}

	git(t, repo, "config", "http.receivepack", "false")
	wantProblem(t, attempt(), abi.NotAllowed, "refuses access")
	git(t, repo, "config", "--unset", "http.receivepack")

	hook := filepath.Join(repo, "hooks", "pre-receive")
	writeFile(t, hook, "#!/bin/sh\nexit 1\n")
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, attempt(), abi.NotAllowed, "hook declined")
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}

	s.fault = func(http.Handler) http.Handler { return cutting(http.NotFoundHandler(), 0) }
	wantProblem(t, attempt(), abi.InvalidRegistry, s.URL)
	if tags := git(t, repo, "tag"); tags != "" {
		t.Errorf("the server has the tags %q", tags)
	}
}

func TestAPublishWhoseAnswerIsLostLooksHowItEnded(t *testing.T) {
	root := t.TempDir()
	s, repo := serve(t, root), filepath.Join(root, "repo")
	initBare(t, repo)
	dir := writeSkill(t, "shop.pricing", "1.0.0", []byte("module"))
	s.fault = func(next http.Handler) http.Handler { return cutting(next, 0) }
	v, err := registry.Publish(t.Context(), s.URL+"/repo", dir, registry.PublishOptions{})
	if err != nil || git(t, repo, "rev-parse", "shop.pricing/v1.0.0^{commit}") != v.Commit {
		t.Errorf("the release stands, and Publish gives %v, %v", v, err)
	}
	git(t, repo, "tag", "-d", "shop.pricing/v1.0.0")
	s.fault = func(next http.Handler) http.Handler { // the connection breaks before the server has it
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		})
	}
	_, err = registry.Publish(t.Context(), s.URL+"/repo", dir, registry.PublishOptions{})
	wantProblem(t, err, abi.RegistryFailure, s.URL, "try again")
}

func TestAStaleLockIsNamed(t *testing.T) {
	repo := filepath.Join(t.TempDir(), "repo")
	publish(t, repo, "shop.pricing", "1.0.0", []byte("module"))
	lock := filepath.Join(repo, "refs", "tags", "shop.pricing", "v2.0.0.lock")
	writeFile(t, lock, "")
	dir := writeSkill(t, "shop.pricing", "2.0.0", []byte("module"))
	_, err := registry.Publish(t.Context(), repo, dir, registry.PublishOptions{})
	wantProblem(t, err, abi.Conflict, lock)
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if _, err := registry.Publish(t.Context(), repo, dir, registry.PublishOptions{}); err != nil {
		t.Error(err)
	}
}

func TestATagWithTheBareNameStandsInTheWay(t *testing.T) {
	repo := filepath.Join(t.TempDir(), "repo")
	publish(t, repo, "shop.coupon", "1.0.0", []byte("module"))
	git(t, repo, "tag", "shop.pricing", "shop.coupon/v1.0.0")
	_, err := registry.Publish(t.Context(), repo, writeSkill(t, "shop.pricing", "1.0.0", []byte("m")), registry.PublishOptions{})
	wantProblem(t, err, abi.RegistryFailure, "bare name")
}

func TestARepositoryWithAWorkingTreeIsPublishedTo(t *testing.T) {
	repo := filepath.Join(t.TempDir(), "repo")
	git(t, ".", "init", "--quiet", "--initial-branch=main", repo)
	git(t, repo, "commit", "--quiet", "--allow-empty", "-m", "x")
	linked := filepath.Join(t.TempDir(), "linked")
	git(t, repo, "worktree", "add", "--quiet", linked)
	publish(t, repo, "shop.pricing", "1.0.0", []byte("one"))
	publish(t, linked, "shop.pricing", "1.1.0", []byte("two"))
	for _, path := range []string{repo, linked} {
		listed, err := open(t, registry.Config{URL: path}).List(t.Context(), "")
		if err != nil || !slices.Equal(names(listed), []string{"shop.pricing@1.0.0", "shop.pricing@1.1.0"}) {
			t.Errorf("%s: %v, %v", path, listed, err)
		}
	}
	if status := git(t, repo, "status", "--porcelain"); status != "" {
		t.Errorf("the working tree was touched: %s", status)
	}
	if tags := git(t, repo, "tag"); tags != "shop.pricing/v1.0.0\nshop.pricing/v1.1.0" {
		t.Errorf("git sees the tags %q", tags)
	}
}
