"""Routes by which people answer agents: requests for approval, and everything that needs one."""
