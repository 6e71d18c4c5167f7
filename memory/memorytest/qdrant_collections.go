package memorytest

import (
	"context"

	api "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A collection is one of a [Qdrant]. All of it is guarded by the server's mu.
type collection struct {
	made    *api.CreateCollection
	indexes map[string]*api.PayloadSchemaInfo
	points  map[string]*point // by UUID
	later   []func()          // writes that nobody waited for
}

// settle does what was not waited for.
func (c *collection) settle() {
	for _, do := range c.later {
		do()
	}
	c.later = nil
}

// collections plays the service of that name.
type collections struct {
	api.UnimplementedCollectionsServer
	q *Qdrant
}

// only refuses a request in which other fields are set than those that are played.
func only(message proto.Message, fields ...protoreflect.Name) (err error) {
	played := map[protoreflect.Name]bool{}
	for _, f := range fields {
		played[f] = true
	}
	m := message.ProtoReflect()
	m.Range(func(field protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if !played[field.Name()] {
			err = status.Errorf(codes.Unimplemented, "the test's server does not play %s of %s", field.Name(), m.Descriptor().Name())
		}
		return err == nil
	})
	return err
}

// find gives a collection. The caller holds mu.
func (q *Qdrant) find(name string) (*collection, error) {
	if c, ok := q.collections[name]; ok {
		return c, nil
	}
	return nil, status.Errorf(codes.NotFound, "Not found: Collection `%s` doesn't exist!", name)
}

// List gives the names of all collections.
func (s collections) List(_ context.Context, r *api.ListCollectionsRequest) (*api.ListCollectionsResponse, error) {
	s.q.mu.Lock()
	defer s.q.mu.Unlock()
	reply := &api.ListCollectionsResponse{}
	for name := range s.q.collections {
		reply.Collections = append(reply.Collections, &api.CollectionDescription{Name: name})
	}
	return reply, only(r)
}

// Get gives what a collection was made with, and its indexes.
func (s collections) Get(_ context.Context, r *api.GetCollectionInfoRequest) (*api.GetCollectionInfoResponse, error) {
	if err := only(r, "collection_name"); err != nil {
		return nil, err
	}
	s.q.mu.Lock()
	defer s.q.mu.Unlock()
	c, err := s.q.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	info := &api.CollectionInfo{
		Status: api.CollectionStatus_Green,
		Config: &api.CollectionConfig{
			Params: &api.CollectionParams{
				ShardNumber: c.made.GetShardNumber(), VectorsConfig: c.made.GetVectorsConfig(), SparseVectorsConfig: c.made.GetSparseVectorsConfig(),
				ReplicationFactor: c.made.ReplicationFactor, WriteConsistencyFactor: c.made.WriteConsistencyFactor,
			},
			HnswConfig: c.made.GetHnswConfig(), Metadata: c.made.GetMetadata(),
		},
		PayloadSchema: c.indexes,
	}
	// A copy, since it is written to the socket when mu is free again.
	return &api.GetCollectionInfoResponse{Result: proto.CloneOf(info)}, nil
}

// Create makes a collection of one shard.
func (s collections) Create(_ context.Context, r *api.CreateCollection) (*api.CollectionOperationResponse, error) {
	err := only(r, "collection_name", "shard_number", "replication_factor", "write_consistency_factor", "hnsw_config", "vectors_config", "sparse_vectors_config", "metadata")
	switch {
	case err != nil:
		return nil, err
	case r.GetShardNumber() != 1:
		return nil, status.Error(codes.Unimplemented, "the test's server plays one shard")
	case r.GetVectorsConfig().GetParams() != nil:
		return nil, status.Error(codes.Unimplemented, "the test's server plays named vectors")
	}
	for name, p := range r.GetVectorsConfig().GetParamsMap().GetMap() {
		if p.GetSize() == 0 || p.GetDistance() != api.Distance_Cosine {
			return nil, status.Errorf(codes.Unimplemented, "the test's server plays cosines, and not the vector %s", name)
		}
	}
	s.q.mu.Lock()
	defer s.q.mu.Unlock()
	if _, err := s.q.find(r.GetCollectionName()); err == nil {
		return nil, status.Errorf(codes.AlreadyExists, "Wrong input: Collection `%s` already exists!", r.GetCollectionName())
	}
	s.q.collections[r.GetCollectionName()] = &collection{made: r, indexes: map[string]*api.PayloadSchemaInfo{}, points: map[string]*point{}}
	return &api.CollectionOperationResponse{Result: true}, nil
}

// Delete removes a collection. That there is none is no error, as in Qdrant.
func (s collections) Delete(_ context.Context, r *api.DeleteCollection) (*api.CollectionOperationResponse, error) {
	if err := only(r, "collection_name"); err != nil {
		return nil, err
	}
	s.q.mu.Lock()
	defer s.q.mu.Unlock()
	_, err := s.q.find(r.GetCollectionName())
	delete(s.q.collections, r.GetCollectionName())
	return &api.CollectionOperationResponse{Result: err == nil}, nil
}
