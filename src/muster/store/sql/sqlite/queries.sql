-- Every statement that muster runs on a log. A statement begins at its name; the comment below the
-- name gives its purpose.

-- name: append_events
-- Append events: one `append_row` per event follows the VALUES.
INSERT INTO events (seq, type, seat, channel, crc, data, chain) VALUES

-- name: append_row
-- One event.
(?, ?, ?, ?, ?, ?, ?)

-- name: last_link
-- The digest of the newest event in the hash chain; null where it has none.
SELECT chain FROM events ORDER BY seq DESC LIMIT 1

-- name: read_chain
-- Every event with its checksum and its digest, to verify the whole log.
SELECT seq, type, seat, channel, crc, data, chain FROM events ORDER BY seq

-- name: read_oldest
-- Events with checksum and digest, to be archived.
SELECT seq, type, seat, channel, crc, data, chain FROM events
WHERE seq > ? AND seq <= ? ORDER BY seq

-- name: archived
-- The last archived event; 0 where there is none.
SELECT coalesce(max(last), 0) FROM archives

-- name: list_archives
-- Every file of archived events.
SELECT first, last, sha256, link FROM archives ORDER BY last

-- name: add_archive
-- A file of archived events.
INSERT INTO archives (last, first, sha256, link) VALUES (?, ?, ?, ?)

-- name: remove_archived
-- Remove the events that are in a file now.
DELETE FROM events WHERE seq <= ?

-- name: forget_archives
-- In a copy that has every event: there are no files beside it.
DELETE FROM archives

-- name: all_snapshots
-- Every snapshot, for a copy.
SELECT seq, version, crc, data FROM snapshots ORDER BY seq

-- name: all_cursors
-- Every cursor but that of the index, for a copy.
SELECT reader, seq FROM cursors WHERE reader <> 'search' ORDER BY reader

-- name: read_unchained
-- Every event of a log from before the hash chain.
SELECT seq, type, seat, channel, crc, data, NULL FROM events ORDER BY seq

-- name: read_forwards
-- A page of the log.
SELECT seq, type, seat, channel, crc, data FROM events
WHERE seq > :after AND seq < :before
ORDER BY seq LIMIT :limit

-- name: read_backwards
-- The newest events first.
SELECT seq, type, seat, channel, crc, data FROM events
WHERE seq > :after AND seq < :before
ORDER BY seq DESC LIMIT :limit

-- name: find_forwards
-- A page of the events that pass a filter; a null condition passes all. `types` is JSON.
SELECT seq, type, seat, channel, crc, data FROM events
WHERE seq > :after AND seq < :before
  AND (:types IS NULL OR type IN (SELECT value FROM json_each(:types)))
  AND (:seat IS NULL OR seat = :seat)
  AND (:channel IS NULL OR channel = :channel)
ORDER BY seq LIMIT :limit

-- name: find_backwards
-- The events that pass a filter, the newest first.
SELECT seq, type, seat, channel, crc, data FROM events
WHERE seq > :after AND seq < :before
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

-- name: create_words
-- The index of the words in messages, by `seq`. It has no text (`content=''`), no positions
-- (`detail=none`) and no lengths: the log has the messages. `words.py` cuts and folds the words, so
-- a token is what stands between two spaces.
CREATE VIRTUAL TABLE words USING fts5(
    terms, content='', detail=none, columnsize=0, tokenize="ascii tokenchars '_'"
)

-- name: has_words
-- Whether the log has an index.
SELECT count(*) FROM sqlite_schema WHERE name = 'words'

-- name: index_message
-- Add a message to the index.
INSERT INTO words (rowid, terms) VALUES (?, ?)

-- name: search_words
-- The newest messages that the index finds.
SELECT rowid FROM words WHERE words MATCH :terms AND rowid < :before
ORDER BY rowid DESC LIMIT :limit

-- name: unindexed
-- The events behind the cursor of the index; only messages have a type and data.
SELECT seq, kind, seat, CAST(channel AS BLOB), CASE WHEN kind IS NULL THEN x'' ELSE data END FROM (
  SELECT seq, seat, channel, data,
    CASE WHEN type IN ('user_message', 'agent_message', 'announcement', 'message_imported')
    THEN type END AS kind
  FROM events WHERE seq > ? ORDER BY seq LIMIT ?
)
