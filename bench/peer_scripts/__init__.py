"""Other frameworks, each in a process of its own and with an environment of its own.

Their packages are not installed where types are checked, so each file says at its top that it does
without; `bench/peers.py` starts them.
"""
