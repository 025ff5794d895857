"""Routes that change how muster itself is set up; for operators only."""
