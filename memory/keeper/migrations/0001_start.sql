-- Words in braces are the dialect's: {id}, {entity} and {key} hold text that is
-- compared byte by byte, {bytes} holds any bytes, {number} is a row's own number,
-- {clustered} keeps the rows in the order of their primary key, {engine} is a
-- table's that does not. Times are microseconds since 1970, UTC; 0 is none.

-- One row, which every transaction that writes locks first: the numbers that it
-- gives are seen in their order. Lines of the outbox up to trimmed are gone;
-- rows up to the number scrubbed have left nothing in the files, if scrub_to is no greater.
CREATE TABLE IF NOT EXISTS memory_head (
  head_no SMALLINT NOT NULL,
  last_no BIGINT NOT NULL,
  trimmed BIGINT NOT NULL,
  scrub_to BIGINT NOT NULL,
  scrubbed BIGINT NOT NULL,
  PRIMARY KEY (head_no)
) {clustered};

-- The columns have what an index holds and what changes often; the detail has the
-- rest of the memory, without the text.
CREATE TABLE IF NOT EXISTS memory_node (
  node_no {number},
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  memory_id {id} NOT NULL,
  session_id {id} NOT NULL,
  live_id {id} NOT NULL,
  entity {entity} NOT NULL,
  platform {id} NOT NULL,
  kind {id} NOT NULL,
  layer SMALLINT NOT NULL,
  status {id} NOT NULL,
  order_no BIGINT NOT NULL,
  said_at BIGINT NOT NULL,
  recalls BIGINT NOT NULL,
  adopts BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  words {bytes} NOT NULL,
  index_words {bytes} NOT NULL,
  detail {bytes} NOT NULL,
  UNIQUE (tenant_id, user_id, memory_id),
  UNIQUE (tenant_id, user_id, entity, node_no)
) {engine};

-- What happened to a memory. The cause is an id, or the digest of a source.
CREATE TABLE IF NOT EXISTS memory_life (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  memory_id {id} NOT NULL,
  life_no BIGINT NOT NULL,
  happened_at BIGINT NOT NULL,
  event {id} NOT NULL,
  cause {id} NOT NULL,
  PRIMARY KEY (tenant_id, user_id, memory_id, life_no)
) {clustered};

-- Where memories with nearly the same terms meet; see same.go.
CREATE TABLE IF NOT EXISTS memory_band (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  band BIGINT NOT NULL,
  memory_id {id} NOT NULL,
  PRIMARY KEY (tenant_id, user_id, band, memory_id),
  UNIQUE (tenant_id, user_id, memory_id, band)
) {clustered};

-- What was made of a memory or points to it: a derived memory, a gap, a trace.
CREATE TABLE IF NOT EXISTS memory_link (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  memory_id {id} NOT NULL,
  link_role {id} NOT NULL,
  other_id {id} NOT NULL,
  PRIMARY KEY (tenant_id, user_id, memory_id, link_role, other_id)
) {clustered};

-- Memories that have a claim: what reconciliation reads.
CREATE TABLE IF NOT EXISTS memory_claim (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  memory_id {id} NOT NULL,
  PRIMARY KEY (tenant_id, user_id, memory_id)
) {clustered};

CREATE TABLE IF NOT EXISTS memory_vector (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  memory_id {id} NOT NULL,
  model {key} NOT NULL,
  vector {bytes} NOT NULL,
  PRIMARY KEY (tenant_id, user_id, memory_id)
) {clustered};

-- Memories that have no vector yet, those that failed least often first.
CREATE TABLE IF NOT EXISTS memory_unembedded (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  memory_id {id} NOT NULL,
  tries BIGINT NOT NULL,
  PRIMARY KEY (tenant_id, user_id, memory_id),
  UNIQUE (tries, tenant_id, user_id, memory_id)
) {clustered};

CREATE TABLE IF NOT EXISTS memory_outbox (
  line_no BIGINT NOT NULL,
  written_at BIGINT NOT NULL,
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  memory_id {id} NOT NULL,
  PRIMARY KEY (line_no)
) {clustered};

-- Work that one replica does at a time: who, until when, how far.
CREATE TABLE IF NOT EXISTS memory_duty (
  duty {id} NOT NULL,
  holder_id {id} NOT NULL,
  held_until BIGINT NOT NULL,
  done_to BIGINT NOT NULL,
  version {key} NOT NULL,
  PRIMARY KEY (duty)
) {clustered};

-- The occasion is the session, or where there is none the gap itself.
CREATE TABLE IF NOT EXISTS memory_gap (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  gap_id {id} NOT NULL,
  memory_id {id} NOT NULL,
  occasion {id} NOT NULL,
  seen_at BIGINT NOT NULL,
  question_id {id} NOT NULL,
  closed {id} NOT NULL,
  detail {bytes} NOT NULL,
  PRIMARY KEY (tenant_id, user_id, gap_id),
  UNIQUE (tenant_id, user_id, memory_id, occasion)
) {clustered};

-- A question that waits has no answer.
CREATE TABLE IF NOT EXISTS memory_question (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  question_id {id} NOT NULL,
  memory_id {id} NOT NULL,
  answer {id} NOT NULL,
  detail {bytes} NOT NULL,
  PRIMARY KEY (tenant_id, user_id, question_id),
  UNIQUE (tenant_id, user_id, memory_id, question_id)
) {clustered};

-- A trace that is not attributed has attributed_at 0.
CREATE TABLE IF NOT EXISTS memory_trace (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  trace_id {id} NOT NULL,
  domain {id} NOT NULL,
  attributed_at BIGINT NOT NULL,
  detail {bytes} NOT NULL,
  PRIMARY KEY (tenant_id, user_id, trace_id),
  UNIQUE (tenant_id, user_id, domain, attributed_at, trace_id)
) {clustered};

-- Trust moves at one time after another: moved_at is the last attribution's.
CREATE TABLE IF NOT EXISTS memory_trust (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  domain {id} NOT NULL,
  score DOUBLE NOT NULL,
  moved_at BIGINT NOT NULL,
  PRIMARY KEY (tenant_id, user_id, domain)
) {clustered};

-- What is left of memories that were forgotten on request: their ids.
CREATE TABLE IF NOT EXISTS memory_receipt (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  receipt_id {id} NOT NULL,
  forgotten_at BIGINT NOT NULL,
  detail {bytes} NOT NULL,
  PRIMARY KEY (tenant_id, user_id, receipt_id)
) {clustered};
