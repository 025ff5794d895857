"""The content of messages over HTTP: attached files, search, and the export of a channel."""
