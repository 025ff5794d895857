"""The folder of a state machine session: its files, in the documented formats."""
