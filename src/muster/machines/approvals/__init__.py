"""Requests for approval: what a session may do only if a person allows it.

Owns the requests and their answers. Imports the records of the other machines; only the kernel and
the routes about people import it.
"""
