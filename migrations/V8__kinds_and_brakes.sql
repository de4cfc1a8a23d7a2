-- What kind of cause rejected a record, in the host's own words. The code beside it is the handler's to choose where the
-- handler rejects, so nothing is decided by it.
-- The default is for hosts of before that still run while the schema is brought up to date: they name no kind.
ALTER TABLE tidegate.dead_letters ADD COLUMN kind text COLLATE "C" NOT NULL DEFAULT 'handler';

-- Letters of before: what no handler was asked about (no attempt) has a code of the host's. Behind an attempt a handler
-- may have chosen a code that is spelled like the host's; it is taken for the host's, as it was until now.
UPDATE tidegate.dead_letters SET kind = CASE
    WHEN attempts = 0 AND code = 'skipped' AND module_digest IS NULL THEN 'skipped'
    WHEN attempts = 0 AND code = 'bad-header' THEN 'header'
    WHEN attempts = 0 AND code IN ('unknown-tenant', 'tenant-disabled', 'tenant-braked', 'tenant-unavailable') THEN 'tenant'
    WHEN attempts = 0 AND code IN ('bad-event-id', 'bad-ttl', 'bad-tenant') THEN 'record'
    WHEN code = 'retries-exhausted' THEN 'retries'
    WHEN code = 'escape' THEN 'escape'
    WHEN sqlstate IS NOT NULL THEN 'database'
    WHEN code IN ('unexpected-row-count', 'bad-parameter', 'sql-refused', 'role-refused') THEN 'database'
    WHEN code IN ('trap', 'memory-limit', 'table-limit', 'instance-limit', 'cpu-limit', 'wall-limit',
                  'random-bytes-limit') THEN 'trap'
    WHEN code IN ('database-wait-limit', 'statement-limit', 'staged-statements-limit', 'staged-bytes-limit',
                  'parameter-bytes-limit', 'parameter-values-limit', 'nesting-limit', 'result-rows-limit',
                  'result-bytes-limit') THEN 'limit'
    WHEN code = 'host-crash' THEN 'crash'
    ELSE 'handler' END;

ALTER TABLE tidegate.dead_letters ADD CONSTRAINT dead_letters_kind CHECK (kind IN
    ('handler', 'retries', 'record', 'header', 'database', 'trap', 'limit', 'escape', 'tenant', 'crash', 'skipped'));

COMMENT ON COLUMN tidegate.dead_letters.kind IS 'what it is to the host; the code tells people more';

-- A brake belongs to the modules that tripped it: hosts that run another go on.
ALTER TABLE tidegate.consumers ADD COLUMN braked_modules bytea[] NOT NULL DEFAULT '{}';
ALTER TABLE tidegate.tenants ADD COLUMN braked_modules bytea[] NOT NULL DEFAULT '{}';

COMMENT ON COLUMN tidegate.consumers.braked_modules IS
    'modules that tripped the brake since it was lifted last, before the one in module_digest';
COMMENT ON COLUMN tidegate.tenants.braked_modules IS
    'modules that tripped the brake since it was lifted last, before the one in module_digest';
