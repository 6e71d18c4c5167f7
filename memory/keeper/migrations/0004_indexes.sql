-- What an owner's inputs must always keep to is found without the rest.
CREATE INDEX memory_node_kind ON memory_node (tenant_id, user_id, kind, status, layer, said_at, memory_id);
-- Pages of what is about one thing, and of one layer, go on where they ended.
CREATE INDEX memory_node_about ON memory_node (tenant_id, user_id, entity, status, layer, memory_id);
CREATE INDEX memory_node_layer ON memory_node (tenant_id, user_id, layer, status, memory_id);
