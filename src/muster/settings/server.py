"""The `[server]` table: where `muster up` listens, its certificate, and how it stops."""

from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from muster.limits import TURN_SECONDS_MAX
from muster.settings.rules import Rule


class OidcSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `[oidc]` table: single sign-on by OpenID Connect."""

    issuer: Annotated[
        str, Rule("Address of the provider, such as https://id.example.org; empty is none.")
    ] = ""
    client_id: Annotated[str, Rule("Name under which the provider knows muster.")] = ""
    secret_env: Annotated[
        str, Rule("Environment variable with muster's secret at the provider; empty without one.")
    ] = ""
    user_claim: Annotated[
        str, Rule("Part of the provider's answer that is the name of a user, or email.")
    ] = "preferred_username"
    scopes: Annotated[str, Rule("Scopes that are asked for, with spaces between them.")] = (
        "openid profile email"
    )
    label: Annotated[str, Rule("Label of the button on the page to sign in.")] = "Single sign-on"


def is_safe_url(url: str) -> bool:
    """Whether what is sent to an address is encrypted, or stays on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    is_local = host == "localhost" or host.startswith("127.") or host == "::1"
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_local))


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where `muster up` listens, and how it stops."""

    host: Annotated[
        str, Rule("Address to listen on; the default is reachable from this machine only.")
    ] = "127.0.0.1"
    port: Annotated[int, Rule("Port to listen on; 0 picks a free one.", 0, 65_535)] = 6878
    public_url: Annotated[
        str,
        Rule(
            "Address that people use, such as https://muster.example.org or "
            "https://example.org/team, if a proxy is before muster; empty means the address that "
            "it listens on."
        ),
    ] = ""
    trusted_user_header: Annotated[
        str,
        Rule(
            "Header in which the proxy names the person whom it signed in, such as X-Remote-User; "
            "it needs trusted_proxy or the variable MUSTER_PROXY_SECRET."
        ),
    ] = ""
    trusted_proxy: Annotated[
        str,
        Rule(
            "Address or network from which trusted_user_header is taken, such as 10.0.0.7; empty "
            "is any, with the secret."
        ),
    ] = ""
    tls_cert: Annotated[
        str, Rule("File with the certificate of TLS and its chain (PEM); empty means no TLS.")
    ] = ""
    tls_key: Annotated[str, Rule("File with the key of the certificate (PEM).")] = ""
    log_format: Annotated[
        Literal["text", "json"],
        Rule("Format of the server's own log: text, or one JSON object a line."),
    ] = "text"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Rule("Least level of records in the server's own log; debug has every request."),
    ] = "warning"
    open_browser: Annotated[
        bool,
        Rule("Whether `muster up` opens the dashboard in a browser, if there is a screen."),
    ] = True
    drain_seconds: Annotated[
        float,
        Rule(
            "How long sessions may finish by themselves when muster stops; 0 stops them at once.",
            0,
            TURN_SECONDS_MAX,
        ),
    ] = 120.0  # most turns of a model are over by then, and a person or a reboot can still wait

    @property
    def is_exposed(self) -> bool:
        """Whether other machines reach it, with nothing that encrypts what they send."""
        is_local = self.host == "localhost" or self.host.startswith("127.") or self.host == "::1"
        is_encrypted = bool(self.tls_cert) or self.public_url.startswith("https://")
        return not is_local and not is_encrypted


class NodeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `[node]` table: this machine as a node of a team that several machines run."""

    name: Annotated[
        str,
        Rule(
            "Name of this machine in the team; empty means the one that `muster up --node` was"
            " given, or that of the host. Two machines must not have the same.",
            is_name=True,
        ),
    ] = ""
    labels: Annotated[
        tuple[str, ...], Rule("Labels of this machine, for agents that need them (`needs`).")
    ] = ()
    room: Annotated[
        int, Rule("Largest number of sessions on this machine; 0 means no limit.", 0, 10_000)
    ] = 0
    lease_seconds: Annotated[
        float,
        Rule(
            "Time after which the other machines start the agents that may move, if this one is"
            " not heard of. Its own sessions of them are ended somewhat earlier.",
            3,
            3600,
        ),
    ] = 60.0
    replaces_lost_home: Annotated[
        bool,
        Rule(
            "Whether this machine takes its name from another home that is silent. Only if that"
            " home is gone for good: agents that stay may still run there."
        ),
    ] = False
