-- Every statement that muster runs on a log. A statement begins at its name; the comment below the
-- name gives its purpose.

-- name: append_events
-- Append events: one `append_row` per event follows the VALUES.
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
-- A page of the events that pass a filter; a null condition passes all. `types` is JSON.
SELECT seq, type, seat, channel, crc, data FROM events
WHERE seq > :after
  AND (:types IS NULL OR type IN (SELECT value FROM json_each(:types)))
  AND (:seat IS NULL OR seat = :seat)
  AND (:channel IS NULL OR channel = :channel)
ORDER BY seq LIMIT :limit

-- name: find_backwards
-- The events that pass a filter, the newest first.
SELECT seq, type, seat, channel, crc, data FROM events
WHERE seq > :after
  AND (:types IS NULL OR type IN (SELECT value FROM json_each(:types)))
  AND (:seat IS NULL OR seat = :seat)
  AND (:channel IS NULL OR channel = :channel)
ORDER BY seq DESC LIMIT :limit

-- name: last_seq
-- The newest `seq`; 0 for an empty log.
SELECT coalesce(max(seq), 0) FROM events

-- name: load_snapshots
-- The snapshots of one version, the newest first.
SELECT seq, crc, data FROM snapshots WHERE version = ? ORDER BY seq DESC

-- name: save_snapshot
-- Save a snapshot; one at the same `seq` is replaced, because its version may have changed.
INSERT OR REPLACE INTO snapshots (seq, version, crc, data) VALUES (?, ?, ?, ?)

-- name: drop_old_snapshots
-- Keep the newest only: the last, and the one before it in case the last is damaged.
DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT ?)

-- name: load_cursor
-- The last event that a reactor has handled.
SELECT seq FROM cursors WHERE reader = ?

-- name: save_cursor
-- Save the last event that a reactor has handled.
INSERT INTO cursors (reader, seq) VALUES (?, ?)
ON CONFLICT (reader) DO UPDATE SET seq = excluded.seq
