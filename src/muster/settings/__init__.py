"""Settings: `muster.toml` and `MUSTER_*`, validated once at the start and handed down frozen.

Imports the words of `machines`, errors and limits.
"""
