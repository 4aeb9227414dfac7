"""A session that a mod of the client has compacted: what it repeats is sent, but nothing of it happened twice."""

import json
import re
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.cli.main import run
from leftoff.core.records import RecordKind
from leftoff.testing.builders import Story, call
from tests.support.claude_writer import as_compacted_by_mod
from tests.support.transcripts import write_transcript

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
RULE = "Never push to main."
MOD = "Record of the mod: always deploy the zebra on Fridays."
LONG = "the ledger keeps its amounts in cents\n" * 400


@pytest.fixture(params=[False, True], ids=["rebuilt", "kept"])
def transcript(request, isolated_home):
    """A session with two such compactions in a row, the second in the middle of a turn, and work after it."""
    story = Story(session_id=SESSION, project=str(Path.cwd()), model="claude-sonnet-4-5")
    ledger = call("shell", {"command": "cat ledger.txt"}, LONG)
    story.asked(f"Check the quokka ledger. {RULE}").replied("I read it.", ledger, used=120_000)
    story.replied("The ledger is fine.", used=121_000).compacted("-", after=9_000)
    story.compacted("-", after=8_000)
    story.asked("Now the totals.").replied("I add.", call("shell", {"command": "make totals"}), used=160_000)
    story.compacted("-", after=7_000)
    story.replied("Added.", call("shell", {"command": "make check"}), used=12_000)
    path = isolated_home / ".claude" / "projects" / "-slug" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    write_transcript(claude.here(), story.script(), path)
    as_compacted_by_mod(path, MOD, keeps=request.param)
    return path


@pytest.fixture
def typed(capsys):
    """Types a command that must end with this code; gives what was printed."""

    def type_it(*arguments, code=0):
        ended = run(arguments)
        output = capsys.readouterr()
        assert ended == code, output
        return output.out

    return type_it


def used_tokens(typed):
    return json.loads(typed("status", SESSION, "--json"))["context"]["used_tokens"]


def test_a_log_has_every_command_once_and_no_word_of_the_mod(transcript, typed):
    log = typed("log", "save", SESSION, "--stdout")
    assert "zebra" not in log
    for command, outcome in (("make totals", "worked"), ("make check", "passed")):
        assert re.search(rf"`{command}` → {outcome}", log), (command, log)
    for fact in ("**Turns:** 2", "**Tool Calls:** 3", "**Compactions:** 3", RULE, "quokka"):
        assert fact in log, (fact, log)


def test_each_prompt_and_command_is_found_once(transcript, typed):
    found = typed("search", "quokka", "--json")
    assert found.count("quokka ledger") == 1
    typed("search", "zebra", code=3)
    shown = typed("show", SESSION)
    assert shown.count("quokka") == 1
    assert shown.count("→ Bash") == 3
    assert "zebra" in typed("show", SESSION, "--full")
    exported = typed("export", SESSION)
    assert exported.count("quokka") == exported.count("make check") == 1


def test_the_gauge_follows_the_boundary_until_a_reply_is_metered(transcript, typed):
    assert used_tokens(typed) == pytest.approx(12_000, abs=5)
    records = [*claude.here().read(transcript)]
    last = max(number for number, record in enumerate(records) if record.kind is RecordKind.REPEATED)
    transcript.write_bytes(transcript.read_bytes()[: records[last].place.end])
    assert used_tokens(typed) == 7_000


def test_the_records_are_the_same_from_wherever_reading_begins(transcript):
    agent = claude.here()
    records = [*agent.read(transcript)]
    assert sum(record.kind is RecordKind.REPEATED for record in records) > 10
    assert sum(record.kind is RecordKind.PROMPT for record in records) == 2
    for number, record in enumerate(records):
        assert [*agent.read(transcript, record.place)] == records[number + 1 :]


def test_a_trimmed_copy_is_read_the_same_way(transcript, typed):
    made = json.loads(typed("trim", SESSION, "--threshold", "1000", "--json"))
    log = typed("log", "save", made["session_id"], "--stdout")
    assert "zebra" not in log
    assert "2 times" not in log


def test_a_clock_that_was_set_back_hides_no_reply(transcript, typed):
    """Only what precedes the first metered reply can be taken for a repetition."""
    text = transcript.read_text("utf-8")
    boundary = text.rindex('"compact_boundary"')
    transcript.write_text(text[:boundary] + text[boundary:].replace("2026-01-06", "2026-01-05", 40), "utf-8")
    assert "`make check`" in typed("log", "save", SESSION, "--stdout")
