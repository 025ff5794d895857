"""Metrics of a running team: counts of commits, and the text that Prometheus reads."""
