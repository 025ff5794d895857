"""Other frameworks, each in a process of its own and with an environment of its own.

Their packages are not installed where types are checked, so each file turns strict checking off at
its top. `bench/peers.py` starts them.
"""
