"""The files that muster shares with other programs: written whole, watched, and never clobbered."""
