-- The index of the words in messages. Messages are indexed a lot at a time: a row has the messages of one lot that have a
-- term, packed (`postgres/postings.py`). `term` is a digest of it, because a word may be longer than a key of an index may be.
-- How far the index has come is the cursor `search`, which moves together with the rows of a lot.
CREATE TABLE words (
    team   integer NOT NULL,
    term   bigint  NOT NULL,
    lot    bigint  NOT NULL,  -- the last place that the lot covers
    places bytea   NOT NULL,
    PRIMARY KEY (team, term, lot)
);
