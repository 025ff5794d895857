-- The log of one team, and two small tables that can be rebuilt from it.

-- Every event, in its total order. `data` is the event as it goes over the wire; type, seat and
-- channel are copied from it for filters. No secondary index: each would be written with every
-- commit.
CREATE TABLE events (
    seq     INTEGER PRIMARY KEY,
    type    TEXT    NOT NULL,
    seat    INTEGER,
    channel TEXT,
    crc     INTEGER NOT NULL,  -- of all other columns: SQLite does not notice a flipped bit
    data    BLOB    NOT NULL
) STRICT;

-- The folded state up to and including `seq`, for a fast start. `version` is the shape of `data`.
CREATE TABLE snapshots (
    seq     INTEGER PRIMARY KEY,
    version INTEGER NOT NULL,
    crc     INTEGER NOT NULL,
    data    BLOB    NOT NULL
) STRICT;

-- The last event that each reactor has handled.
CREATE TABLE cursors (
    reader TEXT PRIMARY KEY,
    seq    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
