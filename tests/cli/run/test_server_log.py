"""The server's own log: JSON and levels, on standard error and in the file."""

import json
import logging
import re
import sys
from pathlib import Path

import httpx

from muster.cli.run.server_log import JsonFormatter
from tests.forkserver import ForkedProcess
from tests.homes import muster
from tests.live import NO_TLS, live
from tests.waits import until


def test_every_request_is_a_record_at_the_level_debug(tmp_path: Path) -> None:
    settings = {"MUSTER_SERVER_LOG_FORMAT": "json", "MUSTER_SERVER_LOG_LEVEL": "debug"}
    with live(tmp_path, **settings) as server:
        process = server.process
        assert isinstance(process, ForkedProcess)
        httpx.get(f"{server.url}/api/agents?token=secret", verify=NO_TLS)
        until(lambda: "/api/agents" in process.errors())
        lines = [json.loads(line) for line in process.errors().splitlines()]
    [record] = [each for each in lines if each.get("path") == "/api/agents"]
    assert (record["action"], record["method"], record["status"]) == ("request", "GET", 401)
    assert (record["level"], record["logger"]) == ("debug", "muster.http.app")
    assert record["milliseconds"] >= 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record["time"])
    assert not any("secret" in str(each) for each in lines)


def test_the_file_in_the_background_has_the_same_format(tmp_path: Path) -> None:
    (tmp_path / "muster.toml").write_text(
        '[server]\nlog_format = "json"\nlog_level = "debug"\nport = 0\n'
    )
    started = muster("up", "--detach", "--home", str(tmp_path))
    assert started.returncode == 0, started.stderr
    try:
        url = json.loads((tmp_path / "server.json").read_text())["url"]
        httpx.get(f"{url}/api/health", verify=NO_TLS)
        log = tmp_path / "server.log"
        until(lambda: '"path":"/api/health"' in log.read_text())
    finally:
        muster("down", "--home", str(tmp_path))


def test_a_record_has_its_own_fields_and_its_traceback() -> None:
    try:
        raise OSError("no room")
    except OSError:
        record = logging.LogRecord(
            "muster.x", logging.ERROR, "x.py", 1, "%s", ("failed",), sys.exc_info()
        )
    record.action, record.path = "saving", Path("team.db")
    told = json.loads(JsonFormatter().format(record))
    assert (told["message"], told["action"], told["path"]) == ("failed", "saving", "team.db")
    assert "OSError: no room" in told["exception"]
    assert "\n" not in JsonFormatter().format(record)
