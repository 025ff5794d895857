-- Every statement that muster runs on a log in PostgreSQL. A statement begins at its name; the
-- comment below the name gives its purpose. $1 is the team, except where a comment says otherwise.

-- name: create_schema
-- The schema, and the table that says which migrations it has had. Without parameters.
CREATE SCHEMA IF NOT EXISTS muster;
CREATE TABLE IF NOT EXISTS muster.migrations (number integer PRIMARY KEY);

-- name: has_schema
-- Whether the database has muster's tables. Without parameters.
SELECT to_regclass('muster.migrations') IS NOT NULL

-- name: lock_schema
-- One process at a time creates or migrates the schema; released at the end of the transaction.
SELECT pg_advisory_xact_lock(hashtextextended('muster migrations', 0));

-- name: schema_version
-- The last migration; 0 for a new schema. Without parameters.
SELECT coalesce(max(number), 0) FROM muster.migrations

-- name: add_migration
-- Remember a migration. $1 is its number.
INSERT INTO muster.migrations (number) VALUES ($1)

-- name: create_team
-- The row of a team, unless there is one. $1 is its name.
INSERT INTO teams (name) VALUES ($1) ON CONFLICT (name) DO NOTHING

-- name: find_team
-- A team, where its log ends, and whether it is used here. $1 is its name.
SELECT id, last_seq, last_link, state FROM teams WHERE name = $1

-- name: lock_team
-- The same; nobody else moves the end, or opens a copy, until this transaction is over.
SELECT id, last_seq, last_link, state FROM teams WHERE name = $1 FOR UPDATE

-- name: set_state
-- Note whether the log is used here, in $2.
UPDATE teams SET state = $2 WHERE id = $1 AND state <> $2

-- name: arrive
-- The log was copied here: it ends at $2 with the digest $3.
UPDATE teams SET state = 'arrived', last_seq = $2, last_link = $3 WHERE id = $1

-- name: clear_events
-- Delete the events of a copy.
DELETE FROM events WHERE team = $1

-- name: clear_snapshots
-- Delete the snapshots of a copy.
DELETE FROM snapshots WHERE team = $1

-- name: clear_cursors
-- Delete the cursors of a copy.
DELETE FROM cursors WHERE team = $1

-- name: clear_words
-- Delete the index of a copy.
DELETE FROM words WHERE team = $1

-- name: sums
-- What a copy is compared by: events, first and last place, checksums, bytes, digests of the data.
SELECT count(*), coalesce(min(seq), 0), coalesce(max(seq), 0), coalesce(sum(crc), 0)::bigint,
    coalesce(sum(length(data)), 0)::bigint,
    coalesce(bit_xor(('x' || substr(md5(data), 1, 16))::bit(64)::bigint), 0)
FROM events WHERE team = $1

-- name: whole_page
-- Up to $3 events behind the place $2 with all columns, up to the one that reaches $4 bytes.
SELECT seq, type, seat, channel, crc, data, chain FROM (
    SELECT *, sum(length(data)) OVER (ORDER BY seq) - length(data) AS before FROM (
        SELECT * FROM events WHERE team = $1 AND seq > $2 ORDER BY seq LIMIT $3
    ) AS page
) AS measured
WHERE before < $4 ORDER BY seq

-- name: all_snapshots
-- Every snapshot, for a copy.
SELECT seq, version, crc, data FROM snapshots WHERE team = $1 ORDER BY seq

-- name: all_cursors
-- Every cursor but that of the index, for a copy.
SELECT reader, seq FROM cursors WHERE team = $1 AND reader <> 'search' ORDER BY reader

-- name: add_cursors
-- Cursors of a copy.
INSERT INTO cursors (team, reader, seq)
SELECT $1, cursor.reader, cursor.seq FROM unnest($2::text[], $3::bigint[]) AS cursor (reader, seq)

-- name: append
-- Append events behind the place $2 with the digest $3, and save cursors, if the log ends there.
-- Returns how many ends were moved: 1 or 0. One statement is one transaction and one round trip;
-- a second writer waits for the row, then finds that the end has moved.
WITH place AS (
    UPDATE teams SET last_seq = $2 + cardinality($4::text[]), last_link = $10
    WHERE id = $1 AND last_seq = $2 AND last_link = $3
    RETURNING id
), appended AS (
    INSERT INTO events (team, seq, type, seat, channel, crc, data, chain)
    SELECT place.id, $2 + new.n, new.type, new.seat, new.channel, new.crc, new.data, new.chain
    FROM place, unnest($4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::bytea[], $9::bytea[])
        WITH ORDINALITY AS new (type, seat, channel, crc, data, chain, n)
), saved AS (
    INSERT INTO cursors (team, reader, seq)
    SELECT place.id, cursor.reader, cursor.seq
    FROM place, unnest($11::text[], $12::bigint[]) AS cursor (reader, seq)
    ON CONFLICT (team, reader) DO UPDATE SET seq = greatest(cursors.seq, excluded.seq)
)
SELECT count(*) FROM place

-- name: check_end
-- Save cursors, if there are any, and return where the log ends. Two writers of one cursor may
-- overtake each other, so it only moves on.
WITH saved AS (
    INSERT INTO cursors (team, reader, seq)
    SELECT $1, cursor.reader, cursor.seq FROM unnest($2::text[], $3::bigint[]) AS cursor (reader, seq)
    ON CONFLICT (team, reader) DO UPDATE SET seq = greatest(cursors.seq, excluded.seq)
)
SELECT last_seq, last_link FROM teams WHERE id = $1

-- name: find_end
-- Where the log ends.
SELECT last_seq, last_link FROM teams WHERE id = $1

-- name: lock_end
-- Where the log ends; nobody else moves the end until this transaction is over.
SELECT last_seq, last_link FROM teams WHERE id = $1 FOR UPDATE

-- name: tail
-- The event at a place, and those behind it.
SELECT seq, type, seat, channel, crc, data, chain FROM events
WHERE team = $1 AND seq >= $2
ORDER BY seq LIMIT $3

-- name: find_forwards
-- A page of the log: up to $4 events between $2 and $3 that pass a filter, up to the one that
-- reaches $5 bytes. A null condition passes all; $6 has the types.
SELECT seq, type, seat, channel, crc, data FROM (
    SELECT *, sum(length(data)) OVER (ORDER BY seq) - length(data) AS before FROM (
        SELECT * FROM events
        WHERE team = $1 AND seq > $2 AND seq < $3
          AND ($6::text[] IS NULL OR type = ANY ($6))
          AND ($7::bigint IS NULL OR seat = $7)
          AND ($8::text IS NULL OR channel = $8)
        ORDER BY seq LIMIT $4
    ) AS page
) AS measured
WHERE before < $5 ORDER BY seq

-- name: find_backwards
-- The events that pass a filter, the newest first.
SELECT seq, type, seat, channel, crc, data FROM (
    SELECT *, sum(length(data)) OVER (ORDER BY seq DESC) - length(data) AS before FROM (
        SELECT * FROM events
        WHERE team = $1 AND seq > $2 AND seq < $3
          AND ($6::text[] IS NULL OR type = ANY ($6))
          AND ($7::bigint IS NULL OR seat = $7)
          AND ($8::text IS NULL OR channel = $8)
        ORDER BY seq DESC LIMIT $4
    ) AS page
) AS measured
WHERE before < $5 ORDER BY seq DESC

-- name: messages_backwards
-- The newest messages first: what the index `messages` has.
SELECT seq, type, seat, channel, crc, data FROM (
    SELECT *, sum(length(data)) OVER (ORDER BY seq DESC) - length(data) AS before FROM (
        SELECT * FROM events
        WHERE team = $1 AND seq > $2 AND seq < $3
          AND type IN ('user_message', 'agent_message', 'announcement', 'message_imported')
        ORDER BY seq DESC LIMIT $4
    ) AS page
) AS measured
WHERE before < $5 ORDER BY seq DESC

-- name: unindexed
-- The oldest $3 messages behind $2, up to the one that reaches $4 bytes.
SELECT seq, type, seat, channel, data FROM (
    SELECT *, sum(length(data)) OVER (ORDER BY seq) - length(data) AS before FROM (
        SELECT * FROM events
        WHERE team = $1 AND seq > $2
          AND type IN ('user_message', 'agent_message', 'announcement', 'message_imported')
        ORDER BY seq LIMIT $3
    ) AS page
) AS measured
WHERE before < $4 ORDER BY seq

-- name: index_lot
-- Index the messages between $2 and $3, if the index ends at $2: the terms $4 with the messages $5 of each. Of several writers
-- that index the same messages, one moves the cursor.
WITH moved AS (
    INSERT INTO cursors (team, reader, seq) VALUES ($1, 'search', $3)
    ON CONFLICT (team, reader) DO UPDATE SET seq = excluded.seq WHERE cursors.seq = $2
    RETURNING team
)
INSERT INTO words (team, term, lot, places)
SELECT moved.team, new.term, $3, new.places
FROM moved, unnest($4::bigint[], $5::bytea[]) AS new (term, places)

-- name: search_words
-- The newest $6 lots before the lot $5 that have the rarest of the terms $2: the messages of the terms $2 and $3 in them. Lots
-- that have no message before the place $4 are left out: of those that end behind it, one alone can have some.
WITH rarest AS MATERIALIZED (
    SELECT wanted.term FROM unnest($2::bigint[]) AS wanted (term)
    ORDER BY (SELECT count(*) FROM words WHERE team = $1 AND words.term = wanted.term) LIMIT 1
), lots AS MATERIALIZED (
    SELECT lot FROM words
    WHERE team = $1 AND term = (SELECT term FROM rarest) AND lot < $5 AND lot <= coalesce((
        SELECT min(lot) FROM words WHERE team = $1 AND term = (SELECT term FROM rarest) AND lot >= $4 - 1
    ), $4)
    ORDER BY lot DESC LIMIT $6
)
SELECT words.lot, words.term, words.places FROM lots JOIN words ON words.lot = lots.lot
WHERE words.team = $1 AND words.term = ANY ($2 || $3::bigint[])
ORDER BY words.lot DESC

-- name: at_places
-- The events at the places $2, the newest first, up to the one that reaches $3 bytes.
SELECT seq, type, seat, channel, crc, data FROM (
    SELECT *, sum(length(data)) OVER (ORDER BY seq DESC) - length(data) AS before
    FROM events WHERE team = $1 AND seq = ANY ($2::bigint[])
) AS measured
WHERE before < $3 ORDER BY seq DESC

-- name: load_snapshots
-- The snapshots of one version, the newest first.
SELECT seq, crc, data FROM snapshots WHERE team = $1 AND version = $2 ORDER BY seq DESC

-- name: save_snapshot
-- Save a snapshot; one at the same place is replaced, because its version may have changed.
INSERT INTO snapshots (team, seq, version, crc, data) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (team, seq) DO UPDATE
SET version = excluded.version, crc = excluded.crc, data = excluded.data

-- name: drop_old_snapshots
-- Keep the newest only.
DELETE FROM snapshots
WHERE team = $1 AND seq NOT IN (
    SELECT seq FROM snapshots WHERE team = $1 ORDER BY seq DESC LIMIT $2
)

-- name: load_cursor
-- The last event that a reactor has handled.
SELECT seq FROM cursors WHERE team = $1 AND reader = $2

-- name: server_time
-- The time. $1 is not used.
SELECT clock_timestamp() WHERE $1::integer IS NOT NULL

-- name: server_facts
-- Facts about the server, for `muster doctor`. Without parameters.
SELECT current_setting('server_version_num')::integer / 10000, current_setting('server_version'),
    pg_is_in_recovery(), current_setting('fsync')::boolean,
    current_setting('synchronous_standby_names'),
    (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')),
    current_setting('max_connections')::integer
        - current_setting('superuser_reserved_connections')::integer,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
    coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
    coalesce(inet_server_addr() <<= '127.0.0.0/8' OR inet_server_addr() = '::1', true),
    clock_timestamp()

-- name: join
-- Be counted as a writer of the team until the connection ends. $1 is `muster`, $2 the team.
SELECT pg_advisory_lock_shared(hashtext($1), $2)

-- name: count_writers
-- How many writers of the team there are. $1 is `muster`, $2 the team.
SELECT count(*) FROM pg_locks
WHERE locktype = 'advisory' AND granted AND database = (
    SELECT oid FROM pg_database WHERE datname = current_database()
) AND classid = (hashtext($1)::bigint & 4294967295)::oid AND objid = $2::integer::oid

-- name: tell
-- Wake the other writers. $1 is the channel, $2 where the log ends.
SELECT pg_notify($1, $2)

-- name: look_at_leases
-- The present run of the server, and every lease of the team; one row without a lease if none is.
SELECT pg_postmaster_start_time()::text, lease.node, lease.life, lease.beat, lease.seconds, lease.load
FROM (SELECT 1) AS one LEFT JOIN leases AS lease ON lease.team = $1

-- name: take_lease
-- Give the node $2 to the life $3 with a lease of $4 seconds, unless another life has it: only the
-- lease of life $5 with beat $6 is replaced. Returns a row if that succeeded, also a second time.
INSERT INTO leases (team, node, life, seconds) VALUES ($1, $2, $3, $4)
ON CONFLICT (team, node) DO UPDATE SET life = excluded.life, beat = 0, seconds = excluded.seconds, load = 0
WHERE leases.life = excluded.life OR (leases.life = $5::text AND leases.beat = $6::bigint)
RETURNING node

-- name: renew_lease
-- Say that the life $3 goes on at the node $2, whose load is $4; no row if another life has it.
UPDATE leases SET beat = beat + 1, load = $4 WHERE team = $1 AND node = $2 AND life = $3 RETURNING node

-- name: release_lease
-- The life $3 no longer needs the node $2.
DELETE FROM leases WHERE team = $1 AND node = $2 AND life = $3 RETURNING node

-- name: ask_node
-- Ask the node $2 for $3; the number of the request.
INSERT INTO requests (team, node, asked) VALUES ($1, $2, $3) RETURNING id

-- name: find_requests
-- The oldest $3 requests to the node $2 that have no answer.
SELECT id, asked FROM requests WHERE team = $1 AND node = $2 AND answer IS NULL ORDER BY id LIMIT $3

-- name: answer_request
-- Answer the request $2 with $3.
UPDATE requests SET answer = $3 WHERE team = $1 AND id = $2

-- name: find_answer
-- The answer to the request $2, if there is one.
SELECT answer FROM requests WHERE team = $1 AND id = $2

-- name: drop_request
-- The request $2 is over, and so are all older than $3 seconds: whoever asked has ended.
DELETE FROM requests WHERE team = $1 AND (id = $2 OR at < clock_timestamp() - make_interval(secs => $3))

-- name: other_teams
-- How many teams have names that are not like $1.
SELECT count(*) FROM muster.teams WHERE name NOT LIKE $1

-- name: bytes_written
-- Bytes of all events with their indexes, and of all WAL that was ever written. Without parameters.
SELECT pg_total_relation_size('muster.events'), pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')
