"""What the status line shows, from what the client says and what the transcript says; and what is kept for the hooks."""

import json
from pathlib import Path

import pytest

from leftoff.errors import InvalidIdError
from leftoff.flows import installations
from leftoff.flows.seen_window import path_of, remember_window, seen_window
from leftoff.flows.statusline import status_line
from leftoff.model.context_metrics import Level
from leftoff.system import paths
from leftoff.testing.builders import Story
from tests.flows.conftest import CLAUDE_ID

GOLDEN = Path(__file__).parents[1] / "golden" / "wire"


def told(transcript=None, *, window=200_000, usage=None, session_id=CLAUDE_ID, **more):
    return json.dumps(
        {
            "session_id": session_id,
            "transcript_path": str(transcript) if transcript else None,
            "cwd": str(Path.cwd()),
            "workspace": {"project_dir": str(Path.cwd())},
            "model": {"id": "claude-sonnet-4-5"},
            "context_window": {"context_window_size": window, "current_usage": usage},
            **more,
        }
    ).encode()


@pytest.fixture
def session(home):
    """Four turns, each 20,000 tokens more than the one before."""
    story = Story(session_id=CLAUDE_ID, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for turn in range(1, 5):
        story.asked(f"Part {turn}").replied("Done.", used=20_000 * turn)
    return home.claude(story)


def test_the_transcript_says_how_full_and_the_client_how_large(session):
    """Of what is usable before the client compacts; with the turns that are left at this pace."""
    found = status_line(told(session))
    assert (found.metrics.used_tokens, found.metrics.window_tokens) == (80_000, 200_000)
    assert found.metrics.window_basis == "reported"
    assert found.metrics.total_budget == 167_000
    assert (found.level, found.next_level, found.turns_left) == (Level.OK, Level.CAUTION, 2)
    assert found.saved_at is None


def test_a_window_larger_than_the_table_knows_is_believed(session):
    """The client knows best."""
    found = status_line(told(session, window=1_000_000))
    assert found.metrics.window_tokens == 1_000_000
    assert found.to_dict()["percentage_used"] == 8.3


def test_before_the_first_line_of_the_transcript_the_client_is_asked(tmp_path):
    """And where it does not know either, nothing is known."""
    usage = {"input_tokens": 100_000, "cache_read_input_tokens": 25_000, "output_tokens": 250}
    found = status_line(told(tmp_path / "not-yet.jsonl", usage=usage))
    assert (found.metrics.used_tokens, found.level) == (125_250, Level.CAUTION)
    found = status_line(told(None))
    assert (found.metrics.used_tokens, found.level, found.turns_left) == (None, None, None)
    assert found.to_dict()["saved_at"] is None


def test_past_every_mark_nothing_lies_ahead(tmp_path):
    """No turns are promised."""
    found = status_line(told(None, usage={"input_tokens": 170_000}))
    assert (found.level, found.next_level, found.turns_left) == (Level.CRITICAL, None, None)


def test_the_last_save_is_seen(session):
    """By the log of this very session."""
    logs = Path.cwd() / ".leftoff" / "resume-logs"
    logs.mkdir(parents=True)
    (logs / f"session-{CLAUDE_ID}.json").write_text("{}", encoding="utf-8")
    found = status_line(told(session))
    assert 0 <= (found.at - found.saved_at).total_seconds() < 60


def test_the_window_is_kept_for_the_hooks_and_only_news_are_written(session):
    """One small file per session."""
    status_line(told(session))
    kept = path_of("claude", CLAUDE_ID)
    assert json.loads(kept.read_bytes()) == json.loads((GOLDEN / "seen_window.v1.json").read_bytes())
    assert seen_window("claude", CLAUDE_ID) == 200_000
    before = kept.stat().st_ino
    status_line(told(session))
    assert kept.stat().st_ino == before
    status_line(told(session, window=1_000_000))
    assert seen_window("claude", CLAUDE_ID) == 1_000_000
    status_line(told(session, window=None))
    assert seen_window("claude", CLAUDE_ID) == 1_000_000


@pytest.mark.parametrize(
    "content",
    [b"", b"[1]", b"3", b'{"schema": 9, "window_tokens": 5}', b'{"schema": 1, "window_tokens": true}'],
)
def test_a_window_that_cannot_be_read_is_not_known(content):
    """Nor does it stop anybody."""
    kept = path_of("claude", "a")
    kept.parent.mkdir(parents=True)
    kept.write_bytes(content)
    assert seen_window("claude", "a") is None


def test_a_window_that_cannot_be_kept_is_no_trouble(session):
    """A file stands where the folder should be."""
    paths.state_folder().parent.mkdir(parents=True)
    paths.state_folder().write_text("", encoding="utf-8")
    remember_window("claude", "a", 5)
    assert status_line(told(session)).metrics.window_tokens == 200_000


def test_ids_that_lead_elsewhere_are_refused():
    """The id comes from outside."""
    with pytest.raises(InvalidIdError):
        status_line(told(None, session_id="../../evil"))


@pytest.mark.parametrize("raw", [b"[]", b"{}", b'{"session_id": "x"}'])
def test_what_is_not_for_us_shows_nothing(raw):
    """No agent that we know speaks so."""
    assert status_line(raw) is None


def test_switched_off_it_is_silent(session, monkeypatch):
    """By the environment for one run, by the settings for all."""
    monkeypatch.setenv("LEFTOFF_DISABLE", "1")
    assert status_line(told(session)) is None
    monkeypatch.delenv("LEFTOFF_DISABLE")
    monkeypatch.setenv("LEFTOFF_ENABLED", "false")
    assert status_line(told(session)) is None
    assert not path_of("claude", CLAUDE_ID).exists()


def test_installations_are_read_and_written_byte_for_byte():
    """What stands on users' disks stays readable."""
    golden = (GOLDEN / "installations.v1.json").read_bytes()
    path = paths.data_folder() / installations.NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(golden)
    for each in installations.all_installations():
        installations.remember(each)
    assert path.read_bytes() == golden
