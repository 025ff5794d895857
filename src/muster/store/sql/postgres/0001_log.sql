-- The logs of teams, and two small tables that can be rebuilt from them. Everything is in the schema
-- `muster`, because the database may have other tables of these names.

-- One row for each team: where its log ends. An append moves the end, and counts only if it was
-- where the writer believed it to be; so this row is what writers agree on, and wait for. It is
-- updated by every commit: room in its page keeps the updates on the page.
CREATE TABLE teams (
    id        integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name      text    NOT NULL UNIQUE,
    last_seq  bigint  NOT NULL DEFAULT 0,
    last_link bytea   NOT NULL DEFAULT ''  -- `chain` of the last event: stands for the whole log
) WITH (fillfactor = 10);

-- Every event, with the columns of an SQLite log.
CREATE TABLE events (
    team    integer NOT NULL,
    seq     bigint  NOT NULL,
    type    text    NOT NULL,
    seat    bigint,
    channel text,
    crc     bigint  NOT NULL,
    data    bytea   NOT NULL,
    chain   bytea   NOT NULL,
    PRIMARY KEY (team, seq)
);

-- Messages alone, for searches. The types are those of `words.SEARCHED_TYPES`.
CREATE INDEX messages ON events (team, seq)
WHERE type IN ('user_message', 'agent_message', 'announcement', 'message_imported');

CREATE TABLE snapshots (
    team    integer NOT NULL,
    seq     bigint  NOT NULL,
    version integer NOT NULL,
    crc     bigint  NOT NULL,
    data    bytea   NOT NULL,
    PRIMARY KEY (team, seq)
);

CREATE TABLE cursors (
    team   integer NOT NULL,
    reader text    NOT NULL,
    seq    bigint  NOT NULL,
    PRIMARY KEY (team, reader)
);
