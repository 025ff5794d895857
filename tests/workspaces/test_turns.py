"""What each turn in a worktree changed."""

from pathlib import Path

import pytest

from muster.errors import NotFound
from muster.machines import events as e
from muster.machines.ids import ChannelId, SessionId
from muster.machines.vocabulary import Machine, Outcome
from muster.workspaces.answering import agent_changes, agent_diff, agent_turns
from muster.workspaces.recording import turn_ended, worked_in
from muster.workspaces.turns import STEP, record_turn
from tests.builders import ADA, BEN, HUMAN
from tests.store.harness import in_loop
from tests.workspaces.repositories import Workshop, a_repository, a_workshop, git

SESSION = SessionId("session-1")
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize {size}\n"


async def turns(shop: Workshop) -> list[tuple[str, list[str]]]:
    """The labels and the files of Ada's turns, the newest first."""
    ada = shop.dispatcher.team.agents[ADA]
    listed = (await agent_turns(shop.service, ada)).turns
    found = [await agent_changes(shop.service, ada, (), each.turn) for each in listed]
    files = [[file.path for file in each.files] for each in found]
    return list(zip([each.label for each in listed], files, strict=True))


@in_loop
async def test_each_turn_has_its_own_changes_and_touches_nothing_of_the_agent(
    tmp_path: Path,
) -> None:
    async with a_workshop(tmp_path) as shop:
        folder = await shop.enter()
        assert await turns(shop) == []
        (folder / "app.py").write_text("one\n")
        (folder / "new.py").write_text("new\n")
        before = git(folder, "status", "--porcelain"), git(folder, "rev-parse", "HEAD")
        record_turn(shop.workspace(), "turn 1 in #design")
        record_turn(shop.workspace(), "turn 2 in #design")  # which changes nothing
        (folder / "new.py").write_text("newer\n")
        record_turn(shop.workspace(), "turn 3 in #design")
        assert (git(folder, "status", "--porcelain"), git(folder, "rev-parse", "HEAD")) == before
        assert await turns(shop) == [
            ("turn 3 in #design", ["new.py"]),
            ("turn 1 in #design", ["app.py", "new.py"]),
        ]
        ada = shop.dispatcher.team.agents[ADA]
        newest = (await agent_turns(shop.service, ada)).turns[0].turn
        (file,) = (await agent_changes(shop.service, ada, (), newest)).files
        diff = await agent_diff(shop.service, ada, file.file, newest)
        assert [line.text for hunk in diff.hunks for line in hunk.lines] == ["new", "newer"]
        for odd in ("HEAD", "--output=x", "0" * 40):
            with pytest.raises(NotFound):
                await agent_changes(shop.service, ada, (), odd)


@in_loop
async def test_a_merge_is_no_turn_and_the_turns_go_with_the_worktree(tmp_path: Path) -> None:
    async with a_workshop(tmp_path) as shop:
        folder = await shop.enter()
        (folder / "app.py").write_text("one\n")
        record_turn(shop.workspace(), "turn 1 in #design")
        (folder / "by_hand.py").write_text("one\n")
        await shop.service.merge(shop.workspace().id, actor=HUMAN)
        record_turn(shop.workspace(), STEP)
        assert [label for label, _ in await turns(shop)] == ["turn 1 in #design"]
        await shop.service.discard(shop.workspace().id, actor=HUMAN, force=True)
        assert git(shop.top, "for-each-ref", "refs/muster") == ""
        record_turn(shop.workspace(), "too late")
        assert git(shop.top, "for-each-ref", "refs/muster") == ""


@in_loop
async def test_the_facts_that_end_a_turn(tmp_path: Path) -> None:
    def moved(source: str, target: str) -> e.StateTransition:
        return e.StateTransition(
            machine=Machine.TURNS,
            agent_id="Ada",
            seat=ADA,
            source=source,
            target=target,
            trigger="x",
            channel=ChannelId("design"),
            epoch=7,
        )

    done = e.SessionResult(seat=ADA, session=SESSION)
    end = e.SessionEnd(session=SESSION, seats=(ADA,), outcome=Outcome.COMPLETED)
    assert turn_ended(moved("ACTIVE", "QUEUED")) == "turn 7 in #design"
    assert turn_ended(moved("ACTIVE", "WAITING")) is None
    assert turn_ended(moved("QUEUED", "ACTIVE")) is None
    assert turn_ended(done) == "a message or a task"
    assert turn_ended(end) == "the end of its session"
    async with a_workshop(tmp_path) as shop:
        await shop.enter(ADA)
        await shop.enter(BEN)
        team = shop.dispatcher.team
        for fact in (moved("ACTIVE", "QUEUED"), done, end):
            assert [each.seat for each in worked_in(team, fact)] == [ADA]


@in_loop
async def test_submodules_and_lfs_pointers_are_read_as_they_are(tmp_path: Path) -> None:
    inner = a_repository(tmp_path / "inner", **{"lib.py": "lib\n"})
    top = a_repository(tmp_path / "project", **{"app.py": "one\n"})
    allowed = ("-c", "protocol.file.allow=always")
    git(top, *allowed, "submodule", "--quiet", "add", str(inner), "lib")
    (top / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    (top / "model.bin").write_text(POINTER.format(size=1))
    git(top, "-c", "filter.lfs.required=false", "add", "--all")
    git(top, "commit", "--quiet", "--message", "Second")
    async with a_workshop(tmp_path, top) as shop:
        folder = await shop.enter()
        assert (await agent_changes(shop.service, shop.dispatcher.team.agents[ADA], ())).files == ()
        (folder / "model.bin").write_text(POINTER.format(size=2))
        (folder / "lib").rmdir()
        git(folder, *allowed, "submodule", "--quiet", "update", "--init", "lib")
        (folder / "lib" / "lib.py").write_text("changed\n")
        git(folder / "lib", "commit", "--quiet", "--all", "--message", "In the submodule")
        record_turn(shop.workspace(), "turn 1 in #design")
        ada = shop.dispatcher.team.agents[ADA]
        found = await agent_changes(shop.service, ada, ())
        assert [file.path for file in found.files] == ["lib", "model.bin"]
        for file in found.files:
            diff = await agent_diff(shop.service, ada, file.file)
            assert diff.hunks
        assert await turns(shop) == [("turn 1 in #design", ["lib", "model.bin"])]
