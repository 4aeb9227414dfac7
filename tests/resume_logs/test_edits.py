"""A person's changes of a log's Markdown are found, kept, and applied to the next log of the session."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.core.metrics import ContextMetrics
from leftoff.core.provenance import Source
from leftoff.core.records import Place
from leftoff.core.resume_log import CustomSection, Edit, ResumeLog
from leftoff.errors import DocumentError
from leftoff.resume_logs.edits import FIELDS, apply_edits, find_changes, is_empty, parse_items
from tests.support import strategies

METRICS = ContextMetrics(200_000, 170_000, timestamp="2026-01-06T12:00:00Z")


def a_log(**fields):
    usual = {
        "mission_summary": "Add rate limits.",
        "accomplishments": ["Wrote src/a.py", "Ran it:\n```sh\npytest -q\n```\nand it passed"],
        "key_findings": ["# Title is quoted", "Redis answers in 2 ms"],
        "decisions": [{"decision": "Use Redis", "rationale": "shared"}, {"decision": "Keep it small"}],
        "next_steps": ["Write the migration", "Deploy", "Tell Bob"],
        "critical_context": {
            "file_paths": {"service": "src/a.py", "test": "tests/test_a.py"},
            "commands": ["make test", "cat <<E\nx\nE"],
            "branch": "main",
        },
        "metadata": {"files_modified": ["src/a.py"]},
    }
    return ResumeLog("s", METRICS, **(usual | fields))


def edited(log, old, new):
    """Return the log after a person replaced ``old`` by ``new`` in its Markdown."""
    before = log.to_markdown()
    assert before.count(old) == 1, f"{old!r} stands there {before.count(old)} times"
    found = find_changes(before, before.replace(old, new))
    assert found.not_kept == ()
    return apply_edits(log, found.edits)


@given(strategies.resume_logs, st.integers(500, 10_000))
def test_an_unchanged_document_has_no_changes(log, max_tokens):
    """This holds for any content, however odd."""
    text = log.to_markdown(max_tokens)
    assert find_changes(text, text).edits == ()
    assert find_changes(text, text.replace("\n", "\r\n")).edits == () or "\r" in text


@given(strategies.resume_logs, st.data())
def test_removing_an_item_removes_only_that_item(log, data):
    """All other items are kept as they were, in full."""
    field = data.draw(st.sampled_from(["accomplishments", "key_findings", "next_steps", "decisions"]))
    heading = next(heading for heading, each in FIELDS.items() if each == field)
    log = replace(log, custom_sections=[])
    body = re.split(r"^## .*$", log.to_markdown().split(f"\n## {heading}\n\n")[1], flags=re.MULTILINE)[0]
    items = parse_items(body)
    if not items or "(none)" in body or "truncated to fit" in body or "(left out)" in body:
        return
    gone = data.draw(st.sampled_from(items))
    after = apply_edits(log, [Edit(section=field, before=gone)])
    left = [*getattr(log, field)]
    kept = getattr(after, field)
    assert any(left[:place] + left[place + 1 :] == kept for place in range(len(left)))
    assert after.edits == [Edit(section=field, before=gone)]


def test_an_added_item_stays_where_it_was_written():
    """The order of next steps matters."""
    log = edited(a_log(), "- Deploy\n", "- Deploy\n- Watch the graphs\n")
    assert log.next_steps == ["Write the migration", "Deploy", "Watch the graphs", "Tell Bob"]
    first = edited(a_log(), "- Write the migration\n", "- Read the docs\n- Write the migration\n")
    assert first.next_steps[0] == "Read the docs"


def test_a_changed_or_removed_item_is_the_only_change():
    assert edited(a_log(), "- Deploy\n", "").next_steps == ["Write the migration", "Tell Bob"]
    changed = edited(a_log(), "Redis answers in 2 ms", "Redis answers in 3 ms")
    assert changed.key_findings == ["# Title is quoted", "Redis answers in 3 ms"]
    assert changed.accomplishments == a_log().accomplishments


def test_an_item_of_many_lines_is_one_item():
    """An item that a person writes may span lines, with or without a bullet and indent."""
    log = edited(a_log(), "- Wrote src/a.py\n", "- Wrote src/a.py\n  with care\nand love\n\nA paragraph\n")
    assert log.accomplishments[:2] == ["Wrote src/a.py\nwith care\nand love", "A paragraph"]
    assert log.accomplishments[2] == a_log().accomplishments[1]
    assert edited(a_log(), "and it passed", "and it failed").accomplishments[1].endswith("```\nand it failed")


def test_an_empty_section_can_be_filled_and_emptied():
    """``(none)`` is not an item."""
    log = edited(a_log(next_steps=[]), "## Next Steps\n\n(none)", "## Next Steps\n\n- Ask Bob")
    assert log.next_steps == ["Ask Bob"]
    assert edited(log, "- Ask Bob", "").next_steps == []


def test_decisions_come_back_with_their_reasons():
    """Decisions are read in the form of the document and in free words."""
    log = edited(
        a_log(), "- **Keep it small**", "- **Keep it small**\n  - Rationale: it is read often\n- No cache"
    )
    assert log.decisions == [
        {"decision": "Use Redis", "rationale": "shared"},
        {"decision": "Keep it small", "rationale": "it is read often"},
        {"decision": "No cache"},
    ]


def test_the_mission_is_replaced_as_a_whole():
    log = edited(a_log(), "Add rate limits.", "Add rate limits.\n\nBut not for admins.")
    assert log.mission_summary == "Add rate limits.\n\nBut not for admins."


def test_critical_context_is_changed_under_its_names():
    """Lists, pairs and single values can be changed."""
    log = edited(a_log(), "- make test\n", "- make test\n- make lint\n")
    assert log.critical_context["commands"] == ["make test", "cat <<E\nx\nE", "make lint"]
    log = edited(a_log(), "- service: src/a.py\n", "- service: src/b.py\n- docs: docs/a.md\n")
    assert log.critical_context["file_paths"] == {
        "test": "tests/test_a.py",
        "service": "src/b.py",
        "docs": "docs/a.md",
    }
    assert edited(a_log(), "**Branch:** main", "**Branch:** dev").critical_context["branch"] == "dev"
    assert "branch" not in edited(a_log(), "**Branch:** main", "").critical_context
    log = edited(a_log(), "**Branch:** main", "**Branch:** main\n\n**Ports:**\n- 5432\n\n**Who:** Bob")
    assert log.critical_context["Ports"] == ["5432"]
    assert log.critical_context["Who"] == "Bob"
    log = edited(a_log(), "- make test\n- cat <<E\n  x\n  E\n", "")
    assert "commands" not in log.critical_context


def test_critical_context_without_a_name_is_kept_as_notes():
    """Items that are not a name and a value become notes."""
    log = edited(
        a_log(critical_context={}),
        "## Critical Context\n\n(none)",
        "## Critical Context\n\n- mind the gap\n- and the door",
    )
    assert log.critical_context == {"notes": ["mind the gap", "and the door"]}
    log = edited(a_log(), "- service: src/a.py\n", "- service: src/a.py\n- no pair\n")
    assert log.critical_context["notes"] == ["no pair"]
    assert apply_edits(log, log.edits).critical_context == log.critical_context, "twice is once"
    single = a_log(critical_context={"branch": "main"})
    under = apply_edits(single, [Edit(section="critical_context", wrote="and dev", after="Branch")])
    assert under.critical_context == {"branch": ["main", "and dev"]}


def test_an_added_heading_is_a_new_section():
    """An added section can be changed and removed again."""
    log = edited(a_log(), "## Session Metadata\n", "## My Notes\n\nRead this first.\n\n## Session Metadata\n")
    assert [(each.name, each.content) for each in log.custom_sections] == [("My Notes", "Read this first.")]
    log = edited(log, "Read this first.", "Read this last.")
    assert log.custom_sections[0].content == "Read this last."
    assert edited(log, "## My Notes\n\nRead this last.", "").custom_sections == []


def test_an_edited_plugin_section_stays_edited():
    """The plugin writes its section again at each save."""
    own = CustomSection(name="Code Changes", budget_tokens=500, content="+ x")
    other = CustomSection(name="Weather", budget_tokens=5, content="rain")
    log = edited(a_log(custom_sections=[own, other]), "+ x", "+ y")
    fresh = a_log(custom_sections=[other, replace(own, content="+ z")])
    assert [each.content for each in apply_edits(fresh, log.edits).custom_sections] == ["rain", "+ y"]


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("170,000 tokens", "1 token", ("Context Metrics",)),
        ("**Files Modified:**\n- src/a.py", "", ("Session Metadata",)),
        ("# Session Resume Log: s", "# Mine", ("the title",)),
    ],
)
def test_changes_of_computed_sections_are_reported_and_not_kept(old, new, where):
    """Computed sections are written again at each save."""
    text = a_log().to_markdown()
    assert old in text
    found = find_changes(text, text.replace(old, new))
    assert found.edits == ()
    assert found.not_kept == where


def test_edits_apply_to_a_log_that_is_built_again():
    """Additions, removals and changes are applied again, and new items are kept."""
    before = a_log().to_markdown()
    after = (
        before.replace("- Deploy\n", "")
        .replace("- Tell Bob", "- Tell Bob and Ann\n- Celebrate")
        .replace("Add rate limits.", "Add rate limits, gently.")
    )
    log = apply_edits(a_log(), find_changes(before, after).edits)
    anew = a_log(
        mission_summary="Add rate limits. Then docs.",
        next_steps=["Write docs", "Deploy", "Write the migration", "Tell Bob"],
    )
    again = apply_edits(anew, log.edits)
    assert again.next_steps == ["Write docs", "Write the migration", "Tell Bob and Ann", "Celebrate"]
    assert again.mission_summary == "Add rate limits, gently."
    assert again.edits == log.edits
    assert apply_edits(replace(again, edits=[]), log.edits) == again, (
        "putting them on twice is putting them on once"
    )


def test_a_change_is_kept_even_if_the_original_is_gone():
    """What a person wrote is never lost: first of the next steps, last of what happened."""
    log = edited(a_log(), "Tell Bob", "Tell Bob and Ann")
    log = edited(log, "Redis answers in 2 ms", "Redis answers in 3 ms")
    anew = apply_edits(a_log(next_steps=["x"], key_findings=["y"]), log.edits)
    assert anew.next_steps == ["Tell Bob and Ann", "x"]
    assert anew.key_findings == ["y", "Redis answers in 3 ms"]


def test_a_moved_item_is_in_its_new_place():
    """A moved item counts as removed and added again."""
    before = a_log().to_markdown()
    after = before.replace("- Tell Bob", "").replace(
        "- Write the migration\n", "- Tell Bob\n- Write the migration\n"
    )
    assert apply_edits(a_log(), find_changes(before, after).edits).next_steps == [
        "Tell Bob",
        "Write the migration",
        "Deploy",
    ]


def test_items_that_did_not_fit_stay():
    """The line that counts them is not an item, and a shortened item is found by its beginning."""
    many = [f"step {number} " + "word " * 40 for number in range(400)]
    log = a_log(next_steps=many)
    text = log.to_markdown()
    assert "further left out" in text
    after = apply_edits(log, find_changes(text, text.replace(f"- {many[0].rstrip()}\n", "- Mine\n")).edits)
    assert after.next_steps == ["Mine", *many[1:]]
    long = a_log(next_steps=["A very long one. " * 5000])
    text = long.to_markdown()
    body = text.split("## Next Steps\n\n")[1].split("\n\n## ")[0]
    after = apply_edits(long, find_changes(text, text.replace(body, "- Short")).edits)
    assert after.next_steps == ["Short"]


def source(item):
    return Source(item=item, place=Place("a.jsonl", 1, 0, 9), sha256="0" * 64, excerpt=item)


def test_sources_follow_their_items():
    """Sources of removed items are removed, and what a person wrote needs no source."""
    log = a_log(
        sources=[
            source("mission_summary"),
            source("next_steps/0"),
            source("next_steps/1"),
            source("next_steps/2"),
            source("key_findings/1"),
            source("critical_context/commands/0"),
            source("critical_context/commands/1"),
            source("critical_context/file_paths/service"),
        ]
    )
    after = edited(log, "- Write the migration\n- Deploy\n", "- Mine\n- Write the migration\n")
    after = edited(after, "- make test\n", "")
    after = edited(after, "Add rate limits.", "Other.")
    assert [(each.item, each.excerpt) for each in after.sources] == [
        ("next_steps/1", "next_steps/0"),
        ("next_steps/2", "next_steps/2"),
        ("key_findings/1", "key_findings/1"),
        ("critical_context/commands/0", "critical_context/commands/1"),
        ("critical_context/file_paths/service", "critical_context/file_paths/service"),
    ]


def test_edits_are_in_the_json_and_come_back():
    """A log without edits has no such key."""
    log = edited(a_log(), "- Deploy\n", "- Deploy tonight\n")
    wire = log.to_dict()
    assert wire["edits"] == [
        {
            "section": "next_steps",
            "before": "Deploy",
            "wrote": "Deploy tonight",
            "after": "Write the migration",
        }
    ]
    assert ResumeLog.from_dict(json.loads(json.dumps(wire))) == log
    assert "edits" not in a_log().to_dict()
    with pytest.raises(DocumentError, match="An edit of the resume log is not in the known form"):
        ResumeLog.from_dict(wire | {"edits": [{"section": 1}]})


def test_an_edit_of_an_unknown_section_is_kept_and_has_no_effect():
    """The edit was written by a newer version."""
    log = apply_edits(a_log(), [Edit(section="dreams", wrote="x")])
    assert replace(log, edits=[]) == a_log()
    assert log.edits == [Edit(section="dreams", wrote="x")]


def test_two_headings_of_one_name_are_one_section():
    """A plugin may use one of our names."""
    log = a_log(custom_sections=[CustomSection(name="Next Steps", budget_tokens=50, content="- theirs")])
    text = log.to_markdown()
    assert find_changes(text, text).edits == ()
    assert apply_edits(log, find_changes(text, text.replace("- Deploy\n", "")).edits).next_steps == [
        "Write the migration",
        "Tell Bob",
    ]


@pytest.mark.parametrize(
    ("text", "empty"),
    [("", True), (" \n\t", True), ("<!-- a\nb --> <!-- c -->\n", True), ("<!-- a --> b", False)],
)
def test_a_text_of_blanks_and_comments_is_empty(text, empty):
    """A text of blanks and comments means that nothing is to be changed."""
    assert is_empty(text) is empty


def test_removed_sections_are_named():
    """Empty and computed sections are not, nor one of which only the items were removed."""
    text = a_log().to_markdown()
    at = text.index("## Next Steps")
    assert find_changes(text, text[:at] + text[text.index("## ", at + 3) :]).removed == ("Next Steps",)
    at = text.index("## Context Metrics")
    assert find_changes(text, text[:at] + text[text.index("## ", at + 3) :]).removed == ()
    empty = a_log(next_steps=[]).to_markdown()
    at = empty.index("## Next Steps")
    assert find_changes(empty, empty[:at] + empty[empty.index("## ", at + 3) :]).removed == ()
    assert find_changes(text, empty).removed == ()
