-- Whether a team's log is used here: 'used'; 'arrived' if it was copied here and nobody has opened
-- it yet, so that the copy may be replaced; 'left' if it was moved into a home, and is but a copy.
ALTER TABLE teams ADD COLUMN state text NOT NULL DEFAULT 'used'
    CHECK (state IN ('used', 'arrived', 'left'));
