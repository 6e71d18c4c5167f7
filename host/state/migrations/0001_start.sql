-- Words in braces are the dialect's: {id} and {key} hold text that is
-- compared byte by byte, {bytes} holds any bytes, {serial} numbers the rows,
-- {ordered} has several servers number them in one order, {clustered} keeps the
-- rows in the order of their primary key.
-- Times are microseconds since 1970, UTC.

-- A row whose deleted is 1 has no value; it keeps the version going, so that a
-- key that is made again does not pass for its predecessor.
CREATE TABLE agent_session (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  session_id {id} NOT NULL,
  state_key {key} NOT NULL,
  version BIGINT NOT NULL,
  deleted SMALLINT NOT NULL,
  updated_at BIGINT NOT NULL,
  value {bytes} NOT NULL,
  PRIMARY KEY (tenant_id, user_id, session_id, state_key)
) {clustered};

-- The stamp is a number drawn anew by every write. A row whose deleted is 1
-- hides the parent's.
CREATE TABLE kv (
  tenant_id {id} NOT NULL,
  namespace {id} NOT NULL,
  kv_key {key} NOT NULL,
  stamp BIGINT NOT NULL,
  deleted SMALLINT NOT NULL,
  value {bytes} NOT NULL,
  PRIMARY KEY (tenant_id, namespace, kv_key)
) {clustered};

-- Tenants that are forks or have forks. Without a row: a root that takes writes.
CREATE TABLE kv_tenant (
  tenant_id {id} NOT NULL,
  parent_id {id} NOT NULL,
  depth BIGINT NOT NULL,
  sealed SMALLINT NOT NULL,
  PRIMARY KEY (tenant_id)
) {clustered};

-- One row for each write that runs or has succeeded. A failure leaves none.
CREATE TABLE agent_claim (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  session_id {id} NOT NULL,
  claim_key {id} NOT NULL,
  digest {id} NOT NULL,
  call_id {id} NOT NULL,
  owner_id {id} NOT NULL,
  done SMALLINT NOT NULL,
  lease_until BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  outcome {bytes} NOT NULL,
  PRIMARY KEY (tenant_id, user_id, session_id, claim_key)
) {clustered};

CREATE TABLE audit_record (
  seq {serial},
  recorded_at BIGINT NOT NULL,
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  session_id {id} NOT NULL,
  call_id {id} NOT NULL,
  kind {id} NOT NULL,
  tool {key} NOT NULL,
  release_name {key} NOT NULL,
  claim_key {id} NOT NULL,
  detail {bytes} NOT NULL
){ordered};
CREATE INDEX audit_record_tenant ON audit_record (tenant_id, seq);
CREATE INDEX audit_record_session ON audit_record (tenant_id, user_id, session_id, seq);
CREATE INDEX audit_record_call ON audit_record (tenant_id, call_id, seq);
