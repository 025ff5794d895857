"""Requests that another node of the team answers: which ones, and how they get there."""
