-- What was done with one tool is found without the rest of a tenant's log.
CREATE INDEX audit_record_tool ON audit_record (tenant_id, tool, kind, seq);
