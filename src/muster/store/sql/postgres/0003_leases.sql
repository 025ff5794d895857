-- One row for each node of a team: the life that has its name, and how often that life has said so.
-- Other nodes watch whether `beat` moves, each on its own clock; no row has a time.
CREATE TABLE leases (
    team    integer          NOT NULL,
    node    text             NOT NULL,
    life    text             NOT NULL,
    beat    bigint           NOT NULL DEFAULT 0,
    seconds double precision NOT NULL,  -- how long the lease holds without a beat
    PRIMARY KEY (team, node)
) WITH (fillfactor = 50);
