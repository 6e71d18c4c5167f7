package memorytest

import (
	"context"
	"math"
	"slices"

	"github.com/google/uuid"
	api "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A point is one of a collection.
type point struct {
	payload map[string]*api.Value
	dense   map[string][]float32          // by the vector's name, of length 1
	sparse  map[string]map[uint32]float32 // by the vector's name
}

// points plays the service of that name.
type points struct {
	api.UnimplementedPointsServer
	q *Qdrant
}

// write does something to a collection: at once if it is waited for, and else
// when the next write comes, so that whoever forgets to wait sees it.
func (s points) write(name string, wait bool, do func(*collection) error) (*api.PointsOperationResponse, error) {
	s.q.mu.Lock()
	defer s.q.mu.Unlock()
	c, err := s.q.find(name)
	if err != nil {
		return nil, err
	}
	c.settle()
	if !wait {
		c.later = append(c.later, func() { _ = do(c) }) // Qdrant, too, tells nobody of its errors
		return &api.PointsOperationResponse{Result: &api.UpdateResult{Status: api.UpdateStatus_Acknowledged}}, nil
	}
	if err := do(c); err != nil {
		return nil, err
	}
	return &api.PointsOperationResponse{Result: &api.UpdateResult{Status: api.UpdateStatus_Completed}}, nil
}

// Upsert adds or replaces points whole.
func (s points) Upsert(_ context.Context, r *api.UpsertPoints) (*api.PointsOperationResponse, error) {
	if err := only(r, "collection_name", "wait", "points", "ordering"); err != nil {
		return nil, err
	}
	return s.write(r.GetCollectionName(), r.GetWait(), func(c *collection) error {
		made := make([]*point, len(r.GetPoints()))
		for i, p := range r.GetPoints() {
			var err error
			if made[i], err = c.pointOf(p); err != nil {
				return err
			}
		}
		for i, p := range r.GetPoints() {
			c.points[p.GetId().GetUuid()] = made[i]
		}
		return nil
	})
}

// pointOf checks a point as Qdrant does.
func (c *collection) pointOf(p *api.PointStruct) (*point, error) {
	if err := checkID(p.GetId()); err != nil {
		return nil, err
	}
	if p.GetVectors() == nil {
		return nil, status.Error(codes.InvalidArgument, "Expected some vectors")
	}
	if p.GetVectors().GetVector() != nil {
		return nil, status.Error(codes.Unimplemented, "the test's server plays named vectors")
	}
	made := &point{payload: p.GetPayload(), dense: map[string][]float32{}, sparse: map[string]map[uint32]float32{}}
	for name, v := range p.GetVectors().GetVectors().GetVectors() {
		var err error
		switch {
		case v.GetDense() != nil:
			made.dense[name], err = c.denseOf(name, v.GetDense().GetData())
		case v.GetSparse() != nil:
			made.sparse[name], err = c.sparseOf(name, v.GetSparse())
		default:
			err = status.Error(codes.Unimplemented, "the test's server plays dense and sparse vectors")
		}
		if err != nil {
			return nil, err
		}
	}
	return made, nil
}

func checkID(id *api.PointId) error {
	if _, err := uuid.Parse(id.GetUuid()); err != nil {
		return status.Errorf(codes.InvalidArgument, "Unable to parse UUID: %s", id.GetUuid())
	}
	return nil
}

func (c *collection) denseOf(name string, data []float32) ([]float32, error) {
	config, ok := c.made.GetVectorsConfig().GetParamsMap().GetMap()[name]
	if !ok {
		return nil, status.Errorf(codes.InvalidArgument, "Wrong input: Not existing vector name error: %s", name)
	}
	if uint64(len(data)) != config.GetSize() {
		return nil, status.Errorf(codes.InvalidArgument, "Wrong input: Vector dimension error: expected dim: %d, got %d", config.GetSize(), len(data))
	}
	return normal(data), nil
}

// normal gives a vector of length 1, as Qdrant keeps those that it compares by cosine.
func normal(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	out := slices.Clone(v)
	if sum > 0 {
		for i := range out {
			out[i] = float32(float64(out[i]) / math.Sqrt(sum))
		}
	}
	return out
}

func (c *collection) sparseOf(name string, v *api.SparseVector) (map[uint32]float32, error) {
	if _, ok := c.made.GetSparseVectorsConfig().GetMap()[name]; !ok {
		return nil, status.Errorf(codes.InvalidArgument, "Wrong input: Not existing vector name error: %s", name)
	}
	if len(v.GetIndices()) != len(v.GetValues()) {
		return nil, status.Error(codes.InvalidArgument, "Validation error: must be the same length as indices")
	}
	weights := make(map[uint32]float32, len(v.GetIndices()))
	for i, id := range v.GetIndices() {
		if _, twice := weights[id]; twice {
			return nil, status.Error(codes.InvalidArgument, "Validation error: indices must be unique")
		}
		weights[id] = v.GetValues()[i]
	}
	return weights, nil
}

// Delete removes points by their ids.
func (s points) Delete(_ context.Context, r *api.DeletePoints) (*api.PointsOperationResponse, error) {
	if err := only(r, "collection_name", "wait", "points", "ordering"); err != nil {
		return nil, err
	}
	if r.GetPoints().GetPoints() == nil {
		return nil, status.Error(codes.Unimplemented, "the test's server deletes by ids")
	}
	return s.write(r.GetCollectionName(), r.GetWait(), func(c *collection) error {
		for _, id := range r.GetPoints().GetPoints().GetIds() {
			if err := checkID(id); err != nil {
				return err
			}
		}
		for _, id := range r.GetPoints().GetPoints().GetIds() {
			delete(c.points, id.GetUuid())
		}
		return nil
	})
}

// CreateFieldIndex notes an index of keywords or integers; the search works without.
func (s points) CreateFieldIndex(_ context.Context, r *api.CreateFieldIndexCollection) (*api.PointsOperationResponse, error) {
	if err := only(r, "collection_name", "wait", "field_name", "field_type", "field_index_params", "ordering"); err != nil {
		return nil, err
	}
	info := &api.PayloadSchemaInfo{Params: r.GetFieldIndexParams()}
	switch r.GetFieldType() {
	case api.FieldType_FieldTypeKeyword:
		info.DataType = api.PayloadSchemaType_Keyword
	case api.FieldType_FieldTypeInteger:
		info.DataType = api.PayloadSchemaType_Integer
	default:
		return nil, status.Errorf(codes.Unimplemented, "the test's server does not play an index of %s", r.GetFieldType())
	}
	return s.write(r.GetCollectionName(), r.GetWait(), func(c *collection) error {
		c.indexes[r.GetFieldName()] = info
		return nil
	})
}

// Count counts all points.
func (s points) Count(_ context.Context, r *api.CountPoints) (*api.CountResponse, error) {
	if err := only(r, "collection_name", "exact", "read_consistency"); err != nil {
		return nil, err
	}
	s.q.mu.Lock()
	defer s.q.mu.Unlock()
	c, err := s.q.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	return &api.CountResponse{Result: &api.CountResult{Count: uint64(len(c.points))}}, nil
}
