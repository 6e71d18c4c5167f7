-- What judging the dense leg of a model on labelled data gave, the last time. The model
-- is the embedder's name, the terms are those of the index beside it. The detail is a
-- Verdict.
CREATE TABLE IF NOT EXISTS memory_verdict (
  model {key} NOT NULL,
  terms {id} NOT NULL,
  ranking {id} NOT NULL,
  detail {bytes} NOT NULL,
  PRIMARY KEY (model, terms, ranking)
) {clustered};
