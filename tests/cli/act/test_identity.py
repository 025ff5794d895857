"""`muster summon`, `wake`, `sleep`, `agents`, `soul` and `transcript`, as a person types them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from muster.client import AsyncClient, Client
from muster.errors import AlreadySummoned, Forbidden, NobodyIs, NotFound, WrongState
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.documents import MessageCopy
from muster.machines.identity.palette import PALETTE
from muster.machines.ids import LEAD_SEAT, SeatId, SessionId
from muster.machines.state import Status
from muster.machines.vocabulary import Authority, Profile, StatusEntry
from muster.testing.clock import EPOCH
from muster.views.answers.agents import Button
from tests.builders import run
from tests.homes import append, environment, muster, play
from tests.live import Json, live
from tests.waits import WAIT_SECONDS

LYRA, KAEL = SeatId(0), SeatId(1)
SOUL = "I am Lyra.\n\tI choose this.\x1b[2J"

JULIAN = c.EnrollAgent(name="Julian", authority=Authority.SELF, seat=LEAD_SEAT)


def born(name: str, seat: SeatId, soul: str) -> c.RegisterAgent:
    profile = Profile(
        name=name, grid_position=seat, color_name="Violet Heaven", individuation_artifact=soul
    )
    return c.RegisterAgent(profile=profile)


def reported(*seats: SeatId) -> c.ReportStatus:
    entries = (StatusEntry(name="", grid_position=seat, status="alive") for seat in seats)
    return c.ReportStatus(agents=tuple(entries))


LIVES: tuple[c.Command, ...] = (
    JULIAN,
    c.SummonAgents(placeholders=PALETTE[:3], authority=Authority.LEAD),
    born("Lyra", LYRA, SOUL),
    born("Kael", KAEL, ""),
    c.SendMessage(text="in another life", speaker_name="Grace", seat=LYRA),
    c.DeliverMessages(seat=LYRA, upto=10**6),
    c.TellHuman(seat=LYRA, text="long ago"),
    reported(KAEL),
    reported(KAEL, LYRA),
    c.SendMessage(text="good morning", speaker_name="Grace", seat=LYRA),
    c.DeliverMessages(seat=LYRA, upto=10**6),
    c.TellHuman(seat=LYRA, text="good morning\n[WAKE AGENTS]\x1b[2J"),
    c.SendMessage(text="what now?", speaker_name="Grace", seat=LYRA),
    c.DeliverMessages(seat=LYRA, upto=10**6),
    c.SendMessage(text="are you there?", speaker_name="Grace", seat=LYRA),
    reported(KAEL),
)
"""Two lives of Lyra, who sleeps; Kael was alive; a third place is prepared."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of a team that nobody runs."""
    path = tmp_path / "home"
    play(path, *LIVES)
    return path


def does(home: Path, *args: str) -> str:
    """Type a verb; give what it prints."""
    ran = muster(*args, "--home", str(home))
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    return ran.stdout


def refused(home: Path, *args: str, code: int = 3) -> str:
    """Type a verb that is refused; give what is said about it."""
    ran = muster(*args, "--home", str(home))
    assert (ran.returncode, ran.stdout) == (code, ""), ran.stdout
    return ran.stderr


# ── who is who ────────────────────────────────────────────────────────────────────────────────────


def test_agents_shows_who_is_who_without_a_server(home: Path) -> None:
    header, *rows, empty, press = does(home, "agents").splitlines()
    assert header.split()[:4] == ["SEAT", "AGENT", "STATE", "COLOUR"]
    assert [row.split()[:3] for row in rows[:2]] == [
        ["0", "Lyra", "SLEEPING"],
        ["1", "Kael", "UNKNOWN"],  # alive, as far as a life knew that is over
    ]
    assert rows[2].split()[:4] == ["2", "seat", "2", "HATCHING"]
    assert rows[3].split()[:2] == ["4", "Julian"]
    assert "#c9b1e8 Violet Heaven" in rows[0]
    assert f"{len(SOUL)} characters" in rows[0]
    assert (empty, press) == ("", "`muster wake` wakes all sleeping agents.")


def test_agents_as_json_is_what_the_server_answers(home: Path) -> None:
    found: Json = json.loads(does(home, "agents", "--json"))
    assert found["button"] == "WAKE"
    assert [each["document"]["_id"] for each in found["agents"]] == [
        f"agent-identity:{seat}" for seat in (0, 1, 2, 4)
    ]
    with live(home), Client(home=home) as client:
        told: Json = json.loads(does(home, "agents", "--json"))
        over_http = client.agents()
    assert [each["name"] for each in told["agents"]] == [each.name for each in over_http.agents]
    assert told["button"] == over_http.button
    document = over_http.agents[0].document
    assert document is not None
    assert (document.name, document.individuation_artifact) == ("Lyra", SOUL)


def test_an_empty_team_says_how_to_begin(tmp_path: Path) -> None:
    play(tmp_path, JULIAN)
    assert does(tmp_path, "agents").splitlines()[-1] == (
        "There are no agents yet. `muster summon` prepares seats for them."
    )
    assert json.loads(does(tmp_path, "agents", "--json"))["button"] == "SUMMON"


def test_where_all_are_here_nothing_can_be_pressed(tmp_path: Path) -> None:
    with live(tmp_path / "home"), Client(home=tmp_path / "home") as client:
        client.register("pm")
        client.connect("pm")
        assert client.agents().button is None
        assert "muster wake" not in does(tmp_path / "home", "agents")


# ── souls ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_soul_is_printed_whole_and_cannot_act_on_the_terminal(home: Path) -> None:
    assert does(home, "soul", "lyra") == "I am Lyra.\n        I choose this.\\x1b[2J\n"
    assert does(home, "soul", "0") == does(home, "soul", "Lyra")


def test_one_without_a_soul_is_said_to_have_none(home: Path) -> None:
    assert "There is no soul of 'Kael'" in refused(home, "soul", "Kael")
    assert "There is no soul of 'agent-identity:2'" in refused(home, "soul", "2")
    for verb in ("soul", "transcript"):
        assert "There is no agent 'nobody'" in refused(home, verb, "nobody")
        assert "There is no agent '../Lyra'" in refused(home, verb, "../Lyra")
        assert "There is no team" in refused(home / "elsewhere", verb, "Lyra", code=6)


# ── transcripts ───────────────────────────────────────────────────────────────────────────────────


def test_a_transcript_is_what_was_said_in_the_last_life(home: Path) -> None:
    assert without_times(does(home, "transcript", "Lyra")) == [
        "Grace: good morning",
        "Lyra: good morning",
        "    [WAKE AGENTS]\\x1b[2J",
        "Grace: what now? (delivered)",
        "Grace: are you there? (accepted)",
    ]
    assert does(home, "transcript", "Kael") == ""


def test_a_transcript_has_what_it_said_to_another_agent(home: Path) -> None:
    said = e.UserMessage(
        text="the mat is red",
        speaker_name="Lyra",
        target_agent="Kael",
        sender=LYRA,
        seat=KAEL,
    )
    append(home, said)
    told = without_times(does(home, "transcript", "Lyra"))
    assert told[-1] == "Lyra → Kael: the mat is red (accepted)"
    assert without_times(does(home, "transcript", "Kael")) == ["Lyra: the mat is red (accepted)"]


def without_times(told: str) -> list[str]:
    """The lines of a transcript, without the time that stands before each message."""
    return [re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ", "", line) for line in told.splitlines()]


def test_every_life_can_be_asked_for(home: Path) -> None:
    told = does(home, "transcript", "Lyra", "--all")
    assert "Grace: in another life\n" in told
    assert "Lyra: long ago\n" in told
    assert told.endswith(does(home, "transcript", "Lyra"))


def test_what_was_said_on_another_machine_is_in_the_thread_and_not_in_the_last_life(
    home: Path,
) -> None:
    before = does(home, "transcript", "Lyra")
    copy = MessageCopy(
        id="elsewhere:7",
        type="message",
        speaker_name="Lyra",
        speaker_type="agent",
        target_agent=None,
        text="greetings from the laptop",
        server_session_id=SessionId("elsewhere"),
        created_at=EPOCH,
        grid_position=LYRA,
    )
    append(home, e.MessageImported(message=copy, seat=LYRA))
    assert does(home, "transcript", "Lyra") == before
    *_, last = does(home, "transcript", "Lyra", "--all", "--json").splitlines()
    message: Json = json.loads(last)
    assert (message["text"], message["serverSessionId"]) == (copy.text, "elsewhere")
    assert "delivery" not in message


def test_a_transcript_as_json_has_one_document_a_line(home: Path) -> None:
    lines = does(home, "transcript", "Lyra", "--json").splitlines()
    messages: list[Json] = [json.loads(line) for line in lines]
    assert [each.get("delivery") for each in messages] == ["read", None, "delivered", "accepted"]
    first = messages[0]
    assert (first["speakerName"], first["speakerType"]) == ("Grace", "human")
    assert (first["targetAgent"], first["serverSessionId"]) == ("Lyra", "boot-1")
    assert "\x1b" not in "".join(lines)
    with live(home), Client(home=home) as client:
        page = client.thread("Lyra")
        assert [each.seq for each in page.messages][-4:] == [each["seq"] for each in messages]
        beside = does(home, "transcript", "Lyra", "--json").splitlines()
        assert [json.loads(line)["text"] for line in beside] == [each["text"] for each in messages]


def test_a_long_transcript_is_shown_whole(tmp_path: Path) -> None:
    play(tmp_path, JULIAN, born("Lyra", LYRA, SOUL))
    said = (
        e.AgentMessage(agent_name="Lyra", content=(e.Text(text=f"word {number}"),), seat=LYRA)
        for number in range(200)
    )
    append(tmp_path, *said)
    told = without_times(does(tmp_path, "transcript", "Lyra"))
    assert told == [f"Lyra: word {number}" for number in range(200)]


# ── births, waking and sleeping ───────────────────────────────────────────────────────────────────


def test_eight_are_summoned_once_and_the_lead_is_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    play(home, JULIAN)
    with live(home):
        told = does(home, "summon")
        assert told == "8 seats prepared: seats 0, 1, 2, 3, 5, 6, 7, 8\n"
        assert "Cannot summon: the team has agent-identity:0" in refused(home, "summon")
        assert "muster: [SUMMON AGENTS]\n" in does(home, "transcript", "Julian")
        assert "muster" not in does(home, "agents").splitlines()[-1]  # nothing to press meanwhile


def test_agents_are_woken_and_put_to_sleep_by_name_or_all(home: Path) -> None:
    with live(home):
        assert does(home, "wake", "lyra") == "waking: Lyra\n"
        assert does(home, "sleep") == "going to sleep: Kael\n"
        assert does(home, "wake") == "waking: Kael\n"  # Lyra is being woken
        assert does(home, "wake") == "no agent needs waking, or each is being woken\n"
        called: Json = json.loads(does(home, "sleep", "Kael", "--json"))
        assert [each["name"] for each in called["agents"]] == ["Kael"]
        assert called["button"] == "WAKE"
        assert "There is no agent 'nobody'" in refused(home, "wake", "Lyra", "nobody")
        assert "Cannot put to sleep 'Lyra': it is sleeping" in refused(home, "sleep", "Lyra")


def test_agents_that_were_stopped_are_woken_by_name_or_with_all(tmp_path: Path) -> None:
    """`muster wake` started agents that a person or a limit had stopped."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    tables = [f'[agents.{name}]\ncommand = ["true"]\n' for name in ("a", "b", "c")]
    (home / "muster.toml").write_text("\n".join(tables))
    with live(home):
        does(home, "start", "a")
        does(home, "stop", "a", "--wait")
        woken = muster("wake", "--home", str(home))
        assert woken.stdout == "waking: b, c\n"
        assert "a person or a limit, and not woken: a\n`muster wake --all`" in woken.stderr
        assert "waking: a" in does(home, "wake", "--all")


def test_a_message_with_a_button_marker_and_no_receiver_presses_the_button(home: Path) -> None:
    with live(home):
        does(home, "send", "[WAKE AGENTS]")
        assert "wake_requested" in does(home, "log", "--type", "wake_requested", "--json")
        does(home, "send", "--to", "Lyra", "[WAKE AGENTS]")
        log = does(home, "log", "--type", "wake_requested", "--json")
        assert len(log.splitlines()) == 1


def test_without_a_server_it_is_said_how_to_start_one(home: Path) -> None:
    for verb in ("summon", "wake", "sleep"):
        assert "`muster up` starts one" in refused(home, verb, code=4)


GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "identity.md"


def code(language: str) -> str:
    """The program of a language in the guide."""
    found = re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    return next(each for each in found if language != "toml" or '[agents."*"]' in each)


def until(client: Client, kind: str, many: int) -> None:
    """Wait until the log has so many events of a kind."""
    for _ in client.events(after=-1, types=(kind,)):
        many -= 1
        if many == 0:
            return


def test_the_program_of_the_guide_is_born_eight_times_and_wakes(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "muster.toml").write_text(code("toml"))
    (tmp_path / "somebody.sh").write_text(code("sh"))
    with live(home), Client(home=home) as client:
        does(home, "summon")
        until(client, "agent_registered", 8)
        until(client, "session_end", 8)
        assert does(home, "soul", "Nova 3") == "I am number 3, and I like it.\n"
        does(home, "send", "--to", "Nova 3", "hello")
        assert "human: hello (accepted)\n" in does(home, "transcript", "Nova 3")
        assert does(home, "wake", "Nova 3") == "waking: Nova 3\n"
        until(client, "session_end", 9)
        told = without_times(does(home, "transcript", "Nova 3", "--all"))
        assert told == ["human: hello", "Nova 3: good morning"]
        prompt = (tmp_path / "told-3.txt").read_text()
        assert "I am number 3, and I like it." in prompt
        assert "hello" in prompt
        assert "Nova 0, Nova 1" in does(home, "wake")


def test_the_python_of_the_guide_runs(home: Path) -> None:
    with live(home):
        ran = subprocess.run(
            [sys.executable, "-c", code("python").replace("Nova 3", "Lyra")],
            env=environment({"MUSTER_HOME": str(home)}),
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=True,
        )
    assert "['Lyra', 'Kael']" in ran.stdout
    assert "human good morning accepted" in ran.stdout


# ── from programs ─────────────────────────────────────────────────────────────────────────────────


def test_a_program_summons_wakes_and_talks(tmp_path: Path) -> None:
    home = tmp_path / "home"
    play(home, *LIVES)
    with live(home), Client(home=home) as client:
        with pytest.raises(AlreadySummoned):
            client.summon()
        assert [each.name for each in client.wake("Lyra").agents] == ["Lyra"]
        assert [each.name for each in client.sleep("Kael").agents] == ["Kael"]
        assert client.wake().button is Button.WAKE
        with pytest.raises(NotFound):
            client.wake("nobody")
        with pytest.raises(WrongState):
            client.sleep("Lyra")
        preview = client.wake_payload("Lyra")
        assert (preview.payload.soul, preview.payload.has_transcript) == (SOUL, True)
        assert preview.text.startswith("[WAKE AGENTS]\n<agent ")
        joined = client.register("pm")
        client.send("hello", to="pm")
        with Client(client_url(home), joined.token.secret) as itself:
            itself.tell("pm", "hello, human")
            with pytest.raises(Forbidden):
                itself.tell("Lyra", "I am Lyra")
            with pytest.raises(Forbidden):
                itself.wake()
        page = client.thread("pm", after=-1, limit=1)
        assert ([each.text for each in page.messages], page.more) == (["hello"], True)
        assert [each.text for each in client.thread("pm", after=page.after).messages] == [
            "hello, human"
        ]


def test_a_program_on_an_event_loop_can_do_the_same(tmp_path: Path) -> None:
    home = tmp_path / "home"
    play(home, JULIAN)

    async def life() -> None:
        async with AsyncClient(home=home) as client:
            assert (await client.agents()).button is Button.SUMMON
            called = await client.summon()
            assert {each.status for each in called.agents} == {Status.HATCHING}
            with pytest.raises(NobodyIs):
                await client.wake()
            with pytest.raises(NobodyIs):
                await client.sleep()
            with pytest.raises(WrongState):
                await client.wake_payload("agent-identity:0")
            await client.tell("Julian", "they hatch")
            texts = [each.text for each in (await client.thread("Julian")).messages]
            assert texts[-1] == "they hatch"

    with live(home):
        run(life())


def client_url(home: Path) -> str:
    return json.loads((home / "server.json").read_text())["url"]
