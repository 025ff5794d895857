"""A header in which a proxy names the person whom it has signed in (`server.trusted_user_header`).

The header is worth nothing by itself: any program can send it. So a request that has it must come
from the proxy: from its address, or with a secret that only the two know. On one machine an address
proves nothing, because agents' programs are there, too. A request with the header from elsewhere is
refused: somebody tries to be somebody else. A token in the `Authorization` header counts before it.
"""

from collections.abc import Mapping
from hmac import compare_digest
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, NamedTuple

from starlette.requests import Request

from muster.errors import Forbidden
from muster.settings.rules import WrongError
from muster.settings.server import ServerSettings

SECRET_VARIABLE: Final = "MUSTER_PROXY_SECRET"
"""The environment variable with the secret. Variables of this prefix are not passed to agents."""

SECRET_HEADER: Final = "x-muster-proxy-secret"
SECRET_CHARS_MIN: Final = 16
VERIFIED: Final = "muster.person"
"""The key in the scope of a request under which a verified name is kept."""

REMEDY: Final = (
    f"Set {SECRET_VARIABLE} for muster to a long random text, and let the proxy send it as "
    f"X-Muster-Proxy-Secret; or set server.trusted_proxy to the proxy's address."
)


class TrustedHeader(NamedTuple):
    """The header of a proxy, and how its requests are told from others."""

    header: str = ""
    """Its name; empty where no proxy is trusted."""

    proxy: IPv4Network | IPv6Network | None = None
    secret: str = ""

    @classmethod
    def of(cls, settings: ServerSettings, environ: Mapping[str, str]) -> "TrustedHeader":
        """The header that the settings name. Raises `WrongError` where anybody could send it."""
        if not settings.trusted_user_header:
            return cls()
        secret = environ.get(SECRET_VARIABLE, "")
        proxy = ip_network(settings.trusted_proxy) if settings.trusted_proxy else None
        if secret and len(secret) < SECRET_CHARS_MIN:
            remedy = f"Use {SECRET_CHARS_MIN} random characters or more."
            raise WrongError(f"{SECRET_VARIABLE} is too short", remedy)
        if not secret and (proxy is None or proxy.is_loopback):
            what = "server.trusted_user_header is set, and every program here could send it"
            raise WrongError(what, REMEDY)
        return cls(settings.trusted_user_header.lower(), proxy, secret)

    def person_of(self, request: Request) -> str | None:
        """The person whom the proxy signed in; none without the header. Refused from elsewhere."""
        verified = request.scope.get(VERIFIED)
        if isinstance(verified, str) or not self.header:
            return verified
        named = request.headers.getlist(self.header)
        if not named:
            return None
        if len(named) > 1 or not self._is_from_proxy(request):
            raise Forbidden(
                who="A request that does not come from the trusted proxy",
                act=f"name a person in the header {self.header!r}",
                remedy="Use the address of the proxy (server.public_url), or a token.",
            )
        name = named[0].encode("latin-1").decode(errors="replace").strip()
        request.scope[VERIFIED] = name
        return name or None

    def is_in(self, request: Request) -> bool:
        """Whether a request has the header."""
        return bool(self.header) and (self.header in request.headers or VERIFIED in request.scope)

    def _is_from_proxy(self, request: Request) -> bool:
        given = request.headers.get(SECRET_HEADER, "")
        has_secret = not self.secret or compare_digest(given.encode(), self.secret.encode())
        return has_secret and (self.proxy is None or self._is_sent_by_proxy(request))

    def _is_sent_by_proxy(self, request: Request) -> bool:
        if request.client is None or self.proxy is None:
            return False
        address = ip_address(request.client.host)
        mapped = getattr(address, "ipv4_mapped", None)  # a socket for both kinds of addresses
        return (mapped or address) in self.proxy


NO_TRUSTED_HEADER: Final = TrustedHeader()
