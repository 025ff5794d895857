"""Programs that `muster up` runs, with real processes: a person interrupts, a turn times out."""

import json
from collections.abc import Callable, Generator

import pytest

from tests.acceptance.test_supervised import Json, Place, prepared, python, table, up
from tests.waits import until

BEGIN = """
import json, os, sys, time

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)

def note(name, text=""):
    with open(os.path.join(folder, name), "a") as file:
        file.write(text + "\\n")

def wait_for(name):
    while not os.path.exists(os.path.join(folder, name)):
        time.sleep(0.01)

def say(**line):
    print(json.dumps(line), flush=True)

def prompts():
    for line in sys.stdin:
        text = json.loads(line)["text"]
        note("heard", json.dumps(text))
        if "It is your turn" in text:
            yield text
"""
"""A program that can note what it is told, wait until a test lets it go on, and read prompts."""

PRINTER = """
for _ in prompts():
    print("first words", flush=True)
    wait_for("go")
    print("second words")
    print("TURN_COMPLETE")
    print("(after)", flush=True)
"""

LINER = """
for _ in prompts():
    print("(begun)", flush=True)
    wait_for("go")
    say(type="say", text="first words")
    say(type="turn_complete", text="second words")
    print("(after)", flush=True)
"""

ONE_SHOT = """
note("heard", json.dumps(sys.stdin.read()))
print("first words", flush=True)
wait_for("go")
print("second words")
"""

MORTAL = """
for _ in prompts():
    print("last words", flush=True)
    wait_for("go")
    os.kill(os.getpid(), 9)
"""

HANGS_ONCE = """
for _ in prompts():
    if not os.path.exists(os.path.join(folder, "hung")):
        note("hung")
        time.sleep(600)
    print("an answer")
    print("TURN_COMPLETE", flush=True)
"""

WRITER = """
for _ in prompts():
    say(type="partial", text="I th")
    wait_for("more")
    say(type="partial", text="I think <b>")
    wait_for("go")
    say(type="turn_complete", text="I think so.")
"""

BUSY = """
import select

for number, prompt in enumerate(prompts()):
    if number == 0:
        print("(begun)", flush=True)
        select.select([0], [], [])
    say(type="turn_complete", text="to " + prompt.splitlines()[-1])
    print("(after)", flush=True)
"""
"""Ends its first turn when a message waits on its stdin, which it reads only then."""

PROGRAMS = {
    "printer": PRINTER,
    "liner": LINER,
    "one-shot": ONE_SHOT,
    "mortal": MORTAL,
    "hangs": HANGS_ONCE,
    "writer": WRITER,
    "busy-inject": BUSY,
    "busy-interrupt": BUSY,
    "busy-parallel": BUSY,
}
LINES = ("liner", "writer", "busy-inject", "busy-interrupt", "busy-parallel")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Generator[Place]:
    """One muster for all tests; each has an agent and a channel of its own."""
    folder = tmp_path_factory.mktemp("place")
    tables = [
        table(
            name,
            *python(BEGIN + program, folder / name),
            long_lived=name != "one-shot",
            speaks="lines" if name in LINES else "output",
        )
        for name, program in PROGRAMS.items()
    ]
    prepared(folder, *tables)
    with up(folder) as running:
        yield running


class Spoken:
    """An agent in a channel of its own that works on a person's message."""

    def __init__(self, place: Place, agent: str, **rules: object) -> None:
        self.place = place
        self.agent = agent
        self.folder = place.folder / agent
        self.path = f"/api/channels/{agent}"
        config = {"humanInterruptMode": "interrupt", "announceTimeouts": False, **rules}
        if agent != "one-shot":  # which learns of a turn only at its start
            place.want(agent, "continuous")
        place.operator.post("/api/channels", {"channel": agent, "config": config}, 201)
        place.operator.post(f"{self.path}/members", {"agent": agent}, 201)

    def post(self, message: str) -> None:
        self.place.operator.post(f"{self.path}/messages", {"message": message}, 201)

    def lets(self, file: str) -> None:
        (self.folder / file).touch()

    def until_printed(self, text: str) -> None:
        """Wait until muster has taken in a printed line, and all that was printed before it."""
        for event in self.place.events(self.agent, "agent_output"):
            if text in event["text"]:
                return

    def until_said(self, *texts: str) -> None:
        place, agent = self.place, self.agent
        until(lambda: place.said(agent) == list(texts), lambda: place.said(agent))

    @property
    def heard(self) -> list[str]:
        return [json.loads(line) for line in self.place.lines(f"{self.agent}/heard")]

    def state(self) -> str:
        [member] = self.place.operator.get(self.path)["members"]
        return member["state"]

    def log(self, kind: str) -> list[Json]:
        path = f"/api/log?types={kind}&agent={self.agent}&limit=1000&after=-1"
        return self.place.operator.get(path)["events"]

    def interrupted(self, *, after: str) -> None:
        """A person interrupts the agent when it has printed this."""
        self.post("the plan?")
        self.place.want(self.agent, "continuous")
        self.until_printed(after)
        self.post("one moment")
        assert self.state() == "WAITING"
        self.lets("go")

    def released(self) -> None:
        self.place.operator.post(f"{self.path}/turn/resume", {})


@pytest.mark.parametrize(
    ("agent", "begun", "said"),
    [
        ("printer", "first words", ["first words\nsecond words"]),
        ("liner", "(begun)", ["first words", "second words"]),
    ],
)
def test_an_interruption_loses_no_word_and_no_end_of_turn(
    place: Place, agent: str, begun: str, said: list[str]
) -> None:
    """B2: words before and during the hold, and a TURN_COMPLETE in it, count at the release."""
    spoken = Spoken(place, agent)
    spoken.interrupted(after=begun)
    spoken.until_printed("(after)")
    assert place.said(agent) == ["the plan?", "one moment"]
    assert spoken.state() == "WAITING"
    spoken.released()
    # The program has not read the interruption before it ended the turn, and gets another turn.
    spoken.until_said("the plan?", "one moment", *said, *said)
    until(lambda: spoken.state() == "IDLE", spoken.state)
    assert spoken.log("command_refused") == []
    assert spoken.heard[-2] == f"New in the channel {agent}:\n[human]: one moment"
    assert spoken.heard[-1].endswith("\n[human] (told before): one moment")


@pytest.mark.parametrize("mode", ["inject", "interrupt", "parallel"])
def test_a_message_that_a_program_reads_after_its_turn_is_answered_in_another(
    place: Place, mode: str
) -> None:
    agent = f"busy-{mode}"
    spoken = Spoken(place, agent, humanInterruptMode=mode)
    spoken.post("first")
    spoken.until_printed("(begun)")
    spoken.post("second")
    if mode == "interrupt":
        spoken.until_printed("(after)")
        spoken.released()
    said = ["first", "second", "to [human]: first", "to [human] (told before): second"]
    spoken.until_said(*said)
    until(lambda: spoken.state() == "IDLE", spoken.state)
    # A message that is answered at once is not told again.
    for text in ("third", "fourth", "fifth"):
        spoken.post(text)
        said += [text, f"to [human]: {text}"]
        spoken.until_said(*said)
        until(lambda: spoken.state() == "IDLE", spoken.state)
    assert "\n".join(spoken.heard).count("(told before)") == 1


def test_a_program_that_exits_while_a_person_holds_its_turn_is_heard_at_the_release(
    place: Place,
) -> None:
    spoken = Spoken(place, "one-shot")
    spoken.interrupted(after="first words")
    spoken.until_printed("second words")
    assert spoken.state() == "WAITING"
    spoken.released()
    until(lambda: len(place.said("one-shot")) > 2, lambda: place.said("one-shot"))
    assert place.said("one-shot")[:3] == ["the plan?", "one moment", "first words\nsecond words"]
    prompt = spoken.heard[0]
    assert prompt.count("the plan?") == 1  # with the turn, and not again as new


def test_the_words_of_a_program_that_dies_while_its_turn_is_held_are_on_record(
    place: Place,
) -> None:
    spoken = Spoken(place, "mortal")
    spoken.interrupted(after="last words")
    place.first("mortal", "session_end")
    warned = [event["text"] for event in spoken.log("warning_logged")]
    assert "because its session ended: last words" in "\n".join(warned)
    assert "last words" not in place.said("mortal")


def test_a_dying_session_completes_no_turn_that_it_was_not_told_of(place: Place) -> None:
    """B9: the turn that comes again before its stopped program has ended is offered again."""
    spoken = Spoken(place, "hangs", defaultTimeoutSeconds=1, humanInterruptMode="inject")
    spoken.post("the plan?")
    spoken.until_said("the plan?", "an answer")
    moves = [event for event in spoken.log("state_transition") if event["machine"] == "turns"]
    triggers = [event["trigger"] for event in moves if event.get("channel")]
    assert "timeout" in triggers
    assert triggers.count("TURN_COMPLETE") == 1


def test_what_a_program_writes_is_streamed_while_it_writes_and_not_recorded(place: Place) -> None:
    spoken = Spoken(place, "writer")
    before: list[str] = []
    for event in partial_and_messages(place, lambda: spoken.post("the plan?")):
        if "content" in event:
            assert event["content"][0]["text"] == "I think so."
            break
        assert (event["channel"], event["agent"], event["epoch"]) == ("writer", "writer", 1)
        before.append(event["text"])
        spoken.lets("more" if event["text"] == "I th" else "go")
    assert before[:2] == ["I th", "I think <b>"]
    assert before[2:] in ([], [""])  # it is taken back when the message comes
    logged = place.operator.get("/api/log?limit=1000&after=-1")["events"]
    assert "I think <b>" not in json.dumps(logged)


def partial_and_messages(place: Place, begin: Callable[[], None]) -> Generator[Json]:
    """Partial texts and agents' messages, from before `begin` on."""
    path = "/api/events?types=partial,agent_message"
    with place.operator.http.stream("GET", path) as stream:
        begin()
        for line in stream.iter_lines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))
