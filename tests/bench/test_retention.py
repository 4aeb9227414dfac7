"""``python -m bench retention``: what the agent has after a compaction, against what it uses next."""

import json

import pytest

from bench import retention as guard
from bench.__main__ import run
from bench.mentions import Mention
from leftoff.agents import claude, codex
from leftoff.errors import NothingToDoError
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript


def ran(command: str, answer: str = "ok"):
    return call("shell", {"command": command}, answer)


def write(path, story, agent=claude):
    write_transcript(agent.here(), story.script(), path)
    return path


@pytest.fixture
def transcript(tmp_path):
    story = Story().asked("Fix the login").replied("", ran("make lint"), ran("cat src/other.py src/login.py"))
    story.replied("You could also run make docs.")
    story.compacted("We look at src/login.py.")
    story.replied("", ran("make lint 2>&1 | tail -5"), ran("make docs"), ran("make never-seen"))
    story.replied("", ran("cat src/login.py"), ran("cat src/new.py"))
    return write(tmp_path / "session.jsonl", story)


def texts(mentions, kind) -> list[str]:
    return [each.text for each in mentions if each.kind == kind]


def test_only_what_was_known_before_is_needed(transcript):
    """A file that an earlier call was given, a command that occurs anywhere; each once."""
    (found,) = guard.measure([transcript])
    assert texts(found.needed, "files") == ["src/login.py"]
    assert texts(found.needed, "commands") == ["make lint", "make docs"]


def test_the_summary_and_our_text_are_what_the_agent_has(transcript, tmp_path):
    """What only the summary names is had as well."""
    (found,) = guard.measure([transcript])
    assert found.has_summary
    assert not texts(found.missed, "files")
    unnamed = Story().asked("Go").replied("", ran("ls src/a.txt")).compacted("Something else.")
    for number in range(400):
        unnamed.replied("", ran(f"make part{number} with a long command line of its own"))
    unnamed.compacted("Nothing is named here.").replied("", ran("ls src/a.txt"))
    *_, last = guard.measure([write(tmp_path / "long.jsonl", unnamed)])
    assert texts(last.missed, "commands") == ["ls src/a.txt"]


def test_at_most_thirty_calls_of_the_main_conversation_count(tmp_path):
    commands = [f"echo {number}" for number in range(40)]
    story = (
        Story().asked(f"Run {', '.join(commands)} and make inside").replied("", ran("ls")).compacted("Gone.")
    )
    story.delegated("Check", "Checked.", ran("make inside"))
    for command in commands:
        story.replied("", ran(command))
    (found,) = guard.measure([write(tmp_path / "long.jsonl", story)])
    needed = texts(found.needed, "commands")
    assert needed == commands[: len(needed)]
    assert 28 <= len(needed) <= 30  # the delegation is a call too


def result(needed: int, missed: int, *, has_summary: bool = True, kind="commands", tmp_path=None):
    mentions = tuple(Mention(kind, f"make {number}") for number in range(needed))
    return guard.CompactionResult(
        source=tmp_path, line=2, has_summary=has_summary, needed=mentions, missed=mentions[:missed]
    )


def test_the_goal_is_judged_over_all_compactions_with_a_readable_summary(tmp_path):
    """Counts are added up; where a summary is opaque, our text alone need not hold everything."""
    assert [*guard.goals_missed([result(10, 3), result(2, 0)])] == []
    assert [*guard.goals_missed([result(10, 4)])] == ["commands: 60.0%, goal ≥ 70%"]
    assert [*guard.goals_missed([result(10, 10, has_summary=False)])] == []
    assert [*guard.goals_missed([result(5, 2, kind="files")])] == ["files: 60.0%, goal ≥ 80%"]
    assert [*guard.goals_missed([])] == []


def test_an_unreadable_summary_has_a_row_of_its_own(tmp_path, capsys):
    story = Story().asked("Go").replied("", ran("make lint")).compacted("").replied("", ran("make lint"))
    path = write(tmp_path / "opaque.jsonl", story, codex)
    (found,) = guard.measure([path])
    assert not found.has_summary
    assert run(["retention", str(path)]) == 0
    assert "the summary is not readable" in capsys.readouterr().out


def test_the_table_names_the_misses_when_asked(transcript, capsys, monkeypatch):
    monkeypatch.setattr(guard, "_our_text", lambda cut: "")
    assert run(["retention", "--misses", "--strict", str(transcript)]) == 1
    out = capsys.readouterr().out
    assert "0.0% of 2" in out
    assert "commands make lint" in out
    assert "MISSED commands: 0.0%" in out


def test_scripts_get_every_compaction(transcript, capsys):
    assert run(["retention", "--json", str(transcript)]) == 0
    (found,) = json.loads(capsys.readouterr().out)["compactions"]
    assert {"kind": "files", "text": "src/login.py"} in found["needed"]


def test_without_a_file_the_bundled_session_is_measured(capsys):
    assert run(["retention", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["compactions"]


def test_without_a_compaction_the_error_says_so(tmp_path):
    path = write(tmp_path / "plain.jsonl", Story().asked("Go").replied("Done."))
    with pytest.raises(NothingToDoError, match="No compaction"):
        [*guard.measure([path])]
