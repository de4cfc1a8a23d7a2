-- Dead letters by where they go, rounds of a letter that its replay must not overwrite, and letters that wait in a replay.

-- The relay asks for one destination's letters at a time: a topic that takes none must not hide those of another.
DROP INDEX tidegate.dead_letters_unpublished;
CREATE INDEX dead_letters_unpublished
    ON tidegate.dead_letters (consumer_name, coalesce(tenant, ''), topic, partition, "offset")
    WHERE published_at IS NULL AND unpublishable IS NULL;

ALTER TABLE tidegate.dead_letters ADD COLUMN refusal text COLLATE "C" CHECK (refusal <> '');

COMMENT ON COLUMN tidegate.dead_letters.refusal IS
    'why the dead letter topic did not take it when it was last tried; it is tried again';
COMMENT ON COLUMN tidegate.dead_letters.unpublishable IS
    'why the dead letter topic does not take it: what the record itself is; not tried again before somebody takes this mark away';

-- Clocks are put right: what was marked for its timestamp is tried again.
UPDATE tidegate.dead_letters SET unpublishable = NULL
 WHERE published_at IS NULL AND unpublishable LIKE 'InvalidTimestamp%';

-- Earlier rounds of letters that are still to be published. The record is the letter's; a row goes once it is published,
-- or with its letter.
CREATE TABLE tidegate.dead_letter_rounds (
    id            text COLLATE "C" PRIMARY KEY CHECK (id <> ''),
    letter_id     text COLLATE "C" NOT NULL,
    consumer_name text COLLATE "C" NOT NULL CHECK (consumer_name <> ''),
    tenant        text COLLATE "C" CHECK (tenant <> ''),
    topic         text COLLATE "C" NOT NULL,
    partition     integer NOT NULL CHECK (partition >= 0),
    "offset"      bigint NOT NULL CHECK ("offset" >= 0),
    replay_round  integer NOT NULL CHECK (replay_round >= 0),
    event_id      text COLLATE "C",
    kind          text COLLATE "C" NOT NULL,
    code          text COLLATE "C" NOT NULL CHECK (code <> ''),
    message       text COLLATE "C" NOT NULL,
    sqlstate      text COLLATE "C",
    attempts      bigint NOT NULL CHECK (attempts >= 0),
    module_digest bytea,
    created_at    timestamptz NOT NULL,
    refusal       text COLLATE "C" CHECK (refusal <> ''),
    unpublishable text COLLATE "C" CHECK (unpublishable <> '')
);

COMMENT ON COLUMN tidegate.dead_letter_rounds.id IS 'the id that the letter had in this round, and is published under';
COMMENT ON COLUMN tidegate.dead_letter_rounds.letter_id IS 'the id that the letter has now';

CREATE INDEX dead_letter_rounds_letter ON tidegate.dead_letter_rounds (letter_id, replay_round);
CREATE INDEX dead_letter_rounds_unpublished
    ON tidegate.dead_letter_rounds (consumer_name, coalesce(tenant, ''), topic, partition, "offset")
    WHERE unpublishable IS NULL;

-- Each letter of a replay keeps its own wait, and what its tries came to: others have their turn meanwhile.
ALTER TABLE tidegate.replay_letters
    ADD COLUMN due       timestamptz NOT NULL DEFAULT '-infinity',
    ADD COLUMN waits     text COLLATE "C",
    ADD COLUMN stopped   boolean NOT NULL DEFAULT false,
    ADD COLUMN attempts  integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    ADD COLUMN nobodys   integer NOT NULL DEFAULT 0 CHECK (nobodys >= 0),
    ADD COLUMN waited_ms bigint NOT NULL DEFAULT 0 CHECK (waited_ms >= 0),
    ADD COLUMN fresh     boolean NOT NULL DEFAULT false,
    ADD COLUMN strand    bytea,
    ADD COLUMN log_epoch integer NOT NULL DEFAULT 0,
    ADD COLUMN "offset"  bigint NOT NULL DEFAULT 0;

COMMENT ON COLUMN tidegate.replay_letters.due IS
    'when it has its next turn: -infinity before its first, infinity while an earlier letter of its strand has no result';
COMMENT ON COLUMN tidegate.replay_letters.waits IS 'what it waits for, after a try that broke';
COMMENT ON COLUMN tidegate.replay_letters.stopped IS 'it waits for something that somebody has to change';
COMMENT ON COLUMN tidegate.replay_letters.nobodys IS 'failures in a row that were nobody''s';
COMMENT ON COLUMN tidegate.replay_letters.waited_ms IS 'how long transient failures have made it wait';
COMMENT ON COLUMN tidegate.replay_letters.strand IS
    'whose order it keeps: a digest of tenant, topic, partition and key; null for a record without a key';

CREATE INDEX replay_letters_next ON tidegate.replay_letters (replay, due, position) WHERE result IS NULL;
CREATE INDEX replay_letters_strand ON tidegate.replay_letters (strand, log_epoch, "offset")
    WHERE result IS NULL AND strand IS NOT NULL;

-- Requests take turns.
ALTER TABLE tidegate.replays ADD COLUMN turn_at timestamptz;

COMMENT ON COLUMN tidegate.replays.turn_at IS 'when a letter of it last had a turn';
