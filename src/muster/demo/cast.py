"""Who plays in the demo, and what they say: looks, souls and lines, as data.

Lines are said one in each turn, in this order, and explain what a person sees meanwhile. The first
of all says that no model is behind them.
"""

from typing import Final, NamedTuple

LEAD_SEAT: Final = 4

WORKSHOP: Final = "workshop"
"""Where they talk."""

APPROVALS: Final = "approvals"
"""Where somebody waits for a person. It has the turn while it waits, so others talk elsewhere."""

WELCOME_TASK: Final = "Write a short welcome note for people who see this demo for the first time."
"""What the demo asks for by itself, once, so that there is a conversation to look at."""

AWAKE: Final = (
    "We are awake again, with the same names and souls; and still no model is behind us. We have "
    f"said our lines already. Write something in the channel `{WORKSHOP}`, and one of us answers."
)
"""What the lead tells the person after a restart."""


class Character(NamedTuple):
    """One of the demo team."""

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
    """What it asks a person, one after another, and waits for the answers."""

    crashes: bool = False
    channel: str = WORKSHOP


LEAD: Final = Character(
    seat=LEAD_SEAT,
    name="Juno",
    does="lead the team",
    lines=(
        "Welcome. I am Juno, and I lead this demo team. No model is behind any of us: nine "
        "short scripts, no key, no network. What is real is muster: the processes, the turns, "
        "the log.",
        "We sit in a ring, and one of us has the turn. Nobody else can speak meanwhile, and who "
        "takes too long loses it. That is all that keeps nine of us from talking at once.",
        "That was our programme. After a whole round of silence this channel rests, and costs "
        "nothing. Write something here, and it wakes.",
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
            "about itself: its soul. My process may end; the next one in my seat is given them, "
            "and is me.",
            "I take tasks, too. Ask for something in writing, and it becomes a conversation: it "
            "is handed to me because of my description, and I write a file that you can open.",
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
            "Otto. I am a process with a number of its own, muster starts and stops me, and all "
            "that I print is kept: see my output, or `muster logs`.",
            "Stop me, and I finish first; stop me twice, and I am interrupted. What you want and "
            "what I do stand side by side until they agree.",
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
            "I am Sol, and I like reasons. Ask why about any of us, here or with `muster why`: "
            "you are told which events led to what you see.",
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
            "Ivy here. All that happens is an event in one log, in one order. What stands there "
            "happened; what does not, did not.",
            "The log also has the past: choose a moment, and you see the team as it was then.",
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
            "I am Rusty. I crash every few minutes, on purpose. muster sees it at once, rests a "
            "moment, and starts me again with my name and my soul.",
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
            "I am Hugo. Say one of our names in a message, and the one you mean answers. Who has "
            "the turn hears you at once, the others when theirs comes.",
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
    """Who plays in a seat."""
    return next(character for character in ALL if character.seat == seat)
