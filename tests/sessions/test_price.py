"""What the first prompt costs: by the dated table, by the user's own prices, and never guessed."""

import json
from pathlib import Path

import pytest

from leftoff.agents.claude import Claude
from leftoff.agents.codex.adapter import Codex
from leftoff.cli.main import run
from leftoff.core.prices import Price, dollars
from leftoff.sessions.price import find_price
from leftoff.testing.builders import Story
from tests.support.transcripts import write_transcript


@pytest.fixture
def claude(isolated_home: Path) -> Claude:
    return Claude(home=isolated_home / ".claude")


# The fields that Claude Code 2.1.325 handed to a hook: model, context_tokens, estimated_cache_write_usd.
@pytest.mark.parametrize(
    ("model", "tokens", "usd"), [("claude-opus-5-5", 150042, 0.7502), ("claude-opus-5-5", 12440, 0.0622)]
)
def test_the_table_agrees_with_the_client_to_the_cent(claude, model, tokens, usd):
    assert round(find_price(claude, model, {}).of(tokens), 4) == usd


@pytest.mark.parametrize(
    "model",
    [
        "claude-opus-4-5",
        "claude-opus-4-5-20251101",
        "us.anthropic.claude-opus-4-5-20251101-v1:0",
        "claude-opus-4-5[1m]",
    ],
)
def test_a_model_is_known_by_each_of_its_names(claude, model):
    assert find_price(claude, model, {}) == Price(6.25)


@pytest.mark.parametrize(
    "model", ["claude-opus-9", "claude-opus-4-5-preview", "my-claude-opus-5", "claude-opus", "gpt-5", None]
)
def test_an_unknown_model_has_no_price(claude, model):
    assert find_price(claude, model, {}) is None


def test_the_users_own_price_comes_first_and_counts_for_every_agent(claude, isolated_home):
    own = {"claude-opus-5-5": 2.0, "gpt-5": 1.5}
    assert find_price(claude, "claude-opus-5-5", own) == Price(2.0)
    assert find_price(Codex(isolated_home / ".codex"), "gpt-5", own) == Price(1.5)
    assert find_price(Codex(isolated_home / ".codex"), "gpt-5", {}) is None


def test_a_long_prompt_may_cost_another_rate(claude):
    price = find_price(claude, "claude-haiku-5-5", {})
    assert price.of(100_000) == pytest.approx(0.0125)
    assert price.of(200_000) == pytest.approx(0.125)


def test_a_price_that_is_not_known_is_a_question_mark():
    assert dollars(None) == "?"
    assert dollars(1.344) == "$1.34"


def test_advise_shows_what_the_first_prompt_costs(claude, isolated_home, capsys):
    story = Story(
        session_id="0199aaaa-0000-4000-8000-000000000000", project=str(Path.cwd()), model="claude-opus-5-5"
    )
    story.asked("Fix it.")
    story.replied("Done.", used=100_000)
    folder = isolated_home / ".claude" / "projects" / "-p"
    folder.mkdir(parents=True)
    transcript = folder / f"{story.session_id}.jsonl"
    write_transcript(claude, story.script(), transcript)
    assert run(["advise", str(transcript), "--json"]) == 0
    options = {each["how"]: each for each in json.loads(capsys.readouterr().out)["options"]}
    assert options["as-is"]["first_prompt_usd"] == pytest.approx(0.50, abs=0.01)
    assert run(["config", "prices", "claude-opus-5-5=20"]) == 0
    capsys.readouterr()
    assert run(["advise", str(transcript), "--json"]) == 0
    options = {each["how"]: each for each in json.loads(capsys.readouterr().out)["options"]}
    assert options["as-is"]["first_prompt_usd"] == pytest.approx(2.0, abs=0.01)


def test_a_name_with_a_star_prices_all_models_that_begin_so_and_the_longest_that_fits_counts(claude):
    own = {"gpt-5*": 1.0, "gpt-5.2*": 2.0, "gpt-5.2-codex": 3.0}
    found = [
        find_price(claude, model, own) for model in ("gpt-5.1", "gpt-5.2-mini", "gpt-5.2-codex", "gpt-4")
    ]
    assert found == [Price(1.0), Price(2.0), Price(3.0), None]
