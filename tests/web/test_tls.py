"""muster with a certificate: the dashboard over TLS in a real browser, programs beside it."""

import json
import re
import ssl
import subprocess
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
from playwright.sync_api import Browser

from tests.forkserver import ForkedProcess
from tests.homes import MUSTER_SCRIPT, environment, muster
from tests.waits import WAIT_SECONDS


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine's own names, signed by itself, and its key."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    about = ["-days", "2", "-subj", "/CN=localhost", "-addext", names]
    line = ["openssl", "req", "-x509", *kind, "-keyout", str(key), "-out", str(cert), *about]
    subprocess.run(line, check=True, capture_output=True)
    return cert, key


@contextmanager
def served(home: Path, cert: Path, key: Path) -> Generator[tuple[str, str]]:
    """The address of a muster with TLS, and a link to sign in."""
    files = ["--tls-cert", str(cert), "--tls-key", str(key)]
    line = [MUSTER_SCRIPT, "up", "--home", str(home), "--port", "0", *files]
    with closing(ForkedProcess(line, env=environment({}), piped=True)) as process:
        said = [process.stdout.readline(), process.stdout.readline()]
        links = [found[0] for each in said if (found := re.search(r"https://\S+", each))]
        assert len(links) == 2, said
        yield links[0], links[1]


def test_people_use_tls_and_programs_of_the_machine_a_port_of_their_own(
    tmp_path: Path, browser: Browser
) -> None:
    cert, key = certificate(tmp_path)
    home = tmp_path / ".muster"
    with served(home, cert, key) as (url, link):
        trusted = ssl.create_default_context(cafile=str(cert))
        with httpx.Client(verify=trusted, timeout=WAIT_SECONDS) as http:
            assert http.get(f"{url}/api/health").json()["status"] == "ok"
        own = json.loads((home / "server.json").read_text())["url"]
        assert own.startswith("http://127.0.0.1:")
        assert "0 agents" in muster("--home", str(home), "status").stdout
        context = browser.new_context(ignore_https_errors=True)
        try:
            page = context.new_page()
            page.set_default_timeout(WAIT_SECONDS * 1000)
            page.goto(link)
            page.wait_for_url(re.compile(r"/(#.*)?$"))
            page.get_by_role("heading").first.wait_for()
            [cookie] = context.cookies()
            assert (cookie.get("secure"), cookie.get("sameSite")) == (True, "Strict")
            assert page.evaluate("location.protocol") == "https:"
        finally:
            context.close()


def test_a_certificate_that_cannot_be_used_is_said_before_anything_is_made(tmp_path: Path) -> None:
    cert, _ = certificate(tmp_path)
    home = tmp_path / ".muster"
    files = ("--tls-cert", str(cert), "--tls-key", str(tmp_path / "none"))
    refused = muster("up", "--home", str(home), "--port", "0", *files)
    assert refused.returncode != 0
    assert "Cannot use the certificate" in refused.stderr
    assert not home.exists()
