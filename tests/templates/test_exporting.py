"""A team as a template: what is in it, and what must never be."""

import time
import tomllib
from pathlib import Path

import pytest
from msgspec.structs import replace

from muster.machines.ids import ChannelId, SeatId
from muster.machines.state import Agent, Channel, MemoryNote, Status, Team
from muster.machines.vocabulary import Authority, SpeakerOrder, TurnConfig
from muster.settings.model import read_settings
from muster.templates.exporting import write_template
from muster.templates.reading import check_template
from muster.testing.clock import ManualClock

PROJECT = Path("/srv/site")
SETTINGS = """
[team]
human = "Grace Hopper"

[turns]
rest_after_idle_rounds = 2

[delegation]
command = ["/srv/site/bin/task", "--password", "hunter2"]

[agents.builder]
command = ["/usr/bin/python3", "/srv/site/build.py", "--token", "abc123",
  "--api-key=k9", "-o=/var/x/y"]
cwd = "/srv/site/work"
env = { SECRET = "hush" }
env_file = "secrets.env"
state_file = "/srv/site/s.json"
formerly = ["bob"]

[agents.outside]
command = ["sh", "-c", "cd /data/somebody/private && ./run"]
cwd = "/opt/elsewhere"

[agents."*"]
command = ["./somebody.sh"]
"""
SOUL = 'I work in /srv/site/work.\nI like """quotes""" and sk-abcdefghijklmnop.\n'
NOTE = MemoryNote(id=1, text="a private note", at=ManualClock().now(), by="agent:builder")


def agent(seat: int, name: str, **more: object) -> Agent:
    return replace(Agent(seat=SeatId(seat), name=name, status=Status.SLEEPING), **more)


def team() -> Team:
    agents = (
        agent(9, "builder", authority=Authority.MUSTER, soul=SOUL, notes=(NOTE,)),
        agent(10, "outside", authority=Authority.MUSTER),
        agent(3, "Lyra", authority=Authority.MUSTER, soul="I am Lyra.\nStill.", role="writes"),
        agent(11, "guest", authority=Authority.SELF),
        agent(5, "led", authority=Authority.LEAD),
        agent(12, "gone", authority=Authority.SELF, retired=True),
    )
    seats = tuple(SeatId(each) for each in (9, 3, 11))
    chosen = TurnConfig(
        rest_after_idle_rounds=2, speaker_order=SpeakerOrder.SELECTOR, selector="guest"
    )
    other = TurnConfig(rest_after_idle_rounds=2, stop_phrase="that is all")
    return Team(
        agents={each.seat: each for each in agents},
        names={each.id.lower(): each.seat for each in agents if not each.retired},
        channels={
            ChannelId("design"): Channel(id=ChannelId("design"), config=other, ring=seats),
            ChannelId("board"): Channel(id=ChannelId("board"), config=chosen, ring=seats[:2]),
            ChannelId("old"): Channel(id=ChannelId("old"), config=other, archived=True),
        },
    )


def exported(of: Team | None = None) -> tuple[str, tuple[str, ...]]:
    document = tomllib.loads(SETTINGS)
    settings = read_settings(Path("muster.toml"), SETTINGS, document, {})
    return write_template(document, settings, of or team(), PROJECT, "builds a site")


def test_nothing_private_and_no_path_of_this_machine_is_in_a_template() -> None:
    text, _ = exported()
    for private in (
        *("hush", "abc123", "k9", "hunter2", "Grace", "a private note", "sk-abcdef"),
        *("/srv", "/usr", "/var", "/data", "somebody/private", "/opt"),
    ):
        assert private not in text


def test_a_template_has_roles_souls_settings_and_channels() -> None:
    text, left_out = exported()
    template = check_template(Path("t.toml"), text)
    agents, channels = template.settings.agents, template.settings.channels
    assert template.about == "builds a site"
    assert set(agents) == {"builder", "outside", "Lyra", "*"}
    assert agents["builder"].command[:2] == ("python3", "build.py")
    assert agents["builder"].cwd == "work"
    assert agents["builder"].soul == 'I work in work.\nI like """quotes""" and REMOVED.\n'
    assert (agents["Lyra"].seat, agents["Lyra"].description) == (3, "writes")
    assert agents["Lyra"].command == ("./somebody.sh",)
    assert agents["Lyra"].soul == "I am Lyra.\nStill."
    assert set(channels) == {"design", "board"}
    assert channels["design"].members == ("builder", "Lyra")
    assert channels["design"].config.stop_phrase == "that is all"
    assert channels["design"].config.rest_after_idle_rounds == 2
    assert channels["board"].config.speaker_order is SpeakerOrder.RING
    assert {"agents.builder.env (SECRET)", "agents.outside.cwd"} <= set(left_out)
    assert "agent guest: it connects by itself" in left_out
    assert "agent led: its lead runs it" in left_out
    assert "channels.board.selector" in left_out


def test_a_name_that_summon_asked_for_is_asked_for_once_where_an_agent_has_taken_it() -> None:
    """The export of every team with names for its seats was refused after its first SUMMON."""
    written = f'{SETTINGS}\n[summon]\nseats = 3\nnames = ["Lyra", "", "Ada"]\n'
    document = tomllib.loads(written)
    settings = read_settings(Path("muster.toml"), written, document, {})
    text, _ = write_template(document, settings, team(), PROJECT, "")
    template = check_template(Path("t.toml"), text)
    assert template.settings.summon.names == ("", "", "Ada")
    assert template.settings.agents["Lyra"].soul == "I am Lyra.\nStill."


def test_what_was_left_out_is_a_comment_of_the_template() -> None:
    text, left_out = exported()
    assert all(f"# Left out: {each}\n" in text for each in left_out)


def test_agents_of_a_claude_code_lead_are_run_as_it_is() -> None:
    written = '[agents.Boss]\nruntime = "claude"\nseat = 4\n'
    document = tomllib.loads(written)
    settings = read_settings(Path("muster.toml"), written, document, {})
    born = agent(2, "Nova", authority=Authority.LEAD, hosted=True, soul="I am Nova.")
    found = Team(agents={born.seat: born}, names={"nova": born.seat})
    template = check_template(
        Path("t.toml"), write_template(document, settings, found, PROJECT, "").text
    )
    nova = template.settings.agents["Nova"]
    assert (nova.runtime, nova.seat, nova.soul) == ("claude", 2, "I am Nova.")


@pytest.mark.parametrize("word", ["s", "token", "sk-", "/", "a="])
def test_one_long_word_in_a_soul_costs_no_more_than_many(word: str) -> None:
    whole = team()
    builder = replace(whole.agents[SeatId(9)], soul=word * (60_000 // len(word)))
    begun = time.process_time()
    exported(replace(whole, agents={**whole.agents, builder.seat: builder}))
    assert time.process_time() - begun < 10  # from each of its letters on: minutes
