-- What a fleet of hosts must agree on about failures, and what must outlive a host.

-- Whether a consumer may handle records. A consumer without a row runs. Every batch's fence reads it, so that all hosts
-- stop at their next batch.
CREATE TABLE tidegate.consumers (
    consumer_name text COLLATE "C" PRIMARY KEY CHECK (consumer_name <> ''),
    state         text COLLATE "C" NOT NULL CHECK (state IN ('running', 'paused', 'braked')),
    reason        text COLLATE "C",
    episode       integer NOT NULL DEFAULT 0 CHECK (episode >= 0),
    module_digest bytea CHECK (octet_length(module_digest) = 32),
    changed_at    timestamptz NOT NULL DEFAULT now(),
    CHECK ((state = 'running') = (reason IS NULL))
);

COMMENT ON COLUMN tidegate.consumers.episode IS 'brakes so far; letters name the one that they led to';
COMMENT ON COLUMN tidegate.consumers.module_digest IS 'the module that tripped the last brake';

-- Which hosts run a consumer: each says so every few seconds. Nothing is decided by it but what commands tell.
CREATE TABLE tidegate.hosts (
    consumer_name text COLLATE "C" NOT NULL CHECK (consumer_name <> ''),
    host          uuid NOT NULL,
    label         text COLLATE "C" NOT NULL,
    module_digest bytea CHECK (octet_length(module_digest) = 32),
    started_at    timestamptz NOT NULL DEFAULT now(),
    seen_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consumer_name, host)
);

-- A partition given back in good order has no owner; one whose owner is replaced has come to an unclean end.
ALTER TABLE tidegate.progress
    ADD COLUMN owner_host      uuid,
    ADD COLUMN unclean_at      bigint,
    ADD COLUMN unclean_ends    integer NOT NULL DEFAULT 0 CHECK (unclean_ends >= 0),
    ADD COLUMN marked_offset   bigint,
    ADD COLUMN marked_by       uuid,
    ADD COLUMN marked_deaths   uuid[] NOT NULL DEFAULT '{}',
    ADD COLUMN failing_offset  bigint,
    ADD COLUMN failing_attempts integer CHECK (failing_attempts >= 0),
    ADD COLUMN failing_ms      bigint CHECK (failing_ms >= 0),
    ADD COLUMN failing_since   timestamptz,
    ADD CHECK ((failing_offset IS NULL) = (failing_attempts IS NULL)),
    ADD CHECK (marked_by IS NULL OR marked_offset IS NOT NULL);

COMMENT ON COLUMN tidegate.progress.owner_host IS 'the process that holds the token';
COMMENT ON COLUMN tidegate.progress.unclean_at IS 'N at which unclean_ends were counted';
COMMENT ON COLUMN tidegate.progress.marked_offset IS
    'a record that was announced before it ran alone; of no meaning once N is beyond it';
COMMENT ON COLUMN tidegate.progress.marked_by IS 'the process that runs it now';
COMMENT ON COLUMN tidegate.progress.marked_deaths IS 'processes that died while their mark stood at it';
COMMENT ON COLUMN tidegate.progress.failing_offset IS
    'the record that failed last and is tried again; of no meaning once N is beyond it';
COMMENT ON COLUMN tidegate.progress.failing_ms IS 'time that its own attempts and the waits between them took';

ALTER TABLE tidegate.dead_letters ADD COLUMN episode integer CHECK (episode > 0);

COMMENT ON COLUMN tidegate.dead_letters.episode IS 'the brake that this letter led to';
