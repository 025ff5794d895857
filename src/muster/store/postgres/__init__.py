"""A log in PostgreSQL, to which several machines write.

    opening.py       connects, migrates the schema, finds the team
    connecting.py    connections that are made again when they are lost; the meaning of errors
    appending.py     one commit: sent until it is known whether the log has it
    news.py          hints that others have written: NOTIFY, and a poll beneath
    blocking.py      the log for verbs without an event loop
    reading.py       pages of the log, searches, snapshots, cursors
    copying.py       whole logs into files and back; verifying one
    examining.py     facts about a server, for `muster doctor`
    store.py         the store: who waits for which commit, and decides again

Nobody holds a lock while it decides, unless writers get in each other's way: then the next commit
waits for its turn at the team's row. Only this package imports asyncpg, and it is imported only if
a database is named.
"""
