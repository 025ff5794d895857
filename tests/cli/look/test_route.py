"""`muster route` and `muster agent-list`, as people and programs call them."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests import homes
from tests.homes import MUSTER_SCRIPT
from tests.routing.teams import DATA
from tests.waits import WAIT_SECONDS

AGENTS = str(DATA / "agents")


def muster(
    *args: str, cwd: Path, given: str = "", home: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The command line in a folder, with a home of its own: the user's agents do not count."""
    return homes.muster(*args, cwd=cwd, stdin=given, HOME=str(home or cwd))


def define(folder: Path, name: str, description: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = f"---\nname: {name}\ndescription: {description}\n---\n"
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def test_a_decision_is_shown_with_its_words_and_the_ranked_agents(tmp_path: Path) -> None:
    ran = muster("route", "my pods crashloop", "--agents", AGENTS, cwd=tmp_path)
    head, figures, best, *_ = ran.stdout.splitlines()
    assert ran.returncode == 0
    assert head.startswith(
        '[MAIN -> KUBERNETES_OPERATOR]  Matched: "pods" + "crashloop" ~ kubernetes'
    )
    assert figures.startswith("confidence 0.")
    assert "kubernetes-operator" in best
    assert "docs-writer.md:1: has no name" in ran.stderr


def test_a_decision_can_be_read_by_programs(tmp_path: Path) -> None:
    text = "my pods crashloop after the upgrade"
    ran = muster("route", text, "--agents", AGENTS, "--json", cwd=tmp_path)
    told = json.loads(ran.stdout)
    assert told["agent"] == told["candidates"][0]["agent"] == "kubernetes-operator"
    assert told["candidates"][0]["score"] > told["candidates"][1]["score"]
    assert told["candidates"][0]["evidence"][0]["typed"] == "pods"
    assert 0 < told["margin"] <= 1
    assert (told["rule"], told["router"]) == ("score", "lexical")


def test_a_request_can_come_from_standard_input(tmp_path: Path) -> None:
    ran = muster("route", "-", "--agents", AGENTS, cwd=tmp_path, given="thanks!\n")
    assert ran.stdout == '[MAIN]  Small talk: "thanks"\n'


def test_agents_of_the_project_and_the_user_are_found_and_given_ones_come_first(
    tmp_path: Path,
) -> None:
    project, user, given = tmp_path / "project", tmp_path / "user", tmp_path / "given"
    define(project / ".claude" / "agents", "smith", "Forges iron blades and horseshoes.")
    define(user / ".claude" / "agents", "weaver", "Weaves woollen cloth on a loom.")
    define(given, "smith", "Plays the accordion at weddings.")
    iron, loom = "Forge iron blades and horseshoes", "Weave woollen cloth on the loom"

    def asks(text: str, *more: str) -> str:
        ran = muster("route", text, "--json", *more, cwd=project, home=user)
        return str(json.loads(ran.stdout)["agent"])

    assert (asks(iron), asks(loom)) == ("smith", "weaver")
    assert asks(iron, "--agents", str(given)) == "MAIN"
    assert asks(loom, "--agents", str(given)) == "weaver"


def test_a_batch_is_answered_line_by_line_and_outlives_bad_lines(tmp_path: Path) -> None:
    lines = [
        json.dumps({"agents_dir": AGENTS, "query": "Translate the README into German"}),
        "no json",
        json.dumps(["a list"]),
        json.dumps({"agents_dir": AGENTS}),
        json.dumps({"agents_dir": str(tmp_path / "none"), "query": "hi"}),
        "",
        json.dumps({"agents_dir": AGENTS, "query": "good morning"}),
    ]
    ran = muster("route", "--batch", cwd=tmp_path, given="\n".join(lines))
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert ran.returncode == 0
    assert [answer.get("agent") for answer in answers] == [
        *("translator", None, None, None, None, "MAIN"),
    ]
    assert all(set(answer) in ({"error"}, {"agent", "confidence"}) for answer in answers)
    assert all(0 <= answer.get("confidence", 0) <= 1 for answer in answers)


def test_a_batch_answers_before_the_next_line_is_there(tmp_path: Path) -> None:
    asked = json.dumps({"agents_dir": AGENTS, "query": "thanks"})
    with subprocess.Popen(
        [MUSTER_SCRIPT, "route", "--batch"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for _ in range(2):
            running.stdin.write(f"{asked}\n")
            running.stdin.flush()
            assert json.loads(running.stdout.readline())["agent"] == "MAIN"
        running.stdin.close()
        assert running.wait(WAIT_SECONDS) == 0


def test_a_router_of_one_s_own_decides_by_its_scores(tmp_path: Path) -> None:
    program = tmp_path / "mine.py"
    program.write_text(
        "import json, sys\n"
        "asked = json.load(sys.stdin)\n"
        "names = [agent['name'] for agent in asked['agents']]\n"
        "print(json.dumps({'scores': {names[0]: 0.8, 'nobody': 0.9, names[1]: 0.1}}))\n",
        encoding="utf-8",
    )
    mine = f"command:{shlex.join((sys.executable, str(program)))}"
    args = ("route", "Do it", "--json", "--agents", AGENTS, "--router", mine)
    told = json.loads(muster(*args, cwd=tmp_path).stdout)
    assert (told["agent"], told["confidence"]) == ("accessibility-auditor", 0.8)
    assert told["router"] == "command"


@pytest.mark.parametrize(
    ("router", "told"),
    [
        ("psychic", "'psychic' is not a router"),
        ("command:", "'command:' is not a router"),
        (f"command:{sys.executable} -c pass", "gave no scores"),
        ("command:/nowhere/at/all", "gave no scores"),
    ],
)
def test_a_router_that_does_not_work_is_told(router: str, told: str, tmp_path: Path) -> None:
    ran = muster("route", "Do it", "--agents", AGENTS, "--router", router, cwd=tmp_path)
    assert ran.returncode == 2
    assert told in ran.stderr


def test_a_folder_that_is_not_there_and_a_missing_text_are_told(tmp_path: Path) -> None:
    missing = muster("route", "Do it", "--agents", "nowhere", cwd=tmp_path)
    assert (missing.returncode, "nowhere" in missing.stderr) == (3, True)
    assert muster("route", cwd=tmp_path).returncode == 2


def test_hostile_descriptions_do_not_reach_the_terminal(tmp_path: Path) -> None:
    define(tmp_path / "agents", "smith", "Forges iron.")
    bad = tmp_path / "agents" / "bad.md"
    bad.write_text("---\nname: ba\x1b[2Jd\ndescription: Forges iron.\n---\n", encoding="utf-8")
    ran = muster("route", "Forge iron", "--agents", "agents", cwd=tmp_path)
    assert "\x1b" not in ran.stdout


# ── agent-list ────────────────────────────────────────────────────────────────────────────────────


def test_the_list_and_the_directory_of_agents_are_written(tmp_path: Path) -> None:
    define(tmp_path / "agents", "weaver", "Weaves cloth. # not a heading")
    define(tmp_path / "agents", "Smith", "Forges iron.")
    ran = muster("agent-list", "out/here", "--agents", "agents", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "Wrote 2 agents to out/here.\n")
    out = tmp_path / "out" / "here"
    assert (out / "agent-list.txt").read_text(encoding="utf-8") == "Smith\nweaver\n"
    told = (out / "AGENT_DIRECTORY.md").read_text(encoding="utf-8")
    assert "\n## Smith\n\n> Forges iron.\n\n- Tools: all\n- File: Smith.md\n" in told
    assert sorted(path.name for path in out.iterdir()) == ["AGENT_DIRECTORY.md", "agent-list.txt"]


def test_the_list_of_the_same_agents_is_the_same_bytes_again(tmp_path: Path) -> None:
    for _ in range(2):
        assert muster("agent-list", "out", "--agents", AGENTS, cwd=tmp_path).returncode == 0
    first = (tmp_path / "out" / "AGENT_DIRECTORY.md").read_bytes()
    muster("agent-list", "again", "--agents", AGENTS, cwd=tmp_path)
    assert (tmp_path / "again" / "AGENT_DIRECTORY.md").read_bytes() == first
    assert first.count(b"\n## ") == 52


def test_a_folder_that_cannot_be_made_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    ran = muster("agent-list", "taken/below", "--agents", AGENTS, cwd=tmp_path)
    assert ran.returncode == 4
    assert "taken" in ran.stderr


def test_only_agents_that_a_session_would_have_are_routed_to_and_listed(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "agents"
    define(folder, "baker", "Bakes bread.")
    define(folder, "Baker", "Bakes cakes and loaves of bread.")
    define(folder, "main", "Bakes rolls.")
    (folder / "slash.md").write_text("---\nname: ../../x\ndescription: Bakes buns.\n---\n")
    for text in ("Please bake bread", "Please bake rolls", "Please bake buns"):
        ran = muster("route", text, "--json", cwd=tmp_path)
        told = json.loads(ran.stdout)
        assert {each["agent"] for each in told["candidates"]} <= {"Baker"}
    assert "slash.md:1: cannot be a state" in ran.stderr
    assert "baker.md:1: baker is the name of a state already" in ran.stderr
    line = json.dumps({"agents_dir": str(folder), "query": "Please bake buns and rolls"})
    batch = muster("route", "--batch", cwd=tmp_path, given=f"{line}\n")
    assert json.loads(batch.stdout)["agent"] in ("MAIN", "Baker")
    assert muster("agent-list", ".", cwd=tmp_path).stdout == "Wrote 1 agents to ..\n"
    begun = muster("agent-state-machine", cwd=tmp_path)
    assert "1 agent" in begun.stdout
