# README's two commands are `make run` and `make test`. Everything runs under tools/sealed: scratch HOME, empty environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SEALED := tools/sealed
# Real transcripts to test on, when a folder of them is at hand; tests that need them say so when it is not.
export LEFTOFF_TRANSCRIPTS ?= $(abspath $(wildcard ../shared/transcripts))
# Real agents are kept by version here, so that they are fetched once.
export LEFTOFF_CLIENTS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/leftoff-clients

.PHONY: run browser web-pictures test test-all test-again lint docs site compare bench bench-quick check clients live replays compactions turns frameworks stress fuzz clean
.DEFAULT_GOAL := check

run: $(VENV)/ready ## play the whole story on a bundled session
	@$(SEALED) $(BIN)/leftoff demo

test: $(VENV)/ready ## the tests for every day: a few minutes
	$(SEALED) $(BIN)/python -m pytest -n auto --dist worksteal -m "not slow and not stress" $(ARGS)

test-all: $(VENV)/ready browser ## these and the slow ones, with coverage, as in CI
	$(SEALED) $(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report=term $(ARGS)

test-again: $(VENV)/ready ## the few tests that just failed, once more and one at a time: a browser or an agent may starve on a busy machine
	@failed=$$(grep -c '": true' .pytest_cache/v/cache/lastfailed 2>/dev/null || true); \
	if [ "$${failed:-0}" -gt 5 ]; then echo "$$failed tests failed: too many to blame the machine"; exit 1; fi
	$(SEALED) $(BIN)/python -m pytest -n 0 --last-failed --last-failed-no-failures none -rA $(ARGS)

lint: $(VENV)/ready ## ruff, mypy --strict, import contracts; docs and pictures up to date, links, words
	$(SEALED) $(BIN)/ruff check --no-cache src tests tools bench
	$(SEALED) $(BIN)/ruff format --no-cache --check src tests tools bench
	$(SEALED) $(BIN)/mypy
	$(SEALED) $(BIN)/lint-imports --no-cache
	$(SEALED) $(BIN)/python tools/docs.py --check
	$(SEALED) $(BIN)/python tools/check_docs.py
	$(SEALED) $(BIN)/python tools/pictures.py --check
	$(SEALED) $(BIN)/python tools/check_style.py

docs: $(VENV)/ready ## write the generated parts of README and docs/, and the pictures
	$(SEALED) $(BIN)/python tools/docs.py
	$(SEALED) $(BIN)/python tools/pictures.py

web-pictures: $(VENV)/ready browser ## the pictures of docs/web.md, from an invented machine
	mkdir -p docs/web && $(SEALED) env LEFTOFF_PICTURES=$(CURDIR)/docs/web $(BIN)/python -m pytest -q -n 0 tests/web/test_in_browser.py -k accessibility
	@! command -v pngquant >/dev/null || pngquant --force --ext .png docs/web/*.png

site: $(VENV)/ready docs ## the docs as static pages in site/, without any request to another host
	$(SEALED) $(BIN)/mkdocs build --quiet --clean
	@echo "site/index.html"

compare: $(VENV)/ready ## side by side with other tools, pinned, in a scratch environment (made once, outside the seal: pip may need its settings)
	$(BIN)/python tools/compare_tools.py --prepare
	$(SEALED) $(BIN)/python tools/compare_tools.py $(ARGS)

bench: $(VENV)/ready ## the measures, at full size
	$(SEALED) $(BIN)/python -m bench speed

bench-quick: $(VENV)/ready ## the same at a small size
	$(SEALED) $(BIN)/python -m bench speed --quick

check: lint test bench-quick ## what must be green before a commit

browser: $(VENV)/ready ## Chromium for the tests of leftoff web, and axe-core, which checks its pages (outside the seal: apt-get and npm)
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium chromium-driver; }
	@test -f $(VENV)/browser/node_modules/axe-core/axe.min.js || npm install --silent --no-fund --no-audit --prefix $(VENV)/browser axe-core@4.14.0

clients: $(VENV)/ready ## the real agents, from npm (outside the seal: npm may need the user's npmrc; runs no agent)
	$(BIN)/python tests/agents_live/clients.py

live: $(VENV)/ready clients ## the real agents, against a local API
	$(SEALED) env PYTHONPATH=$(CURDIR) $(BIN)/python tests/agents_live/run.py $(ARGS)

replays: $(VENV)/ready clients ## real sessions compacted in the real client, by leftoff and by itself (LEFTOFF_QUIZ names the folder of the quiz)
	@$(SEALED) env PYTHONPATH=$(CURDIR) $(BIN)/python tests/agents_live/replays.py $(ARGS)

compactions: $(VENV)/ready clients ## how long a compaction in place takes in the real client, and where the time goes: on a machine that does nothing else
	@$(SEALED) env PYTHONPATH=$(CURDIR) $(BIN)/python tests/agents_live/compaction_times.py $(ARGS)

turns: $(VENV)/ready clients ## what users wait for in the real agents, with leftoff and without: on a machine that does nothing else
	$(SEALED) env PYTHONPATH=$(CURDIR) $(BIN)/python tests/agents_live/turn_times.py $(ARGS)

frameworks: $(VENV)/ready ## the chat loop with agents of real frameworks, against a local API (made once, outside the seal: pip may need its settings)
	$(BIN)/python tests/chat_frameworks/environment.py
	$(SEALED) $(BIN)/python tests/chat_frameworks/run.py $(ARGS)

stress: $(VENV)/ready ## the long runs: appends, kills, full disks, many examples
	$(SEALED) $(BIN)/python -m pytest -m "stress or hypothesis" --hypothesis-profile=stress $(ARGS)

RUNS ?= 1000
fuzz: $(VENV)/ready ## every command on damaged transcripts: make fuzz RUNS=10000
	$(SEALED) env PYTHONPATH=$(CURDIR) $(BIN)/python -m tests.fuzz.run --runs $(RUNS) $(ARGS)

clean:
	rm -rf $(VENV) site .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage*

$(VENV)/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "leftoff needs Python 3.11 or newer; try: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
