"""Which agent a request belongs to: agent files, what they say, and a decision with its reasons.

Pure and on the standard library alone: nothing is written, no clock is read, no model is asked.
"""
