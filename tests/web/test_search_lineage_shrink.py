"""Search with filters, the family as a tree, and the one action: a smaller copy with the cuts that were ticked."""

import re
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest

from leftoff.catalogue import database
from leftoff.catalogue.database import library_folder
from leftoff.search.update_index import update_library
from leftoff.shrink.trim import TrimOptions, prepare_trim, write_trim
from leftoff.testing.builders import Story, call
from leftoff.web.library import key_of
from leftoff.workspace import Workspace

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"


@pytest.fixture
def transcript(home, tmp_path) -> Path:
    """A session of twelve turns with a long result each."""
    story = Story(session_id=SESSION, project=str(tmp_path / "work"), model="claude-sonnet-4-5").asked(
        "Find the <leak>"
    )
    for turn in range(12):
        text = "".join(f"line {line} of turn {turn}\n" for line in range(900))
        used = 40_000 + 9_000 * turn
        story.replied("Reading.", call("shell", {"command": f"cat {turn}"}, text), used=used).replied(
            "Seen.", used=used + 1_000
        )
        story.asked(f"Step {turn}")
    return home.claude(story.replied("The leak is in the zebra cache.", used=150_000))


@pytest.fixture
def address(transcript):
    return f"/session/{key_of(str(transcript))}"


def test_search_shows_the_hit_and_leads_to_its_line(transcript, address, web):
    page = web.get("/search?q=zebra")
    assert "<mark>zebra</mark>" in page
    line = next(n for n, text in enumerate(transcript.read_text().splitlines(), 1) if "zebra" in text)
    assert f'href="{address}/read#L{line}"' in page
    assert "Find the &lt;leak&gt;" in page


def test_a_session_that_is_also_in_the_archive_has_a_link_until_its_agent_deletes_it(
    transcript, address, web
):
    update_library(Workspace.open())
    with closing(database.open_for_writing(library_folder())) as connection, database.transaction(connection):
        connection.execute("UPDATE sources SET archived = 1")
    assert f'href="{address}/read#L' in web.get("/search?q=zebra")
    transcript.unlink()
    page = web.get("/search?q=zebra")
    assert "<mark>zebra</mark>" in page
    assert f'href="{address}' not in page


def test_filters_narrow_the_search(transcript, web):
    assert "<mark>zebra</mark>" in web.get("/search?q=zebra&agent=claude&kind=reply")
    assert "Nothing was found" in web.get("/search?q=zebra&kind=prompt")
    assert "<mark>" not in web.get("/search?q=zebra&agent=codex")


@pytest.mark.parametrize(
    "query", ["q=%22", "q=agent:", "q=since:never", "q=" + "a+" * 400, "q=zebra&agent=x&kind=y&since=z"]
)
def test_any_search_is_answered(transcript, web, query):
    assert web.ask(f"/search?{query}").status == 200


def test_the_lineage_shows_the_copies_of_a_session(transcript, address, web):
    copy = write_trim(prepare_trim(str(transcript), Workspace.open(), TrimOptions())).output_file
    tree = web.get(f"{address}/lineage")
    assert tree.count("<rect") == 2
    assert f'href="/session/{key_of(str(copy))}"' in tree
    assert "trim" in tree


class Plan:
    """The form of the plan as a browser would send it."""

    def __init__(self, web, address):
        page = web.get(f"{address}/shrink")
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
        self.fields, self.numbers = (
            {**fields, "confirmed": "yes"},
            re.findall(r'name="cut" value="(\d+)"', page),
        )
        self.web, self.address = web, address

    def send(self, cuts, **fields):
        body = urlencode([*(self.fields | fields).items(), *(("cut", cut) for cut in cuts)]).encode()
        return self.web.ask(f"{self.address}/shrink", "POST", body)


def copies(transcript: Path) -> list[Path]:
    return [path for path in transcript.parent.glob("*.jsonl") if path != transcript]


def test_ticked_cuts_are_written_into_a_copy_and_the_others_stay(transcript, address, web):
    plan = Plan(web, address)
    assert len(plan.numbers) > 1
    answer = plan.send(plan.numbers[:1])
    assert answer.status == 200, answer.text
    (copy,) = copies(transcript)
    assert f"claude --resume {copy.stem}" in answer.text
    text = copy.read_text()
    kept = [turn for turn in range(12) if f"line 500 of turn {turn}\\n" in text]
    assert len(kept) == 11


@pytest.mark.parametrize(
    "change", [{"form_token": "x"}, {"form_token": ""}, {"confirmed": ""}, {"digest": "other"}]
)
def test_nothing_is_written_without_token_confirmation_and_the_plan_that_was_shown(
    transcript, address, web, change
):
    plan = Plan(web, address)
    assert plan.send(plan.numbers, **change).status == 400
    assert copies(transcript) == []


@pytest.mark.parametrize("cuts", [[], ["99"], ["x"], ["-1"]])
def test_cuts_that_the_plan_does_not_have_are_refused(transcript, address, web, cuts):
    assert Plan(web, address).send(cuts).status == 400
    assert copies(transcript) == []


def test_read_only_shows_the_plan_and_writes_nothing(transcript, address, read_only_web):
    page = read_only_web.get(f"{address}/shrink")
    assert "<button" not in page.partition("<main")[2]
    assert Plan(read_only_web, address).send(["1"]).status == 403
    assert copies(transcript) == []


def test_a_form_that_is_too_large_is_refused(transcript, address, web):
    assert web.ask(f"{address}/shrink", "POST", b"cut=1&" * 200_000).status == 400
