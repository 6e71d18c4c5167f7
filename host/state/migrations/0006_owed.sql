-- Ends of sessions and of lives that hooks are still to be told of, kept with the end
-- itself. That of a live has neither user nor session. One that nobody tells of by
-- itself any more has due_at 0.
CREATE TABLE agent_owed (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  session_id {id} NOT NULL,
  live_id {id} NOT NULL,
  end_id {id} NOT NULL,
  ended_at BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  tries BIGINT NOT NULL,
  failure {key} NOT NULL,
  PRIMARY KEY (tenant_id, user_id, session_id, live_id)
) {clustered};
CREATE INDEX agent_owed_due ON agent_owed (due_at);
