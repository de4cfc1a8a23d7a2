-- A session whose replication role is `replica` (left over from loading data, or set for a role) fires no trigger that
-- is not ALWAYS: nothing would refuse a COMMIT that the host did not seal, and no host would hear of a tenant's change.
ALTER TABLE tidegate.progress ENABLE ALWAYS TRIGGER progress_seal;
ALTER TABLE tidegate.replays ENABLE ALWAYS TRIGGER replay_seal;
ALTER TABLE tidegate.tenants ENABLE ALWAYS TRIGGER tenants_changed;
