"""What every hook runs. What it does stands in `client.py`: a module is compiled once, a script at
every start."""

import sys

sys.path.insert(0, __file__.rpartition("/")[0])

# Hooks run without site-packages, and find it by the line above.
from client import main  # pyright: ignore[reportMissingImports,reportUnknownVariableType]

main()
