-- The inbox's key begins with what differs from row to row: every comparison in the index is decided by its first
-- column, where it compared the consumer's name and the scope before, equal nearly always. Measured on claims of 500
-- ids: a sixth less of the server's time. What is unique stays the same.
ALTER TABLE tidegate.processed_events DROP CONSTRAINT processed_events_pkey;
ALTER TABLE tidegate.processed_events ADD PRIMARY KEY (event_id, scope, consumer_name);
