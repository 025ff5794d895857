"""Live settings: follows `muster.toml` while muster runs, applies what changed, and edits the file.

Imports settings, the engine, machines, and the file watcher of mirrors.
"""
