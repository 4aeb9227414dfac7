"""What a compaction lost beside what leftoff restored: the numbers of the report and of the receipt."""

import json
from urllib.parse import quote

import pytest

from leftoff.cli.main import run
from leftoff.testing.builders import Story, call
from leftoff.web.compaction import compactions_of, story_of
from leftoff.web.library import Library, key_of
from leftoff.workspace import Workspace
from tests.support.live_session import LiveSession

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"


def story_with(summary: str) -> Story:
    story = Story(session_id=SESSION).asked("Fix the login. Never touch the file src/legacy.py.")
    story.replied(
        "",
        call("shell", {"command": "make lint"}, "ok"),
        call("shell", {"command": "make special-test"}, "ok"),
    )
    story.replied("Now.", call("edit", {"path": "src/login.py", "old": "login()", "new": "login(1)"}))
    return story.compacted(summary).replied("On.", call("shell", {"command": "make lint"}, "ok"))


def read(transcript):
    ref = Library(Workspace.open()).find(key_of(str(transcript)))
    (found,) = compactions_of(ref)
    return ref, found, story_of(ref, found)


def note(live: LiveSession, handed: str) -> None:
    noted = {"type": "system", "subtype": "hook", "content": handed, "uuid": "1" * 36, "sessionId": SESSION}
    with live.transcript.open("a", encoding="utf-8") as file:
        file.write(json.dumps(noted) + "\n")


def test_the_page_says_what_the_report_says(home, web, capsys):
    path = home.claude(story_with("Ran make lint on src/login.py."))
    assert run(["report", "--days", "3650", "--json"]) == 0
    (reported,) = json.loads(capsys.readouterr().out)["compactions"]
    _, found, story = read(path)
    assert (found.line, story.compacted.to_dict()) == (reported["line"], reported)
    counted = {
        loss.counted.kind: (loss.counted.total, len(loss.items), loss.restored) for loss in story.losses
    }
    assert counted == {
        kind: (each["total"], len(each["lost"]), len(each["would_have_kept"]))
        for kind, each in reported["items"].items()
    }
    page = web.get(f"/session/{key_of(str(path))}/compaction/1")
    assert "make special-test" in page
    assert "leftoff would have restored" in page


def test_the_page_says_what_the_receipt_said(isolated_home):
    """The hooks ran: the user was shown the receipt, and the agent noted what it was handed."""
    live = LiveSession(isolated_home)
    live.turn(165_000)
    live.hook("PreCompact", trigger="auto")
    handed = live.hook("SessionStart", source="compact")["hookSpecificOutput"]["additionalContext"]
    live.compacted("They fixed src/lock.py.")
    note(live, handed)
    said = live.hook("PostToolBatch")
    note(live, said["hookSpecificOutput"]["additionalContext"])
    receipt = said["systemMessage"]
    _, _, story = read(live.transcript)
    assert story.was_restored
    assert receipt == f"leftoff: {story.sentence}"


def test_of_what_was_handed_over_only_what_the_transcript_shows_was_restored(home, web):
    """What leftoff would hand over today may be more: by another version, another budget, or with the pins of today."""
    path = home.claude(story_with("They worked."))
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    _, found, story = read(path)
    assert (story.was_restored, "make special-test" in story.handed_over) == (False, True)
    handed = "Restored by leftoff\n\n<leftoff-record-0a1b2c3d>\nmake lint\n</leftoff-record-0a1b2c3d>\n"
    noted = {"type": "system", "subtype": "hook", "content": handed, "uuid": "1" * 36, "sessionId": SESSION}
    at = next(n for n, line in enumerate(lines) if n >= found.line and '"assistant"' in line)
    path.write_text("".join([*lines[:at], json.dumps(noted) + "\n", *lines[at:]]), encoding="utf-8")
    _, _, story = read(path)
    assert (story.was_restored, story.handed_over) == (True, handed.strip())
    restored = {item.text for loss in story.losses for item in loss.items if item.is_restored}
    assert restored == {"make lint"}
    assert story.sentence.endswith("; leftoff restored 0, 1 and 0.")
    path.write_bytes(path.read_bytes().replace(b"\\nmake lint\\n", b"\\nmake lint \xff\\n"))
    assert "make lint \N{REPLACEMENT CHARACTER}" in read(path)[2].handed_over


def test_every_lost_item_leads_to_the_record_that_it_comes_from(home, web):
    path = home.claude(story_with("They worked."))
    _, _, story = read(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    items = [item for loss in story.losses for item in loss.items]
    assert {"make special-test", "src/login.py"} <= {item.text for item in items}
    page = web.get(f"/session/{key_of(str(path))}/compaction/1")
    for item in items:
        assert item.line is not None
        assert item.text.split()[-1].strip('."') in lines[item.line - 1]
        assert f"/read?line={item.line}#L{item.line}" in page


def test_a_summary_that_cannot_be_read_is_said_to_be_so(home, web):
    path = home.codex(
        Story(session_id="01a1e0be-dee8-7b23-ae31-94e0123734a3")
        .asked("Go.")
        .replied("Yes.")
        .compacted("")
        .replied("On.")
    )
    page = web.get(f"/session/{key_of(str(path))}/compaction/1")
    assert "cannot be read" in page


def test_a_session_without_a_compaction_lost_nothing(home, web):
    path = home.claude(Story().asked("Go").replied("Done."))
    assert "has not been compacted" in web.get(f"/session/{key_of(str(path))}/compactions")
    answer = web.ask(f"/session/{key_of(str(path))}/compaction/1")
    assert (answer.status, "0 compactions" in answer.text) == (404, True)


def test_the_list_measures_each_compaction_by_itself(home, web):
    story = (
        story_with("One.")
        .asked("More.")
        .replied("", call("shell", {"command": "make other"}, "ok"))
        .compacted("Two.")
        .replied("End.")
    )
    key = key_of(str(home.claude(story)))
    page = web.get(f"/session/{key}/compactions")
    for number in (1, 2):
        assert f"/session/{key}/compaction/{number}" in page
        assert "The summary dropped" in web.get(f"/session/{key}/compaction/{number}/receipt")
    assert web.ask(f"/session/{key}/compaction/3/receipt").status == 404


@pytest.mark.parametrize("number", ["0", "-1", "x", "9" * 5000, "\N{ARABIC-INDIC DIGIT ONE}", "1/../../read"])
def test_a_compaction_that_is_not_there_is_not_found(home, web, number):
    key = key_of(str(home.claude(story_with("One."))))
    assert web.ask(f"/session/{key}/compaction/{quote(number)}").status == 404


@pytest.mark.slow
def test_the_curve_and_the_list_lead_to_the_page_of_a_compaction(home, browser):
    address = f"/session/{key_of(str(home.claude(story_with('They worked.'))))}"
    browser.open(address)
    browser.wait("document.querySelector('#events tbody a')")
    assert browser.one("#events tbody a").get_attribute("href").endswith(f"{address}/compaction/1")
    browser.open(f"{address}/compactions")
    browser.wait("document.querySelector('.receipt')?.textContent.includes('The summary dropped')")
    browser.one(".compactions a").click()
    browser.wait("location.pathname.endsWith('/compaction/1') && document.querySelector('.loss .where')")
    browser.one(".loss .where").click()
    browser.wait("document.activeElement.matches('article.entry')")
