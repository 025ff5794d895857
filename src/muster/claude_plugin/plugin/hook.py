"""The script that every hook runs. The code is in `client.py`: Python caches a compiled module, but
compiles a script at every start."""

import sys

sys.path.insert(0, __file__.rpartition("/")[0])

# Hooks run without site-packages; the line above makes it importable.
from client import main  # pyright: ignore[reportMissingImports,reportUnknownVariableType]

main()
