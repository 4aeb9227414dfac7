"""The curve of a context window: exact at every request, its parts together exactly the line, its marks those of the file."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from leftoff.core.records import RecordKind
from leftoff.errors import TranscriptError
from leftoff.sessions.curve import KINDS, context_curve
from leftoff.sessions.find import session_at
from leftoff.sessions.status import status_of
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"


@pytest.fixture
def story():
    return Story(session_id=SESSION, project="/p", model="claude-sonnet-4-5").asked("Fix the login of users")


def transcript_parts(path: Path):
    """Return the end of each line in bytes, by its number."""
    ends, end = {}, 0
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
        end += len(line)
        ends[number] = end
    return ends


def assert_is_what_status_says(path: Path, copy: Path) -> int:
    """Cut the transcript after each request, ask status, and compare; return the number of requests."""
    workspace, ref = Workspace.open(), session_at(path)
    data, ends = path.read_bytes(), transcript_parts(path)
    curve = context_curve(ref)
    for point in curve.points:
        copy.write_bytes(data[: ends[point.line]])
        assert status_of(session_at(copy), workspace).metrics.used_tokens == point.tokens, point
        assert sum(point.parts) == point.tokens
        assert min(point.parts) >= 0
        copy.unlink()
    return len(curve.points)


def test_the_line_is_what_status_says_after_each_request(home, story, tmp_path):
    story.replied("First I look.", call("shell", {"command": "pytest"}, "1 failed " * 400), used=41_000)
    story.replied("Now I know.", used=52_000).asked("Thanks, go on").replied("Done.", used=60_500)
    path = home.claude(story)
    assert assert_is_what_status_says(path, tmp_path / path.name) == 3


@pytest.mark.slow
def test_the_line_is_what_status_says_after_each_request_of_all_real_transcripts(real_transcripts, tmp_path):
    requests = 0
    for path in sorted(real_transcripts.rglob("*.jsonl")):
        with suppress(TranscriptError):  # of an agent that is not supported
            session_at(path)
            requests += assert_is_what_status_says(path, tmp_path / path.name)
    assert requests > 1000


def test_the_marks_are_the_compactions_of_all_real_transcripts(real_transcripts):
    """Every boundary of a file is one mark, in its place: the requests before it precede it in the file."""
    marks = 0
    for path in sorted(real_transcripts.rglob("claude*.jsonl")):
        boundaries = [
            number
            for number, line in enumerate(path.read_bytes().splitlines(), start=1)
            if b'"compact_boundary"' in line and json.loads(line).get("subtype") == "compact_boundary"
        ]
        curve = context_curve(session_at(path))
        found = [mark for mark in curve.marks if "compaction" in mark.kind]
        assert [mark.line for mark in found] == boundaries, path
        for mark in found:
            assert all(point.line < mark.line for point in curve.points[: mark.request])
            assert all(point.line > mark.line for point in curve.points[mark.request :])
        marks += len(found)
    assert marks > 10


def test_what_filled_the_window_is_counted_by_kind(home, story):
    story.replied("I look.", call("shell", {"command": "pytest"}, "x" * 9_000), used=30_000)
    story.replied("y" * 3_000, call("read", {"path": "/p/a.py"}, "z" * 6_000), used=34_000).replied(
        "Done.", used=37_000
    )
    point = context_curve(session_at(home.claude(story))).points[-1]
    parts = dict(zip(KINDS, point.parts, strict=True))
    assert parts["commands"] > parts["reads"] > parts["replies"] > parts["prompts"] > 0
    assert parts["system"] > parts["commands"]
    assert parts["MCP"] == 0


def test_a_compaction_empties_the_window_and_is_marked(home, story):
    story.replied("a" * 5_000, used=160_000).compacted("We fixed it.", after=4_000)
    story.replied("b", used=24_000)
    curve = context_curve(session_at(home.claude(story)))
    assert [(mark.kind, mark.request, mark.before_tokens) for mark in curve.marks] == [
        ("compaction", 1, 160_000)
    ]
    before, after = curve.points
    replies = KINDS.index("replies")
    assert before.parts[replies] > after.parts[replies]


@pytest.mark.parametrize(
    ("minutes", "automatic", "kind"),
    [
        (31, True, "idle compaction"),
        (29, True, "compaction"),
        (31, False, "compaction"),
    ],
)
def test_an_automatic_compaction_after_half_an_hour_of_silence_is_an_idle_one(
    home, story, minutes, automatic, kind
):
    story.replied("a", used=160_000).compacted("We fixed it.", automatic=automatic)
    *events, compacted = story.events
    silence = timedelta(minutes=minutes)
    story.events = [*events, replace(compacted, at=events[-1].at + silence)]
    (mark,) = context_curve(session_at(home.claude(story))).marks
    assert mark.kind == kind


def test_cleared_results_are_marked_and_do_not_empty_the_window(home, story):
    path = home.claude(story.replied("a" * 5_000, used=160_000))
    cleared = {
        "type": "system",
        "subtype": "microcompact_boundary",
        "sessionId": SESSION,
        "microcompactMetadata": {"preTokens": 150_000, "tokensSaved": 40_000},
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(cleared) + "\n")
    assert [
        (each.kind, each.request, each.before_tokens, each.after_tokens)
        for each in context_curve(session_at(path)).marks
    ] == [("results cleared", 1, 150_000, 110_000)]


def test_the_requests_of_subagents_are_not_in_the_curve(real_transcripts):
    path = real_transcripts / "claude-1.0.98-sidechains.jsonl"
    ref = session_at(path)
    lines = {
        r.place.line_idx + 1
        for r in ref.session.records
        if r.actor is not None and r.kind is RecordKind.REPLY
    }
    assert lines
    assert lines.isdisjoint(point.line for point in context_curve(ref).points)
