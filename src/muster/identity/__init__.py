"""The actions of people on identities: summon, wake, sleep, and import another machine's team.

Imports the open team (`muster.team`), views and machines.
"""
