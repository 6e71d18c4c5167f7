-- The fence of the lease that the claim was taken under; 0 without one.
ALTER TABLE agent_claim ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
CREATE INDEX agent_claim_age ON agent_claim (done, updated_at);

-- Questions to people, each about one exact call. One that is open has closed_at 0.
CREATE TABLE agent_approval (
  tenant_id {id} NOT NULL,
  approval_id {id} NOT NULL,
  user_id {id} NOT NULL,
  session_id {id} NOT NULL,
  call_id {id} NOT NULL,
  digest {id} NOT NULL,
  status {id} NOT NULL,
  asked_at BIGINT NOT NULL,
  answered_at BIGINT NOT NULL,
  closed_at BIGINT NOT NULL,
  answered_by {id} NOT NULL,
  contrary_by {id} NOT NULL,
  used_by {id} NOT NULL,
  detail {bytes} NOT NULL,
  words {bytes} NOT NULL,
  PRIMARY KEY (tenant_id, approval_id)
) {clustered};
CREATE INDEX agent_approval_session ON agent_approval (tenant_id, user_id, session_id, approval_id);
CREATE INDEX agent_approval_digest ON agent_approval (tenant_id, user_id, session_id, digest, approval_id);
CREATE INDEX agent_approval_status ON agent_approval (tenant_id, status, approval_id);
CREATE INDEX agent_approval_age ON agent_approval (closed_at);

-- Permissions that a person gave ahead. Without a session it holds for all of
-- the user's; with expires_at 0 until it is revoked.
CREATE TABLE agent_standing_grant (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  grant_id {id} NOT NULL,
  session_id {id} NOT NULL,
  tool {key} NOT NULL,
  max_tier {id} NOT NULL,
  granted_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  granted_by {id} NOT NULL,
  condition_text {bytes} NOT NULL,
  PRIMARY KEY (tenant_id, user_id, grant_id)
) {clustered};
CREATE INDEX agent_standing_grant_age ON agent_standing_grant (expires_at);

-- Writes that succeeded, one row for each target of each; without a target ''.
CREATE TABLE agent_done (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  session_id {id} NOT NULL,
  tool {key} NOT NULL,
  done_at BIGINT NOT NULL,
  call_id {id} NOT NULL,
  target {key} NOT NULL,
  args {bytes} NOT NULL,
  data {bytes} NOT NULL,
  PRIMARY KEY (tenant_id, user_id, session_id, tool, done_at, call_id, target)
) {clustered};
CREATE INDEX agent_done_target ON agent_done (tenant_id, user_id, session_id, tool, target, done_at);
CREATE INDEX agent_done_age ON agent_done (done_at);

-- Periodic work: its last run and its next one, and who is at it.
CREATE TABLE store_job (
  job_id {id} NOT NULL,
  fence BIGINT NOT NULL,
  holder_id {id} NOT NULL,
  expires_at BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  next_at BIGINT NOT NULL,
  failure {key} NOT NULL,
  PRIMARY KEY (job_id)
) {clustered};
