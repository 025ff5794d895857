"""The `[channels.NAME]` tables: read, refused with a line, and kept in step with agents' names."""

from pathlib import Path

import pytest

from muster.errors import BadSettings
from muster.machines.vocabulary import SpeakerOrder
from muster.settings.in_force import changes_between
from muster.settings.model import Settings, parse_settings
from muster.settings.writing import remove_agent, rename_agent

AGENTS = '[agents.Ada]\nscript = ["hello", ""]\n\n[agents.Bo]\ncommand = ["x"]\n\n'
DESK = """\
[channels.desk]
members = ["ada", "Bo"]  # both
speaker_order = "selector"
selector = "Bo"
"""


def parse(text: str) -> Settings:
    return parse_settings(Path("muster.toml"), text, {})


def test_a_channel_has_members_and_rules_beside_the_usual_ones() -> None:
    settings = parse("[turns]\nmax_turns = 7\n\n" + AGENTS + DESK)
    desk = settings.channels["desk"]
    assert desk.members == ("Ada", "Bo")
    assert (desk.config.max_turns, desk.config.speaker_order) == (7, SpeakerOrder.SELECTOR)
    assert settings.agents["Ada"].is_long_lived


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[channels.desk]\nmembers = ['Cleo']\n", "there is no such agent"),
        ("[channels.desk]\nselector = 'Cleo'\n", "there is no such agent"),
        ("[channels.desk]\nmembers = ['Ada', 'ada']\n", "names an agent twice"),
        (f"[channels.desk]\nmembers = {['Ada'] * 257}\n", "has 257 names"),
        ("[channels.desk]\nmembers = 'Ada'\n", "channels.desk.members is"),
        ("[channels.desk]\nmax_turn = 3\n", "Did you mean max_turns"),
        ("[channels.desk]\nmax_turns = -1\n", "channels.desk.max_turns is -1"),
        ("[channels.desk]\nspeaker_order = 'selector'\n", "must name the member"),
        ("[channels]\ndesk = 3\n", "not a table"),
        ('[channels."a\\nb"]\n', "cannot be"),
        ("[agents.Cy]\nscript = ['']\n", "has no words"),
        (f"[agents.Cy]\nscript = {['x'] * 65}\n", "has 65 lines"),
        (f"[agents.Cy]\nscript = ['{'x' * 1001}']\n", "has the line"),
        ("[agents.Cy]\nscript = ['x']\ncommand = ['y']\n", "means nothing beside script"),
        ("[agents.Cy]\nruntime = 'claude'\nscript = ['x']\n", "means nothing with"),
        (f"[agents.Cy]\nscript = ['x']\nsoul = '{'x' * 300_000}'\n", "is over"),
        ("[agents.'*']\nscript = ['x']\nsoul = 'one for all'\n", "is for one agent"),
    ],
)
def test_a_wrong_channel_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(BadSettings, match=r"muster.toml:\d+: ") as refused:
        parse(AGENTS + text)
    assert why in str(refused.value)


def test_a_rename_and_a_removal_change_the_members_of_channels() -> None:
    renamed = rename_agent(AGENTS + DESK, "Bo", "Cy")
    desk = parse(renamed).channels["desk"]
    assert (desk.members, desk.config.selector) == (("Ada", "Cy"), "Cy")
    assert "# both" in renamed
    removed = parse(remove_agent(AGENTS + DESK, "Ada"))
    assert removed.channels["desk"].members == ("Bo",)
    assert rename_agent(AGENTS, "Bo", "Cy")


def test_changes_of_channels_are_named() -> None:
    one, two = parse(AGENTS), parse(AGENTS + DESK)
    three = parse(AGENTS + DESK + "max_turns = 3\n")
    assert changes_between(one, two) == ("channels.desk added",)
    assert changes_between(two, three) == ("channels.desk",)
    assert changes_between(two, one) == ("channels.desk removed",)
