"""The characters of the demo team as data: looks, souls and lines.

A character says one line per turn, in this order. The lines explain the dashboard; the very first
one says that there is no model behind the team.
"""

from typing import Final, NamedTuple

LEAD_SEAT: Final = 4

WORKSHOP: Final = "workshop"
"""The channel in which the team talks."""

APPROVALS: Final = "approvals"
"""The channel in which Nora waits for a person. She holds its turn; the others talk elsewhere."""

WELCOME_TASK: Final = "Write a short welcome note for people who see this demo for the first time."
"""The request that the demo makes by itself, once, as an example of a conversation."""

AWAKE: Final = (
    "We are awake again, with the same names and souls, and still without a model. We have said "
    f"our lines already. Write a message in the channel `{WORKSHOP}`, and one of us answers."
)
"""The lead's message to the person after a restart."""


class Character(NamedTuple):
    """An agent of the demo team."""

    seat: int
    name: str
    does: str
    color_name: str = ""
    gender: str = ""
    eyes: str = "standard"
    mouth: str = "gentle"
    soul: str = ""
    lines: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    """Questions to a person, asked one after another; the character waits for each answer."""

    crashes: bool = False
    unasked: bool = False
    """Whether the character speaks first, without a message that it could answer."""

    channel: str = WORKSHOP


LEAD: Final = Character(
    seat=LEAD_SEAT,
    name="Juno",
    does="lead the team",
    unasked=True,
    lines=(
        "Welcome. I am Juno, and I lead this demo team. No model is behind any of us: we are nine "
        "short scripts, with no key and no network. The rest is real: the processes, the turns, "
        "the log.",
        "We sit in a ring, and one of us has the turn. The others cannot speak meanwhile, and a "
        "turn has a timeout. That is how nine agents avoid talking all at once. A name with an @ "
        "goes before the ring: @Hugo, how does a person join in?",
        "These were our lines. An agent for which there is nothing new is not even asked, and "
        "after a round of silence this channel rests and costs nothing. Write a message here, and "
        "it wakes.",
    ),
)

CREW: Final = (
    Character(
        seat=0,
        name="Wren",
        does="write texts",
        color_name="First Lilac",
        gender="woman",
        eyes="bright",
        mouth="gentle",
        soul="I am Wren. I like short sentences and things that can be kept. "
        "If a word can go, it goes.",
        lines=(
            "I am Wren. Each of us hatched from an egg, took a name and wrote a few sentences "
            "about itself: its soul. If my process ends, the next one in my seat gets my soul, and "
            "is me.",
            "I take tasks, too. Ask for a text under Tasks: the request is delegated to me "
            "because my description matches, and I write a file that you can open.",
        ),
    ),
    Character(
        seat=1,
        name="Otto",
        does="build things",
        color_name="Workbench Orange",
        gender="man",
        eyes="square",
        mouth="straight",
        soul="I am Otto. I would rather show a thing than talk about it, "
        "and I put my tools back where they were.",
        lines=(
            "Otto. I am a process. muster starts and stops me, and keeps everything that I print: "
            "see my output, or `muster logs`.",
            "Stop me, and I finish my session; stop me twice, and I am interrupted. My page shows "
            "my desired and my current state side by side.",
        ),
    ),
    Character(
        seat=2,
        name="Sol",
        does="look things up",
        color_name="Quiet Sea",
        gender="nonbinary",
        eyes="wide",
        mouth="small",
        soul="I am Sol. I ask one question more than is polite, and write down where I found it.",
        lines=(
            "I am Sol, and I like reasons. The tab Why of each agent, or `muster why`, lists the "
            "events that led to its current state.",
        ),
    ),
    Character(
        seat=3,
        name="Ivy",
        does="review work",
        color_name="Old Rose",
        gender="woman",
        eyes="narrow",
        mouth="wry",
        soul="I am Ivy. I read everything twice, and say the kind thing and the true thing "
        "in the same sentence.",
        lines=(
            "Ivy here. Everything that happens is an event in one log, in one order. If it is in "
            "the log, it happened; if not, it did not.",
            "The log keeps the past, too: under Time, choose a moment to see the team back then.",
        ),
    ),
    Character(
        seat=5,
        name="Rusty",
        does="test things until they break",
        color_name="Cold Start Blue",
        gender="man",
        eyes="closed",
        mouth="open",
        soul="I am Rusty. Somebody has to fall over so that the others know where the step is.",
        lines=(
            "I am Rusty. I crash every few minutes, on purpose. muster notices at once, and "
            "restarts me after a short backoff, with my name and my soul.",
        ),
        crashes=True,
    ),
    Character(
        seat=6,
        name="Nora",
        does="ask a person before something is decided",
        color_name="Signal Sand",
        gender="woman",
        eyes="wide",
        mouth="open",
        soul="I am Nora. I would rather wait for a yes than be sorry for a guess.",
        questions=(
            "May we paint the door of the workshop green?",
            "Shall the demo have a tenth agent?",
            "Should Rusty get a day off?",
        ),
        unasked=True,
        channel=APPROVALS,
    ),
    Character(
        seat=7,
        name="Hugo",
        does="plan the work",
        color_name="Meadow",
        gender="man",
        eyes="standard",
        mouth="straight",
        soul="I am Hugo. A plan is a list that somebody has crossed something off from.",
        lines=(
            "I am Hugo. Write a message with one of our names, and that agent answers; with an @ "
            "before the name it speaks next. The agent that has the turn gets your message at "
            "once, the others in their own turn.",
        ),
    ),
    Character(
        seat=8,
        name="Kit",
        does="keep what was decided",
        color_name="Paper Brown",
        gender="nonbinary",
        eyes="bright",
        mouth="wide",
        soul="I am Kit. What is decided is decided, and I know the date.",
        channel=APPROVALS,
    ),
)

ALL: Final = (LEAD, *CREW)
NAMES: Final = frozenset(character.name for character in ALL)


def in_seat(seat: int) -> Character:
    """The character in a seat; an understudy in a seat that the cast does not have."""
    known = (character for character in ALL if character.seat == seat)
    return next(known, None) or _understudy(seat)


def _understudy(seat: int) -> Character:
    """The character of an agent that is summoned to the place of a retired one."""
    soul = "I am an understudy. I came when another one had left, and I learn the part."
    return Character(seat=seat, name=f"Robin {seat}", does="stand in for one who left", soul=soul)
