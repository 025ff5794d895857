"""The policy file: it can be written out, edited and read, and mistakes in it are named."""

import json
from pathlib import Path

import pytest

from muster.delegation.policy import policy_of as session_policy
from muster.errors import BadSource
from muster.permissions.patterns import PatternIndex, matches
from muster.permissions.policy import (
    DEFAULT,
    EXECUTABLE_FILES,
    MAIN_PERMISSIONS,
    PolicyError,
    dump,
    load,
    parse,
    policy_of,
)


def test_the_default_permissions_of_main_are_the_documented_lists() -> None:
    main = MAIN_PERMISSIONS.as_dict()
    assert main["can_write"] == [
        *("*.md", "*.txt", "*.log", "*.json", "*.csv", "non-executable files")
    ]
    assert main["cannot_write"] == [
        *("*.py", "*.js", "*.ts", "*.sh", "*.go", "*.rs", "*.c", "*.cpp", "*.java"),
        *("package.json", "requirements.txt", "Dockerfile", "Makefile", "any executable file"),
    ]
    assert main["can_execute"] == [
        *("read", "list", "search", "analyze", "information-gathering functions only")
    ]
    assert main["cannot_execute"] == ["run", "exec", "eval", "compile", "build"]


def test_a_policy_that_is_written_reads_back_the_same(tmp_path: Path) -> None:
    path = tmp_path / "permissions.json"
    path.write_text(dump(), encoding="utf-8")
    assert load(path).as_dict() == DEFAULT.as_dict()


def test_a_field_that_a_policy_leaves_out_has_its_default() -> None:
    assert parse("{}").as_dict() == DEFAULT.as_dict()
    policy = parse('{"MAIN_PERMISSIONS": {"can_write": ["*.md"]}, "AGENTS": {"reviewer": {}}}')
    assert policy.main.can_write == ("*.md",)
    assert policy.main.cannot_write == MAIN_PERMISSIONS.cannot_write
    assert policy.of("reviewer").as_dict() == policy.agent.as_dict()
    assert policy.executable == EXECUTABLE_FILES


def test_a_named_agent_takes_over_what_agents_may_do_and_changes_it() -> None:
    text = json.dumps(
        {
            "AGENT_PERMISSIONS": {"cannot_execute": ["git push"]},
            "AGENTS": {"reviewer": {"can_write": ["*.md"]}},
        }
    )
    policy = parse(text)
    assert policy.of("reviewer").can_write == ("*.md",)
    assert policy.of("reviewer").cannot_execute == ("git push",)
    assert policy.of("anybody").can_write == ("*",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1"),
        ("{\n  'a': 1}", "line 2"),
        (
            '{\n "AGENTS": {\n  "x": {\n   "can_use": 5}}}',
            "line 4: AGENTS.x.can_use must be a list",
        ),
        ('{\n "AGENTS": {},\n "AGENTS": {}}', "line 3: AGENTS is given twice"),
        ('{"AGENTS": {"\\u00e9": {"can_use": 5}}}', "AGENTS.\u00e9.can_use must be a list"),
        ("[]", "the policy must be an object"),
        ('{"MAIN": {}}', "the policy has no field 'MAIN'; it has MAIN_PERMISSIONS"),
        ('{"MAIN_PERMISSIONS": []}', "MAIN_PERMISSIONS must be an object"),
        ('{"MAIN_PERMISSIONS": {"can_wirte": []}}', "MAIN_PERMISSIONS has no field 'can_wirte'"),
        ('{"MAIN_PERMISSIONS": {"can_write": "*"}}', "MAIN_PERMISSIONS.can_write must be a list"),
        ('{"AGENT_PERMISSIONS": {"can_use": ["a", 5]}}', "AGENT_PERMISSIONS.can_use[1] must be"),
        ('{"AGENTS": {"x": {"can_use": [" "]}}}', "AGENTS.x.can_use[0] must be a string"),
        ('{"AGENTS": []}', "AGENTS must be an object"),
        ('{"EXECUTABLE_FILES": {}}', "EXECUTABLE_FILES must be a list"),
        ('{"AGENTS": {}, "AGENTS": {}}', "AGENTS is given twice"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_mistake_is_named_with_its_field(text: str, said: str) -> None:
    with pytest.raises(PolicyError) as wrong:
        parse(text)
    assert said in str(wrong.value)


def test_a_folder_without_a_policy_has_the_default(tmp_path: Path) -> None:
    assert policy_of(tmp_path) is DEFAULT


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"AGENTS": []}', "line 1: AGENTS must be an object"),
        (b"{", "line 1"),
        (b"\xff", "is not UTF-8"),
        (None, "cannot be read: Is a directory"),
    ],
)
def test_a_broken_policy_is_named_with_its_file_and_never_replaced_by_the_default(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    path = tmp_path / "permissions.json"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(PolicyError) as wrong:
        policy_of(tmp_path)
    assert str(wrong.value).startswith(f"{path}: ")
    assert said in str(wrong.value)
    with pytest.raises(BadSource, match="muster permit --init"):
        session_policy(tmp_path)


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "/a/b.py", True),
        ("*.py", "/a/B.PY", True),
        ("*.py", "/a/b.pyc", False),
        ("*.py", "/a.py/b", False),
        ("Makefile", "/a/Makefile", True),
        ("Makefile", "/a/Makefile.md", False),
        ("Makefile*", "/a/Makefile.md", True),
        ("*/.git/*", "/a/.git/hooks/x", True),
        ("*/.git/*", "/a/.gitignore", False),
        ("/etc/*", "/etc/passwd", True),
        ("/etc/*", "/a/etc/passwd", False),
        ("a*b*c", "aXbYc", True),
        ("a*bc*bc", "abc", False),
        ("*", "/anything", True),
    ],
)
def test_a_pattern_fits_a_name_or_with_a_slash_a_path(pattern: str, path: str, fits: bool) -> None:
    assert matches(pattern, path) is fits
    assert (PatternIndex((pattern, "*.never")).find(path) == pattern) is fits
