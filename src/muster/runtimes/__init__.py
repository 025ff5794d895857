"""Runtimes: how sessions of one kind of program are run."""
