-- The files of archived events, which are in the log's table no more (`store/archive/`). `sha256` is
-- the digest of the file, `link` the hash chain's at its last event.
CREATE TABLE archives (
    last   INTEGER PRIMARY KEY,
    first  INTEGER NOT NULL,
    sha256 BLOB    NOT NULL,
    link   BLOB
) STRICT;
