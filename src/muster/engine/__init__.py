"""The engine: dispatcher, feed, timers, presence, snapshots and the runner of reactors.

Imports machines and the store's protocol; knows runtimes only by `ports.py`.
"""
