"""The tools over real HTTP, with the official client: what each role sees, and what a call does."""

import asyncio
from collections.abc import Generator

import pytest
from mcp_types import TextContent

from muster.machines.vocabulary import Role
from muster.mcp.tools import TOOLS, approving, turns
from tests.asking import a_name
from tests.inside import Inside, inside
from tests.live import Scene, a_scene
from tests.mcp.clients import REVISIONS, called, names, over_http, refused
from tests.waits import LIFE_SECONDS

READING = {"who", "status", "read_messages", "approvals", "ask_result"}
OWN = {"turn_await", "turn_complete", "turn_pass", "turn_wait", "handoff", "report_status"}
NOTES = {"remember", "approval_request", "approval_await"}
SPEAKING = {"send_message", "ask"}
LEADING = {"start", "stop", "run_once", "run_cleanup", "restart", "interrupt", "turn_give"}
SEES = {
    Role.VIEWER: READING,
    Role.MEMBER: READING | SPEAKING | LEADING | {"approval_answer"},
    Role.AGENT: READING | SPEAKING | OWN | NOTES,
    Role.OPERATOR: READING | SPEAKING | LEADING | {"approval_answer"},
}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    patience = f"[presence]\nheartbeat_timeout_seconds = {LIFE_SECONDS}\n"
    with inside(tmp_path_factory.mktemp("mcp"), "Ada", settings=patience) as running:
        yield running


@pytest.fixture
def scene(team: Inside) -> Generator[Scene]:
    """pm and dev in one channel; pm holds the turn."""
    with a_scene(team.server) as playing:
        playing.connected("pm", "dev")
        playing.opened("pm", "dev")
        yield playing


# ── what each sees ────────────────────────────────────────────────────────────────────────────────


def token_for(scene: Scene, role: Role) -> str:
    if role is Role.AGENT:
        return scene.tokens["pm"]
    return scene.post("/api/tokens", {"role": role})["secret"]


@pytest.mark.parametrize("mode", REVISIONS)
@pytest.mark.parametrize("role", Role)
def test_each_role_is_told_of_the_tools_that_it_may_use(
    team: Inside, scene: Scene, role: Role, mode: str
) -> None:
    async def play() -> None:
        async with over_http(team.server, token_for(scene, role), mode) as client:
            assert set(await names(client)) == SEES[role]

    asyncio.run(play())


def test_a_tool_of_another_role_does_not_exist(team: Inside, scene: Scene) -> None:
    async def play() -> None:
        async with over_http(team.server, scene.tokens["pm"]) as agent:
            for tool in sorted(SEES[Role.OPERATOR] - SEES[Role.AGENT]):
                assert (await refused(agent, tool, agent="Ada"))["code"] == "no_such_tool"
        async with over_http(team.server, token_for(scene, Role.VIEWER)) as viewer:
            for tool in sorted(set(TOOLS) - READING):
                assert (await refused(viewer, tool))["code"] == "no_such_tool"

    before = scene.get("/api/health")["seq"]
    asyncio.run(play())
    assert scene.get("/api/health")["seq"] == before + 1  # the viewer's token


def test_every_tool_says_what_it_does_takes_and_answers() -> None:
    for name, each in TOOLS.items():
        told = each.definition
        assert told["description"].endswith("."), name
        assert told["title"]
        assert told["inputSchema"]["type"] == told["outputSchema"]["type"] == "object"
        assert told["inputSchema"]["additionalProperties"] is False
        assert told["annotations"]["readOnlyHint"] == (name in READING | {"approval_await"})
        assert not {"agent", "name", "as"} & set(told["inputSchema"]["properties"]) or (
            Role.AGENT not in each.may or name in READING
        ), "no tool of an agent takes the agent that calls"


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", REVISIONS)
def test_an_agent_takes_its_turn_speaks_and_ends_it(team: Inside, scene: Scene, mode: str) -> None:
    async def play() -> None:
        async with (
            over_http(team.server, scene.tokens["pm"], mode) as pm,
            over_http(team.server, scene.tokens["dev"], mode) as dev,
        ):
            scene.says("Name the button.")
            told = await called(pm, "turn_await")
            assert (told["do"], told["channel"], told["agent"]) == (
                "turn",
                scene.named("reviews"),
                scene.named("pm"),
            )
            assert [each["text"] for each in told["messages"]] == ["Name the button."]
            await called(pm, "send_message", text="Thinking.", channel=told["channel"])
            waiting = asyncio.ensure_future(called(dev, "turn_await"))
            said = await called(pm, "turn_complete", message="Save.", epoch=told["epoch"])
            heard = await waiting
            assert heard["do"] == "turn"
            assert [each["text"] for each in heard["messages"]][-1] == "Save."
            assert heard["messages"][-1]["seq"] == said["seq"]
            await called(dev, "turn_pass", reason="nothing to add")

    asyncio.run(play())
    assert [each["trigger"] for each in scene.facts("state_transition")].count("TURN_COMPLETE") == 2


def test_an_agent_joins_the_channels_that_it_names(team: Inside, scene: Scene) -> None:
    name = a_name("joined")
    scene.post("/api/channels", {"channel": name})
    joined = scene.post("/api/agents", {"name": scene.named("new")})

    async def play() -> None:
        async with over_http(team.server, joined["token"]["secret"]) as new:
            for _ in range(2):
                await called(new, "turn_await", seconds=0, join=[name])
            problem = await refused(new, "turn_await", join=["nowhere"])
            assert problem["code"] == "not_found"

    asyncio.run(play())
    assert scene.get(f"/api/channels/{name}")["ring"] == [scene.named("new")]


def test_a_turn_is_handed_to_the_member_that_is_named(team: Inside, scene: Scene) -> None:
    scene.connected("ops")
    scene.joins("ops")

    async def play() -> None:
        async with over_http(team.server, scene.tokens["pm"]) as pm:
            await called(pm, "handoff", to=f"@{scene.named('ops')}", reason="deploy it")
            problem = await refused(pm, "handoff", to=scene.named("dev"), reason="again")
            assert problem["code"] == "not_your_turn"

    asyncio.run(play())
    assert scene.holder() == "ops"
    assert (
        scene.get(f"{scene.channel}/messages")["messages"][-1]["text"]
        == f"@{scene.named('ops')} deploy it"
    )


def test_a_turn_waits_and_goes_on_with_the_next_act(team: Inside, scene: Scene) -> None:
    async def play() -> None:
        async with over_http(team.server, scene.tokens["pm"]) as pm:
            await called(pm, "turn_wait", reason="the build", awaits="resume")
            assert scene.get(scene.channel)["waiting"]["reason"] == "the build"
            await called(pm, "turn_complete", message="It is green.")

    asyncio.run(play())
    assert scene.holder() == "dev"


def test_two_clients_with_one_token_join_at_once_and_one_of_them_ends_the_turn(
    team: Inside, scene: Scene
) -> None:
    channels = [a_name("race") for _ in range(8)]
    for each in channels:
        scene.post("/api/channels", {"channel": each})

    async def play() -> None:
        async with (
            over_http(team.server, scene.tokens["pm"], REVISIONS[0]) as one,
            over_http(team.server, scene.tokens["pm"], REVISIONS[1]) as other,
        ):
            joins = [called(each, "turn_await", seconds=0, join=channels) for each in (one, other)]
            told, again = await asyncio.gather(*joins)
            assert told["channel"] == again["channel"] is not None
            ends = [
                each.call_tool("turn_complete", {"channel": told["channel"], "message": "done"})
                for each in (one, other)
            ]
            assert sorted(each.is_error or False for each in await asyncio.gather(*ends)) == [
                False,
                True,
            ]

    asyncio.run(play())


def test_an_agent_that_speaks_out_of_turn_is_refused(team: Inside, scene: Scene) -> None:
    async def play() -> None:
        async with over_http(team.server, scene.tokens["dev"]) as dev:
            channel = scene.named("reviews")
            for tool, given in (
                ("send_message", {"text": "me first", "channel": channel}),
                ("turn_complete", {"message": "me first"}),
                ("turn_pass", {}),
                ("turn_wait", {"reason": "x"}),
            ):
                problem = await refused(dev, tool, **given)
                assert (problem["code"], problem["status"]) == ("not_your_turn", 409)

    asyncio.run(play())
    assert scene.holder() == "pm"
    assert not scene.facts("agent_message")


def test_a_late_end_of_a_turn_leaves_a_later_turn_alone(team: Inside, scene: Scene) -> None:
    async def play() -> None:
        async with over_http(team.server, scene.tokens["pm"]) as pm:
            problem = await refused(pm, "turn_complete", message="late", epoch=999)
            assert problem["code"] == "stale_epoch"

    asyncio.run(play())
    assert scene.holder() == "pm"


def test_waiting_for_a_turn_answers_in_time_and_tells_of_its_progress(
    team: Inside, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "PROGRESS_SECONDS", 0.02)
    told: list[tuple[float, float | None, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async def play() -> None:
        async with over_http(team.server, scene.tokens["dev"]) as dev:
            result = await dev.call_tool("turn_await", {"seconds": 0.2}, progress_callback=heard)
            assert result.structured_content is not None
            assert result.structured_content["do"] == "nothing"

    asyncio.run(play())
    assert {each[1:] for each in told} == {(0.2, "waiting for a turn")}
    progress = [each[0] for each in told]
    assert progress == sorted(progress)


def test_a_turn_without_news_is_passed_for_the_agent(team: Inside, scene: Scene) -> None:
    async def play() -> None:
        async with over_http(team.server, scene.tokens["pm"]) as pm:
            waiting = asyncio.ensure_future(called(pm, "turn_await"))
            await asyncio.to_thread(scene.until_moved, "pm", "ACTIVE", "QUEUED", "TURN_COMPLETE")
            waiting.cancel()
            scene.says("News.")

    asyncio.run(play())


def test_an_agent_whose_token_is_revoked_waits_no_longer(team: Inside, scene: Scene) -> None:
    issued = scene.post("/api/tokens", {"role": "agent", "agent": scene.named("dev")})

    async def play() -> None:
        async with over_http(team.server, issued["secret"]) as dev:
            waiting = asyncio.ensure_future(refused(dev, "turn_await"))
            await asyncio.to_thread(team.until_called, scene.named("dev"))
            await asyncio.to_thread(scene.call, "DELETE", f"/api/tokens/{issued['id']}")
            assert (await waiting)["code"] == "unauthenticated"

    asyncio.run(play())


@pytest.mark.parametrize("mode", REVISIONS)
def test_a_client_that_goes_away_no_longer_waits(team: Inside, scene: Scene, mode: str) -> None:
    name = scene.named("dev")

    async def play() -> None:
        async with over_http(team.server, scene.tokens["dev"], mode) as dev:
            waiting = asyncio.ensure_future(called(dev, "turn_await"))
            await asyncio.to_thread(team.until_called, name)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    asyncio.run(play())
    team.until_silent(name)


# ── messages, status, notes ───────────────────────────────────────────────────────────────────────


def test_an_agent_writes_to_the_human_and_reads_its_thread(team: Inside, scene: Scene) -> None:
    async def play() -> None:
        async with over_http(team.server, scene.tokens["pm"]) as pm:
            await called(pm, "send_message", text="I am stuck.")
            page = await called(pm, "read_messages")
            assert [(each["speaker"], each["text"]) for each in page["messages"]] == [
                (scene.named("pm"), "I am stuck.")
            ]
            problem = await refused(pm, "send_message", text="psst", to=scene.named("dev"))
            assert problem["code"] == "invalid"

    asyncio.run(play())


def test_messages_of_a_channel_are_read_in_pages(team: Inside, scene: Scene) -> None:
    for number in range(5):
        scene.says(f"message {number}")
    channel = scene.named("reviews")

    async def play() -> None:
        async with over_http(team.server, token_for(scene, Role.VIEWER)) as viewer:
            newest = await called(viewer, "read_messages", channel=channel, limit=2)
            assert [each["text"] for each in newest["messages"]] == ["message 3", "message 4"]
            first = await called(viewer, "read_messages", channel=channel, limit=3, after=0)
            assert first["more"]
            rest = await called(viewer, "read_messages", channel=channel, after=first["after"])
            assert [each["text"] for each in rest["messages"]] == ["message 3", "message 4"]
            for wrong in ({}, {"channel": channel, "agent": "Ada"}, {"limit": 1000}):
                assert (await refused(viewer, "read_messages", **wrong))["code"] == "invalid"

    asyncio.run(play())


def test_a_report_renews_the_turns_of_an_agent(team: Inside, scene: Scene) -> None:
    async def play() -> None:
        async with over_http(team.server, scene.tokens["pm"]) as pm:
            told = await called(pm, "report_status")
            assert told["turns"] == {scene.named("reviews"): 1}
            assert told["reportWithinSeconds"] == LIFE_SECONDS

    asyncio.run(play())


def test_a_note_is_kept_and_the_wake_prompt_tells_it(team: Inside, scene: Scene) -> None:
    async def play() -> None:
        async with over_http(team.server, scene.tokens["pm"]) as pm:
            await called(pm, "remember", text="The client wants blue.")
            prompt = await pm.get_prompt("wake", {})
            content = prompt.messages[0].content
            assert isinstance(content, TextContent)
            assert "The client wants blue." in content.text

    asyncio.run(play())
    notes = scene.get(f"/api/agents/{scene.named('pm')}/notes")["notes"]
    assert [each["text"] for each in notes] == ["The client wants blue."]


# ── a person who leads ────────────────────────────────────────────────────────────────────────────


def test_an_operator_starts_and_stops_agents(team: Inside, scene: Scene) -> None:
    async def play() -> None:
        async with over_http(team.server, team.server.token) as boss:
            started = await called(boss, "start", agent="Ada", note="by voice")
            assert (started["desired"], started["note"]) == ("continuous", "by voice")
            await asyncio.to_thread(team.runs, "Ada")
            assert (await called(boss, "status", agent="Ada"))["status"] == "RUNNING"
            stopped = await called(boss, "stop", agent="Ada", now=True)
            assert stopped["desired"] == "pause"

    asyncio.run(play())
    team.until(lambda _: team.agent("Ada").session is None)


def test_an_operator_interrupts_gives_turns_and_speaks(team: Inside, scene: Scene) -> None:
    channel = scene.named("reviews")

    async def play() -> None:
        async with over_http(team.server, team.server.token) as boss:
            await called(boss, "interrupt", channel=channel, message="Stop for a moment.")
            assert scene.get(scene.channel)["waiting"]["byHuman"]
            told = await called(boss, "interrupt", channel=channel)
            assert told["effect"]
            assert scene.holder() == "dev"
            await called(boss, "turn_give", channel=channel, agent=scene.named("pm"))
            await called(boss, "send_message", text="Go on.", channel=channel)

    asyncio.run(play())
    scene.turn("complete", "dev", message="done")
    assert scene.holder() == "pm"


def test_an_operator_answers_what_agents_ask_for(team: Inside, scene: Scene) -> None:
    team.runs("Ada")
    approval = team.asks("Ada", detail="rm -r build")

    async def play() -> None:
        async with over_http(team.server, team.server.token) as boss:
            listed = (await called(boss, "approvals"))["approvals"]
            assert [(each["id"], each["detail"]) for each in listed] == [(approval, "rm -r build")]
            settled = await called(boss, "approval_answer", approval=approval, allow=False)
            assert settled["agent"] == "Ada"
            assert (await called(boss, "approvals"))["approvals"] == []

    asyncio.run(play())


def test_a_member_leads_the_team_under_their_own_name(team: Inside, scene: Scene) -> None:
    scene.call("PUT", "/api/users/Mia", {"role": "member"})
    mia = scene.post("/api/tokens", {"role": "member", "user": "Mia"})["secret"]
    team.runs("Ada")
    approval, channel = team.asks("Ada", detail="rm -r build"), scene.named("reviews")

    async def play() -> None:
        async with over_http(team.server, mia) as member:
            await called(member, "approval_answer", approval=approval, allow=True)
            await called(member, "send_message", text="Go on.", channel=channel)
            await called(member, "send_message", text="Well done.", to="Ada")
            stopped = await called(member, "stop", agent="Ada", note="enough", now=True)
            assert (stopped["desired"], stopped["note"]) == ("pause", "enough")
            assert (await refused(member, "ask", text="A poem."))["code"] == "no_delegation"

    asyncio.run(play())
    said = scene.get(f"{scene.channel}/messages")["messages"][-1]
    assert (said["speaker"], said["text"]) == ("Mia", "Go on.")
    told = scene.get("/api/agents/Ada/messages")["messages"][-1]
    assert (told["speakerName"], told["text"]) == ("Mia", "Well done.")
    answers = scene.get("/api/log?types=approval_answered&limit=1000")["events"]
    assert answers[-1]["actor"] == "person:Mia"


@pytest.mark.parametrize("mode", REVISIONS)
@pytest.mark.parametrize("runs", [True, False])
def test_an_agent_asks_for_approval_and_is_told_the_answer(
    team: Inside, scene: Scene, runs: bool, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both an agent that muster runs and one that connects by itself."""
    monkeypatch.setattr(approving, "PROGRESS_SECONDS", 0.02)
    name, token = scene.named("pm"), scene.tokens["pm"]
    if runs:
        name = "Ada"
        team.runs(name)
        token = scene.post("/api/tokens", {"role": "agent", "agent": name})["secret"]

    async def play() -> None:
        async with over_http(team.server, token, mode) as agent:
            asked = await called(agent, "approval_request", tool="deploy", detail="to prod", wait=0)
            assert (asked["open"], asked["allow"]) == (True, None)
            needs = (await asyncio.to_thread(scene.get, "/api/needs"))["needs"]
            assert [each["agent"] for each in needs if each["approval"] == asked["id"]] == [name]
            waiting = asyncio.ensure_future(called(agent, "approval_await", approval=asked["id"]))
            answer = {"allow": True, "note": "go"}
            await asyncio.to_thread(scene.post, f"/api/approvals/{asked['id']}", answer)
            told = await waiting
            assert (told["open"], told["allow"], told["note"]) == (False, True, "go")
            assert (told["agent"], told["how"]) == (name, "person")
            assert (await refused(agent, "approval_await", approval="1"))["code"] == "not_found"

    asyncio.run(play())


def test_the_request_of_an_agent_that_connects_by_itself_ends_when_it_leaves(
    team: Inside, scene: Scene
) -> None:
    async def play() -> None:
        async with over_http(team.server, scene.tokens["pm"]) as pm:
            asked = await called(pm, "approval_request", tool="deploy", detail="to prod", wait=0)
            assert scene.state("pm") == "WAITING"
            await asyncio.to_thread(scene.agent, "pm", "disconnect")
            told = await called(pm, "approval_await", approval=asked["id"])
            assert (told["open"], told["allow"], told["how"]) == (False, False, "session_end")
            assert scene.holder() == "dev"
            # a request connects it again
            again = await called(pm, "approval_request", tool="deploy", detail="now", wait=0)
            assert again["open"]

    asyncio.run(play())


def test_delegation_without_a_session_is_refused_with_the_remedy(
    team: Inside, scene: Scene
) -> None:
    async def play() -> None:
        async with over_http(team.server, scene.tokens["pm"]) as pm:
            assert (await refused(pm, "ask", text="Write a poem."))["code"] == "no_delegation"
        async with over_http(team.server, team.server.token) as boss:
            assert (await refused(boss, "ask", text="Write a poem."))["code"] == "no_delegation"
            assert (await refused(boss, "ask_result", conversation="7"))["code"] == "not_found"

    asyncio.run(play())


# ── private channels ──────────────────────────────────────────────────────────────────────────────


def test_a_private_channel_does_not_exist_for_others(team: Inside, scene: Scene) -> None:
    name = a_name("secret")
    config = {"readRule": "members"}
    members = [scene.named("dev")]
    scene.post("/api/channels", {"channel": name, "config": config, "members": members})
    scene.post(f"/api/channels/{name}/messages", {"message": "xqplan"})

    async def play() -> None:
        async with over_http(team.server, scene.tokens["pm"]) as pm:
            for tool, given in (
                ("read_messages", {"channel": name}),
                ("send_message", {"channel": name, "text": "hello"}),
                ("turn_pass", {"channel": name}),
            ):
                assert (await refused(pm, tool, **given))["code"] == "not_found"
            told = [await called(pm, "who"), (await pm.list_resources()).model_dump()]
            assert name not in str(told)
        async with over_http(team.server, scene.tokens["dev"]) as dev:
            page = await called(dev, "read_messages", channel=name)
            assert [each["text"] for each in page["messages"]] == ["xqplan"]

    asyncio.run(play())
