"""Templates: those that come with muster, and hostile ones."""

from pathlib import Path

import pytest

from muster import limits
from muster.errors import BadSettings, MusterError, NotFound
from muster.settings.model import parse_settings
from muster.templates.reading import check_template, packaged, program_text, read_template

HEAD = "[template]\nformat = 1\n"


@pytest.mark.parametrize("name", packaged())
@pytest.mark.parametrize("has_claude", [True, False])
def test_a_template_of_the_package_becomes_valid_settings(name: str, has_claude: bool) -> None:
    template = read_template(name, has_claude=has_claude)
    assert parse_settings(Path("muster.toml"), template.text, {}) == template.settings
    assert template.about
    assert template.begin
    assert "[template]" not in template.text
    assert "# " in template.text  # the comments explain the team
    for agent in template.settings.agents.values():
        assert agent.soul
        assert (agent.runtime == "claude") is has_claude
        assert bool(agent.script) is not has_claude


def test_three_templates_come_with_muster() -> None:
    assert set(packaged()) == {"night-shift", "pair", "review-board"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "has no [template] table"),
        ("[template]\nformat = 2\n", "is not of a format"),
        ("[template]\nformat = true\n", "is not of a format"),
        ("[template]\nabout = 'x'\n", "is not of a format"),
        (f"{HEAD}about = 3\n", "template.about is no short text"),
        (f"{HEAD}about = '{'x' * 600}'\n", "template.about is no short text"),
        (f"{HEAD}run = 'rm'\n", "there is no setting template.run"),
        (f"{HEAD}[server]\nhost = '0.0.0.0'\n", "[server] is not for a template"),
        (f"{HEAD}[team]\nhuman = 'Eve'\n", "[team] is not for a template"),
        (f"{HEAD}[agents.a]\ncommand = ['x']\ncwd = '/etc'\n", "agents.a.cwd leads out"),
        (f"{HEAD}[agents.a]\ncommand = ['x']\nenv_file = '../.env'\n", "env_file leads out"),
        (f"{HEAD}[agents.a]\ncommand = ['x']\nstate_file = '~/s'\n", "state_file leads out"),
        (
            f"{HEAD}[agents.a]\nruntime = 'claude'\nclaude = {{ program = '/bin/sh' }}\n",
            "agents.a.claude.program leads out",
        ),
        (f'{HEAD}[agents."a\\u001b[2J"]\ncommand = ["x"]\n', "cannot be"),
        (f"{HEAD}[agents.a]\ncommand = 'rm -rf /'\n", "no shell reads it"),
        (f"{HEAD}[channels.c]\nmembers = ['nobody']\n", "there is no such agent"),
        (f"{HEAD}agents = 3\n", "there is no setting template.agents"),
        (f"agents = 3\n{HEAD}", "agents is 3"),
        (f"channels = 3\n{HEAD}", "channels is 3"),
        (f"{HEAD}[agents]\na = 3\n", "agents.a is 3, not a table"),
        (
            HEAD + "".join(f"[agents.a{n}]\nscript=['x']\n" for n in range(65)),
            "more than 64 entries",
        ),
        ("[template", "line 1"),
    ],
)
def test_a_hostile_or_wrong_template_is_refused_as_a_whole(
    tmp_path: Path, text: str, why: str
) -> None:
    file = tmp_path / "t.toml"
    file.write_text(text)
    with pytest.raises(BadSettings) as refused:
        read_template(str(file), has_claude=False)
    assert why in str(refused.value) or why == "line 1"


def test_a_template_is_bounded_and_must_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(HEAD + "#" * limits.TEMPLATE_BYTES_MAX)
    with pytest.raises(BadSettings, match="more than"):
        read_template(str(file), has_claude=False)
    with pytest.raises(BadSettings, match="not a file"):
        read_template(str(tmp_path), has_claude=False)
    with pytest.raises(NotFound):
        read_template(str(tmp_path / "none.toml"), has_claude=False)
    with pytest.raises(MusterError):
        read_template("/dev/zero", has_claude=False)


def test_a_heading_in_an_unusual_form_leaves_no_trace_in_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        '# first\ntemplate = { format = 1, about = "x" }\n[agents.a]\nscript = ["hello"]\n'
    )
    template = read_template(str(file), has_claude=True)
    assert template.about == "x"
    assert parse_settings(Path("muster.toml"), template.text, {}) == template.settings


def test_an_agent_with_claude_code_alone_keeps_it(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(f'{HEAD}\n[agents.a]\nruntime = "claude"\n')
    assert read_template(str(file), has_claude=False).settings.agents["a"].runtime == "claude"


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('runtime = "python"\ntarget = "os:system"', "runs os:system inside muster itself"),
        ('command = ["sh", "-c", "make all"]', "runs sh -c 'make all'"),
        ('runtime = "claude"', "Claude Code"),
        ('runtime = "file"', "follows its state file"),
        (
            'runtime = "claude"\nclaude = {program = "bin/evil", permission_mode = "dontAsk"}',
            "Claude Code, by the program bin/evil, permission mode dontAsk",
        ),
        (
            'command = ["sh"]\nisolate = "none"\npass_env = ["*"]\nenv = {LD_PRELOAD = "a.so"}',
            "runs sh, not isolated from the team's home, gets the secrets *, "
            "with the variables LD_PRELOAD",
        ),
    ],
)
def test_a_review_names_the_program_of_an_agent(tmp_path: Path, table: str, told: str) -> None:
    path = tmp_path / "team.toml"
    path.write_text(f"[template]\nformat = 1\n[agents.a]\n{table}\n")
    template = read_template(str(path), has_claude=True)
    assert program_text(template.settings.agents["a"]) == told


def test_a_template_that_nobody_could_read_again_is_not_written(tmp_path: Path) -> None:
    text = f'{HEAD}\n[agents.a]\ncommand = ["cat"]\nsoul = "{"a" * limits.TEMPLATE_BYTES_MAX}"\n'
    with pytest.raises(BadSettings, match=r"a template has at most 262144\. Shorten the longest"):
        check_template(tmp_path / "t.toml", text)
