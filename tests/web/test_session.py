"""Session: the curve as JSON, the log, and the events of a session that grows."""

import http.client
import json

import pytest

from leftoff.agents.registry import agent_of
from leftoff.pause.finalize import Ending, finalize
from leftoff.pause.folders import session_pause
from leftoff.pause.journal import Origin
from leftoff.pause.lifecycle import start
from leftoff.platform import clock
from leftoff.sessions.status import status
from leftoff.testing.builders import Story, call
from leftoff.web import report
from leftoff.web.library import key_of
from leftoff.workspace import Workspace
from tests.support.transcripts import write_transcript

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"


@pytest.fixture
def transcript(home, tmp_path):
    story = Story(session_id=SESSION, project=str(tmp_path / "work"), model="claude-sonnet-4-5").asked(
        "Fix the login"
    )
    story.replied("I look.", call("shell", {"command": "pytest"}, "1 failed"), used=150_000).compacted(
        "It is broken."
    )
    return home.claude(story.replied("Next: fix the parser.", used=30_000))


@pytest.fixture
def address(transcript):
    return f"/session/{key_of(str(transcript))}"


def test_the_page_names_the_session(address, web):
    page = web.get(address)
    assert "Fix the login" in page
    assert "claude-sonnet-4-5" in page


def test_the_curve_has_the_line_the_parts_and_the_marks(address, transcript, web):
    curve = json.loads(web.get(f"{address}/curve"))
    assert curve["tokens"] == [150_000, 30_000]
    assert [sum(parts) for parts in zip(*curve["parts"], strict=True)] == curve["tokens"]
    assert [(mark["kind"], mark["request"]) for mark in curve["marks"]] == [("compaction", 1)]
    shown = status(str(transcript), Workspace.open())
    assert curve["status"]["used"] == shown.metrics.used_tokens
    assert [level["tokens"] for level in curve["status"]["levels"]] == [
        105_000,
        127_500,
        135_000,
        142_500,
    ]  # of the point where it compacted


@pytest.mark.parametrize("is_finished", [False, True])
def test_a_pause_of_the_session_is_marked_where_it_began(address, web, tmp_path, is_finished):
    project = tmp_path / "work"
    project.mkdir(exist_ok=True)
    first, second = map(clock.parse_rfc3339, json.loads(web.get(f"{address}/curve"))["at"])
    for session_id in (SESSION, SESSION.replace("0b54", "1b54")):  # the other is of another session
        home = session_pause("claude", session_id, Workspace.open(project))
        origin = Origin(agent="claude", session_id=session_id, project=str(project))
        start(home, 0.9, {}, origin=origin, at=first + (second - first) / 2)
        if is_finished:
            finalize(home, Ending())
    marks = json.loads(web.get(f"{address}/curve"))["marks"]
    assert [mark["request"] for mark in marks if mark["kind"] == "pause"] == [1]


def test_the_log_says_what_to_do_next_and_how_to_resume(address, web):
    log = web.get(f"{address}/log")
    assert "fix the parser" in log
    assert f"claude --resume {SESSION}" in log


def test_looking_writes_nothing_but_the_catalogue(address, web, tmp_path):
    def files():
        return {path for path in tmp_path.rglob("*") if path.is_file()}

    before = files()
    for path in ("/", address, f"{address}/curve", f"{address}/log"):
        web.get(path)
    assert {path.parent.name for path in files() - before} <= {"library"}


class Events:
    """The events that the server sends while a session grows."""

    def __init__(self, web, path):
        self.connection = http.client.HTTPConnection("127.0.0.1", web.access.port, timeout=30)
        self.connection.request("GET", path, headers={"Cookie": f"{web.access.cookie}={web.access.token}"})
        self.answer = self.connection.getresponse()

    def next(self):
        while not (line := self.answer.readline()).startswith(b"data: "):
            assert line, "the server closed the connection"
        return json.loads(line.removeprefix(b"data: "))


def test_a_growing_session_sends_the_new_end_of_its_curve(address, transcript, web, tmp_path):
    events = Events(web, f"{address}/live?first=2")
    assert events.next()["tokens"] == [30_000]
    longer = Story(session_id=SESSION, project=str(tmp_path / "work"), model="claude-sonnet-4-5").asked(
        "Go on"
    )
    whole = tmp_path / "more.jsonl"
    write_transcript(agent_of(transcript), longer.replied("Fixed.", used=41_000).script(), whole)
    data = whole.read_bytes()
    middle = data.index(b"Fixed.")
    with transcript.open("ab") as file:
        file.write(data[:middle])  # the agent is in the middle of its line
        file.flush()
        assert events.next()["tokens"] == [30_000]
        file.write(data[middle:])
    grown = events.next()
    assert (grown["first"], grown["tokens"], grown["status"]["used"]) == (1, [30_000, 41_000], 41_000)
    events.connection.close()


def test_a_page_that_has_everything_is_sent_nothing_until_there_is_more(address, transcript, web):
    curve = json.loads(web.get(f"{address}/curve"))
    assert curve["bytes"] == transcript.stat().st_size
    events = Events(web, f"{address}/live?first=2&bytes={curve['bytes']}")
    with transcript.open("a") as file:
        file.write("\n")
    assert events.next()["bytes"] == curve["bytes"] + 1  # it is the first that comes
    events.connection.close()


def test_a_transcript_that_is_replaced_is_read_again(address, transcript, web, home):
    assert len(json.loads(web.get(f"{address}/curve"))["tokens"]) == 2
    story = (
        Story(session_id=SESSION, project="/p", model="claude-sonnet-4-5")
        .asked("Again")
        .replied("Yes.", used=11_000)
    )
    transcript.unlink()
    home.claude(story)
    assert json.loads(web.get(f"{address}/curve"))["tokens"] == [11_000]


@pytest.mark.parametrize("lines", [1, 40])
@pytest.mark.parametrize("is_new_file", [True, False])
def test_an_open_page_is_sent_the_whole_curve_of_a_transcript_that_is_rewritten(
    address, transcript, web, tmp_path, lines, is_new_file
):
    curve = json.loads(web.get(f"{address}/curve"))
    events = Events(web, f"{address}/live?first=2&bytes={curve['bytes']}&reading={curve['reading']}")
    story = Story(session_id=SESSION, project="/p", model="claude-sonnet-4-5").asked("Again")
    for number in range(lines):
        story.replied("Yes.", used=11_000 + number)
    other = tmp_path / "other.jsonl"
    write_transcript(agent_of(transcript), story.script(), other)
    if is_new_file:
        other.replace(transcript)
    else:
        transcript.write_bytes(b"")  # as most programs write: what was there goes first
        assert events.next()["tokens"] == []
        transcript.write_bytes(other.read_bytes())
    sent = events.next()
    assert (sent["first"], sent["tokens"]) == (0, [11_000 + number for number in range(lines)])
    events.connection.close()


def test_a_session_that_is_deleted_is_not_found(address, transcript, web):
    web.get(address)
    transcript.unlink()
    assert web.ask(address).status == 404


def test_the_report_counts_what_compactions_lost(home, transcript, web, tmp_path):
    story = Story(session_id="2b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11", project=str(tmp_path / "work"))
    story.asked("Never touch the public API of harbor. Always run `make check` before a commit.")
    story.replied("I look.", call("shell", {"command": "make check"}, "1 failed"), used=150_000).compacted(
        "It is broken."
    )
    path = home.claude(story.replied("Fixed.", used=30_000))
    path.write_text(path.read_text().replace("2026-01-06", f"{clock.now():%Y-%m-%d}"))
    page = web.get("/report/found")
    read = report._scan_file.cache_info().misses
    assert web.get("/report/found") == page
    assert report._scan_file.cache_info().misses == read  # nothing was read again
    assert f'href="/session/{key_of(str(path))}/compactions"' in page
    assert "1 compaction" in page
    assert " rule" in page
