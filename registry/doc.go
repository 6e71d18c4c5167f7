// Package registry owns the way from a skill's folder to verified bytes in a
// host: it publishes releases into a git repository, lists them, picks one for
// a version range, and fetches and caches it. The repository is reached by
// path, file://, http(s):// or ssh.
//
// A release is an annotated tag <skill>/v<version> on a commit without parents,
// whose tree holds skill.yaml, the module, the schemas and the guide. Without
// parents no release stands on another: fetching one at depth 1 brings its own
// files only, two skills are published at the same time without a conflict, and
// one repository holds thousands of releases at the cost of their references.
// A release never changes. The commit, which pins every byte of the tree, is
// remembered with the first fetch, and a tag that was moved since is refused.
//
// # Life of a release
//
//  1. Publish reads DIR/skill.yaml and the files that it names, writes the
//     module's sha256 and size into its copy of skill.yaml and leaves every
//     other byte alone, and runs the checks of step 5 on the result.
//  2. It stores blobs, trees, commit and tag object, and creates the tag, never
//     moves one. The release exists from the moment the tag does.
//  3. List asks for the references (no object moves) and reads the tags; tags
//     that are not releases are passed over. Resolve picks the newest release
//     that fits a constraint.
//  4. Fetch looks into the cache; what is there is proved by its digest and
//     costs no request. Else it takes that tag alone at depth 1: sizes are
//     looked at before contents, links and submodules are refused.
//  5. The tree becomes a Release only if skill.yaml is valid, names the tag's
//     skill and version, and gives the sha256 and the size of the module.
//  6. The verified files are kept on disk under their digest, and the version
//     is pinned to its commit. Damage to the cache is noticed by the digest and
//     mended by fetching again, from the same commit.
package registry
