"""Which texts are slash commands of Claude Code."""

import pytest

from muster.runtimes.claude.commands import SlashCommand, slash_command

KNOWN = ("compact", "clear", "greet", "plugin:review")


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/compact", SlashCommand("compact")),
        (" /greet Bo and Cy\n", SlashCommand("greet", "Bo and Cy")),
        ("/plugin:review src", SlashCommand("plugin:review", "src")),
        ("/model opus", SlashCommand("model", "opus")),
        ("/tmp is full", None),
        ("/srv/ada/notes.txt", None),
        ("compact", None),
        ("/", None),
        ("", None),
    ],
)
def test_a_command_is_a_word_that_the_program_knows(
    text: str, command: SlashCommand | None
) -> None:
    assert slash_command(text, KNOWN) == command


def test_before_the_program_has_named_its_commands_any_word_is_one() -> None:
    assert slash_command("/greet Bo", ()) == SlashCommand("greet", "Bo")


def test_only_a_setting_with_a_value_is_set() -> None:
    assert SlashCommand("model", "opus").is_setting
    assert not SlashCommand("model").is_setting
    assert not SlashCommand("clear", "x").is_setting


@pytest.mark.parametrize(
    ("name", "value", "acceptable"),
    [
        ("mode", "acceptEdits", True),
        ("mode", "bypassPermissions", False),
        ("mode", "nonsense", False),
        ("model", "claude-opus-4-5[1m]", True),
        ("model", "two words", False),
        ("model", "a\nb", False),
        ("model", "\x1b[31m", False),
        ("model", "--dangerously", False),
        ("model", "x" * 201, False),
    ],
)
def test_only_a_mode_that_there_is_and_a_name_of_a_model_are_asked_for(
    name: str, value: str, acceptable: bool
) -> None:
    assert SlashCommand(name, value).is_acceptable == acceptable
