-- What an owner's inputs must always keep to is found without the rest.
CREATE INDEX memory_node_kind ON memory_node (tenant_id, user_id, kind, status, layer, said_at, memory_id);
