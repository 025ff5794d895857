"""Routing a request to an agent: agent files, scores, and a decision with its reasons.

Pure and on the standard library alone: nothing is written, no clock is read, no model is asked.
"""
