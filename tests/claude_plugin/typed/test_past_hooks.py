"""Texts of commands that may become shell commands, and those that cannot."""

import time

import pytest

from muster.claude_plugin.typed.past_hooks import inline_command

FENCE = "\ncmd\n```"


@pytest.mark.parametrize(
    "text",
    [
        "Look: !`cmd`",
        f"```!{FENCE}",
        "Say !$ARGUMENTS",
        f"```$ARGUMENTS!{FENCE}",
        f"``$q`!{FENCE}",
        f"`$ARGUMENTS`$ARGUMENTS`!{FENCE}",
        f"``$0!{FENCE}",
        f"$ARGUMENTS!{FENCE}",
        f"A ` and, in the same line, $ARGUMENTS!{FENCE}",
        f"$1$0$0!{FENCE}",
        f"```${{q}}!{FENCE}",
        f"```$ARGUMENTS{FENCE}",  # with `!` typed
        "Then $1`cmd`",  # likewise
    ],
)
def test_what_a_typed_argument_may_complete_is_a_shell_command(text: str) -> None:
    assert inline_command(text)


@pytest.mark.parametrize(
    "text",
    [
        "Fix it!",
        "Explain `!` and `$1` to me.",
        "Review `$ARGUMENTS`, then `$1`.",
        "```sh\necho $HOME\n```",
        "```\n$ARGUMENTS\n```",
        "It costs $5.",
    ],
)
def test_ordinary_texts_are_none(text: str) -> None:
    assert not inline_command(text)


@pytest.mark.parametrize("piece", ["`", "$", "`$", "$a`", "!", "! "])
def test_a_long_run_is_read_once(piece: str) -> None:
    begun = time.process_time()
    inline_command("x" + piece * (1_000_000 // len(piece)))
    assert time.process_time() - begun < 5  # again from each character: hours
