-- Why a partition does not go on, for whoever asks from another process. Written when that changes, never with a batch.

ALTER TABLE tidegate.progress ADD COLUMN stopped_for text COLLATE "C" CHECK (stopped_for <> '');

COMMENT ON COLUMN tidegate.progress.stopped_for IS
    'why the owner holds the partition; null while it goes on, and from when a next owner takes it';
