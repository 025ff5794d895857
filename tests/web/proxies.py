"""nginx and Caddy before a muster, configured as docs/guides/access.md has it."""

import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tests.guides.blocks import blocks
from tests.waits import WAIT_SECONDS, until

GUIDE: Final = "docs/guides/access.md"

NGINX_AROUND: Final = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/proxy.log;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{guide}
}}
"""
"""What a machine's own configuration has around a server, without the rights of root."""

CADDY_AROUND: Final = """
{{
    admin off
    auto_https disable_redirects
    storage file_system {folder}/caddy
}}
{guide}
"""


class ProxyPlan(NamedTuple):
    """Where a proxy listens, what it is before, and its certificate."""

    port: int
    muster: str
    cert: Path
    key: Path
    secret: str = ""
    """The secret with which it names people, whom it signs in itself."""


def _guide(kind: str, changes: Mapping[str, str]) -> str:
    """The configuration in the guide, with the names of this machine."""
    text, *_ = [each.text for each in blocks(GUIDE) if each.info == kind]
    for old, new in changes.items():
        assert old in text, (kind, old)
        text = text.replace(old, new)
    return text


def _files(plan: ProxyPlan) -> dict[str, str]:
    return {
        "/etc/ssl/example.org.pem": str(plan.cert),
        "/etc/ssl/example.org.key": str(plan.key),
        "127.0.0.1:6878": plan.muster.removeprefix("http://"),
    }


def _naming_people(folder: Path, secret: str) -> str:
    """The lines in the guide with which nginx signs people in, and names them."""
    [text] = [each.text for each in blocks(GUIDE) if each.text.startswith("auth_basic")]
    text = text.replace("/etc/nginx/muster.htpasswd", str(folder / "muster.htpasswd"))
    return text.replace("a long random text", secret)


@contextmanager
def nginx(folder: Path, plan: ProxyPlan) -> Generator[None]:
    """nginx before a muster."""
    own = {"listen 443": f"listen 127.0.0.1:{plan.port}", "example.org;": "localhost;"}
    text = _guide("nginx", _files(plan) | own)
    if plan.secret:
        begin = "location /team/ {"
        text = text.replace(begin, f"{begin}\n{_naming_people(folder, plan.secret)}")
    config = folder / "nginx.conf"
    config.write_text(NGINX_AROUND.format(folder=folder, guide=text))
    line = ["/usr/sbin/nginx", "-e", str(folder / "proxy.log"), "-c", str(config)]
    with _running(line, folder):
        yield


@contextmanager
def caddy(folder: Path, plan: ProxyPlan) -> Generator[None]:
    """Caddy before a muster."""
    text = _guide("caddy", _files(plan) | {"example.org {": f"https://localhost:{plan.port} {{"})
    config = folder / "Caddyfile"
    config.write_text(CADDY_AROUND.format(folder=folder, guide=text))
    line = ["/usr/bin/caddy", "run", "--adapter", "caddyfile", "--config", str(config)]
    with _running(line, folder):
        yield


@contextmanager
def _running(line: list[str], folder: Path) -> Generator[None]:
    """A program until the end of the block; its words are in `proxy.log`."""
    home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    with (folder / "proxy.log").open("ab") as log:
        process = subprocess.Popen(line, env=home, stdout=log, stderr=log)
    try:
        yield
        assert process.poll() is None, (folder / "proxy.log").read_text()
    finally:
        process.terminate()
        process.wait(WAIT_SECONDS)


def until_up(url: str, cert: Path, user: str = "") -> None:
    """Wait until the proxy at this address answers with muster's words."""
    line = ["curl", "-fsS", "--cacert", str(cert), f"{url}/api/health"]
    line += ["--user", user] if user else []
    until(lambda: subprocess.run(line, check=False, capture_output=True).returncode == 0)
