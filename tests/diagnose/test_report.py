"""``leftoff report``: the compactions of the last days, over all sessions found."""

import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from leftoff.cli.main import run
from leftoff.diagnose.report import Compacted, Report, sessions_since
from leftoff.testing.builders import Story, call

CODEX_ID = "01a1e0be-dee8-7b23-ae31-94e0123734a3"
STORY_TIME = datetime(2026, 1, 6, 12, 0, tzinfo=UTC)  # when every built story begins


def ran(command: str):
    return call("shell", {"command": command}, "ok")


def story(summary: str, **options: str) -> Story:
    return (
        Story(**options)
        .asked("Fix the login. Never touch the file src/legacy.py.")
        .replied("", ran("make lint"), ran("make special-test"), call("read", {"path": "src/login.py"}))
        .replied(
            "Working on it.",
            call("edit", {"path": "src/login.py", "old": "login_user()", "new": "login_user(1)"}),
        )
        .compacted(summary)
        .replied("", ran("make lint"))
    )


def read(found: list, *, days: int = 30) -> Report:
    report = Report(since=STORY_TIME + timedelta(days=1) - timedelta(days=days))
    for each in found:
        report.add(each)
    return report


def sessions(agent_id: str | None = None, project: Path | None = None) -> list:
    return sessions_since(datetime(2000, 1, 1, tzinfo=UTC), agent_id, project)


def lost(compacted: Compacted) -> dict[str, tuple[str, ...]]:
    return {line.kind: line.lost for line in compacted.receipt.lines}


def test_the_report_shows_what_a_summary_lost_and_what_the_log_would_have_kept(home):
    """The command it names is kept, the other is lost, and the log would have held it."""
    home.claude(story("Ran make lint on src/login.py."))
    (found,) = read(sessions()).compactions
    commands = next(line for line in found.receipt.lines if line.kind == "commands")
    assert commands.lost == commands.put_back == ("make special-test",)
    assert commands.total == 2
    rules = next(line for line in found.receipt.lines if line.kind == "rules")
    assert any("Never touch" in rule for rule in rules.lost)


def test_a_summary_that_keeps_everything_lost_nothing(home):
    """It contains all words of the log's rules, commands, files and names."""
    home.claude(
        story(
            "Fix the login. Never touch the file src/legacy.py. make lint, make special-test, src/login.py, login_user"
        )
    )
    (found,) = read(sessions()).compactions
    assert not lost(found)["commands"]
    assert not lost(found)["rules"]


def test_sessions_of_all_agents_count_newest_first(home):
    """The sessions of one agent can be selected."""
    home.claude(story("One."))
    home.codex(story("Two.", session_id=CODEX_ID))
    assert [each.agent for each in read(sessions()).newest_first()] in (
        ["claude", "codex"],
        ["codex", "claude"],
    )
    assert [each.agent for each in read(sessions("codex")).compactions] == ["codex"]


def test_only_sessions_of_the_project_count_when_one_is_named(home):
    """A session belongs to the project in whose folder it ran."""
    home.claude(story("One.", project=str(Path.cwd())))
    home.codex(story("Two.", session_id=CODEX_ID, project="/somewhere/else"))
    assert [each.agent for each in read(sessions(project=Path.cwd())).compactions] == ["claude"]


def test_compactions_before_the_days_asked_for_are_left_out(home):
    """The time of the compaction counts, not that of the file."""
    home.claude(story("Old."))
    late = Report(since=STORY_TIME + timedelta(days=10))
    for each in sessions():
        late.add(each)
    assert late.sessions == 1
    assert late.compactions == []


def test_files_not_written_to_since_are_not_read(home):
    """The modification time of a file shows whether it needs to be read."""
    path = home.claude(story("Old."))
    then = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    assert [each.transcript for each in sessions_since(then - timedelta(days=1), None, None)] == [path]
    assert sessions_since(then + timedelta(days=1), None, None) == []


def test_the_same_compaction_in_a_copy_counts_once(home):
    """Forks and copies carry their parent's history."""
    path = home.claude(story("Once."))
    shutil.copy(path, path.with_name("5d0e6f0a-3c1d-4e7f-9a55-0d2f7c1b8e46.jsonl"))
    report = read(sessions())
    assert (report.sessions, len(report.compactions)) == (1, 1)


def test_an_opaque_summary_is_reported_as_such_and_counts_in_no_total(home):
    """What an unreadable summary lost cannot be known."""
    home.codex(story("", session_id=CODEX_ID))
    report = read(sessions())
    (found,) = report.compactions
    assert found.receipt.is_opaque
    assert found.to_dict()["summary_readable"] is False
    assert report.totals() == {}


def test_totals_add_up_over_compactions(home):
    """Two of four commands are lost in two compactions."""
    home.claude(story("Ran make lint."))
    home.claude(story("Ran make special-test.", session_id="5d0e6f0a-3c1d-4e7f-9a55-0d2f7c1b8e46"))
    commands = read(sessions()).totals()["commands"]
    assert (commands.total, commands.lost, commands.would_have_kept) == (4, 2, 2)


def test_a_transcript_that_cannot_be_read_is_named_and_hides_no_other(home):
    """A transcript that disappears after it was found is reported."""
    gone = home.claude(story("Gone."))
    home.codex(story("Here.", session_id=CODEX_ID))
    found = sessions()
    gone.unlink()
    report = read(found)
    assert [path for path, _ in report.unreadable] == [gone]
    assert len(report.compactions) == 1


def test_nothing_is_written_beside_the_transcripts_or_kept(home, isolated_home):
    """A report only reads."""
    path = home.claude(story("Ran make lint.", project=str(Path.cwd())))
    before = {each: each.stat().st_mtime_ns for each in isolated_home.rglob("*") if each.is_file()}
    content = path.read_bytes()
    read(sessions())
    assert path.read_bytes() == content
    assert {each: each.stat().st_mtime_ns for each in isolated_home.rglob("*") if each.is_file()} == before


@pytest.fixture
def recent(home):
    """A session whose compaction is as old as its story, found however old it is."""
    path = home.claude(story("Ran make lint on src/login.py."))
    os.utime(path)
    return path


def test_a_person_sees_what_was_lost_and_what_would_have_been_kept(recent, capsys):
    """With ``--verbose`` the lost items are shown word for word."""
    assert run(["report", "--days", "3650"]) == 0
    out = capsys.readouterr().out
    assert "1 session, 1 compaction." in out
    assert "1 of 2 commands" in " ".join(out.split())
    assert "Together the summaries lost" in out
    assert run(["report", "--days", "3650", "--verbose"]) == 0
    out = capsys.readouterr().out
    assert "make special-test" in out
    assert "To read it: leftoff show 0b54f7aa --at " in out


@pytest.mark.parametrize("columns", [40, 60])
def test_a_narrow_report_keeps_what_was_lost_and_kept(recent, capsys, monkeypatch, columns):
    """The two lines that it is made for, and which session; nothing is wider than the terminal."""
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run(["report", "--days", "3650"]) == 0
    table = capsys.readouterr().out.partition("compaction.")[2].partition("Together")[0]
    assert max(map(len, table.splitlines())) <= columns
    found = table.split()
    for word in ("lost", "kept", "rule"):
        assert word in "".join(found)
    assert {"lost", "kept", "0b54f7aa"} <= {*found}


@pytest.mark.parametrize("garbage", [b"garbage\n\x00\xff\n", b'{"a": 1}\n', b""])
def test_a_file_without_a_record_is_not_a_session(home, garbage):
    """A file without any record is reported and not counted as a session."""
    path = home.claude(story("Here."))
    other = path.with_name("5d0e6f0a-3c1d-4e7f-9a55-0d2f7c1b8e46.jsonl")
    other.write_bytes(garbage)
    report = read(sessions())
    assert (report.sessions, len(report.compactions)) == (1, 1)
    assert [(path, "no line in it is a record" in why) for path, why in report.unreadable] == [(other, True)]


def test_scripts_get_every_compaction_with_its_items(recent, capsys):
    """The keys and their meaning are an interface for scripts."""
    assert run(["report", "--days", "3650", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (compaction,) = found["compactions"]
    assert compaction["transcript"] == str(recent)
    assert compaction["items"]["commands"] == {
        "total": 2,
        "lost": ["make special-test"],
        "would_have_kept": ["make special-test"],
    }
    assert found["totals"]["commands"] == {"total": 2, "lost": 1, "would_have_kept": 1}
    assert (found["days"], found["sessions"], found["unreadable"]) == (3650, 1, [])


def test_no_compaction_is_reported_in_a_sentence(capsys):
    assert run(["report"]) == 0
    assert "no compaction" in capsys.readouterr().out
