"""The pure core: records, tables and functions. No clock, no ids, no I/O, no async."""
