"""Messages: as a channel shows them, as results of a search, and as the export of a channel."""
