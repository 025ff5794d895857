-- The hash chain of the log: `chain` of an event is a digest of its row and of the `chain` of the
-- event before it (`store/chain.py`). Events of earlier versions have none.
ALTER TABLE events ADD COLUMN chain BLOB;
