"""What the window of Codex holds, and where Codex compacts automatically."""

from __future__ import annotations

from pathlib import Path

import pytest

from leftoff.agents.codex import Codex
from leftoff.agents.codex.versions import known, version
from leftoff.core.metrics import AgentWindow, Occupancy

TOKENS = {"baseline_tokens": 5_000, "tokens_per_char": 0.26}


def windows(
    codex: Codex, *, model: str | None = None, used: int | None = None, reported: int | None = None
) -> AgentWindow:
    return codex.window(Occupancy(used_tokens=used, model=model, window_tokens=reported), None)


@pytest.fixture
def configure(home: Path):
    """Writes Codex's config.toml."""
    home.mkdir()
    return lambda text: (home / "config.toml").write_text(text, encoding="utf-8")


def test_what_it_reports_counts_first(codex: Codex, configure) -> None:
    """95,000 is 95 % of a raw window of 100,000, which is compacted at 90,000."""
    configure("model_context_window = 400000")
    assert windows(codex, reported=95_000) == AgentWindow(
        window_tokens=95_000,
        window_basis="reported",
        compacts_at_tokens=90_000,
        compaction_basis="table",
        **TOKENS,
    )


def test_in_2025_it_reported_the_raw_window(codex: Codex) -> None:
    """272,000 is not 95 % of any window that Codex had."""
    found = windows(codex, reported=272_000)
    assert (found.window_tokens, found.compacts_at_tokens) == (272_000, 244_800)


def test_its_settings_come_before_the_table(codex: Codex, configure) -> None:
    """The setting is the raw window; ours is what it would report."""
    configure('model = "gpt-5.5"\nmodel_context_window = 100000\n')
    found = windows(codex, model="gpt-5.5")
    assert (found.window_tokens, found.window_basis, found.compacts_at_tokens) == (95_000, "setting", 90_000)


def test_the_limit_for_compaction_can_only_be_lowered(codex: Codex, configure) -> None:
    """A value above 90 % of the raw window changes nothing."""
    configure("model_context_window = 100000\nmodel_auto_compact_token_limit = 65000\n")
    assert windows(codex).compacts_at_tokens == 65_000
    assert windows(codex).compaction_basis == "setting"
    configure("model_context_window = 100000\nmodel_auto_compact_token_limit = 95000\n")
    assert windows(codex).compacts_at_tokens == 90_000
    assert windows(codex).compaction_basis == "table"


def test_the_table_knows_models(codex: Codex, configure) -> None:
    """Models are recognised by the beginning of their name, and unknown names as Codex treats them."""
    assert windows(codex, model="gpt-5.5").window_tokens == 258_400
    assert windows(codex, model="gpt-6.1-terra").window_tokens == 475_000
    assert windows(codex, model="somebody-elses").window_tokens == 258_400
    configure('model = "gpt-6.1-terra"')
    assert windows(codex).window_tokens == 475_000


def test_more_in_use_than_the_table_allows_moves_it_up(codex: Codex) -> None:
    """The window becomes the next larger size, or what is in use if none is large enough."""
    assert windows(codex, model="gpt-5.5", used=300_000).window_basis == "observed"
    assert windows(codex, model="gpt-5.5", used=300_000).window_tokens == 353_400
    assert windows(codex, model="gpt-5.5", used=258_400).window_basis == "table"
    assert windows(codex, model="gpt-5.5", used=9_000_000).window_basis == "observed"


def test_without_model_and_settings_nothing_is_known(codex: Codex, configure) -> None:
    """Nothing is known except for a limit that the user set."""
    assert windows(codex) == AgentWindow(
        window_tokens=None,
        window_basis="unknown",
        compacts_at_tokens=None,
        compaction_basis="unknown",
        **TOKENS,
    )
    configure("model_auto_compact_token_limit = 65000")
    assert windows(codex).compacts_at_tokens == 65_000


@pytest.mark.parametrize(
    "text", ["model_context_window = [", "model_context_window = 'many'\nmodel = 3", "\ufffd = 1"]
)
def test_a_broken_config_is_ignored(codex: Codex, configure, text: str) -> None:
    """A broken config raises no error, and the table's values are used."""
    configure(text)
    assert windows(codex, model="gpt-5.5").window_basis == "table"


def test_the_environment_names_another_home(tmp_path: Path) -> None:
    """Like Codex itself, leftoff reads ``CODEX_HOME``."""
    (tmp_path / "config.toml").write_text("model_context_window = 100000", encoding="utf-8")
    codex = Codex(tmp_path / "nowhere", {"CODEX_HOME": str(tmp_path)})
    assert windows(codex).window_tokens == 95_000


def test_versions_compare_by_number() -> None:
    """0.142 is later than 0.63, and text that is not a version is older than all."""
    assert (
        version("0.142.0")
        > version("0.63.1")
        > version("0.2.0-alpha.2-1673-gb519267d")
        > version("dev")
        == ()
    )
    assert known().newest_version == (0, 166)
