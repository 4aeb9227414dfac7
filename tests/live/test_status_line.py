"""What the status line shows, from what the client says and what the transcript says; and what is kept for the hooks."""

import json
from pathlib import Path

import pytest

from leftoff.config import load
from leftoff.core.metrics import Level
from leftoff.errors import InvalidIdError
from leftoff.live import installed
from leftoff.live.status_line import FILE_NAME, line_settings, status_line
from leftoff.platform import paths
from leftoff.sessions.learned_windows import load_window, save_window, window_file
from leftoff.testing.builders import Story
from tests.support.fixtures import CLAUDE_ID

GOLDEN = Path(__file__).parents[1] / "golden" / "wire"


def client_json(transcript=None, *, window=200_000, usage=None, session_id=CLAUDE_ID, **more):
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
    """The share is of what is usable before the client compacts, with the turns left at this pace."""
    found = status_line(client_json(session))
    assert (found.metrics.used_tokens, found.metrics.window_tokens) == (80_000, 200_000)
    assert found.metrics.window_basis == "reported"
    assert found.metrics.total_budget == 167_000
    assert (found.level, found.next_level, found.turns_left) == (Level.OK, Level.CAUTION, 2)
    assert found.saved_at is None


def test_a_window_larger_than_the_table_knows_is_believed(session):
    """The client's own number is more reliable than the table."""
    found = status_line(client_json(session, window=1_000_000))
    assert found.metrics.window_tokens == 1_000_000
    assert found.to_dict()["percentage_used"] == 8.2


def test_before_the_first_line_of_the_transcript_nothing_is_known(tmp_path):
    """The client's own count is not shown: no other screen could show the same."""
    usage = {"input_tokens": 100_000, "cache_read_input_tokens": 25_000, "output_tokens": 250}
    assert status_line(client_json(tmp_path / "not-yet.jsonl", usage=usage)).metrics.used_tokens is None
    found = status_line(client_json(None))
    assert (found.metrics.used_tokens, found.level, found.turns_left) == (None, None, None)
    assert found.to_dict()["saved_at"] is None


def test_past_every_mark_nothing_lies_ahead(home):
    story = Story(session_id=CLAUDE_ID, project=str(Path.cwd()), model="claude-sonnet-4-5")
    found = status_line(client_json(home.claude(story.asked("Go").replied("Done.", used=170_000))))
    assert (found.level, found.next_level, found.turns_left) == (Level.CRITICAL, None, None)


def test_the_last_save_is_seen(session):
    """The time is that of this session's own log."""
    logs = Path.cwd() / ".leftoff" / "resume-logs"
    logs.mkdir(parents=True)
    (logs / f"session-{CLAUDE_ID}.json").write_text("{}", encoding="utf-8")
    found = status_line(client_json(session))
    assert 0 <= (found.at - found.saved_at).total_seconds() < 60


def test_the_window_is_kept_for_the_hooks_and_only_news_are_written(session):
    """There is one small file per session."""
    status_line(client_json(session))
    kept = window_file("claude", CLAUDE_ID)
    assert json.loads(kept.read_bytes()) == json.loads((GOLDEN / "seen_window.v1.json").read_bytes())
    assert load_window("claude", CLAUDE_ID) == 200_000
    before = kept.stat().st_ino
    status_line(client_json(session))
    assert kept.stat().st_ino == before
    status_line(client_json(session, window=1_000_000))
    assert load_window("claude", CLAUDE_ID) == 1_000_000
    status_line(client_json(session, window=None))
    assert load_window("claude", CLAUDE_ID) == 1_000_000


@pytest.mark.parametrize(
    "content",
    [b"", b"[1]", b"3", b'{"schema": 9, "window_tokens": 5}', b'{"schema": 1, "window_tokens": true}'],
)
def test_a_window_that_cannot_be_read_is_not_known(content):
    """A broken window file counts as missing and raises no error."""
    kept = window_file("claude", "a")
    kept.parent.mkdir(parents=True)
    kept.write_bytes(content)
    assert load_window("claude", "a") is None


def test_a_window_that_cannot_be_kept_causes_no_error(session):
    """A file in place of the folder is ignored."""
    paths.state_folder().parent.mkdir(parents=True)
    paths.state_folder().write_text("", encoding="utf-8")
    save_window("claude", "a", 5)
    assert status_line(client_json(session)).metrics.window_tokens == 200_000


def test_ids_that_lead_elsewhere_are_refused():
    """The id comes from outside."""
    with pytest.raises(InvalidIdError):
        status_line(client_json(None, session_id="../../evil"))


@pytest.mark.parametrize("raw", [b"[]", b"{}", b'{"session_id": "x"}'])
def test_what_is_not_for_us_shows_nothing(raw):
    assert status_line(raw) is None


def test_the_defaults_are_those_of_the_settings(monkeypatch):
    """The defaults are written down twice, so that the settings need not be loaded."""
    default = line_settings(Path.cwd())
    assert FILE_NAME == load.FILE_NAME
    monkeypatch.setenv("LEFTOFF_DISABLE", "0")  # makes it read the settings
    assert line_settings(Path.cwd()) == default


def test_a_project_file_moves_the_marks(session):
    """Settings are read if there are any."""
    folder = Path.cwd() / ".leftoff"
    folder.mkdir()
    (folder / load.FILE_NAME).write_text("context_management:\n  thresholds:\n    caution: 0.8\n")
    assert status_line(client_json(session)).thresholds.caution.fraction == 0.8


def test_switched_off_it_is_silent(session, monkeypatch):
    """The environment switches off one run, the settings all runs."""
    monkeypatch.setenv("LEFTOFF_DISABLE", "1")
    assert status_line(client_json(session)) is None
    monkeypatch.delenv("LEFTOFF_DISABLE")
    monkeypatch.setenv("LEFTOFF_ENABLED", "false")
    assert status_line(client_json(session)) is None
    assert not window_file("claude", CLAUDE_ID).exists()


def test_installations_are_read_and_written_byte_for_byte():
    """Files that users have on disk stay readable."""
    golden = (GOLDEN / "installations.v1.json").read_bytes()
    path = paths.data_folder() / installed.REGISTRY_NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(golden)
    for each in installed.all_installations():
        with installed.remembered(each):
            pass
    assert path.read_bytes() == golden
