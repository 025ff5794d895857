"""Messages as documents: results of a search, and the export of a channel."""
