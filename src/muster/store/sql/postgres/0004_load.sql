-- The load of each node at its last beat, for people: the processes of its machine that want to run, for
-- each of its cores.
ALTER TABLE leases ADD COLUMN load double precision NOT NULL DEFAULT 0;
