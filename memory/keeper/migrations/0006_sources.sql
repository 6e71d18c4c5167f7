-- What said a memory first, and what bore it out later, by the digest of a source: each
-- counts once, and is found by it when the memory is to be forgotten. The life has what
-- people want to read, and of a fact that is seen again and again one row.
CREATE TABLE IF NOT EXISTS memory_source (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  memory_id {id} NOT NULL,
  source {id} NOT NULL,
  PRIMARY KEY (tenant_id, user_id, memory_id, source)
) {clustered};

INSERT INTO memory_source (tenant_id, user_id, memory_id, source)
SELECT DISTINCT l.tenant_id, l.user_id, l.memory_id, l.cause FROM memory_life l
WHERE l.event IN ('remembered', 'verified') AND l.cause <> '' AND NOT EXISTS (
  SELECT 1 FROM memory_source s WHERE s.tenant_id = l.tenant_id AND s.user_id = l.user_id AND s.memory_id = l.memory_id AND s.source = l.cause
);

-- Gaps that are open, and questions that wait, are found among all that are not; and of
-- closed gaps the newest and the oldest.
CREATE INDEX memory_gap_open ON memory_gap (tenant_id, user_id, closed, memory_id, seen_at, gap_id);
CREATE INDEX memory_gap_seen ON memory_gap (tenant_id, user_id, seen_at, gap_id);
CREATE INDEX memory_question_open ON memory_question (tenant_id, user_id, answer, memory_id, question_id);
