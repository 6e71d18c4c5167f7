-- Who may run a session's turns, and until when. A row is never removed, so
-- that its fence only grows; without a holder nobody has the lease.
CREATE TABLE agent_lease (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  session_id {id} NOT NULL,
  fence BIGINT NOT NULL,
  holder_id {id} NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (tenant_id, user_id, session_id)
) {clustered};

-- A live that is on has ended_at 0.
CREATE TABLE agent_live (
  tenant_id {id} NOT NULL,
  live_id {id} NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  detail {bytes} NOT NULL,
  PRIMARY KEY (tenant_id, live_id)
) {clustered};

-- Rows that are there to be locked; see lock.go. SQLite, which locks the whole
-- database, has none.
CREATE TABLE tenant_slot (
  tenant_id {id} NOT NULL,
  slot SMALLINT NOT NULL,
  PRIMARY KEY (tenant_id, slot)
) {clustered};

-- What tells whether a commit took place whose answer was lost; see alone.go.
-- SQLite, which is in this process, has none.
CREATE TABLE store_lane (
  lane_id {id} NOT NULL,
  mark BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  PRIMARY KEY (lane_id)
) {clustered};
