"""What the window holds and where Claude Code compacts automatically: environment, settings, dated table."""

import json
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.claude import Claude
from leftoff.core.metrics import AgentWindow, Occupancy


def of(model: str | None, used: int | None = None) -> Occupancy:
    return Occupancy(used_tokens=used, model=model)


@pytest.mark.parametrize(
    ("model", "window", "compacts_at"),
    [
        ("claude-opus-5-5", 1_000_000, 967_000),
        ("claude-opus-5", 1_000_000, 967_000),
        ("claude-opus-4-8", 1_000_000, 967_000),
        ("claude-opus-4-6[1m]", 1_000_000, 967_000),
        ("claude-sonnet-4-5[1m]", 1_000_000, 967_000),
        ("claude-opus-4-6", 200_000, 167_000),
        ("claude-sonnet-4-5-20250929", 200_000, 167_000),
        ("claude-haiku-4-5", 200_000, 167_000),
        ("claude-3-7-sonnet", 200_000, 167_000),
    ],
)
def test_the_table_by_model(claude: Claude, model: str, window: int, compacts_at: int) -> None:
    """The table has the values that were measured with the client."""
    assert claude.window(of(model), None) == AgentWindow(
        window_tokens=window,
        window_basis="table",
        compacts_at_tokens=compacts_at,
        compaction_basis="table",
        baseline_tokens=38_000,
    )


def test_without_a_model_nothing_is_known(claude: Claude) -> None:
    """No percentage is better than a wrong one."""
    assert claude.window(of(None), None) == AgentWindow(
        window_tokens=None, window_basis="unknown", compacts_at_tokens=None, baseline_tokens=38_000
    )


@pytest.mark.parametrize("model", ["glm-4.6", "claude-invented-9", "my-router/x"])
def test_an_unknown_model_gets_the_window_that_the_client_assumes(claude: Claude, model: str) -> None:
    """2.1.325 takes a million for any name that it does not know, and compacts accordingly."""
    assert claude.window(of(model), None) == AgentWindow(
        window_tokens=1_000_000, window_basis="table", compacts_at_tokens=967_000, baseline_tokens=38_000
    )


def test_a_providers_prefix_does_not_hide_the_model(claude: Claude) -> None:
    """Cloud providers put a prefix before the names of the models they serve."""
    assert claude.window(of("us.anthropic.claude-sonnet-4-5-20250929-v1:0"), None).window_tokens == 200_000


def test_more_in_use_than_the_table_allows_shows_the_large_window(claude: Claude) -> None:
    """The larger window is used at once, so that no false alarm is raised."""
    found = claude.window(of("claude-sonnet-4-5", used=230_000), None)
    assert (found.window_tokens, found.window_basis, found.compacts_at_tokens) == (
        1_000_000,
        "observed",
        967_000,
    )


def test_a_window_that_the_agent_reports_is_taken_as_it_is(claude: Claude) -> None:
    """A status line may have reported it."""
    found = claude.window(Occupancy(used_tokens=5, model="glm-4.6", window_tokens=128_000), None)
    assert (found.window_tokens, found.window_basis, found.compacts_at_tokens) == (
        128_000,
        "reported",
        95_000,
    )


def settings(path: Path, **values: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values), encoding="utf-8")


def compaction(
    claude: Claude, project: Path | None = None, model: str = "claude-opus-5-5"
) -> tuple[int | None, str]:
    found = claude.window(of(model), str(project) if project else None)
    return found.compacts_at_tokens, found.compaction_basis


def test_a_window_that_is_set_moves_the_point(claude: Claude) -> None:
    """The window can be set in the user's settings or in the environment, which wins."""
    settings(claude.home / "settings.json", autoCompactWindow=300_000)
    assert compaction(claude) == (267_000, "setting")
    by_environment = Claude(home=claude.home, environment={"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000"})
    assert compaction(by_environment) == (167_000, "setting")


def test_a_window_larger_than_the_models_changes_nothing(claude: Claude) -> None:
    """The model holds what it holds."""
    settings(claude.home / "settings.json", autoCompactWindow=2_000_000)
    assert compaction(claude, model="claude-sonnet-4-5") == (167_000, "setting")


def test_settings_of_the_project_override_the_users(claude: Claude, tmp_path: Path) -> None:
    """Local settings override both, and so do variables set in them."""
    settings(claude.home / "settings.json", autoCompactWindow=300_000)
    settings(tmp_path / "p/.claude/settings.json", autoCompactWindow=400_000)
    assert compaction(claude, tmp_path / "p") == (367_000, "setting")
    settings(tmp_path / "p/.claude/settings.local.json", env={"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "500000"})
    assert compaction(claude, tmp_path / "p") == (467_000, "setting")


def test_a_percentage_lowers_the_point_where_a_window_is_set(claude: Claude) -> None:
    """The client ignores the percentage for a window of 200,000 tokens that is not configured."""
    half = {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}
    assert compaction(Claude(home=claude.home, environment=half)) == (490_000, "setting")
    assert compaction(Claude(home=claude.home, environment=half), model="claude-sonnet-4-5") == (
        167_000,
        "table",
    )
    both = {**half, "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000"}
    assert compaction(Claude(home=claude.home, environment=both), model="claude-sonnet-4-5") == (
        90_000,
        "setting",
    )
    high = {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "99"}
    assert compaction(Claude(home=claude.home, environment=high)) == (967_000, "setting")


@pytest.mark.parametrize(
    ("environment", "values"),
    [
        ({"DISABLE_AUTO_COMPACT": "1"}, {}),
        ({"DISABLE_COMPACT": "true"}, {}),
        ({}, {"autoCompactEnabled": False}),
    ],
)
def test_compaction_that_is_switched_off(
    claude: Claude, environment: dict[str, str], values: dict[str, Any]
) -> None:
    """The window is still known."""
    settings(claude.home / "settings.json", **values)
    found = Claude(home=claude.home, environment=environment).window(of("claude-opus-5-5"), None)
    assert (found.window_tokens, found.compacts_at_tokens, found.compaction_basis) == (
        1_000_000,
        None,
        "setting",
    )


def test_invalid_settings_are_ignored(claude: Claude) -> None:
    """A broken file, numbers that are none, a switch that is off."""
    claude.home.mkdir()
    for content in ("{torn", "[]", '{"autoCompactWindow": "many", "env": []}'):
        (claude.home / "settings.json").write_text(content, encoding="utf-8")
        assert compaction(claude) == (967_000, "table")
    odd = {
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "²",
        "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "-3",
        "DISABLE_AUTO_COMPACT": "0",
    }
    assert compaction(Claude(home=claude.home, environment=odd)) == (967_000, "table")
    endless = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "9" * 5_000}
    assert compaction(Claude(home=claude.home, environment=endless)) == (967_000, "table")
