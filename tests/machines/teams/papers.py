"""Documents and messages for the tests of merging and importing."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from muster.machines.documents import AgentDocument, MessageCopy
from muster.machines.ids import SessionId
from muster.machines.state import Status
from muster.machines.teams.papers import LooseDocument, parse_document

NOON = datetime(2026, 2, 5, 12, tzinfo=UTC)
"""Half a day after a scene begins: an import takes acts of a clock that is so far ahead."""

LATER = 500
"""Minutes after noon: later than every act of a scene, and not so late that it is refused."""


def at(minutes: int) -> datetime:
    """The time that many minutes after noon."""
    return NOON + timedelta(minutes=minutes)


def paper(
    seat: int,
    name: str | None = "Lyra",
    soul: str = "I listen.",
    *,
    status: str = "sleeping",
    born: int | None = 0,
    alive: int | None = None,
    session: str | None = None,
    renamed: int | None = None,
    born_as: str | None = None,
    edited: int | None = None,
) -> AgentDocument:
    """The document of a seat."""
    return parse_document(
        LooseDocument(
            grid_position=seat,
            name=name,
            status=status,
            individuation_artifact=soul,
            color="#c9b1e8",
            gender="woman",
            created_at=None if born is None else at(born),
            last_alive_at=None if alive is None else at(alive),
            last_session_id=session,
            renamed_at=None if renamed is None else at(renamed),
            born_as=born_as,
            soul_edited_at=None if edited is None else at(edited),
        )
    )


def hatching(seat: int, prepared: int = 0, status: str = "hatching") -> AgentDocument:
    """The document of a prepared seat in which no agent registered."""
    return paper(seat, None, "", status=status, born=prepared)


def said(number: int, text: str = "hello", life: str = "elsewhere", seat: int = 0) -> MessageCopy:
    """A message from another machine."""
    document = paper(seat)
    return MessageCopy(
        id=f"{life}:{number}",
        type="message",
        speaker_name="Grace",
        speaker_type="human",
        target_agent="Lyra",
        text=text,
        server_session_id=SessionId(life),
        created_at=at(number),
        grid_position=document.grid_position,
    )


moments = st.one_of(st.none(), st.integers(0, 3))
born = st.builds(
    paper,
    st.integers(0, 3),
    st.sampled_from(["Lyra", "lyra", "Kael", "Lyra-1", "x" * 64]),
    st.sampled_from(["", "soul one", "soul two"]),
    status=st.sampled_from([Status.ALIVE, Status.SLEEPING]),
    born=moments,
    alive=moments,
    session=st.sampled_from([None, "s1", "s2"]),
    renamed=moments,
    born_as=st.sampled_from([None, "Lyra", "Kael"]),
    edited=moments,
)
unborn = st.builds(
    hatching,
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from([Status.HATCHING, Status.EXPIRED]),
)
teams = st.lists(st.one_of(born, unborn), max_size=5)
"""Documents of a team with few seats, names and times, so that they collide."""
