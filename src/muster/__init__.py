"""muster: the control plane for a team of AI agents."""

from muster.version import __version__

__all__ = ["__version__"]
