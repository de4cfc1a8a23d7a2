-- The inbox's key begins with what differs from row to row: every comparison in the index is decided by its first
-- column, where it compared the consumer's name and the scope before, equal nearly always. Measured on claims of 500
-- ids: a sixth less of the server's time. What is unique stays the same.
ALTER TABLE tidegate.processed_events DROP CONSTRAINT processed_events_pkey;
ALTER TABLE tidegate.processed_events ADD PRIMARY KEY (event_id, scope, consumer_name);

-- The seal looks at the row once a commit: it was asked twice, for the fence's update and for the final one, which has
-- nothing left to refuse.
DROP TRIGGER progress_seal ON tidegate.progress;
CREATE CONSTRAINT TRIGGER progress_seal AFTER UPDATE ON tidegate.progress
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.begun <> NEW.sealed)
    EXECUTE FUNCTION tidegate.refuse_unsealed();
