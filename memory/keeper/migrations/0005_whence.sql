-- The document that a memory is of, '' for none, so that what is of one is found without
-- the rest. A row that an older Sluice writes meanwhile has NULL: it is looked into.
ALTER TABLE memory_node ADD COLUMN document_id {entity};
UPDATE memory_node SET document_id = {whence};
CREATE INDEX memory_node_document ON memory_node (tenant_id, user_id, document_id, status, layer, memory_id);
-- Pages of one kind go on where they ended.
CREATE INDEX memory_node_page ON memory_node (tenant_id, user_id, kind, status, layer, memory_id);
