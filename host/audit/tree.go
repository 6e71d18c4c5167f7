package audit

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// tileHeight is that of the tiles in the store: 256 hashes, 8 KiB, of which a
// step writes the last one again.
const (
	tileHeight = 8
	tileWidth  = 1 << tileHeight
)

// tiles read a log's tiles from the store, each once unless it grows.
type tiles struct {
	ctx    context.Context // of one step
	store  *state.Store
	tenant host.TenantID
	log    int64
	known  map[tlog.Tile][]byte // by level and number alone
}

var _ tlog.TileReader = (*tiles)(nil)

func tilesOf(ctx context.Context, store *state.Store, tenant host.TenantID, log int64) *tiles {
	return &tiles{ctx: ctx, store: store, tenant: tenant, log: log, known: map[tlog.Tile][]byte{}}
}

// Height is part of tlog.TileReader.
func (t *tiles) Height() int { return tileHeight }

// SaveTiles is part of tlog.TileReader; there is nothing to save.
func (t *tiles) SaveTiles([]tlog.Tile, [][]byte) {}

// ReadTiles is part of tlog.TileReader. A tile may have more hashes by now than
// are asked for.
func (t *tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, tile := range wanted {
		hashes, err := t.read(tile.L, tile.N, tile.W)
		if err != nil {
			return nil, err
		}
		if len(hashes) < tile.W*tlog.HashSize {
			return nil, fmt.Errorf("tile %s is missing or too short", tile.Path())
		}
		all = append(all, hashes[:tile.W*tlog.HashSize])
	}
	return all, nil
}

// read gives a tile's hashes, and looks again for one that had fewer than are
// wanted: it may have grown.
func (t *tiles) read(level int, no int64, wanted int) ([]byte, error) {
	at := tlog.Tile{L: level, N: no}
	if hashes, ok := t.known[at]; ok && len(hashes) >= wanted*tlog.HashSize {
		return hashes, nil
	}
	hashes, err := t.store.AuditTile(t.ctx, t.tenant, t.log, level, no)
	if err == nil {
		t.known[at] = hashes
	}
	return hashes, err
}

// A growth is a tree that entries are added to.
type growth struct {
	tree  tlog.Tree // at the beginning
	size  int64     // by now
	tiles *tiles
	known map[int64]tlog.Hash // by storage index: those that the tree goes on from, and new ones
}

// grow begins with a tree that is in the store: the hashes at its edge, of which
// all later ones are made, are checked against its root.
func grow(tree tlog.Tree, tiles *tiles) (*growth, error) {
	g := &growth{tree: tree, size: tree.N, tiles: tiles, known: map[int64]tlog.Hash{}}
	edge := edgeOf(tree.N)
	if len(edge) == 0 {
		return g, nil
	}
	hashes, err := tlog.TileHashReader(tree, tiles).ReadHashes(edge)
	if err != nil {
		return nil, err
	}
	for i, index := range edge {
		g.known[index] = hashes[i]
	}
	return g, nil
}

// edgeOf gives the roots of the complete subtrees that a tree of n entries is
// made of.
func edgeOf(n int64) (edge []int64) {
	for level, at := 62, int64(0); level >= 0; level-- {
		if n&(1<<level) != 0 {
			edge = append(edge, tlog.StoredHashIndex(level, at>>level))
			at += 1 << level
		}
	}
	return edge
}

// ReadHashes is part of tlog.HashReader.
func (g *growth) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		hash, ok := g.known[index]
		if !ok {
			return nil, fmt.Errorf("BUG: hash %d is not at the edge of the tree", index)
		}
		hashes[i] = hash
	}
	return hashes, nil
}

// add adds the entry with a hash.
func (g *growth) add(entry tlog.Hash) error {
	hashes, err := tlog.StoredHashesForRecordHash(g.size, entry, g)
	if err != nil {
		return err
	}
	first := tlog.StoredHashIndex(0, g.size)
	for i, hash := range hashes {
		g.known[first+int64(i)] = hash
	}
	g.size++
	return nil
}

// end gives the tree as it is now, and the tiles that have changed.
func (g *growth) end() (tlog.Tree, []state.AuditTile, error) {
	root, err := tlog.TreeHash(g.size, g)
	if err != nil {
		return tlog.Tree{}, nil, err
	}
	var changed []state.AuditTile
	for _, tile := range tlog.NewTiles(tileHeight, g.tree.N, g.size) {
		hashes, err := g.fill(tile)
		if err != nil {
			return tlog.Tree{}, nil, err
		}
		changed = append(changed, state.AuditTile{Log: g.tiles.log, Level: tile.L, No: tile.N, Hashes: hashes})
	}
	return tlog.Tree{N: g.size, Hash: root}, changed, nil
}

// fill gives a tile's hashes: those that were in the store, and the new ones.
func (g *growth) fill(tile tlog.Tile) ([]byte, error) {
	had := max(0, min(int64(tileWidth), g.tree.N>>(tileHeight*tile.L)-tile.N<<tileHeight))
	var hashes []byte
	if had > 0 {
		stored, err := g.tiles.ReadTiles([]tlog.Tile{{H: tileHeight, L: tile.L, N: tile.N, W: int(had)}})
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, stored[0]...)
	}
	for n := had; n < int64(tile.W); n++ {
		hash, err := g.ReadHashes([]int64{tlog.StoredHashIndex(tileHeight*tile.L, tile.N<<tileHeight+n)})
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, hash[0][:]...)
	}
	return hashes, nil
}
