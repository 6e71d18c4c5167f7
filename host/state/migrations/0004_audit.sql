-- The logs in which a tenant's audit records are sealed, one after another; the
-- last one is open. The size is that of its tree; last_seq is the last record
-- that is sealed, in it or before it. Opening and closing are the texts of its
-- first and its last entry where those lead from and to another log; else empty.
CREATE TABLE audit_log (
  tenant_id {id} NOT NULL,
  log_no BIGINT NOT NULL,
  tree_size BIGINT NOT NULL,
  last_seq BIGINT NOT NULL,
  closed SMALLINT NOT NULL,
  sealed_at BIGINT NOT NULL,
  public_key {key} NOT NULL,
  checkpoint {bytes} NOT NULL,
  opening {bytes} NOT NULL,
  closing {bytes} NOT NULL,
  PRIMARY KEY (tenant_id, log_no)
) {clustered};

-- One row for each record that is sealed. The secret is the salt of its digest
-- or, once the record is erased, what salt and payload were digested to.
CREATE TABLE audit_leaf (
  tenant_id {id} NOT NULL,
  seq BIGINT NOT NULL,
  log_no BIGINT NOT NULL,
  leaf_no BIGINT NOT NULL,
  erased SMALLINT NOT NULL,
  secret {bytes} NOT NULL,
  PRIMARY KEY (tenant_id, seq)
) {clustered};

-- The hashes of a log's tree, up to 256 in a row.
CREATE TABLE audit_tile (
  tenant_id {id} NOT NULL,
  log_no BIGINT NOT NULL,
  tile_level SMALLINT NOT NULL,
  tile_no BIGINT NOT NULL,
  hashes {bytes} NOT NULL,
  PRIMARY KEY (tenant_id, log_no, tile_level, tile_no)
) {clustered};
