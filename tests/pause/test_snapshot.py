"""A finished pause as JSON, YAML, Markdown and archive."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from ruamel.yaml import YAML

from leftoff.core.provenance import Ground
from leftoff.core.wire import SCHEMAS
from leftoff.pause.journal import read_lines
from leftoff.pause.snapshot import (
    SnapshotContext,
    archive_bytes,
    build_state,
    close_recording,
    rename_recording,
    render_documents,
    render_page,
    replace_actions,
)
from tests.pause import story

GOLDEN = Path(__file__).parents[1] / "golden" / "wire"


@pytest.fixture
def closed():
    return close_recording(story.wind_down(), story.context())


@pytest.fixture
def state(closed):
    return build_state(closed, story.context())


def test_the_snapshot_json_has_its_documented_form(state):
    assert state["session_id"] == "session-20260106-120000"
    assert state["paused_at"] == "2026-01-06T12:05:00Z"
    assert state["duration_hours"] == 0.08
    assert state["context_usage"] == {"tokens_used": 186_000, "tokens_total": 200_000, "percentage": 93.0}
    pause = state["incremental_pause"]
    assert (pause["enabled"], pause["action_count"], pause["duration_seconds"]) == (True, 6, 300)
    assert (pause["context_range"], pause["tool_calls"], pause["bad_lines"]) == ([0.9, 0.93], 1, 1)
    assert (
        pause["actions_summary"][1].items()
        >= {
            "type": "tool_call",
            "timestamp": "2026-01-06T12:01:00Z",
        }.items()
    )
    assert state["schema"] == SCHEMAS["pause_snapshot"]


def test_the_documents_match_the_golden_files(state, closed):
    """The formats are an interface."""
    written = render_documents(state, closed)
    assert [*written] == [f"{story.ID}.{end}" for end in ("md", "yaml", "json")]
    for name, data in written.items():
        assert data.decode() == (GOLDEN / f"pause_snapshot.v1{Path(name).suffix}").read_text("utf-8")


def test_the_yaml_says_the_same_as_the_json(state, closed):
    written = render_documents(state, closed)
    assert YAML(typ="safe", pure=True).load(written[f"{story.ID}.yaml"]) == json.loads(
        written[f"{story.ID}.json"]
    )


def test_the_last_action_holds_the_number_of_actions_and_the_duration(closed):
    last = closed.actions[-1]
    assert (last.type, last.timestamp, last.context_percentage) == (
        "pause_finalized",
        "2026-01-06T12:05:00Z",
        0.93,
    )
    assert last.data == {"action_count": 6, "duration_seconds": 300, "reason": "compaction"}
    assert [line.action is None for line in closed.lines] == [False] * 5 + [True, False]


def test_the_archive_reads_back_unchanged(closed):
    """Lines that could not be read are archived too."""
    assert tuple(read_lines(archive_bytes(closed))) == closed.lines


def test_the_summary_holds_the_last_ten_actions():
    many = story.recorded(*(story.action("tool_call", n % 60, 0.91, tool=f"T{n}") for n in range(25)))
    summary = build_state(many, story.context())["incremental_pause"]["actions_summary"]
    assert [each["words"] for each in summary] == [f"T{n}" for n in range(15, 25)]


def test_unknown_tokens_are_computed_from_the_fraction():
    context = story.context()._replace(used_tokens=None)
    usage = build_state(story.wind_down(), context)["context_usage"]
    assert usage == {"tokens_used": 186_000, "tokens_total": 200_000, "percentage": 93.0}


def test_unknown_values_are_null():
    """Missing actions, windows, git facts and states are null, never zero."""
    bare = SnapshotContext(paused_at=story.ENDED, project="/p", ground=Ground())
    state = build_state(story.recorded(), bare)
    assert state["context_usage"] == {"tokens_used": None, "tokens_total": None, "percentage": None}
    assert state["incremental_pause"]["enabled"] is False
    assert state["incremental_pause"]["context_range"] is None
    assert state["git"] == {"branch": None, "head": None, "worktree": None, "changes": None}
    assert (state["next_steps"], state["mission_summary"], state["origin"]) == ([], None, None)
    page = render_page(state, [])
    assert "**Context**: not known" in page
    assert "**Git**: not a repository" in page


def test_headings_in_user_text_are_not_headings_of_the_page(state, closed):
    page = render_documents(state, closed)[f"{story.ID}.md"].decode()
    headings = [
        MarkdownIt().parse(page)[number + 1].content
        for number, token in enumerate(MarkdownIt().parse(page))
        if token.type == "heading_open"
    ]
    assert headings == [
        "Paused: shop",
        "Mission",
        "Next Steps",
        "What the User Said",
        "Accomplishments",
        "Incremental Pause",
        "What Happened",
        "Changed Files",
        "Files",
    ]


def test_next_steps_come_before_what_happened(state, closed):
    page = render_documents(state, closed)[f"{story.ID}.md"].decode()
    assert page.index("Take the lock in bucket.py") < page.index("Read src/main.py → 150 lines")


@pytest.mark.parametrize(
    ("ground", "words"),
    [
        (Ground(head="a" * 40, branch="main", dirty=()), "main, clean"),
        (Ground(head="a" * 40, branch=None, dirty=None), "no branch, at aaaaaaaaaaaa, changes not known"),
        (Ground(head="a" * 40, branch="x", worktree="w", dirty=("f",)), "x in worktree w, 1 changed file"),
    ],
)
def test_git_state_is_described(ground, words):
    """Unknown changes are not shown as "clean"."""
    state = build_state(story.wind_down(), story.context()._replace(ground=ground))
    assert f"**Git**: {words}\n" in render_page(state, [])


def test_long_lists_are_cut_with_a_note():
    """The page shows at most 60 actions, 40 files and 8 tools."""
    many = story.recorded(
        *(story.action("tool_call", n % 60, 0.91, tool=f"Tool{n}") for n in range(100)),
        story.action("tool_call", 1, 0.92, tool="Tool99"),
    )
    ground = Ground(head="h", branch="b", dirty=tuple(f"file{n}.py" for n in range(50)))
    page = render_page(build_state(many, story.context()._replace(ground=ground)), many.actions)
    assert "- 41 earlier actions are in the archive" in page
    assert "Tool40\n" not in page
    assert "Tool41\n" in page
    assert (
        "Tool calls: 101 (Tool99 2, Tool0 1, Tool1 1, Tool2 1, Tool3 1, Tool4 1, Tool5 1, Tool6 1)\n" in page
    )
    assert "- and 10 more" in page
    assert "file40.py" not in page


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(5, ", 5 s after"), (300, ", 5 min after"), (7_500, ", 2 h 5 min after"), (0, "UTC (")],
)
def test_the_duration_is_shown_in_seconds_minutes_or_hours(state, seconds, words):
    state["incremental_pause"]["duration_seconds"] = seconds
    assert words in render_page(state, [])


def test_an_invalid_time_is_shown_as_such():
    odd = replace(story.action("tool_call", 1, 0.91, tool="Read"), timestamp="soon")
    page = render_page(build_state(story.recorded(odd), story.context()) | {"paused_at": "later"}, [odd])
    assert "- --:-- Read" in page
    assert "**Paused**: later" in page


def test_replacing_actions_keeps_bad_lines():
    before = story.wind_down()
    after = replace_actions(before, [replace(each, data={"new": 1}) for each in before.actions])
    assert [line.raw for line in after.lines if line.action is None] == [b'{"type": "tool_call", "timest']
    assert all(action.data == {"new": 1} for action in after.actions)
    assert len(after.lines) == len(before.lines)


def test_a_pause_of_bad_lines_can_be_renamed():
    broken = rename_recording(story.recorded(bad=b"torn"), "session-20260106-130000")
    assert broken.session_id == "session-20260106-130000"
    assert close_recording(broken, story.context()).actions[-1].session_id == "session-20260106-130000"
