"""A team can always be imported where it was exported, whatever happened there."""

from collections.abc import Callable
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muster.errors import Refused
from muster.machines import commands as c
from muster.machines.commands import Command
from muster.machines.documents import AgentDocument, MessageCopy
from muster.machines.ids import SeatId
from muster.machines.teams.importing import message_copy
from muster.machines.teams.papers import documents_of
from muster.machines.vocabulary import Authority, Profile
from muster.views.paper import documents_in, messages_in, read_paper, write_paper
from tests.machines.identity import test_identity
from tests.machines.scene import Scene
from tests.machines.teams.papers import at, said, teams

NAMES = ("Lyra", "Kael", "lyra", "Lyra-1", "Mira Nova", "x" * 64)
MINUTES = st.sampled_from([-(10**6), -1, 0, 1, 600, 10**6, 2 * 10**9])
"""From 1970 to the year 5800, with both ends of a day."""

Step = Callable[[Scene], None]


def sent(command: Command, actor: str = "person:Marcus") -> Step:
    def step(scene: Scene) -> None:
        with suppress(Refused):
            scene.do(command, actor)

    return step


def by_muster(command: Command) -> Step:
    return sent(command, "muster")


def dated(documents: list[AgentDocument], minutes: int) -> Command:
    moment = at(minutes)
    late = [
        replace(each, renamed_at=moment, soul_edited_at=moment, last_alive_at=moment)
        for each in documents
        if each.name is not None
    ]
    return c.ImportTeam(documents=tuple(late), messages=(replace(said(7), created_at=moment),))


def arrived(documents: list[AgentDocument]) -> Command:
    return c.ImportTeam(documents=tuple(documents))


def born(seat: SeatId, name: str) -> Command:
    return c.RegisterAgent(profile=Profile(name=name, grid_position=seat))


def moved(minutes: int) -> Step:
    """The clock was wrong, and muster starts again."""

    def step(scene: Scene) -> None:
        scene.now = at(minutes)
        scene.boot()

    return step


def led_by(human: str) -> Step:
    """A person with another name sits there from now on."""

    def step(scene: Scene) -> None:
        scene.human = human
        scene.boot()

    return step


seats = st.integers(0, 3).map(SeatId)
names = st.sampled_from(NAMES)
souls = st.sampled_from(["one", "two"])
steps = st.one_of(
    st.builds(dated, teams, MINUTES).map(sent),
    st.builds(arrived, teams).map(sent),
    st.builds(c.RenameAgent, seat=seats, name=names).map(sent),
    st.builds(c.EditSoul, seat=seats, soul=souls).map(sent),
    st.builds(born, seats, names).map(sent),
    st.builds(c.EnrollAgent, name=names, authority=st.just(Authority.MUSTER), seat=seats).map(sent),
    st.builds(c.DismissAgent, seat=seats).map(by_muster),
    st.builds(c.SendMessage, text=souls, speaker_name=st.just("Marcus"), seat=seats).map(sent),
    st.builds(c.ReportStatus, agents=st.just(())).map(sent),
    MINUTES.map(moved),
    st.sampled_from(["Marcus", "Lyra", "Mira"]).map(led_by),
)


def exported(scene: Scene) -> c.ImportTeam:
    """The team as its file has it, read again. The words of this log are known by their ids."""
    copies = [copy for event in scene.log if (copy := message_copy(event, scene.team)) is not None]
    content = write_paper(scene.team.human, documents_of(scene.team), copies)
    paper = read_paper(content, "the file")
    messages = tuple(each for each in messages_in(paper) if not is_own(scene, each))
    return c.ImportTeam(documents=documents_in(paper), messages=messages)


def is_own(scene: Scene, message: MessageCopy) -> bool:
    return message.server_session_id in {event.session_id for event in scene.log}


@given(st.lists(steps, max_size=12))
def test_the_export_of_every_reachable_team_imports_there_and_the_second_time_changes_nothing(
    steps: list[Step],
) -> None:
    """A rename after one of the year 8999 was dated 9000, which no import took.

    The first import may give a name back that a live agent had.
    """
    scene = test_identity.led()
    for step in steps:
        step(scene)
    scene.do(exported(scene))
    assert scene.do(exported(scene)) == []
