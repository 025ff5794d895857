-- Every statement that muster runs on a log. A statement begins at its name; what stands below the
-- name says what it is for.

-- name: append_events
-- The writer's: as many rows as are waiting follow the VALUES, `append_row` for each.
INSERT INTO events (seq, type, seat, channel, crc, data) VALUES

-- name: append_row
-- One event.
(?, ?, ?, ?, ?, ?)

-- name: read_forwards
-- A page of the log.
SELECT seq, type, seat, channel, crc, data FROM events
WHERE seq > :after
ORDER BY seq LIMIT :limit

-- name: read_backwards
-- The newest events first.
SELECT seq, type, seat, channel, crc, data FROM events
WHERE seq > :after
ORDER BY seq DESC LIMIT :limit

-- name: find_forwards
-- A page of what passes a filter; a condition that is null passes everything. `types` is JSON.
SELECT seq, type, seat, channel, crc, data FROM events
WHERE seq > :after
  AND (:types IS NULL OR type IN (SELECT value FROM json_each(:types)))
  AND (:seat IS NULL OR seat = :seat)
  AND (:channel IS NULL OR channel = :channel)
ORDER BY seq LIMIT :limit

-- name: find_backwards
-- The newest of what passes a filter first.
SELECT seq, type, seat, channel, crc, data FROM events
WHERE seq > :after
  AND (:types IS NULL OR type IN (SELECT value FROM json_each(:types)))
  AND (:seat IS NULL OR seat = :seat)
  AND (:channel IS NULL OR channel = :channel)
ORDER BY seq DESC LIMIT :limit

-- name: last_seq
-- The newest event's place; 0 for an empty log.
SELECT coalesce(max(seq), 0) FROM events

-- name: load_snapshots
-- The kept snapshots of one version, the newest first.
SELECT seq, crc, data FROM snapshots WHERE version = ? ORDER BY seq DESC

-- name: save_snapshot
-- Keep a snapshot; one at the same place is replaced, for its shape may have changed.
INSERT OR REPLACE INTO snapshots (seq, version, crc, data) VALUES (?, ?, ?, ?)

-- name: drop_old_snapshots
-- Only the newest are kept: the last, and the one before it should the last be damaged.
DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT ?)

-- name: load_cursor
-- How far a reactor has come.
SELECT seq FROM cursors WHERE reader = ?

-- name: save_cursor
-- A reactor has come further.
INSERT INTO cursors (reader, seq) VALUES (?, ?)
ON CONFLICT (reader) DO UPDATE SET seq = excluded.seq
