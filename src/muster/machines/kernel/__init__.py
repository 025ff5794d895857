"""The kernel: one command through all machines, the fold of the log, couplings, deadlines.

Imports the machines; nothing outside `muster.machines` but errors and limits.
"""
