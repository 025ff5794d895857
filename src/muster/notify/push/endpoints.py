"""The address of a push service, checked: a browser's word for it must not lead into the network.

A browser names the address to which muster posts, so a member or a stolen cookie could name one
behind the firewall (SSRF). Only https at port 443 of public addresses is allowed. `push.hosts` in
the settings allows more: a push service of one's own, with any port, and plain http on loopback.
Names are resolved once, and the connection goes to the address that was checked (DNS rebinding).
"""

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from muster.errors import Invalid
from muster.notify.push.subscription import ENDPOINT_CHARS_MAX

_TLS_PORT: Final = 443
_NAT64: Final = IPv6Network("64:ff9b::/96")
_REMEDY: Final = "name it in push.hosts of muster.toml if it is yours"

Number = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Sequence[Number]]


class PushEndpoint(NamedTuple):
    """A push service that may be connected to."""

    host: str
    port: int
    is_tls: bool
    path: str
    """Path and query, as they are requested."""

    numbers: tuple[Number, ...]
    """The checked addresses of the host."""

    @property
    def origin(self) -> str:
        """The audience of a signature: scheme, host, and a port that is not the usual one."""
        usual = _TLS_PORT if self.is_tls else 80
        port = "" if self.port == usual else f":{self.port}"
        return f"{'https' if self.is_tls else 'http'}://{self.host}{port}"


def resolve(host: str, port: int) -> Sequence[Number]:
    """The addresses of a name, as the system knows them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ip_address(str(each[4][0]).partition("%")[0]) for each in found]


def checked_endpoint(url: str, allowed: Sequence[str], resolve: Resolve = resolve) -> PushEndpoint:
    """The push service at an address, if muster may post there; `allowed` are hosts of one's own.

    Blocks while the name is resolved.
    """
    host, port, is_tls, path = _parts(url)
    is_own = host in {each.lower() for each in allowed}
    if not is_own and (not is_tls or port != _TLS_PORT):
        raise _refused("must be an https address at port 443")
    try:
        numbers = tuple(resolve(host, port))
    except (OSError, UnicodeError) as error:
        raise _refused(f"names a host that cannot be found ({error})") from error
    if not numbers or (not is_own and not all(map(is_public, numbers))):
        raise _refused(f"leads to a private address; {_REMEDY}")
    if not is_tls and not all(number.is_loopback for number in numbers):
        raise _refused("must be https, except on this machine")
    return PushEndpoint(host, port, is_tls, path, numbers)


def _parts(url: str) -> tuple[str, int, bool, str]:
    """Host, port, whether it is https, and the path with its query."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise _refused("is no address") from None
    is_printable = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in ("https", "http") or not host or not is_printable:
        raise _refused("is no https address")
    if len(url) > ENDPOINT_CHARS_MAX or parts.username is not None or parts.fragment:
        raise _refused("must be short, without a user and a fragment")
    is_tls = parts.scheme == "https"
    path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    return host, port or (_TLS_PORT if is_tls else 80), is_tls, path


def is_public(number: Number) -> bool:
    """Whether an address is one of the internet; an address within an IPv6 one counts, too."""
    if isinstance(number, IPv6Address):
        inner = number.ipv4_mapped or number.sixtofour
        if number in _NAT64:
            inner = IPv4Address(int(number) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
    return number.is_global and not number.is_multicast and not number.is_reserved


def _refused(why: str) -> Invalid:
    return Invalid(what="endpoint", why=why)
