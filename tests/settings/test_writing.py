"""Edits of muster.toml: what they are not about stays, and the result says what was asked for."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.errors import AgentInSettings, CannotEditSettings, Invalid, NotFound
from muster.settings.writing import (
    HEADER,
    add_agent,
    agent_text,
    change_agent,
    difference,
    remove_agent,
    rename_agent,
)

FILE = """\
# our team
[team]
human = "Marcus"  # that is me

# the builder
[agents.builder]
command = ["./build.sh"]   # no shell
budget = { cost_usd = 5.0 } # a week

[turns]
max_turns = 3

[agents."Ada L"]
runtime = "claude"
[agents."Ada L".claude]
model = "sonnet"
"""


def agents(text: str) -> dict[str, Any]:  # any TOML
    return tomllib.loads(text).get("agents", {})


def kept(before: str, after: str) -> list[str]:
    """The lines of a file that an edit removed."""
    return [line for line in before.splitlines() if line not in after.splitlines()]


def test_a_file_that_is_not_there_begins_with_a_comment() -> None:
    text = add_agent("", "Ada", {"command": ["./a.sh"]})
    assert text.startswith(HEADER)
    assert text.endswith('[agents.Ada]\ncommand = ["./a.sh"]\n')


def test_a_new_agent_is_appended_and_nothing_else_changes() -> None:
    values = {"runtime": "claude", "claude.model": "opus", "budget.cost_usd": 2.5, "env.A": "b"}
    text = add_agent(FILE, "Eve", values)
    assert text.startswith(FILE.rstrip())
    assert agents(text)["Eve"] == {
        "runtime": "claude",
        "claude": {"model": "opus"},
        "budget": {"cost_usd": 2.5},
        "env": {"A": "b"},
    }


COMMENTED = """\
# our team

# first
[agents.a]
command = ["x"]

# second
# in two lines
[agents.b]
command = ["y"]
# inside b

# third
[agents.c]
command = [
  "z",
]
"""


@pytest.mark.parametrize(("name", "lost"), [("a", 4), ("b", 6), ("c", 6)])
def test_a_removed_table_takes_the_comment_above_it_and_no_other(name: str, lost: int) -> None:
    """Issue 15: the comment of the next table went, and that of the removed one stayed."""
    text = remove_agent(COMMENTED, name)
    comments = {"a": "# first", "b": "# second", "c": "# third"}
    for other, comment in comments.items():
        assert (comment in text) is (other != name)
        assert other == name or f"\n[agents.{other}]" in text
    assert len(COMMENTED.splitlines()) - len(text.splitlines()) == lost
    assert [line for line in text.splitlines() if line in COMMENTED.splitlines()] == (
        text.splitlines()
    )


def test_a_new_setting_stands_in_its_table_and_not_below_the_comment_of_the_next() -> None:
    text = change_agent(COMMENTED, "a", {"cwd": "/x"})
    assert '[agents.a]\ncommand = ["x"]\ncwd = "/x"\n\n# second\n# in two lines\n[agents.b]' in text
    assert kept(COMMENTED, text) == []
    assert agent_text(COMMENTED, "a") == '[agents.a]\ncommand = ["x"]\n'


def test_every_edit_keeps_the_line_ends_of_the_file() -> None:
    windows = COMMENTED.replace("\n", "\r\n")
    for text in (
        add_agent(windows, "d", {"command": ["q"]}),
        change_agent(windows, "a", {"cwd": "/x"}, unset=["command"]),
        remove_agent(windows, "b"),
        rename_agent(windows, "a", "e"),
    ):
        assert text.count("\n") == text.count("\r\n") > 0
    assert "\r" not in change_agent(COMMENTED, "a", {"cwd": "/x"})


@pytest.mark.parametrize("name", ["builder", "BUILDER", "ada l"])
def test_a_name_that_is_in_the_file_in_any_case_is_a_conflict(name: str) -> None:
    with pytest.raises(AgentInSettings, match=r"has an agent .* already"):
        add_agent(FILE, name, {"command": ["x"]})


def test_a_changed_setting_keeps_the_comments_around_it() -> None:
    text = change_agent(FILE, "builder", {"command": ["./make.sh", "-j"], "budget.tokens": 9})
    assert agents(text)["builder"] == {
        "command": ["./make.sh", "-j"],
        "budget": {"cost_usd": 5.0, "tokens": 9},
    }
    for comment in ("# our team", "# that is me", "# the builder", "# no shell", "# a week"):
        assert comment in text
    assert len(kept(FILE, text)) == 2


def test_a_setting_in_a_table_of_its_own_is_changed_there() -> None:
    text = change_agent(FILE, "ada l", {"claude.model": "opus"})
    assert agents(text)["Ada L"]["claude"] == {"model": "opus"}
    assert kept(FILE, text) == ['model = "sonnet"']


def test_a_removed_setting_is_gone_and_an_empty_table_with_it() -> None:
    text = change_agent(FILE, "builder", {}, ["budget.cost_usd"])
    assert agents(text)["builder"] == {"command": ["./build.sh"]}
    with pytest.raises(NotFound):
        change_agent(FILE, "builder", {}, ["cwd"])
    with pytest.raises(NotFound):
        change_agent(FILE, "builder", {}, ["budget.tokens"])


def test_a_removed_agent_takes_its_tables_along_and_nothing_else() -> None:
    text = remove_agent(FILE, "Ada L")
    assert list(agents(text)) == ["builder"]
    assert all(line in text.splitlines() for line in FILE.splitlines()[:12])
    alone = remove_agent('[agents.a]\ncommand = ["x"]\n', "A")
    assert not agents(alone)
    with pytest.raises(NotFound):
        remove_agent(FILE, "nobody")


def test_a_renamed_agent_keeps_its_place_and_notes_its_former_name() -> None:
    text = rename_agent(FILE, "ada l", "Ada Lovelace")
    assert agents(text)["Ada Lovelace"] == {
        "runtime": "claude",
        "claude": {"model": "sonnet"},
        "formerly": ["Ada L"],
    }
    again = rename_agent(text, "Ada Lovelace", "Countess")
    assert agents(again)["Countess"]["formerly"] == ["Ada Lovelace", "Ada L"]
    back = rename_agent(text, "Ada Lovelace", "Ada L")
    assert agents(back)["Ada L"]["formerly"] == ["Ada Lovelace"]
    assert "# our team" in again
    with pytest.raises(AgentInSettings):
        rename_agent(FILE, "ada l", "Builder")


def test_a_new_setting_of_the_last_table_stands_above_the_comments_that_end_the_file() -> None:
    text = '[agents.a]\ncommand = ["x"]\n\n# the end\n# of the file\n'
    renamed = '[agents.b]\ncommand = ["x"]\nformerly = ["a"]\n\n# the end\n# of the file\n'
    assert rename_agent(text, "a", "b") == renamed


def test_the_comments_that_end_the_file_stay_when_its_last_table_is_removed() -> None:
    first, end = '[agents.a]\ncommand = ["x"]\n', "\n# the end\n# of the file\n"
    text = f'{first}\n# the second\n[agents.b]\ncommand = ["y"]\n{end}'
    assert remove_agent(text, "b") == first + end


def test_agents_that_start_after_a_renamed_one_follow_its_name() -> None:
    text = change_agent(FILE, "builder", {"after": ["ada L", "other"]})
    renamed = rename_agent(text, "Ada L", "Eve")
    assert agents(renamed)["builder"]["after"] == ["Eve", "other"]


def test_the_case_of_a_name_may_change() -> None:
    assert list(agents(rename_agent(FILE, "builder", "Builder"))) == ["Builder", "Ada L"]


@pytest.mark.parametrize(
    "text",
    [
        'agents.a.command = ["x"]\n',
        '[agents]\na.command = ["x"]\n',
        '[agents]\na = { command = ["x"] }\n',
    ],
)
def test_every_way_to_write_an_agent_is_renamed(text: str) -> None:
    assert agents(rename_agent(text, "a", "b c"))["b c"]["command"] == ["x"]


def test_a_form_that_cannot_be_edited_is_refused_and_not_damaged() -> None:
    text = '[agents.a]\ncommand = ["""\n[agents.a]\n"""]\n'
    with pytest.raises(CannotEditSettings):
        rename_agent(text, "a", "b")
    with pytest.raises(CannotEditSettings):
        add_agent("agents = {}\n", "a", {"command": ["x"]})


def test_a_value_that_toml_does_not_know_is_refused() -> None:
    with pytest.raises(Invalid, match="cwd"):
        add_agent(FILE, "Eve", {"cwd": None})
    with pytest.raises(Invalid, match="cwd"):
        change_agent(FILE, "builder", {"cwd": None})


def test_an_edit_is_shown_as_a_difference() -> None:
    shown = difference("a = 1\n", "a = 2", "muster.toml")
    assert "-a = 1\n+a = 2\n" in shown


def test_the_table_of_an_agent_stands_alone_for_an_editor() -> None:
    shown = agent_text(FILE, "builder")
    assert shown.startswith("[agents.builder]\n")
    assert list(agents(shown)) == ["builder"]
    assert "# no shell" in shown


NAMES = st.text("abcXYZ 01-_.", min_size=1, max_size=8).filter(lambda name: name == name.strip())
TEXTS = st.text(max_size=12)
VALUES = st.fixed_dictionaries(
    {"command": st.lists(TEXTS, min_size=1, max_size=3)},
    optional={
        "cwd": TEXTS,
        "budget.tokens": st.integers(1, 10**6),
        "env.A": TEXTS,
        "description": TEXTS,
        "long_lived": st.booleans(),
    },
)


@given(name=NAMES, values=VALUES, more=VALUES)
def test_any_text_goes_into_the_file_and_comes_out_the_same(
    name: str, values: dict[str, object], more: dict[str, object]
) -> None:
    text = add_agent(FILE.replace("builder", "b-u-i-l-d"), name, values)
    text = change_agent(text, name, more)
    table = agents(text)[name]
    assert table["command"] == more["command"]
    assert len(agents(remove_agent(text, name))) == 2
