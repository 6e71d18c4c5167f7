package registry

import (
	"context"
	"errors"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/sluicehq/sluice/abi"
)

// A source is a git repository: one on this machine, which is read where it
// lies, or a remote one.
type source interface {
	// tags gives every tag by the full name of its reference, and no tags for a
	// repository without commits. Tags that stand on no commit may be left out.
	tags(ctx context.Context) (map[string]tag, error)

	// objects gives a store that has at least what one tag needs. It shows the
	// tag to approve before it reads anything behind it, and stops at its
	// error. Without such a tag it fails with errNoTag.
	objects(ctx context.Context, ref string, most limits, approve func(tag) error) (storer.EncodedObjectStorer, error)

	// create stores objects and makes a tag stand on one of them, both or
	// neither. It fails with errTagExists where there is such a tag.
	create(ctx context.Context, ref string, object plumbing.Hash, objects *memory.Storage) error
}

// A tag says what a tag stands on now.
type tag struct {
	object plumbing.Hash // what the reference holds: a tag object, or the commit
	commit plumbing.Hash
}

var (
	// errNoTag comes from source.objects; the caller says what there is.
	errNoTag = errors.New("no such tag")

	// errTagExists comes from source.create; the caller refuses to publish.
	errTagExists = errors.New("the tag exists")

	// errNotRelease comes wrapped, with what is wrong, from everything that
	// reads the objects behind a tag.
	errNotRelease = errors.New("not a release")

	// errDamaged comes wrapped, with which object, from what proves objects.
	errDamaged = errors.New("the repository is damaged")

	// errTooLarge comes wrapped, with what is too large, from everything that
	// reads objects or a connection; nothing of that size was read.
	errTooLarge = errors.New("too large")
)

// Bounds of a release beside its module: a manifest with its schemas is some
// tens of KiB, and a guide is meant to be read by a model.
const (
	maxFiles      = 256
	maxDepth      = 8
	maxNameBytes  = 255
	maxFileBytes  = 4 * abi.MiB
	maxOtherBytes = 16 * abi.MiB // all files but the module together
	maxMetaBytes  = abi.MiB      // one commit, tag or tree object
)

// limits bound what is read for one release.
type limits struct {
	module abi.Size
	file   abi.Size // any one file
	total  abi.Size // all objects, inflated
}

func limitsFor(module abi.Size) limits {
	return limits{module: module, file: max(module, maxFileBytes), total: module + maxOtherBytes}
}

// wire bounds one answer of a server. Compressed objects with their framing
// are smaller than inflated ones, but for the last few bytes.
func (l limits) wire() int64 { return int64(l.total + abi.MiB) }

// packed bounds a release in the cache: the files and the archive's directory.
func (l limits) packed() int64 { return int64(l.total + abi.MiB) }
