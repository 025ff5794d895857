"""Views: read models of a team, one for HTTP, command line and client.

`answers/` has the records of answers, which the client loads too; the modules beside it build them
from state and log. Imports machines, the store's protocol and codec, and the loading of a log.
"""
