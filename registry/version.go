package registry

import (
	"cmp"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/mod/semver"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A Version names one release of one skill. It is a value; two are the same
// release if they are equal.
type Version struct {
	Skill   string `json:"skill"`
	Version string `json:"version"`          // semantic version, without a leading v
	Commit  string `json:"commit,omitempty"` // id of the git commit in hex, which pins the content
}

// String gives name@version, as "shop.pricing@1.4.0".
func (v Version) String() string { return v.Skill + "@" + v.Version }

// Bounds of the two parts of a tag's name. Both become names of files and
// references, of which common systems take 255 bytes.
const (
	maxSkillBytes   = 64 // as in the manifest
	maxVersionBytes = 64
)

const tagPrefix = "refs/tags/"

// ref gives the full name of the release's tag.
func (v Version) ref() string { return tagPrefix + v.Skill + "/v" + v.Version }

// check reports a version that cannot be a release.
func (v Version) check() error {
	if !validSkill(v.Skill) {
		return host.Fail("registry", abi.NewProblem(abi.BadArguments, "%.80q is not a skill's name", v.Skill).
			WithHint("a name is lower-case words joined by dots, such as shop.pricing"), nil)
	}
	if !validVersion(v.Version) {
		return host.Fail("registry", abi.NewProblem(abi.BadArguments, "%.80q is not the version of a release", v.Version).
			WithHint("write a semantic version without build metadata, such as 1.4.0 or 2.0.0-rc.1"), nil)
	}
	if v.Commit != "" && !validCommit(v.Commit) {
		return host.Fail("registry", abi.NewProblem(abi.BadArguments, "%.80q is not the id of a commit", v.Commit).
			WithHint("use a version that List or Resolve gave"), nil)
	}
	if plumbing.ReferenceName(v.ref()).Validate() != nil {
		return host.Fail("registry", abi.NewProblem(abi.BadArguments, "git cannot hold a tag %.200s/v%s", v.Skill, v.Version).
			WithHint("no part of it may end in .lock; give the skill or the version another name"), nil)
	}
	return nil
}

// releaseOf reads the full name of a tag. It reports false for a tag that is
// not a release.
func releaseOf(ref string) (Version, bool) {
	name, ok := strings.CutPrefix(ref, tagPrefix)
	if !ok {
		return Version{}, false
	}
	skill, version, ok := strings.Cut(name, "/v")
	v := Version{Skill: skill, Version: version}
	return v, ok && v.check() == nil
}

// validSkill accepts what a manifest accepts as a name: lower-case words joined
// by dots, each a letter and then letters and digits.
func validSkill(name string) bool {
	if len(name) > maxSkillBytes {
		return false
	}
	for word := range strings.SplitSeq(name, ".") {
		if word == "" || word[0] < 'a' || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return true
}

// validVersion accepts a whole semantic version without build metadata: that
// does not order, so two releases could not be told apart by age.
func validVersion(version string) bool {
	v := "v" + version
	return len(version) <= maxVersionBytes && semver.IsValid(v) && semver.Canonical(v) == v
}

// validCommit accepts the id of a git object: 40 hex digits.
func validCommit(id string) bool {
	return len(id) == 40 && strings.Trim(id, "0123456789abcdef") == ""
}

// older orders versions by skill and then by age.
func older(a, b Version) int {
	return cmp.Or(strings.Compare(a.Skill, b.Skill), semver.Compare("v"+a.Version, "v"+b.Version))
}
