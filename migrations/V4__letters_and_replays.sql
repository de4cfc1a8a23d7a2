-- Dead letters that the dead letter topic does not take, how long closed ones are kept, and replays.

ALTER TABLE tidegate.dead_letters
    ADD COLUMN unpublishable text COLLATE "C" CHECK (unpublishable <> ''),
    ADD COLUMN former_ids text[] COLLATE "C" NOT NULL DEFAULT '{}';

COMMENT ON COLUMN tidegate.dead_letters.unpublishable IS
    'why the dead letter topic does not take it; it is not tried again before somebody takes this mark away';
COMMENT ON COLUMN tidegate.dead_letters.former_ids IS 'the ids it had before replays that rejected it again';

DROP INDEX tidegate.dead_letters_unpublished;
CREATE INDEX dead_letters_unpublished ON tidegate.dead_letters (consumer_name, topic, partition, "offset")
    WHERE published_at IS NULL AND unpublishable IS NULL;
CREATE INDEX dead_letters_closed ON tidegate.dead_letters (closed_at) WHERE closed_at IS NOT NULL;
CREATE INDEX dead_letters_former ON tidegate.dead_letters USING gin (former_ids) WHERE former_ids <> '{}';

-- A request to replay letters of one consumer. One host works on it, for as long as that host is seen. Updated twice a
-- letter: half of each page stays free.
CREATE TABLE tidegate.replays (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    consumer_name text COLLATE "C" NOT NULL CHECK (consumer_name <> ''),
    requested_at  timestamptz NOT NULL DEFAULT now(),
    requested_by  text COLLATE "C" NOT NULL,
    filter        text COLLATE "C" NOT NULL,
    status        text COLLATE "C" NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'done', 'cancelled')),
    letters       bigint NOT NULL DEFAULT 0 CHECK (letters >= 0),
    resolved      bigint NOT NULL DEFAULT 0 CHECK (resolved >= 0),
    rejected      bigint NOT NULL DEFAULT 0 CHECK (rejected >= 0),
    duplicate     bigint NOT NULL DEFAULT 0 CHECK (duplicate >= 0),
    gone          bigint NOT NULL DEFAULT 0 CHECK (gone >= 0),
    waits         text COLLATE "C",
    owner         uuid,
    begun         bigint NOT NULL DEFAULT 0,
    sealed        bigint NOT NULL DEFAULT 0,
    finished_at   timestamptz,
    CHECK (begun - sealed IN (0, 1)),
    CHECK ((status = 'open') = (finished_at IS NULL))
) WITH (fillfactor = 50);

CREATE INDEX replays_open ON tidegate.replays (consumer_name, id) WHERE status = 'open';
CREATE INDEX replays_finished ON tidegate.replays (finished_at) WHERE finished_at IS NOT NULL;

COMMENT ON COLUMN tidegate.replays.duplicate IS 'letters whose event had been handled meanwhile';
COMMENT ON COLUMN tidegate.replays.gone IS 'letters that were closed by somebody else before their turn';
COMMENT ON COLUMN tidegate.replays.owner IS 'the process that works on it';
COMMENT ON COLUMN tidegate.replays.waits IS 'what the host that works on it waits for';

-- A request's letters in the order of their turn. One letter waits in one open request at most.
CREATE TABLE tidegate.replay_letters (
    replay    bigint NOT NULL REFERENCES tidegate.replays ON DELETE CASCADE,
    position  bigint NOT NULL,
    letter_id text COLLATE "C" NOT NULL,
    marks     integer NOT NULL DEFAULT 0 CHECK (marks >= 0),
    result    text COLLATE "C" CHECK (result IN ('resolved', 'rejected', 'duplicate', 'gone', 'cancelled')),
    PRIMARY KEY (replay, position)
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX replay_letters_waiting ON tidegate.replay_letters (letter_id) WHERE result IS NULL;

COMMENT ON COLUMN tidegate.replay_letters.marks IS
    'how often a host announced it and was not heard of again; raised before each try in a transaction of its own';

-- The seal of a replay's transaction, as that of a batch's.
CREATE FUNCTION tidegate.refuse_unsealed_replay() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    open boolean;
BEGIN
    SELECT r.begun <> r.sealed INTO open FROM tidegate.replays r WHERE r.id = NEW.id;
    IF open THEN
        RAISE EXCEPTION 'this transaction may be committed by the host alone' USING ERRCODE = '2D000';
    END IF;
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER replay_seal AFTER UPDATE ON tidegate.replays
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.begun <> NEW.sealed)
    EXECUTE FUNCTION tidegate.refuse_unsealed_replay();
