"""Needs of a person, derived from the state: approvals, questions, failures, limits, answers.

Owns the list of needs, what people put aside of it, and what they have seen. Imports the records of
the other machines; only the kernel imports it.
"""
