"""muster: the control plane for a team of AI agents."""

TYPE_CHECKING = False  # type checkers know it; importing typing would double a hook's start

if TYPE_CHECKING:
    from muster.client import AsyncClient, Client
    from muster.version import __version__

__all__ = ["AsyncClient", "Client", "__version__"]


def __getattr__(name: str) -> object:
    """Import the clients on first use: the fast verbs of the command line do not need them."""
    if name == "__version__":
        from muster.version import __version__

        return __version__
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from muster import client

    return getattr(client, name)
