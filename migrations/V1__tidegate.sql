-- The host's own tables. All text that the host writes is COLLATE "C": an upgrade of the C library re-sorts
-- other collations and so breaks unique indexes. Bytes from outside live in bytea only.

-- The inbox: one row per event that a consumer has handled.
CREATE TABLE tidegate.processed_events (
    consumer_name   text COLLATE "C" NOT NULL CHECK (consumer_name <> ''),
    scope           text COLLATE "C" NOT NULL,
    event_id        text COLLATE "C" NOT NULL CHECK (octet_length(event_id) BETWEEN 1 AND 512),
    processed_at    timestamptz NOT NULL,
    processed_until timestamptz NOT NULL,
    topic           text COLLATE "C" NOT NULL,
    partition       integer NOT NULL CHECK (partition >= 0),
    log_epoch       integer NOT NULL DEFAULT 0 CHECK (log_epoch >= 0),
    "offset"        bigint NOT NULL CHECK ("offset" >= 0),
    outcome         text COLLATE "C" NOT NULL CHECK (outcome IN ('done', 'skipped', 'rejected')),
    replaced        text COLLATE "C" CHECK (replaced IN ('done', 'skipped', 'rejected')),
    module_digest   bytea CHECK (octet_length(module_digest) = 32),
    PRIMARY KEY (consumer_name, scope, event_id),
    CHECK (processed_until >= processed_at)
);

CREATE INDEX processed_events_until ON tidegate.processed_events (processed_until);

COMMENT ON COLUMN tidegate.processed_events.replaced IS 'outcome of the claim that this one took over';

-- How far a consumer has come in a partition. Updated twice a batch: half of each page stays free, so that
-- the new versions stay on it and touch no index.
CREATE TABLE tidegate.progress (
    consumer_name     text COLLATE "C" NOT NULL CHECK (consumer_name <> ''),
    topic             text COLLATE "C" NOT NULL CHECK (topic <> ''),
    partition         integer NOT NULL CHECK (partition >= 0),
    "group"           text COLLATE "C" NOT NULL,
    cluster_id        text COLLATE "C" NOT NULL,
    log_epoch         integer NOT NULL DEFAULT 0 CHECK (log_epoch >= 0),
    owner             uuid,
    next_offset       bigint NOT NULL CHECK (next_offset >= 0),
    committed         bigint CHECK (committed >= 0),
    last_offset       bigint CHECK (last_offset >= 0),
    last_timestamp_ms bigint,
    last_event_id     text COLLATE "C" CHECK (octet_length(last_event_id) BETWEEN 1 AND 512),
    begun             bigint NOT NULL DEFAULT 0,
    sealed            bigint NOT NULL DEFAULT 0,
    done              bigint NOT NULL DEFAULT 0 CHECK (done >= 0),
    skipped           bigint NOT NULL DEFAULT 0 CHECK (skipped >= 0),
    rejected          bigint NOT NULL DEFAULT 0 CHECK (rejected >= 0),
    redelivered       bigint NOT NULL DEFAULT 0 CHECK (redelivered >= 0),
    republished       bigint NOT NULL DEFAULT 0 CHECK (republished >= 0),
    taken_over        bigint NOT NULL DEFAULT 0 CHECK (taken_over >= 0),
    updated_at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consumer_name, topic, partition),
    CHECK (begun - sealed IN (0, 1)),
    CHECK (last_offset IS NOT NULL OR (last_timestamp_ms IS NULL AND last_event_id IS NULL))
) WITH (fillfactor = 50);

COMMENT ON COLUMN tidegate.progress.log_epoch IS
    'logs adopted so far: offsets of one epoch say nothing of another, where the topic may have been made anew';
COMMENT ON COLUMN tidegate.progress.next_offset IS 'N: the next offset to handle';
COMMENT ON COLUMN tidegate.progress.committed IS 'C: the last offset that Kafka acknowledged as committed';
COMMENT ON COLUMN tidegate.progress.begun IS 'batches begun: raised by the fence, first statement of a batch';
COMMENT ON COLUMN tidegate.progress.sealed IS 'batches sealed: equals begun in every committed row';

-- The seal: no transaction commits a batch that the host did not end itself. A guest that reaches COMMIT
-- fails here, with the SQLSTATE of an invalid transaction termination.
CREATE FUNCTION tidegate.refuse_unsealed() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    open boolean;
BEGIN
    SELECT p.begun <> p.sealed INTO open FROM tidegate.progress p
     WHERE p.consumer_name = NEW.consumer_name AND p.topic = NEW.topic AND p.partition = NEW.partition;
    IF open THEN
        RAISE EXCEPTION 'this transaction may be committed by the host alone' USING ERRCODE = '2D000';
    END IF;
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER progress_seal AFTER UPDATE ON tidegate.progress
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tidegate.refuse_unsealed();

-- Dead letters: rejected records, byte for byte, with their cause.
CREATE TABLE tidegate.dead_letters (
    id             text COLLATE "C" PRIMARY KEY CHECK (id <> ''),
    consumer_name  text COLLATE "C" NOT NULL CHECK (consumer_name <> ''),
    cluster_id     text COLLATE "C" NOT NULL,
    topic          text COLLATE "C" NOT NULL,
    partition      integer NOT NULL CHECK (partition >= 0),
    log_epoch      integer NOT NULL DEFAULT 0 CHECK (log_epoch >= 0),
    "offset"       bigint NOT NULL CHECK ("offset" >= 0),
    replay_round   integer NOT NULL DEFAULT 0 CHECK (replay_round >= 0),
    scope          text COLLATE "C" NOT NULL,
    event_id       text COLLATE "C" CHECK (octet_length(event_id) BETWEEN 1 AND 512),
    key            bytea,
    value          bytea,
    header_names   bytea[] NOT NULL CHECK (array_position(header_names, NULL) IS NULL),
    header_values  bytea[] NOT NULL,
    timestamp_ms   bigint,
    timestamp_type text COLLATE "C" NOT NULL CHECK (timestamp_type IN ('none', 'create', 'append')),
    code           text COLLATE "C" NOT NULL CHECK (code <> ''),
    message        text COLLATE "C" NOT NULL,
    sqlstate       text COLLATE "C" CHECK (octet_length(sqlstate) = 5),
    attempts       bigint NOT NULL CHECK (attempts >= 0),
    module_digest  bytea CHECK (octet_length(module_digest) = 32),
    status         text COLLATE "C" NOT NULL DEFAULT 'open'
                   CHECK (status IN ('open', 'superseded', 'resolved', 'discarded')),
    created_at     timestamptz NOT NULL DEFAULT now(),
    closed_at      timestamptz,
    published_at   timestamptz,
    CHECK (cardinality(header_names) = cardinality(header_values)),
    CHECK ((timestamp_type = 'none') = (timestamp_ms IS NULL)),
    CHECK ((status = 'open') = (closed_at IS NULL))
);

CREATE UNIQUE INDEX dead_letters_open_position
    ON tidegate.dead_letters (consumer_name, cluster_id, topic, partition, log_epoch, "offset") WHERE status = 'open';
CREATE INDEX dead_letters_open_event
    ON tidegate.dead_letters (consumer_name, scope, event_id) WHERE status = 'open';
CREATE INDEX dead_letters_unpublished
    ON tidegate.dead_letters (consumer_name, topic, partition, "offset") WHERE published_at IS NULL;
CREATE INDEX dead_letters_created ON tidegate.dead_letters (created_at);
