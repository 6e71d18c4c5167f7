package registry_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/registry"
)

func TestAPublishedReleaseComesBackAsItWas(t *testing.T) {
	module := noise(1, 3000)
	eachWay(t, func(t *testing.T, repo string) { publish(t, repo, "shop.pricing", "1.4.0", module) },
		func(t *testing.T, url, _ string) {
			release, err := fetchOne(t.Context(), open(t, registry.Config{URL: url, CacheDir: t.TempDir()}), "shop.pricing", "")
			if err != nil {
				t.Fatal(err)
			}
			if release.Version.String() != "shop.pricing@1.4.0" || release.Skill.Name != "shop.pricing" || len(release.Version.Commit) != 40 {
				t.Errorf("got %+v of skill %s", release.Version, release.Skill.Name)
			}
			if !bytes.Equal(release.Module, module) || release.SHA256 != host.Digest(module) {
				t.Error("the module is not the one that was published")
			}
			stamp := fmt.Sprintf("sha256: %q\nsize: 3000\n", host.Digest(module))
			wantFiles(t, release.Files, map[string]string{
				"skill.yaml": strings.Replace(fmt.Sprintf(manifestText, "shop.pricing", "1.4.0"),
					"module: skill.wasm   # built by make\n", "module: skill.wasm   # built by make\n"+stamp, 1),
				"schemas/quote.json": schemaText,
				"SKILL.md":           "---\nname: quote\ndescription: Quotes prices.\n---\nAsk for the sku first.\n",
				"skill.wasm":         string(module),
			})
		})
}

// wantFiles demands that a tree has these files and no others.
func wantFiles(t *testing.T, tree fs.FS, want map[string]string) {
	t.Helper()
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		got, err := fs.ReadFile(tree, path)
		if text, ok := want[path]; !ok || text != string(got) {
			t.Errorf("%s has %q, want %q", path, got, text)
		}
		delete(want, path)
		return err
	})
	if err != nil || len(want) > 0 {
		t.Errorf("missing %v, error %v", want, err)
	}
}

func TestListSortsReleasesAndPassesOverOtherTags(t *testing.T) {
	fill := func(t *testing.T, repo string) {
		for _, v := range []string{"1.10.0", "1.9.0", "2.0.0-rc.1", "1.9.0-beta"} {
			publish(t, repo, "shop.pricing", v, []byte("module"))
		}
		publish(t, repo, "shop.coupon", "0.1.0", []byte("module"))
		for _, other := range []string{"v1.0.0", "shop.pricing/1.0.0", "shop.pricing/v1", "shop.pricing/v1.0.0+build",
			"Shop/v1.0.0", "shop..pricing/v1.0.0x", "shop.pricing/deep/v1.0.0", "shop.pricing/v01.0.0"} {
			if strings.Contains(other, "..") {
				continue // git refuses it itself
			}
			git(t, repo, "tag", other, "shop.coupon/v0.1.0^{commit}")
		}
	}
	eachWay(t, fill, func(t *testing.T, url, _ string) {
		r := open(t, registry.Config{URL: url})
		all, err := r.List(t.Context(), "")
		want := []string{"shop.coupon@0.1.0", "shop.pricing@1.9.0-beta", "shop.pricing@1.9.0", "shop.pricing@1.10.0", "shop.pricing@2.0.0-rc.1"}
		if err != nil || !slices.Equal(names(all), want) {
			t.Errorf("List gives %v, %v, want %v", names(all), err, want)
		}
		one, err := r.List(t.Context(), "shop.coupon")
		if err != nil || !slices.Equal(names(one), want[:1]) {
			t.Errorf("List of one skill gives %v, %v", names(one), err)
		}
	})
}

func TestPackedReferencesAndObjectsAreRead(t *testing.T) {
	eachWay(t, func(t *testing.T, repo string) {
		for i := range 4 {
			publish(t, repo, "shop.pricing", fmt.Sprintf("1.%d.0", i), slices.Concat(noise(7, 9000), []byte{byte(i)}))
		}
		git(t, repo, "gc", "--aggressive", "--quiet")
		git(t, repo, "pack-refs", "--all")
	}, func(t *testing.T, url, _ string) {
		r := open(t, registry.Config{URL: url})
		for i := range 4 {
			release, err := fetchOne(t.Context(), r, "shop.pricing", fmt.Sprintf("1.%d.0", i))
			if err != nil || release.Module[9000] != byte(i) {
				t.Errorf("release %d: %v", i, err)
			}
		}
	})
}

func TestListingMovesNoObjects(t *testing.T) {
	root := t.TempDir()
	s := serve(t, root)
	for i := range 5 {
		publish(t, filepath.Join(root, "repo"), "shop.pricing", fmt.Sprintf("1.%d.0", i), noise(uint64(i), 50_000))
	}
	if _, err := open(t, registry.Config{URL: s.URL + "/repo"}).List(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	requests, sent := s.take()
	if want := []string{"GET /repo/info/refs?service=git-upload-pack"}; !slices.Equal(requests, want) {
		t.Errorf("listing asked for %q, want %q", requests, want)
	}
	if sent > 5*200+600 {
		t.Errorf("listing five releases brought %d bytes", sent)
	}
}

func TestFetchBringsOneReleaseOutOfMany(t *testing.T) {
	const module = 40_000
	t.Run("published", func(t *testing.T) {
		fetchBringsOne(t, module, func(repo string) {
			for i := range 12 {
				publish(t, repo, "shop.pricing", fmt.Sprintf("1.%d.0", i), noise(uint64(i), module))
			}
		})
	})
	t.Run("tagged on a branch with a history", func(t *testing.T) {
		fetchBringsOne(t, module, func(repo string) {
			source := filepath.Join(t.TempDir(), "registry")
			git(t, ".", "init", "--quiet", "--initial-branch=main", repo)
			for i := range 12 {
				version := fmt.Sprintf("1.%d.0", i)
				publish(t, source, "shop.pricing", version, noise(uint64(i), module))
				git(t, repo, "--git-dir="+source, "--work-tree="+repo, "checkout", "--quiet", "shop.pricing/v"+version, "--", ".")
				git(t, repo, "add", ".")
				git(t, repo, "commit", "--quiet", "-m", version)
				git(t, repo, "tag", "shop.pricing/v"+version) // not annotated
			}
		})
	})
}

func fetchBringsOne(t *testing.T, module int, fill func(repo string)) {
	root := t.TempDir()
	s := serve(t, root)
	fill(filepath.Join(root, "repo"))
	r := open(t, registry.Config{URL: s.URL + "/repo"})
	v, err := r.Resolve(t.Context(), "shop.pricing", "1.5.0")
	if err != nil {
		t.Fatal(err)
	}
	_, refs := s.take()
	if _, err := r.Fetch(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	requests, sent := s.take()
	want := []string{"GET /repo/info/refs?service=git-upload-pack", "POST /repo/git-upload-pack"}
	if !slices.Equal(requests, want) {
		t.Errorf("fetching asked for %q, want %q", requests, want)
	}
	if sent < module || sent > module+refs+4000 {
		t.Errorf("fetching a release with a module of %d bytes brought %d bytes, %d of them references", module, sent, refs)
	}
}

// P22: what is in the cache needs no network.
func TestASecondFetchMakesNoRequest(t *testing.T) {
	root := t.TempDir()
	s := serve(t, root)
	v := publish(t, filepath.Join(root, "repo"), "shop.pricing", "1.4.0", noise(1, 1000))
	cfg := registry.Config{URL: s.URL + "/repo", CacheDir: t.TempDir()}
	first, err := open(t, cfg).Fetch(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	s.take()
	for _, again := range []registry.Version{v, {Skill: v.Skill, Version: v.Version}} {
		release, err := open(t, cfg).Fetch(t.Context(), again)
		if err != nil || !bytes.Equal(release.Module, first.Module) || release.Version != v {
			t.Errorf("Fetch(%+v) gives %v, %v", again, release, err)
		}
	}
	if resolved, err := open(t, cfg).Resolve(t.Context(), "shop.pricing", "1.4.0"); err != nil || resolved != v {
		t.Errorf("Resolve gives %+v, %v", resolved, err)
	}
	if requests, _ := s.take(); len(requests) > 0 {
		t.Errorf("the second time asked for %q", requests)
	}
	s.Close()
	if _, err := open(t, cfg).Fetch(t.Context(), v); err != nil {
		t.Errorf("without a server: %v", err)
	}
}

func TestTheCachesOfTwoRegistriesAreApart(t *testing.T) {
	cached := t.TempDir()
	for i := range 2 {
		repo := filepath.Join(t.TempDir(), "repo")
		publish(t, repo, "shop.pricing", "1.4.0", noise(uint64(i), 100))
		release, err := fetchOne(t.Context(), open(t, registry.Config{URL: repo, CacheDir: cached}), "shop.pricing", "1.4.0")
		if err != nil || !bytes.Equal(release.Module, noise(uint64(i), 100)) {
			t.Errorf("registry %d: %v", i, err)
		}
	}
}

func TestADamagedCacheIsNoticedAndMended(t *testing.T) {
	flip := func(b []byte) []byte { b[len(b)/2] ^= 1; return b }
	for _, tt := range []struct {
		name, files string
		damage      func([]byte) []byte
		mended      int // requests for objects
	}{
		{"a flipped bit", "releases/*.zip", flip, 1},
		{"a cut archive", "releases/*.zip", func(b []byte) []byte { return b[:len(b)/2] }, 1},
		{"an empty archive", "releases/*.zip", func(b []byte) []byte { return nil }, 1},
		{"a pin of noise", "pins/*/*/*", func(b []byte) []byte { return []byte("noise") }, 1},
		{"an empty pin", "pins/*/*/*", func(b []byte) []byte { return nil }, 1},
		{"nothing", "pins/*/*/*", func(b []byte) []byte { return b }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			s := serve(t, root)
			v := publish(t, filepath.Join(root, "repo"), "shop.pricing", "1.4.0", noise(1, 1000))
			cfg := registry.Config{URL: s.URL + "/repo", CacheDir: t.TempDir()}
			for range 2 {
				if release, err := open(t, cfg).Fetch(t.Context(), v); err != nil || !bytes.Equal(release.Module, noise(1, 1000)) {
					t.Fatal(release, err)
				}
				s.take()
				rewrite(t, filepath.Join(cfg.CacheDir, tt.files), tt.damage)
			}
			if _, err := open(t, cfg).Fetch(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			if requests, _ := s.take(); len(requests) != 2*tt.mended {
				t.Errorf("mending asked for %q", requests)
			}
			if _, err := open(t, cfg).Fetch(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			if requests, _ := s.take(); len(requests) != 0 {
				t.Errorf("the mended cache asked for %q", requests)
			}
		})
	}
}

func rewrite(t *testing.T, pattern string, change func([]byte) []byte) {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s matches %v, %v", pattern, found, err)
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, found[0], string(change(b)))
}

// P31: a release never changes.
func TestAMovedTagIsRefused(t *testing.T) {
	eachWay(t, func(t *testing.T, repo string) {
		publish(t, repo, "shop.pricing", "1.4.0", []byte("first"))
		publish(t, repo, "shop.pricing", "1.4.1", []byte("second"))
	}, func(t *testing.T, url, repo string) {
		cached := t.TempDir()
		r := open(t, registry.Config{URL: url, CacheDir: cached})
		was, err := fetchOne(t.Context(), r, "shop.pricing", "1.4.0")
		if err != nil {
			t.Fatal(err)
		}
		git(t, repo, "tag", "-f", "-a", "-m", "moved", "shop.pricing/v1.4.0", "shop.pricing/v1.4.1^{commit}")

		listed, err := r.List(t.Context(), "shop.pricing")
		if err != nil || listed[0].Commit == was.Version.Commit {
			t.Fatalf("the tag did not move: %v, %v", listed, err)
		}
		_, err = r.Fetch(t.Context(), listed[0])
		wantProblem(t, err, abi.InvalidRegistry, "shop.pricing@1.4.0", "moved", was.Version.Commit[:12])
		_, err = open(t, registry.Config{URL: url}).Fetch(t.Context(), was.Version)
		wantProblem(t, err, abi.InvalidRegistry, "moved")

		again, err := r.Fetch(t.Context(), registry.Version{Skill: "shop.pricing", Version: "1.4.0"})
		if err != nil || string(again.Module) != "first" {
			t.Errorf("what was fetched before is not had any more: %v", err)
		}
		// Mending a damaged cache does not take the moved tag either.
		rewrite(t, filepath.Join(cached, "releases/*.zip"), func(b []byte) []byte { return b[1:] })
		_, err = r.Fetch(t.Context(), registry.Version{Skill: "shop.pricing", Version: "1.4.0"})
		wantProblem(t, err, abi.InvalidRegistry, "moved")
	})
}

func TestConcurrentFetchesDoTheWorkOnce(t *testing.T) {
	root := t.TempDir()
	s := serve(t, root)
	v := publish(t, filepath.Join(root, "repo"), "shop.pricing", "1.4.0", noise(1, 1000))
	r := open(t, registry.Config{URL: s.URL + "/repo", CacheDir: t.TempDir()})
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if release, err := r.Fetch(t.Context(), v); err != nil || !bytes.Equal(release.Module, noise(1, 1000)) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if requests, _ := s.take(); len(requests) != 2 {
		t.Errorf("16 fetches asked for %q", requests)
	}
}

func TestManyRegistriesShareOneCache(t *testing.T) {
	root := t.TempDir()
	repo, cached := filepath.Join(root, "repo"), t.TempDir()
	v := publish(t, repo, "shop.pricing", "1.4.0", noise(1, 1000))
	var all sync.WaitGroup
	for range 8 {
		r := open(t, registry.Config{URL: repo, CacheDir: cached})
		all.Go(func() {
			if _, err := r.Fetch(t.Context(), v); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	left, err := filepath.Glob(filepath.Join(cached, "*", ".new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind %v, %v", left, err)
	}
}

func TestAHangingServerIsGivenUp(t *testing.T) {
	root := t.TempDir()
	s := serve(t, root)
	v := publish(t, filepath.Join(root, "repo"), "shop.pricing", "1.4.0", []byte("module"))
	asked := make(chan struct{}, 16)
	s.fault = func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			asked <- struct{}{}
			<-r.Context().Done()
		})
	}
	calls := map[string]func(context.Context, *registry.Registry) error{
		"List": func(ctx context.Context, r *registry.Registry) error { _, err := r.List(ctx, ""); return err },
		"Resolve": func(ctx context.Context, r *registry.Registry) error {
			_, err := r.Resolve(ctx, "shop.pricing", "")
			return err
		},
		"Fetch": func(ctx context.Context, r *registry.Registry) error { _, err := r.Fetch(ctx, v); return err },
	}
	for name, call := range calls {
		t.Run(name+" by the caller's cancellation", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-asked; cancel() }()
			wantProblem(t, call(ctx, open(t, registry.Config{URL: s.URL + "/repo"})), abi.Cancelled)
		})
		t.Run(name+" by the caller's deadline", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			wantProblem(t, call(ctx, open(t, registry.Config{URL: s.URL + "/repo"})), abi.Deadline)
		})
		t.Run(name+" by the time-out", func(t *testing.T) {
			r := open(t, registry.Config{URL: s.URL + "/repo", Timeout: 20 * time.Millisecond})
			wantProblem(t, call(t.Context(), r), abi.RegistryFailure, "no answer in time")
		})
	}
}

func TestResolveTakesTheNewestThatFits(t *testing.T) {
	repo := filepath.Join(t.TempDir(), "repo")
	for _, v := range []string{"0.9.0", "1.0.0", "1.2.3", "1.2.10", "1.3.0-rc.1", "1.10.0", "2.0.0", "3.0.0-alpha"} {
		publish(t, repo, "shop.pricing", v, []byte("module"))
	}
	r := open(t, registry.Config{URL: repo})
	for constraint, want := range map[string]string{
		"": "2.0.0", "latest": "2.0.0", "*": "2.0.0", "1": "1.10.0", "1.x": "1.10.0", "1.2": "1.2.10", "1.2.x": "1.2.10",
		"1.2.3": "1.2.3", "=1.2.3": "1.2.3", "v1.2.3": "1.2.3", "^1.2": "1.10.0", "~1.2.3": "1.2.10", ">=1.0 <2": "1.10.0",
		">= 1.0, < 1.10": "1.2.10", "<1": "0.9.0", "1.3.0-rc.1": "1.3.0-rc.1", "^1.3.0-rc.0": "1.10.0", "~1.3.0-rc.0": "1.3.0-rc.1",
		">=3.0.0-0": "3.0.0-alpha", "^0.9": "0.9.0",
	} {
		if v, err := r.Resolve(t.Context(), "shop.pricing", constraint); err != nil || v.Version != want {
			t.Errorf("Resolve(%q) = %v, %v, want %s", constraint, v, err, want)
		}
	}
	for _, constraint := range []string{"^4", "1.3", "3.x", ">2.0.0", "1.2.4"} {
		_, err := r.Resolve(t.Context(), "shop.pricing", constraint)
		p := wantProblem(t, err, abi.NotFound, constraint, "3.0.0-alpha")
		if !slices.Contains(p.Candidates, "1.10.0") {
			t.Errorf("the candidates for %s are %v", constraint, p.Candidates)
		}
	}
	_, err := r.Resolve(t.Context(), "shop.pricing", "newest please")
	wantProblem(t, err, abi.BadArguments, "newest please", "^1.2")
}

func TestAnUnknownSkillComesWithNearNames(t *testing.T) {
	repo := filepath.Join(t.TempDir(), "repo")
	publish(t, repo, "shop.pricing", "1.0.0", []byte("module"))
	publish(t, repo, "shop.coupon", "1.0.0", []byte("module"))
	r := open(t, registry.Config{URL: repo})
	_, err := r.Resolve(t.Context(), "shop.pricng", "")
	if p := wantProblem(t, err, abi.NotFound, "shop.pricng", "did you mean shop.pricing?"); p.Candidates[0] != "shop.pricing" {
		t.Errorf("the candidates are %v", p.Candidates)
	}
	_, err = r.List(t.Context(), "weather")
	if p := wantProblem(t, err, abi.NotFound, "weather"); len(p.Candidates) != 2 {
		t.Errorf("the candidates are %v", p.Candidates)
	}
	_, err = r.Fetch(t.Context(), registry.Version{Skill: "shop.pricing", Version: "9.9.9"})
	if p := wantProblem(t, err, abi.NotFound, "9.9.9"); !slices.Equal(p.Candidates, []string{"1.0.0"}) {
		t.Errorf("the candidates are %v", p.Candidates)
	}
	_, err = r.Fetch(t.Context(), registry.Version{Skill: "../../etc", Version: "1.0.0"})
	wantProblem(t, err, abi.BadArguments, "../../etc")
	_, err = r.Fetch(t.Context(), registry.Version{Skill: "shop.pricing", Version: "1.0.0", Commit: "main"})
	wantProblem(t, err, abi.BadArguments, "main")
}

func BenchmarkFetch(b *testing.B) {
	root := b.TempDir()
	s := serve(b, root)
	repo := filepath.Join(root, "repo")
	v := publish(b, repo, "shop.pricing", "1.4.0", noise(1, 4<<20))
	for _, bb := range []struct {
		name string
		cfg  registry.Config
	}{
		{"path", registry.Config{URL: repo}},
		{"http", registry.Config{URL: s.URL + "/repo"}},
		{"cache", registry.Config{URL: s.URL + "/repo", CacheDir: b.TempDir()}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			r, err := registry.Open(bb.cfg)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := r.Fetch(b.Context(), v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
