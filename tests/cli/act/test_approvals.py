"""`muster approvals`, `approve`, `deny` and `costs`, as a person types them, and both clients."""

import asyncio
import json
import re
from collections.abc import Generator
from pathlib import Path

import pytest

from muster.client import AsyncClient, Client
from muster.errors import NotFound
from muster.machines import commands as c
from muster.machines.vocabulary import Authority
from tests.homes import TWO_AGENTS, muster, play
from tests.inside import Inside, inside
from tests.live import Json

HOSTILE = "\x1b[2J\u202eecho hi\nsecond line"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    with inside(tmp_path_factory.mktemp("approvals"), "Ada", "Bo") as running:
        running.runs("Ada")
        running.opens("design", "Ada", "Bo")
        yield running


def does(team: Inside, *args: str) -> str:
    """Type a verb that works; give what it prints."""
    ran = muster(*args, "--home", str(team.home))
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def refused(team: Inside, *args: str, token: str = "") -> str:
    ran = muster(*args, "--home", str(team.home), MUSTER_TOKEN=token)
    assert (ran.returncode, ran.stdout) == (3, ""), ran.stderr
    return ran.stderr


def answered(team: Inside, asked: str) -> Json:
    """The answer to a request, as it stands in the log."""
    lines = does(team, "log", "--json", "--type", "approval_answered").splitlines()
    return next(each for each in map(json.loads, lines) if each["approval"] == asked)


# ── approvals ─────────────────────────────────────────────────────────────────────────────────────


def test_a_person_sees_what_is_asked_and_allows_or_denies_it(team: Inside) -> None:
    assert does(team, "approvals") == "No request waits for approval.\n"
    build = team.asks("Ada", "Bash", "make release", by="tester")
    write = team.asks("Ada", "Write", "hello.py", default=True, seconds=30)
    told = does(team, "approvals").splitlines()
    assert re.match(rf"{write} +Ada +Write +allowed +\d+ s +design +hello.py", told[1])
    assert re.match(rf"{build} +Ada \(tester\) +Bash +denied +9 min +design +make release", told[2])
    assert f"Ada may use Bash ({build})" in does(team, "approve", build, "--note", "go on")
    assert f"Ada may not use Write ({write})" in does(team, "deny", write)
    again = team.asks("Ada", "Bash", "make release", rules=("Bash(make:*)",))
    told = does(team, "approve", again, "--scope", "always")
    assert f"Ada may use Bash from now on ({again})" in told
    allowed, denied = answered(team, build), answered(team, write)
    assert (allowed["allow"], allowed["note"], allowed["actor"]) == (True, "go on", "person:human")
    assert (denied["allow"], denied["how"]) == (False, "person")
    assert f"no open request for approval '{build}'" in refused(team, "approve", build)


def test_a_request_of_several_lines_is_shown_whole_with_its_effects(team: Inside) -> None:
    asked = team.asks(
        "Ada",
        "Bash",
        "command: rm -r b\nin the agent's own words: looks",
        effects=("deletes b",),
        folder="/app",
    )
    told = does(team, "approvals")
    whole = (
        f"{asked} in /app: deletes b\n    command: rm -r b\n    in the agent's own words: looks\n"
    )
    assert told.endswith(whole)
    does(team, "deny", asked)


def test_several_are_answered_at_once_and_the_history_says_who_allowed_what(team: Inside) -> None:
    first, second = team.asks("Ada", "Bash", "make one"), team.asks("Ada", "Bash", "make two")
    told = does(team, "approve", first, second, "--note", "fine")
    assert all(f"Ada may use Bash ({each})" in told for each in (first, second))
    newest = does(team, "approvals", "--history").splitlines()[1]
    assert re.search(r"Ada +allowed +human +Bash +make two +fine", newest)
    listed = json.loads(does(team, "approvals", "--history", "--json"))["decisions"]
    assert [each["id"] for each in listed[:2]] == [second, first]


def test_programs_are_told_in_json(team: Inside) -> None:
    asked = team.asks("Ada")
    [shown] = json.loads(does(team, "approvals", "--json"))["approvals"]
    assert (shown["id"], shown["agent"], shown["tool"]) == (asked, "Ada", "Bash")
    settled = json.loads(does(team, "deny", asked, "--json"))
    assert (settled["id"], settled["allow"]) == (asked, False)


def test_an_agent_cannot_allow_itself_anything(team: Inside) -> None:
    asked = team.asks("Ada")
    token = does(team, "token", "issue", "--agent", "Ada").strip()
    assert "may not" in refused(team, "approve", asked, token=token)
    does(team, "deny", asked)


def test_what_is_asked_cannot_act_on_the_terminal(team: Inside) -> None:
    asked = team.asks("Ada", tool="Ba\x1b[31msh", detail=HOSTILE)
    for verb in ("approvals", "status"):
        told = does(team, verb)
        assert r"\x1b[2J\u202eecho hi second line" in told
        assert "\x1b" not in told
    told = does(team, "deny", asked)
    assert r"Ba\x1b[31msh" in told


def test_status_shows_who_waits_for_a_person_and_how_to_answer(team: Inside) -> None:
    asked = team.asks("Ada", "Bash", "make release")
    told = does(team, "status")
    assert re.search(rf"^{asked} +Ada +Bash +make release$", told, re.MULTILINE)
    assert "`muster approve ID` allows it" in told
    assert re.search(r"Ada +RUNNING .* waiting for you: approval of Bash$", told, re.MULTILINE)
    does(team, "approve", asked)
    assert "muster approve" not in does(team, "status")


def test_why_tells_a_request_and_its_answer(team: Inside) -> None:
    asked = team.asks("Ada", "Bash", "make release")
    assert f"approval {asked}: nobody has answered yet" in does(team, "why", "Ada")
    does(team, "deny", asked, "--note", "not today")
    told = does(team, "why", f"approval:{asked}").splitlines()
    assert told[0] == f"approval {asked}: denied"
    assert f"approval {asked} of Ada was denied: not today (by human)" in told[1]
    assert f"Ada needs approval {asked} for Bash: make release (else denied at" in told[2]
    turn = does(team, "why", "channel:design")
    assert "its request for approval was answered" in turn
    assert f"Ada needs approval {asked}" in turn
    assert "no approval" in refused(team, "why", "approval:1")
    assert "no approval" in refused(team, "why", "approval:x")


# ── costs ─────────────────────────────────────────────────────────────────────────────────────────


def test_costs_are_shown_by_agent_session_and_channel(tmp_path: Path) -> None:
    with inside(tmp_path, "Ada") as team:
        assert does(team, "costs") == "There is no usage yet.\n"
        team.opens("design", "Ada")
        session = team.runs("Ada")
        team.spends("Ada", 1.25, 1000, "design")
        does(team, "channel", "config", "design", "maxCostUsd=5", "max_tokens=9000")
        told = does(team, "costs")
        assert told.startswith("$1.25, 1000 tokens in all\n")
        assert re.search(r"^Ada +\$1.25 +1000 +999 +1 +0 +0 +\$20 a day +-$", told, re.MULTILINE)
        assert re.search(rf"^Ada: {session} +\$1.25 +1000", told, re.MULTILINE)
        assert re.search(
            r"^design +\$1.25 .* \$5 or 9000 tokens or \$20 a day +-$", told, re.MULTILINE
        )
        assert "$1.25 used" in does(team, "status")
        with Client(team.server.url, team.server.token) as client:
            over_http = client.costs()
        assert over_http.team.cost_usd == 1.25
    whole = json.loads(does(team, "costs", "--json"))  # nobody runs any more
    assert whole["team"]["costUsd"] == 1.25
    assert [(each["agent"], each["ended"]) for each in whole["sessions"]] == [("Ada", True)]
    assert whole["agents"][0]["agent"] == "Ada"


def test_a_team_that_costs_nothing_has_no_costs_in_its_status(tmp_path: Path) -> None:
    play(tmp_path, *TWO_AGENTS, c.EnrollAgent(name="Cy", authority=Authority.SELF))
    told = muster("status", "--home", str(tmp_path)).stdout
    assert "3 agents" in told
    assert "$" not in told


# ── programs ──────────────────────────────────────────────────────────────────────────────────────


def test_a_program_that_waits_can_answer(team: Inside) -> None:
    asked = team.asks("Ada")
    with Client(team.server.url, team.server.token) as client:
        assert [each.id for each in client.approvals().approvals] == [asked]
        assert client.agent("Ada").approvals[0].detail == "rm -r build"
        assert client.approve(asked, note="go").allow
        with pytest.raises(NotFound):
            client.deny(asked)
        assert client.approvals().approvals == ()


def test_a_program_on_a_loop_can_answer(team: Inside) -> None:
    asyncio.run(_answers_on_a_loop(team, team.asks("Ada")))


async def _answers_on_a_loop(team: Inside, asked: str) -> None:
    async with AsyncClient(team.server.url, team.server.token) as client:
        [shown] = (await client.approvals()).approvals
        assert (shown.id, shown.tool) == (asked, "Bash")
        assert not (await client.deny(asked, note="no")).allow
        with pytest.raises(NotFound):
            await client.approve(asked)
        assert (await client.costs()).agents == ()
