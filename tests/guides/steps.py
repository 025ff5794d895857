"""The steps for code blocks: each is run, loaded, parsed, or left alone for a reason."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

Lines = Mapping[str, str]
"""The beginning of a command line, and something about it."""

NOTHING: Lines = MappingProxyType({})


class Configure(NamedTuple):
    """Settings: added to `muster.toml` before the server starts, and examined by doctor."""


class Write(NamedTuple):
    """A file: it is written under this path before the server starts."""

    path: str


class Shell(NamedTuple):
    """Commands for a shell, run line by line. Each must end with exit code 0.

    `first` are commands that the document takes for granted. A line of `until` is ended with Ctrl-C
    once it has printed its text; one of `keep` then stays in the background, like one that ends
    with `&`. `hears` is what the last of these must print after a line. Before a line of `after`
    the log must have its text. A line of `leave` is not run, for its reason. `codes` are exit codes
    other than 0, and `prints` is what a line must print.

    A line that begins with a program of `OPTIONAL` is run where the program is installed.
    """

    first: Sequence[str] = ()
    until: Lines = NOTHING
    keep: Lines = NOTHING
    hears: Lines = NOTHING
    after: Lines = NOTHING
    leave: Lines = NOTHING
    codes: Mapping[str, int] = MappingProxyType({})
    prints: Lines = NOTHING


class Python(NamedTuple):
    """A program. It must end with exit code 0, or run until the log has the text `until`."""

    until: str = ""
    first: Sequence[str] = ()
    then: str = ""


class Parse(NamedTuple):
    """JSON: it must be valid."""


class Leave(NamedTuple):
    """A block that is not run, and why."""

    reason: str


OPTIONAL = frozenset({"curl"})

Step = Configure | Write | Shell | Python | Parse | Leave


class Guide(NamedTuple):
    """The steps of a document by the beginnings of its blocks, and the files that it assumes."""

    steps: Mapping[str, Step]
    given: Mapping[str, str] = {}
    server: bool = True


AGENT_FILE = "---\nname: {name}\ndescription: {about}\n---\n\nYou do that.\n"
REPORTS = "#!/bin/sh\ncat > /dev/null\necho done\n"

GUIDES: Mapping[str, Guide] = {
    "README.md": Guide(
        {
            "make up ": Leave(
                "they install; `make dist` runs the demo from a wheel, and CI runs `make check`"
            ),
            ".venv/bin/muster --home .muster-pair init": Shell(
                until={".venv/bin/muster --home .muster-pair watch": "APPROVED"}
            ),
            "[agents.builder]": Configure(),
            "[agents.Ada]": Configure(),
        },
        given={"build-something.sh": REPORTS},
    ),
    "docs/tutorial.md": Guide(
        {
            "muster init --from pair": Shell(until={"muster watch": "APPROVED"}),
            "muster status\nmuster why": Shell(prints={"muster why": "alive"}),
            "muster stop writer": Shell(prints={"muster status": "paused by human"}),
            "muster start writer": Shell(),
            "kill -9": Shell(prints={"muster status": "2 running"}),
            "muster --home with-a-model": Shell(),
            "muster down": Shell(),
        },
        server=False,
    ),
    "docs/guides/agents.md": Guide(
        {
            "muster agent add builder": Shell(
                leave={"muster agent add Ada": "it would start a model"}
            ),
            "muster agent edit builder": Shell(
                first=("muster agent edit builder --set budget.cost_usd=1",),
                leave={
                    "EDITOR=": "it opens an editor",
                    "muster agent remove": "it asks",
                },
            ),
            "muster init --list-templates": Shell(
                until={"muster watch": "APPROVED"},
                prints={"muster team export": "2 agents, 1 channel"},
            ),
        },
        given={"build.sh": REPORTS},
    ),
    "docs/guides/an-agent-in-ten-lines.md": Guide(
        {
            "import asyncio": Write("agent.py"),
            "muster agent register pm": Shell(
                until={"muster watch": "I have read [human: Is the plan ready?]."}
            ),
            "from muster import Client": Write("dev.py"),
            "muster agent register dev": Shell(until={"muster watch": "The conversation rests: 6"}),
            "#!/bin/sh": Write("tester.sh"),
            "muster agent register tester": Shell(
                until={"muster watch": "tester: I have read: "},
            ),
        },
    ),
    "docs/guides/access.md": Guide(
        {
            "muster user add Ada": Shell(prints={"muster user list": "member"}),
            "muster user add Bo": Shell(
                first=("muster agent register Lyra", "muster channel create design"),
            ),
            "[server]": Configure(),
            "server {": Leave("tests/web/test_behind_proxies.py runs nginx with it"),
            "example.org {": Leave("tests/web/test_behind_proxies.py runs Caddy with it"),
            "[server]\ntrusted": Leave("tests/web/test_behind_proxies.py starts muster with it"),
            "auth_basic": Leave("tests/web/test_behind_proxies.py runs nginx with it"),
            "[oidc]": Leave("tests/http/test_oidc.py runs a provider"),
        },
    ),
    "docs/guides/container.md": Guide(
        {
            "podman build": Leave(
                "it needs a base image; tests/tidy/test_release.py reads the file"
            ),
            "FROM muster": Leave("it needs that image"),
        },
        server=False,
    ),
    "docs/guides/upgrade.md": Guide(
        {
            "muster backup": Shell(),
            "muster up --detach": Shell(prints={"muster doctor --verify": "consistent"}),
            "muster down": Shell(),
        },
    ),
    "docs/guides/service.md": Guide(
        {
            "muster up --detach": Leave("tests/cli/run/test_detaching.py runs it"),
            "muster down": Leave("tests/cli/run/test_detaching.py runs it"),
            "muster restart": Leave("tests/cli/run/test_detaching.py runs it"),
            "muster service install --print": Shell(),
            "muster service install\n": Leave("it would change the machine of the test"),
            "muster service status": Shell(),
        }
    ),
    "docs/guides/claude-code.md": Guide(
        {
            "pip install": Leave("it installs from PyPI"),
            "[agents.Ada]": Configure(),
            "muster approvals": Shell(
                leave={
                    "muster approve": "nobody asks; tests/cli/act/test_approvals.py does",
                    "muster deny": "nobody asks; tests/cli/act/test_approvals.py does",
                }
            ),
            "muster costs": Shell(),
            "muster claude-plugin install": Shell(
                leave={"claude": "Claude Code needs a sign-in; tests/claude runs it with a script"}
            ),
            "muster send --to terminal-1": Leave(
                "tests/acceptance/claude/test_by_hand.py plays it"
            ),
            '[{"match":': Parse(),
        },
    ),
    "docs/guides/dashboard.md": Guide(
        {
            "views/views.js": Leave("names of files"),
            "class ThingView extends Part {": Leave("a view that the dashboard does not have"),
        },
        server=False,
    ),
    "docs/guides/delegation.md": Guide(
        {
            "muster agent-state-machine": Shell(prints={"muster ask": "PYTHON_ENGINEER"}),
            "[agents.python-engineer]": Configure(),
            "DIR/": Leave("names of files"),
        },
        given={
            "bin/my-agent": REPORTS,
            ".claude/agents/python-engineer.md": AGENT_FILE.format(
                name="python-engineer", about="Writes Python scripts."
            ),
        },
        server=False,
    ),
    "docs/guides/demo.md": Guide(
        {
            "make up ": Shell(
                leave={"make up": "it installs; `make dist` runs the demo from a wheel"},
                keep={"muster up --demo": "http://"},
            ),
            "muster --home .muster-demo status": Shell(
                after={"muster --home .muster-demo why": "Rusty"}
            ),
        },
        server=False,
    ),
    "docs/guides/identity.md": Guide(
        {
            "[AGENT_REGISTERED]": Leave("lines that a lead prints"),
            "[AGENT_SAYS]": Leave("a line that a lead prints"),
            '[agents."*"]': Configure(),
            "#!/bin/sh": Write("somebody.sh"),
            "muster summon": Shell(
                after={"muster soul": '"name":"Nova 3"', "muster transcript": "good morning"},
                prints={"muster soul": "I am number 3, and I like it."},
            ),
            "[summon]": Leave("names of the reader's choice; tests/runtimes/test_catalog.py"),
            "[AGENT_AWAKE]": Leave("a line that an agent prints"),
            "muster agent retire": Leave("tests/http/routes/test_repair.py runs these"),
            "muster summon --seat 0": Leave("tests/http/routes/test_repair.py runs it"),
            "[AGENT_REMEMBERS]": Leave("a line that an agent prints"),
            "muster memory notes": Leave("tests/http/routes/content/test_memory.py runs these"),
            "muster memory edit-soul": Leave("tests/http/routes/content/test_memory.py runs these"),
            'muster send --to Lyra "good morning"': Shell(first=("muster agent register Lyra",)),
            "curl": Shell(),
            "from muster import Client": Python(),
        },
    ),
    "docs/guides/notifications.md": Guide(
        {
            "[push]": Configure(),
            "[notify.phone]": Configure(),
            "[notify.hook]": Configure(),
            "{": Parse(),
            "[notify.mail]": Configure(),
            "[notify.desk]": Configure(),
            "muster notify": Leave("targets of the reader's own; tests/notify has real ones"),
        },
        server=False,
    ),
    "docs/guides/monitoring.md": Guide(
        {
            "curl": Shell(prints={"curl -s $MUSTER_URL/api/ready": "ready"}),
            "scrape_configs:": Leave("a configuration of Prometheus"),
            "[server]": Configure(),
            '{"time"': Parse(),
            "[telemetry]": Leave("it needs a collector; tests/telemetry has one"),
        },
    ),
    "docs/guides/backup.md": Guide(
        {
            "muster backup team.tar.gz": Shell(),
            "15 3 * * *": Leave("a line for cron"),
            "muster --home .muster-restored restore": Shell(),
            "muster archive": Shell(prints={"muster archive": "nothing older"}),
            "muster doctor --verify": Shell(prints={"muster doctor --verify": "chain unbroken"}),
            "muster doctor --verify --head": Leave("a head; tests/cli/look/test_backup.py has one"),
        },
    ),
    "docs/guides/inboxes.md": Guide(
        {
            "inboxes/lyra.json": Leave("names of files"),
            "[": Parse(),
        },
        server=False,
    ),
    "docs/guides/confinement.md": Guide(
        {
            "cat > policy.json": Leave("paths of a server; tests/cli/run/test_confine.py runs it"),
            "[delegation]": Configure(),
            "[agents.builder]": Leave(
                "the table of the block before; tests/runtimes/test_isolated.py"
            ),
            "[agents.deployer]": Configure(),
        },
        given={"worktrees/builder/build.sh": REPORTS, "deploy.sh": REPORTS},
        server=False,
    ),
    "docs/guides/workspaces.md": Guide(
        {
            "[agents.Ada]": Leave("Claude Code; tests/workspaces/test_whole.py has a program"),
            "muster changes Ada": Leave("tests/workspaces/test_whole.py types them"),
            "muster workspace list": Leave("tests/workspaces/test_whole.py types them"),
        },
        server=False,
    ),
    "docs/guides/mcp.md": Guide(
        {
            "pip install": Leave("it installs from PyPI"),
            "muster mcp install claude": Leave("it asks; tests/cli/setup/test_mcp.py answers"),
            '{"mcpServers":': Parse(),
            "import asyncio, os": Write("nia.py"),
            "muster agent register Nia": Shell(
                until={"muster watch": "I have read: Is the plan ready?"}
            ),
        },
    ),
    "docs/guides/runtimes.md": Guide(
        {
            "pip install": Leave("it installs from PyPI"),
            "[agents.Ada]": Leave("programs of others; tests/runtimes/acp runs a scripted one"),
            "[agents.Bo]": Leave("programs of others; tests/runtimes/acp runs a scripted one"),
            "[agents.Cody]": Leave("Codex; tests/acceptance/makers runs it"),
            "[agents.Dora]": Leave("Codex; tests/acceptance/makers runs it"),
            "async def answer": Write("echo_agent.py"),
            "[agents.Echo]": Configure(),
            "muster channel create talk": Shell(until={"muster watch": "Echo heard: "}),
        },
    ),
    "docs/guides/frameworks.md": Guide(
        {
            "[agents.Graph]": Leave("tests/guides/test_frameworks.py runs it"),
            '"""graph_agent.py': Leave("tests/guides/test_frameworks.py runs it"),
            '"""sdk_agent.py': Leave("tests/guides/test_frameworks.py runs it"),
            '"""typed_agent.py': Leave("tests/guides/test_frameworks.py runs it"),
            '"""autogen_agent.py': Leave("tests/guides/test_frameworks.py runs it"),
        },
        server=False,
    ),
    "docs/guides/permissions.md": Guide(
        {
            "muster permit": Shell(
                codes={"muster permit": 3},
                prints={"muster permit": "deny  main.bash.redirect-write"},
            ),
            '{"state": "MAIN"': Leave(
                "a line that goes in and one that comes out; tests/cli/look/test_permit.py"
            ),
            "from muster.permissions.judge import judge": Python(),
        },
        server=False,
    ),
    "docs/guides/routing.md": Guide(
        {
            "muster route": Shell(prints={"muster route": "[MAIN -> KUBERNETES_OPERATOR]"}),
            "---": Write(".claude/agents/sql-tuner.md"),
            "[delegation]": Configure(),
            "[MAIN ->": Leave("what a remembered choice prints"),
            '{"query":': Parse(),
            "from pathlib import Path": Python(),
        },
        given={
            ".claude/agents/kubernetes-operator.md": AGENT_FILE.format(
                name="kubernetes-operator", about="Kubernetes clusters: deployments, upgrades."
            )
        },
        server=False,
    ),
    "docs/guides/run-control.md": Guide(
        {
            "#!/bin/sh": Write("tidy.sh"),
            "[agents.tidy]": Configure(),
            "muster once tidy": Shell(
                prints={"muster logs": "tidy at work (run_once)", "muster status": "RUNNING"}
            ),
            "# a comment": Leave("the lines of an env file"),
            "import json, sys": Leave("run by tests/runtimes/process/test_line_requests.py"),
            "tidy: desired pause": Leave("what a verb prints"),
            "curl": Shell(),
            "from muster import Client": Python(),
        },
    ),
    "docs/guides/state-file.md": Guide(
        {
            "{": Write("agent_state.json"),
            "muster run": Shell(keep={"muster run": "at work"}),
            "sed -i": Shell(hears={"sed": "session started (run_once)"}),
        },
        given={"agent.py": "print('at work')\n"},
        server=False,
    ),
    "docs/guides/several-machines.md": Guide(
        {
            "pip install": Leave("it installs; tests/cli/run/test_database.py starts such a team"),
            "muster down\nmuster move-store": Leave("tests/store/test_moving.py runs it"),
            "muster move-store --back": Leave("tests/store/test_moving.py runs it"),
            "muster join": Leave("tests/stress/test_nodes.py runs two nodes"),
            "[node]": Leave("tests/machines/nodes/test_nodes.py places by labels and room"),
            "createdb muster_scale": Leave("tests/testing/test_scale.py runs it"),
        }
    ),
    "docs/guides/two-machines.md": Guide(
        {
            "muster export": Shell(),
            "{": Parse(),
        },
    ),
    "docs/guides/who-speaks-next.md": Guide(
        {
            "import json, os, sys": Write("member.py"),
            "import json, sys": Write("chair.py"),
            "[agents.writer]": Configure(),
            "muster start": Shell(),
            "muster channel create drafts": Shell(
                after={"muster channel show": '"channel":"drafts","limit":"selector"'},
                prints={"muster channel show": "the selector chair chose nobody (selector)"},
            ),
            "from muster import Client": Write("selector.py"),
            "muster agent register selector": Shell(
                until={"muster watch": "selector chose nobody"}
            ),
            "import asyncio": Write("selector_async.py"),
            "#!/bin/sh": Write("selector.sh"),
            "muster agent register picker": Shell(until={"muster watch": "picker chose nobody"}),
            "muster channel create ideas": Shell(
                after={"muster why": '"channel":"ideas","limit":"turnsPerMessage"'},
                prints={
                    "muster why": "it rests: 4 turns",
                    "muster log": "chose reviewer as the next",
                },
            ),
            "muster channel create layout": Shell(
                after={"muster log": '"channel":"layout","limit":"turnsPerMessage"'},
                prints={"muster log": "writer handed the turn in layout to editor"},
            ),
            "muster channel order": Shell(
                prints={
                    "muster channel order": "editor → writer → reviewer",
                    "muster turn next": "reviewer has the turn",
                    "muster channel set": "that is all",
                    "muster channel list": "archived",
                }
            ),
            "POST /api/channels": Leave("a request; tests/http/routes/test_turns.py sends it"),
        },
    ),
}
