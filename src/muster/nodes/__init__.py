"""Nodes: one team on several machines, each of which runs sessions while its lease holds.

    timing.py           how long a lease holds, for its node and for the others
    naming.py           the name of a node, taken for one life at a time
    lease.py            the lease of this node: its terms, and the sessions that it permits
    watching.py         the leases of the others, and which of them have not beaten for too long
    membership.py       renews, watches, returns; from the start of a node to its end
    warden.py           the process that kills sessions when the lease is over, as the node sees it
    warden_program.py   that process itself
    asking.py           requests for what is on the disk of another node

Machines decide what a lost node means (`machines/nodes`); stores keep the leases
(`store/base.py`). No two clocks are compared: every duration is measured on one machine.
"""
