"""What the reader shows of a transcript."""

import json
import tracemalloc

import pytest

from leftoff.agents.registry import agent_of
from leftoff.testing.builders import Story, call
from leftoff.web.entries import Entry
from leftoff.web.transcript import TranscriptReader
from leftoff.workspace import Workspace

KEY = "AKIAZ7QX3TPLMV5KW2RD"


def reader_of(path) -> TranscriptReader:
    return TranscriptReader(agent_of(path), path, Workspace.open().redact)


def read(path) -> list[Entry]:
    return [*reader_of(path).page(1).entries]


def part(entries: list[Entry], kind: str):
    return next(part for entry in entries for part in entry.parts if part.kind == kind)


@pytest.fixture
def long_session(home):
    """400 turns; in turn 250 a command fails, in turn 300 a file is edited."""
    story = Story()
    for turn in range(400):
        edit = [call("edit", {"path": "src/a.py", "old": "one", "new": "two"})] if turn == 300 else []
        story.asked(f"Part {turn}").replied(
            "Look.", call("shell", {"command": "ls"}, "no", failed=turn == 250), *edit
        )
    return home.claude(story)


def test_results_and_calls_are_folded_under_what_they_say(home):
    story = (
        Story()
        .asked("Go")
        .replied("", call("shell", {"command": "make test"}, "\nall\ngreen"), thinking="Hm.")
    )
    entries = read(home.claude(story))
    assert part(entries, "call").title.endswith("make test")
    assert part(entries, "result").title.endswith("returned 3 lines · all")
    assert part(entries, "result").text == "\nall\ngreen"
    assert all(part(entries, kind).is_folded for kind in ("call", "result", "thinking"))


def test_an_edit_shows_what_was_removed_and_added(home):
    story = Story().asked("Go").replied("", call("edit", {"path": "a.py", "old": "x = 1\ny", "new": "x = 2"}))
    shown = part(read(home.claude(story)), "diff")
    assert shown.title.endswith("a.py")
    assert shown.text.split("\n") == ["- x = 1", "- y", "+ x = 2"]


def test_fenced_text_and_tables_are_code(home):
    entries = read(home.claude(Story().asked("Go").replied("Do:\n```sh\nmake <x>\n```\n|a|\n|-|\nDone.")))
    assert [(each.kind, each.text) for entry in entries if entry.kind == "reply" for each in entry.parts] == [
        ("text", "Do:"),
        ("code", "make <x>"),
        ("code", "|a|\n|-|"),
        ("text", "Done."),
    ]


def test_a_credential_is_removed_before_anything_is_cut_or_marked(home):
    """One lies across the place where a long result is cut; one is a key of several lines in an edit."""
    key = (
        "-----BEGIN RSA PRIVATE KEY-----\n"
        + "\n".join(["MIIEow" + "A1b2" * 14] * 12)
        + "\n-----END RSA PRIVATE KEY-----"
    )
    for number, place in enumerate(range(5300, 5360, 4)):
        story = (
            Story(session_id=f"0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b{number:02}")
            .asked("Go")
            .replied("", call("shell", {"command": "cat"}, f"{'x ' * (place // 2)}{KEY} {'y ' * 9000}"))
        )
        story.replied("", call("edit", {"path": "a.py", "old": key, "new": f"token = '{KEY}'"}))
        entries = read(home.claude(story))
        shown = "\n".join(each.title + each.text for entry in entries for each in entry.parts)
        assert not any(KEY[at : at + 8] in shown for at in range(len(KEY) - 8))
        assert "MIIEow" not in shown
        assert part(entries, "result").left_out


def test_bookkeeping_and_subagents_are_quiet(home):
    story = Story().asked("Go").delegated("Look around", "Found it.", call("shell", {"command": "ls"}, "a"))
    page = reader_of(home.claude(story)).page(1)
    assert [is_quiet for is_quiet, _ in page.runs].count(True) >= 1
    assert all(entry.is_quiet for entry in page.entries if "subagent" in entry.who)
    assert not any(entry.is_quiet for entry in page.entries if "prompt" in entry.marks)


def test_a_page_can_be_read_from_any_line_and_before_it(long_session):
    reader = reader_of(long_session)
    last = reader.index.count()[0]
    page = reader.page(last - 5)
    assert (page.last_line, page.next_line, page.is_counted) == (last, None, True)
    assert reader.page(last + 5).entries == ()
    before = reader.page_before(page.first_line)
    assert before.last_line == page.first_line - 1
    around = reader.page_around(500)
    assert around.first_line < 500 <= around.last_line
    at, seen = 1, []
    while at is not None:
        page = reader.page(at)
        seen += [entry.line for entry in page.entries]
        at = page.next_line
    assert seen == sorted({*seen})
    assert len(seen) >= 1200


def test_the_nearest_prompt_error_or_edit_is_found_in_both_directions(long_session):
    reader = reader_of(long_session)
    error = reader.find("error", 0)
    edit = reader.find("edit", 0)
    assert error is not None
    assert edit is not None
    assert error < edit
    assert reader.find("error", error) is None
    assert reader.find("error", 10**6, backwards=True) == error
    assert reader.find("edit", edit, backwards=True) is None
    assert reader.find("compaction", 0) is None
    first = reader.find("prompt", 0)
    assert first is not None
    assert reader.find("prompt", reader.find("prompt", first) or 0, backwards=True) == first


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_compaction_says_how_many_tokens_it_replaced(home, agent):
    story = Story(session_id="01a1e0be-dee8-7b23-ae31-94e0123734a3").asked("Go").replied("Yes.", used=150_000)
    story.compacted("The summary.").replied("On.")
    entries = read(getattr(home, agent)(story))
    marked = [entry for entry in entries if "compaction" in entry.marks]
    assert marked
    assert any("ompaction" in each.text for entry in marked for each in entry.parts)


def test_a_line_of_50_mb_is_named_with_its_size_and_not_read(home):
    path = home.claude(Story().asked("Go").replied("Done."))
    line = (
        json.dumps({"type": "user", "message": {"role": "user", "content": f"{KEY} <b>"}})[:-3]
        + "x" * 50_000_000
        + '"}}\n'
    )
    with path.open("a", encoding="utf-8") as file:
        file.write(line)
        file.write('{"type":"summary","summary":"after"}\n')
    reader = reader_of(path)
    reader.page(1)
    tracemalloc.start()
    entries = reader.page(1).entries
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    (long,) = (entry for entry in entries if entry.kind == "long")
    assert "50 MB on one line" in long.parts[0].title
    assert KEY not in long.parts[0].text
    assert len(long.parts[0].text) < 3000
    assert entries[-1].line == long.line + 1
    assert peak < 20_000_000


def test_a_large_session_takes_no_more_memory_than_a_page(home):
    story = Story()
    for turn in range(60):
        story.asked(f"Part {turn}").replied("Look.", call("shell", {"command": "ls"}, "some text\n" * 20_000))
        story.replied("y" * 150_000)
    path = home.claude(story)
    reader = reader_of(path)
    reader.page(1)
    tracemalloc.start()
    assert reader.page(100).entries
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 10_000_000
    assert peak < 8_000_000
