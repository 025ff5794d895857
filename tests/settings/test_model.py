"""Settings: their values and sources, and the errors about mistakes."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from muster.errors import BadSettings
from muster.machines.vocabulary import InterruptMode, TurnConfig
from muster.settings.file import line_of
from muster.settings.model import SETTINGS, Settings, load_settings


def write(home: Path, text: str) -> Path:
    path = home / "muster.toml"
    path.write_text(text)
    return path


def refusal(home: Path, environ: dict[str, str] | None = None) -> BadSettings:
    with pytest.raises(BadSettings) as caught:
        load_settings(home, environ or {})
    return caught.value


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    assert load_settings(tmp_path, {}) == Settings()
    assert load_settings(tmp_path / "missing", {}) == Settings()


def test_the_defaults_of_a_channel_are_the_machines_own() -> None:
    assert Settings().turns == TurnConfig()


def test_values_of_the_file_are_used(tmp_path: Path) -> None:
    write(
        tmp_path,
        '[team]\nhuman = "Ada Lovelace"\n[server]\nport = 0\nopen_browser = false\n'
        '[turns]\ndefault_timeout_seconds = 5\nhuman_interrupt_mode = "queue"\n',
    )
    settings = load_settings(tmp_path, {})
    assert settings.team.human == "Ada Lovelace"
    assert (settings.server.port, settings.server.open_browser) == (0, False)
    assert settings.turns.default_timeout_seconds == 5.0
    assert settings.turns.human_interrupt_mode is InterruptMode.QUEUE
    assert settings.turns.max_turn_seconds == TurnConfig().max_turn_seconds


def test_an_environment_variable_overrides_the_file(tmp_path: Path) -> None:
    write(tmp_path, "[server]\nport = 1\n[turns]\nannounce_timeouts = true\n")
    environ = {
        "MUSTER_SERVER_PORT": "7000",
        "MUSTER_TURNS_ANNOUNCE_TIMEOUTS": "false",
        "MUSTER_TURNS_WAIT_TIMEOUT_SECONDS": "12.5",
        "MUSTER_TEAM_HUMAN": "Grace",
    }
    settings = load_settings(tmp_path, environ)
    assert settings.server.port == 7000
    assert settings.turns.announce_timeouts is False
    assert settings.turns.wait_timeout_seconds == 12.5
    assert settings.team.human == "Grace"


def test_foreign_environment_variables_are_ignored(tmp_path: Path) -> None:
    others = {"MUSTER_HOME": "/x", "MUSTER_TOKEN": "y", "MUSTER_SERVERS": "z", "PORT": "1"}
    assert load_settings(tmp_path, others) == Settings()


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("[server]\nport = 65536", "server.port is 65536"),
        ("[server]\nport = -1", "server.port is -1"),
        ('[server]\nport = "6878"', 'server.port is "6878"'),
        ("[server]\nport = true", "server.port is true"),
        ("[server]\nport = 6878.5", "server.port is 6878.5"),
        ("[server]\nport = [1]", "server.port is [1]"),
        ("[server]\nport = {x = 1}", "server.port is a table"),
        ("[server]\nhost = 1", "server.host is 1"),
        ("[server]\nopen_browser = 1", "server.open_browser is 1"),
        ("[turns]\ndefault_timeout_seconds = -5", "turns.default_timeout_seconds is -5"),
        ("[turns]\ndefault_timeout_seconds = 0", "turns.default_timeout_seconds is 0"),
        ("[turns]\nwait_timeout_seconds = inf", "turns.wait_timeout_seconds is inf"),
        ("[turns]\nwait_timeout_seconds = nan", "turns.wait_timeout_seconds is nan"),
        ("[turns]\nrest_after_idle_rounds = 0", "turns.rest_after_idle_rounds is 0"),
        ('[turns]\nhuman_interrupt_mode = "shout"', 'turns.human_interrupt_mode is "shout"'),
        ("[store]\nsnapshot_every = 0", "store.snapshot_every is 0"),
        ('[team]\nhuman = ""', 'team.human is ""'),
        ('[team]\nhuman = "main"', 'team.human is "main"'),
        ('[team]\nhuman = "../x"', 'team.human is "../x"'),
        ('[team]\nhuman = "a\\u001b[31m"', "team.human is"),
        ('[summon]\nnames = ["human"]', 'summon.names has "human"'),
        ('[summon]\nnames = ["human in design"]', 'summon.names has "human in design"'),
        ('[summon]\nnames = ["../x"]', 'summon.names has "../x"'),
        ('[summon]\nnames = ["a", "A"]', 'summon.names has "A", which another agent'),
        ('[summon]\nnames = ["Lead"]\n[agents.lead]\ncommand = ["cat"]', 'summon.names has "Lead"'),
        (f"[summon]\nnames = {['x'] * 9}", "summon.names has 9 names for 8 seats"),
    ],
)
def test_an_invalid_value_is_refused_with_its_line(tmp_path: Path, line: str, what: str) -> None:
    path = write(tmp_path, f"# a comment\n\n{line}\n")
    refused = refusal(tmp_path)
    assert refused.found["line"] == 4
    assert str(refused).startswith(f"{path}:4: {what}")
    assert str(refused.found["remedy"]).endswith(".")


def test_the_remedy_names_the_allowed_values(tmp_path: Path) -> None:
    write(tmp_path, "[server]\nport = 70000")
    assert "Give a whole number from 0 to 65535." in str(refusal(tmp_path))
    write(tmp_path, '[turns]\nhuman_interrupt_mode = "shout"')
    assert '"queue", "interrupt", "inject", "parallel"' in str(refusal(tmp_path))
    write(tmp_path, "[turns]\nmax_turn_seconds = 0")
    assert "Give a number from 0.1 to 604800." in str(refusal(tmp_path))


@pytest.mark.parametrize(
    ("text", "line", "suggested"),
    [
        ("[server]\nprot = 1", 2, "Did you mean server.port?"),
        ("[sever]\nport = 1", 1, "Did you mean server?"),
        ("[team]\nport = 1", 2, "Did you mean server.port?"),
        ("\nport = 1", 2, "Did you mean server.port?"),
        ("server.hots = 'x'", 1, "Did you mean server.host?"),
        ("server = 3", 1, "Write [server], and its settings below."),
        ("[[server]]\nport = 3", 1, "Write [server], and its settings below."),
        ("[things.Lyra]\nx = 1", 1, "the tables are [team], [server], [presence], [turns]"),
        ("[agent.Lyra]\nx = 1", 1, "Did you mean agents?"),
        ("[turns]\n'wait timeout' = 1", 2, "Did you mean turns.wait_timeout_seconds?"),
        ("server = { prot = 1 }", 1, "Did you mean server.port?"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_known_one(
    tmp_path: Path, text: str, line: int, suggested: str
) -> None:
    write(tmp_path, text)
    refused = refusal(tmp_path)
    assert refused.found["line"] == line
    assert suggested in str(refused)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[server]\nport 6878\n", 2),
        ("[server]\nport = 1\nport = 2\n", 3),
        ("[server\n", 1),
        ("\n\n[team]\nhuman = 'x\n", 4),
        ("[team]\nhuman = ", 2),
        ("[team]\nhuman = '''never\nending\n", 3),
    ],
)
def test_invalid_toml_is_refused_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    path = write(tmp_path, text)
    refused = refusal(tmp_path)
    assert str(refused).startswith(f"{path}:{line}: ")
    assert "at line" not in str(refused)


def test_a_table_that_is_written_twice_is_named_with_both_lines(tmp_path: Path) -> None:
    path = write(tmp_path, "[turns]\n\n[delegation]\n\n[delegation]\n")
    with pytest.raises(BadSettings) as refused:
        load_settings(tmp_path, {})
    told = f"{path}:5: the table [delegation] is written twice, first on line 3"
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize(
    "text",
    [
        f"x = {'[' * 600}{']' * 600}",
        f"x = {'{a=' * 600}1{'}' * 600}",
        f"{'.'.join('a' * 20_000)} = 1",
        f"[{'.'.join('a' * 3_000)}]",
    ],
    ids=["lists", "inline tables", "dotted keys", "headings"],
)
def test_values_that_lie_too_deep_in_one_another_are_refused(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    assert str(refusal(tmp_path)).startswith(f"{path}: has tables or lists in one another")


def test_a_file_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "muster.toml").write_bytes(b"# fine\n[team]\nhuman = 'Andr\xe9'\n")
    refused = refusal(tmp_path)
    assert refused.found["line"] == 3
    assert "0xe9 is not UTF-8" in str(refused)


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "muster.toml").write_bytes(b"\xef\xbb\xbf[server]\nport = 1\n")
    assert load_settings(tmp_path, {}).server.port == 1


def test_a_folder_or_a_pipe_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "muster.toml"
    path.mkdir()
    assert str(refusal(tmp_path)).startswith(f"{path}: is not a file. ")
    path.rmdir()
    os.mkfifo(path)
    assert "is not a file" in str(refusal(tmp_path))


def test_a_file_without_permission_is_not_taken_for_missing(tmp_path: Path) -> None:
    assert "cannot be read (File name too long)" in str(refusal(tmp_path / ("x" * 300)))


def test_a_file_in_place_of_the_home_counts_as_no_settings(tmp_path: Path) -> None:
    # opening the home reports the error
    home = tmp_path / "home"
    home.write_text("")
    assert load_settings(home, {}) == Settings()


def test_a_mistake_in_a_variable_names_the_variable(tmp_path: Path) -> None:
    refused = refusal(tmp_path, {"MUSTER_SERVER_PORT": "many"})
    assert str(refused) == (
        'MUSTER_SERVER_PORT: server.port is "many". Give a whole number from 0 to 65535.'
    )
    assert refused.exit_code == 2
    refused = refusal(tmp_path, {"MUSTER_SERVER_PROT": "1"})
    assert "Did you mean MUSTER_SERVER_PORT?" in str(refused)


def test_every_setting_has_a_description_and_every_number_has_bounds() -> None:
    for setting in SETTINGS.values():
        assert setting.rule.about
        number = isinstance(setting.default, int | float) and not isinstance(setting.default, bool)
        assert (setting.rule.low is not None) == number, setting.key


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Settings().server.port = 1  # pyright: ignore[reportAttributeAccessIssue]


def test_every_default_is_within_its_own_bounds(tmp_path: Path) -> None:
    for setting in SETTINGS.values():
        value = msgspec.to_builtins(setting.default)
        value = "" if value == () else value  # a list is written as on a command line
        written = str(value).lower() if isinstance(value, bool) else str(value)
        load_settings(tmp_path, {setting.variable: written})


def test_the_line_of_a_key_is_found_in_every_way_of_writing_it() -> None:
    text = '# port = 0\n[ "server" ]\n  port = 1 # [turns]\n\n[turns] # port = 2\nx.y = 3\n'
    assert line_of(text, ("server", "port")) == 3
    assert line_of(text, ("turns", "x", "y")) == 6
    assert line_of(text, ("turns", "missing")) == 5
    assert line_of(text, ("nowhere",)) == 1


def test_no_parser_is_loaded_where_there_is_no_file(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib; from muster.settings.model import load_settings;"
        "load_settings(pathlib.Path(sys.argv[1]), {});"
        "sys.exit('tomllib' in sys.modules or 'difflib' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == 0
    )
