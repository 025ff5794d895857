"""The Python client, for programs that act in a team: `muster.Client` and `muster.AsyncClient`."""
