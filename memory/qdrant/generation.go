package qdrant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"time"

	api "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// layout is the number of the form in which points are kept. A change of it makes
// every index of before another one, which is rebuilt.
const layout = 1

const (
	denseName  = "dense"
	sparseName = "bm25"

	ownerKey   = "sluice_index"   // metadata: the name in the URL
	versionKey = "sluice_version" // metadata: what Reset was given

	maxVersionBytes = 512
	reshapeTimeout  = time.Minute // a cluster agrees about its collections before it answers
	maxGenerations  = 64          // of one index; a rebuild leaves one
	graphLinks      = 16          // of the graph of each tenant: what Qdrant does for a whole collection
)

// A generation is the collection of one filling of an index.
type generation struct {
	name    string
	version string
	fault   string // why it cannot be used; "" for nothing
}

// Filling gives the Store that works with what Reset made of a version, see
// memory.SharedStore.
func (s *Store) Filling(version string) memory.Store {
	return &Store{client: s.client, target: s.target, dimensions: s.dimensions, timeout: s.timeout, version: version}
}

// inUse is the version of the filling that this Store works with, "" for none.
func (s *Store) inUse() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

func (s *Store) use(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

// State looks at the filling that this Store works with. One that is not there, is of
// another shape than Reset gives, or has another one beside it, has the version "", as one
// that was never filled: what lies beside it may have what was deleted since.
func (s *Store) State(ctx context.Context) (memory.StoreState, error) {
	const op = "qdrant.State"
	version := s.inUse()
	all, err := s.generations(ctx, op)
	if err != nil || version == "" || len(all) != 1 || all[0].version != version || all[0].fault != "" {
		return memory.StoreState{}, err
	}
	state := memory.StoreState{Version: version}
	err = s.onCollection(ctx, op, func(ctx context.Context, collection string) error {
		reply, err := s.client.Points().Count(ctx, &api.CountPoints{CollectionName: collection, Exact: api.PtrOf(true), ReadConsistency: majority()})
		state.Entries = int64(reply.GetResult().GetCount())
		return err
	})
	if err != nil {
		return memory.StoreState{}, err
	}
	return state, nil
}

// majority makes a search of a cluster see what was written before it: a write
// waits for a majority, too.
func majority() *api.ReadConsistency {
	return api.NewReadConsistencyType(api.ReadConsistencyType_Majority)
}

// generations lists the collections of this index: those of its name that say so.
func (s *Store) generations(ctx context.Context, op string) ([]generation, error) {
	var names []*api.CollectionDescription
	err := s.call(ctx, op, s.timeout, func(ctx context.Context) error {
		reply, err := s.client.Collections().List(ctx, &api.ListCollectionsRequest{})
		names = reply.GetCollections()
		return err
	})
	if err != nil {
		return nil, err
	}
	ours := regexp.MustCompile("^" + regexp.QuoteMeta(s.target.collection) + "_[0-9a-f]{16}$")
	var found []generation
	for _, c := range names {
		if !ours.MatchString(c.GetName()) {
			continue
		}
		g, ok, err := s.inspect(ctx, op, c.GetName())
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, g)
		}
		if len(found) > maxGenerations {
			return nil, host.Fail(op, s.unfit("it has too many collections").WithHint("delete those that nobody uses"), nil)
		}
	}
	return found, nil
}

// inspect reads one collection. One that went away, or that is not of this index,
// is none.
func (s *Store) inspect(ctx context.Context, op, name string) (g generation, ok bool, err error) {
	var info *api.CollectionInfo
	err = s.call(ctx, op, s.timeout, func(ctx context.Context) error {
		reply, err := s.client.Collections().Get(ctx, &api.GetCollectionInfoRequest{CollectionName: name})
		if status.Code(err) == codes.NotFound {
			return nil
		}
		info = reply.GetResult()
		return err
	})
	metadata := info.GetConfig().GetMetadata()
	if err != nil || metadata[ownerKey].GetStringValue() != s.target.collection {
		return generation{}, false, err
	}
	g = generation{name: name, version: metadata[versionKey].GetStringValue()}
	g.fault = s.faultOf(info)
	if g.fault == "" && name != s.nameOf(g.version) {
		g.fault = "it was made by another release"
	}
	return g, true, nil
}

// nameOf gives the collection of a filling of this index. What makes points of
// one incomparable with those of the other is in the hash.
func (s *Store) nameOf(version string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%d/%s", layout, s.dimensions, version))
	return s.target.collection + "_" + hex.EncodeToString(sum[:8])
}

// payloadIndexes are the fields that filters use, each with its index. Whoever
// asks a server in strict mode for another field is refused. Only the tenant has a graph:
// without one of their own, the other fields are held against what the tenant's gives.
func payloadIndexes() map[string]*api.CreateFieldIndexCollection {
	indexes := map[string]*api.CreateFieldIndexCollection{
		fieldAt: {FieldType: api.FieldType_FieldTypeInteger.Enum(), FieldIndexParams: api.NewPayloadIndexParamsInt(
			&api.IntegerIndexParams{Lookup: api.PtrOf(false), Range: api.PtrOf(true), EnableHnsw: api.PtrOf(false)})},
	}
	for _, field := range []string{fieldTenant, fieldUser, fieldSession, fieldLive, fieldEntity, fieldPlatform, fieldKind, fieldLayer, fieldStatus} {
		tenant := field == fieldTenant // what is one tenant's lies together
		params := &api.KeywordIndexParams{IsTenant: api.PtrOf(tenant), EnableHnsw: api.PtrOf(tenant)}
		indexes[field] = &api.CreateFieldIndexCollection{FieldType: api.FieldType_FieldTypeKeyword.Enum(), FieldIndexParams: api.NewPayloadIndexParamsKeyword(params)}
	}
	return indexes
}

// faultOf compares a collection with what shape would make.
func (s *Store) faultOf(info *api.CollectionInfo) string {
	params := info.GetConfig().GetParams()
	dense := params.GetVectorsConfig().GetParamsMap().GetMap()[denseName]
	sparse := params.GetSparseVectorsConfig().GetMap()[sparseName]
	switch {
	case s.dimensions > 0 && (dense.GetSize() != uint64(s.dimensions) || dense.GetDistance() != api.Distance_Cosine):
		return fmt.Sprintf("its dense vectors are not cosines of %d numbers", s.dimensions)
	case s.dimensions == 0 && dense != nil:
		return "it has dense vectors, and no model is set to make them"
	case sparse.GetModifier() != api.Modifier_Idf:
		return "its terms are not weighted by IDF"
	case params.GetShardNumber() != 1:
		return fmt.Sprintf("it has %d shards, each with an IDF of its own", params.GetShardNumber())
	}
	for field, index := range payloadIndexes() {
		want := api.PayloadSchemaType_Keyword
		if index.GetFieldType() == api.FieldType_FieldTypeInteger {
			want = api.PayloadSchemaType_Integer
		}
		if got := info.GetPayloadSchema()[field].GetDataType(); got != want {
			return fmt.Sprintf("its field %q has not the right index", field)
		}
	}
	return ""
}

// Reset deletes all that the index holds, every filling and what resets that were broken
// off left, makes an empty filling and works with that. Who works with another one finds
// it gone. A version that was never used before names a filling that nobody else makes.
func (s *Store) Reset(ctx context.Context, version string) error {
	const op = "qdrant.Reset"
	if problem := checkText("version", version, 1, maxVersionBytes); problem != nil {
		return host.Fail(op, problem, nil)
	}
	old, err := s.generations(ctx, op)
	if err != nil {
		return err
	}
	s.use("")
	for _, g := range old {
		if err := s.drop(ctx, op, g.name); err != nil {
			return err
		}
	}
	if err := s.create(ctx, op, version); err != nil {
		return err
	}
	if err := s.fits(ctx, op, version); err != nil {
		return err
	}
	s.use(version)
	return nil
}

// fits looks whether the server made what it was asked for.
func (s *Store) fits(ctx context.Context, op, version string) error {
	made, ok, err := s.inspect(ctx, op, s.nameOf(version))
	switch {
	case err != nil:
		return err
	case !ok:
		return host.Fail(op, s.unfit("it was removed while it was made"), nil)
	case made.fault != "":
		return host.Fail(op, s.unfit(made.fault), nil)
	}
	return nil
}

func (s *Store) drop(ctx context.Context, op, name string) error {
	return s.call(ctx, op, reshapeTimeout, func(ctx context.Context) error {
		_, err := s.client.Collections().Delete(ctx, &api.DeleteCollection{CollectionName: name})
		if status.Code(err) == codes.NotFound {
			return nil
		}
		return err
	})
}

// create makes the collection and then its payload indexes: without all of them
// it is not taken for an index.
func (s *Store) create(ctx context.Context, op, version string) error {
	name := s.nameOf(version)
	err := s.call(ctx, op, reshapeTimeout, func(ctx context.Context) error {
		_, err := s.client.Collections().Create(ctx, s.shape(name, version))
		return err
	})
	if err != nil {
		return s.unlessCreated(ctx, op, name, err)
	}
	return s.index(ctx, op, name)
}

// unlessCreated goes on where a collection is there already: an attempt of which
// the answer was lost.
func (s *Store) unlessCreated(ctx context.Context, op, name string, refused error) error {
	if _, ok, err := s.inspect(ctx, op, name); err != nil || !ok {
		return refused
	}
	return s.index(ctx, op, name)
}

func (s *Store) index(ctx context.Context, op, name string) error {
	for field, index := range payloadIndexes() {
		index.CollectionName, index.FieldName, index.Wait, index.Ordering = name, field, api.PtrOf(true), strong()
		err := s.call(ctx, op, reshapeTimeout, func(ctx context.Context) error {
			_, err := s.client.Points().CreateFieldIndex(ctx, index)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// shape is the collection of an index. Its graph has links within a tenant only:
// there is no search beyond one.
func (s *Store) shape(name, version string) *api.CreateCollection {
	c := &api.CreateCollection{
		CollectionName:         name,
		ShardNumber:            api.PtrOf(uint32(1)),
		ReplicationFactor:      api.PtrOf(s.target.replicas),
		WriteConsistencyFactor: api.PtrOf(s.target.replicas/2 + 1),
		HnswConfig:             &api.HnswConfigDiff{M: api.PtrOf(uint64(0)), PayloadM: api.PtrOf(uint64(graphLinks))},
		SparseVectorsConfig:    api.NewSparseVectorsConfig(map[string]*api.SparseVectorParams{sparseName: {Modifier: api.Modifier_Idf.Enum()}}),
		Metadata: map[string]*api.Value{
			ownerKey: api.NewValueString(s.target.collection), versionKey: api.NewValueString(version),
		},
	}
	if s.dimensions > 0 {
		c.VectorsConfig = api.NewVectorsConfigMap(map[string]*api.VectorParams{denseName: {Size: uint64(s.dimensions), Distance: api.Distance_Cosine}})
	}
	return c
}
