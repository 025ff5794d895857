-- Requests of a node to another one, for what is on its disk alone: the other one writes the answer into the row, and
-- the asking one deletes it. Both can be lost with a crash of the server, since the request is then asked again.
CREATE UNLOGGED TABLE requests (
    id     bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team   integer     NOT NULL,
    node   text        NOT NULL,  -- the one that is asked
    asked  bytea       NOT NULL,
    answer bytea,
    at     timestamptz NOT NULL DEFAULT clock_timestamp()
);
