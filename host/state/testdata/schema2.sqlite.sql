CREATE TABLE schema_version (version BIGINT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL);
CREATE TABLE agent_session (
  tenant_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  state_key TEXT NOT NULL,
  version BIGINT NOT NULL,
  deleted SMALLINT NOT NULL,
  updated_at BIGINT NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (tenant_id, user_id, session_id, state_key)
) WITHOUT ROWID;
CREATE TABLE kv (
  tenant_id TEXT NOT NULL,
  namespace TEXT NOT NULL,
  kv_key TEXT NOT NULL,
  stamp BIGINT NOT NULL,
  deleted SMALLINT NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (tenant_id, namespace, kv_key)
) WITHOUT ROWID;
CREATE TABLE kv_tenant (
  tenant_id TEXT NOT NULL,
  parent_id TEXT NOT NULL,
  depth BIGINT NOT NULL,
  sealed SMALLINT NOT NULL,
  PRIMARY KEY (tenant_id)
) WITHOUT ROWID;
CREATE TABLE agent_claim (
  tenant_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  claim_key TEXT NOT NULL,
  digest TEXT NOT NULL,
  call_id TEXT NOT NULL,
  owner_id TEXT NOT NULL,
  done SMALLINT NOT NULL,
  lease_until BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  outcome BLOB NOT NULL,
  PRIMARY KEY (tenant_id, user_id, session_id, claim_key)
) WITHOUT ROWID;
CREATE TABLE audit_record (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  recorded_at BIGINT NOT NULL,
  tenant_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  call_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  tool TEXT NOT NULL,
  release_name TEXT NOT NULL,
  claim_key TEXT NOT NULL,
  detail BLOB NOT NULL
);
CREATE INDEX audit_record_tenant ON audit_record (tenant_id, seq);
CREATE INDEX audit_record_session ON audit_record (tenant_id, user_id, session_id, seq);
CREATE INDEX audit_record_call ON audit_record (tenant_id, call_id, seq);
CREATE TABLE agent_lease (
  tenant_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  fence BIGINT NOT NULL,
  holder_id TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (tenant_id, user_id, session_id)
) WITHOUT ROWID;
CREATE TABLE agent_live (
  tenant_id TEXT NOT NULL,
  live_id TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  detail BLOB NOT NULL,
  PRIMARY KEY (tenant_id, live_id)
) WITHOUT ROWID;
CREATE TABLE tenant_slot (
  tenant_id TEXT NOT NULL,
  slot SMALLINT NOT NULL,
  PRIMARY KEY (tenant_id, slot)
) WITHOUT ROWID;
CREATE TABLE store_lane (
  lane_id TEXT NOT NULL,
  mark BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  PRIMARY KEY (lane_id)
) WITHOUT ROWID;
INSERT INTO schema_version VALUES (1, 1796005837618058);
INSERT INTO schema_version VALUES (2, 1796005837618158);
INSERT INTO agent_session VALUES ('shop', 'ann', 's1', 'live.current', 2, 0, 1772352000123456, CAST('{"sku":"1002"}' AS BLOB));
INSERT INTO agent_session VALUES ('shop', 'ann', 's1', 'old', 2, 1, 1772352000123456, CAST('' AS BLOB));
INSERT INTO kv VALUES ('base', 'n', 'a', 5218395835889029009, 0, CAST('1' AS BLOB));
INSERT INTO kv VALUES ('base', 'n', 'b', 4564325906309331813, 0, CAST('' AS BLOB));
INSERT INTO kv VALUES ('shop', 'n', 'a', 5994296444147819148, 1, CAST('' AS BLOB));
INSERT INTO kv VALUES ('shop', 'n', 'c', 8658807645846594922, 0, CAST('价' AS BLOB));
INSERT INTO kv_tenant VALUES ('base', '', 0, 1);
INSERT INTO kv_tenant VALUES ('shop', 'base', 1, 0);
INSERT INTO agent_claim VALUES ('shop', 'ann', 's1', 'key1', 'digest', 'call1', 'store_138c910155954935a2b64f9603c95038', 1, 0, 1772352000123456, CAST('{"price":89}' AS BLOB));
INSERT INTO agent_claim VALUES ('shop', 'ann', 's1', 'key2', 'digest', 'call2', 'store_138c910155954935a2b64f9603c95038', 0, 1772352060123456, 1772352000123456, CAST('' AS BLOB));
INSERT INTO audit_record VALUES (1, 1772352000123456, 'shop', 'ann', 's1', 'call1', 'intent', 'set_price', '', 'key1', CAST('{"args":{}}' AS BLOB));
INSERT INTO audit_record VALUES (2, 1772352000123456, 'shop', 'ann', 's1', 'call1', 'outcome', '', '', 'key1', CAST('' AS BLOB));
INSERT INTO audit_record VALUES (3, 1772352000123456, 'shop', 'ann', 's1', 'call2', 'intent', 'set_price', '', 'key2', CAST('{"args":{}}' AS BLOB));
INSERT INTO agent_lease VALUES ('shop', 'ann', 's1', 3, '', 0);
INSERT INTO agent_live VALUES ('shop', 'live1', 1772352000123456, 0, CAST('{"room":7}' AS BLOB));
