-- Tenants: who they are, where that is not the configuration file's business, and whether they may run.

CREATE TABLE tidegate.tenants (
    consumer_name text COLLATE "C" NOT NULL CHECK (consumer_name <> ''),
    tenant        text COLLATE "C" NOT NULL CHECK (tenant ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
    definition    text COLLATE "C",
    state         text COLLATE "C" NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'disabled', 'braked')),
    reason        text COLLATE "C",
    episode       integer NOT NULL DEFAULT 0 CHECK (episode >= 0),
    module_digest bytea CHECK (octet_length(module_digest) = 32),
    changed_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consumer_name, tenant),
    CHECK ((state = 'running') = (reason IS NULL))
);

COMMENT ON COLUMN tidegate.tenants.definition IS 'as TOML; null where the configuration file defines the tenant';
COMMENT ON COLUMN tidegate.tenants.episode IS 'brakes so far; letters name the one that they led to';
COMMENT ON COLUMN tidegate.tenants.module_digest IS 'the module that tripped the last brake';

-- Every batch's fence compares it with what its host knows of the tenants: none runs by an older word.
ALTER TABLE tidegate.consumers
    ADD COLUMN tenants_revision bigint NOT NULL DEFAULT 0 CHECK (tenants_revision >= 0);

CREATE FUNCTION tidegate.tenants_changed() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    name text := CASE WHEN TG_OP = 'DELETE' THEN OLD.consumer_name ELSE NEW.consumer_name END;
BEGIN
    INSERT INTO tidegate.consumers AS c (consumer_name, state, tenants_revision) VALUES (name, 'running', 1)
        ON CONFLICT (consumer_name) DO UPDATE SET tenants_revision = c.tenants_revision + 1;
    RETURN NULL;
END $$;

CREATE TRIGGER tenants_changed AFTER INSERT OR UPDATE OR DELETE ON tidegate.tenants
    FOR EACH ROW EXECUTE FUNCTION tidegate.tenants_changed();

ALTER TABLE tidegate.dead_letters ADD COLUMN tenant text COLLATE "C" CHECK (tenant <> '');

CREATE INDEX dead_letters_tenant ON tidegate.dead_letters (consumer_name, tenant, created_at) WHERE tenant IS NOT NULL;

-- A letter whose tenant cannot run has its turn and stays as it is.
ALTER TABLE tidegate.replays ADD COLUMN kept bigint NOT NULL DEFAULT 0 CHECK (kept >= 0);
ALTER TABLE tidegate.replay_letters
    DROP CONSTRAINT replay_letters_result_check,
    ADD CONSTRAINT replay_letters_result_check
        CHECK (result IN ('resolved', 'rejected', 'duplicate', 'gone', 'kept', 'cancelled'));

COMMENT ON COLUMN tidegate.replays.kept IS 'letters that stay as they are: their tenant could not run';
