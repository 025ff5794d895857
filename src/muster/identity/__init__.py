"""Identity as people act on it: summon, wake, sleep, and importing another machine's team.

Imports the open team (`muster.team`), views and machines.
"""
