-- A text that an owner's memories were learned from. The revision is the last that was
-- learned to its end, 0 before the first; begun is the last that was begun. Where they
-- differ, one is under way, or was broken off. The detail has the document's digest, its
-- parts, and how it was described.
CREATE TABLE IF NOT EXISTS memory_document (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  document_id {entity} NOT NULL,
  revision BIGINT NOT NULL,
  begun BIGINT NOT NULL,
  detail {bytes} NOT NULL,
  PRIMARY KEY (tenant_id, user_id, document_id)
) {clustered};

-- Where a memory stands in a revision of a document: its own text is the bytes from
-- from_byte, until_byte excluded, of the source, and begins overlap_bytes behind the
-- beginning of the memory's words. Nothing but space is in the blank_bytes before it.
-- Two places of the same words have one memory. The digest is of the words, and of what
-- they are about. Statements take from a unique key what it has, and else the primary
-- key: SQLite uses no other one.
CREATE TABLE IF NOT EXISTS memory_piece (
  tenant_id {id} NOT NULL,
  user_id {id} NOT NULL,
  document_id {entity} NOT NULL,
  revision BIGINT NOT NULL,
  piece_no BIGINT NOT NULL,
  memory_id {id} NOT NULL,
  words_digest {id} NOT NULL,
  part_no BIGINT NOT NULL,
  from_byte BIGINT NOT NULL,
  until_byte BIGINT NOT NULL,
  blank_bytes BIGINT NOT NULL,
  overlap_bytes BIGINT NOT NULL,
  PRIMARY KEY (tenant_id, user_id, document_id, revision, piece_no),
  UNIQUE (tenant_id, user_id, document_id, words_digest, memory_id, revision, piece_no),
  UNIQUE (tenant_id, user_id, memory_id, document_id, revision, piece_no)
) {clustered};
