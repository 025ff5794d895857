"""Run control in views: the badge of an agent, its next start, and the shutdown of muster."""
