-- The last handled record is known again by what no rule of the consumer changes. A host that does not know these columns
-- leaves them as they are and moves last_offset on: so the digest says which offset it is of.

ALTER TABLE tidegate.progress
    ADD COLUMN digest_offset bigint CHECK (digest_offset >= 0),
    ADD COLUMN last_digest   bytea CHECK (octet_length(last_digest) = 16),
    ADD COLUMN id_rule       text COLLATE "C";

COMMENT ON COLUMN tidegate.progress.last_digest IS
    'digest of key, value and headers of the record at digest_offset; of no meaning unless that is last_offset';
COMMENT ON COLUMN tidegate.progress.id_rule IS 'how the owner reads event ids: ids by other rules do not match';
