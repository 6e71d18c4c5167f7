-- Since when nobody has the session, while that is still to be looked at: when its
-- lease was released last, or first given if it never was; 0 when there is nothing
-- to look at. Rows of before have rested for long.
ALTER TABLE agent_lease ADD COLUMN rested_at BIGINT NOT NULL DEFAULT 1;
CREATE INDEX agent_lease_rested ON agent_lease (rested_at);
