"""The address that people use where a proxy is before the server: `server.public_url`.

It has a host that the server does not listen on, and maybe a path prefix, below which the proxy has
the dashboard. Proxies remove the prefix from the path of a request, or leave it: both work.
"""

from typing import Final, NamedTuple
from urllib.parse import urlsplit

from starlette.requests import Request

DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}


class PublicAddress(NamedTuple):
    """Scheme, host and path prefix of the public address; all empty where there is none."""

    origin: str = ""
    """Scheme, host and port, as browsers write them in `Origin`."""

    host: str | None = None
    prefix: str = ""
    """The path below which the dashboard is, such as `/team`; empty at the root."""

    @classmethod
    def of(cls, url: str) -> "PublicAddress":
        """The parts of a URL; of an empty one, none."""
        if not url:
            return cls()
        parts = urlsplit(url)
        netloc = parts.netloc.lower().removesuffix(DEFAULT_PORTS.get(parts.scheme, ""))
        return cls(f"{parts.scheme}://{netloc}", parts.hostname, parts.path.rstrip("/"))

    def is_used_by(self, request: Request) -> bool:
        """Whether a browser sent this request to the public address.

        Proxies pass the `Host` on with its port or without; one that writes its own hides this.
        """
        authority = self.origin.partition("://")[2]
        return bool(authority) and _host(request) in {authority, self.host}

    def prefix_of(self, request: Request) -> str:
        """The prefix of the address that a browser sent this request to."""
        return self.prefix if self.is_used_by(request) else ""

    def origin_of(self, request: Request) -> str:
        """The public origin, if a browser sent this request to it."""
        return self.origin if self.is_used_by(request) else ""

    def without_prefix(self, path: str) -> str:
        """A path of the server, from one that may still have the prefix."""
        is_below = self.prefix and path.startswith(f"{self.prefix}/")
        return path.removeprefix(self.prefix) if is_below else path

    def cookie_name(self, request: Request) -> str:
        """The name of the cookie for the address that the browser uses.

        A browser sends cookies to every port of a host, and those of `/` also to `/team/`: each
        server has a name of its own, so that none signs the other out.
        """
        port = _host(request).rpartition(":")[2]
        is_port = port.isascii() and port.isdecimal() and len(port) < 6
        return f"muster-{port if is_port else 80}{self.prefix_of(request).replace('/', '-')}"


NO_PUBLIC_ADDRESS: Final = PublicAddress()


def _host(request: Request) -> str:
    return request.headers.get("host", "").lower()
