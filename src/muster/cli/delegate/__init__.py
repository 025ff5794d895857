"""Commands for delegation, with or without a server."""
