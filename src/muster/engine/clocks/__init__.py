"""The clock of a team whose log another machine keeps: that machine's time."""
