"""A library whose words an older leftoff cut: lists, forgetting and searching go on with it."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from leftoff.flows import forget as flow
from leftoff.flows.library_folder import library_folder
from leftoff.flows.library_update import update_library
from leftoff.flows.search import Asked, search
from leftoff.flows.sessions import entries, found_sessions
from leftoff.library import shelf as shelves
from leftoff.testing.builders import Story
from tests.flows.test_forget import NOW, OTHER, SESSION


@pytest.fixture
def old(home):
    """Two sessions in a library of an older leftoff."""
    for session_id, word in ((SESSION, "koala"), (OTHER, "wombat")):
        story = Story(session_id=session_id, project=str(Path.cwd())).asked(f"A {word}").replied("yes")
        home.claude(story)
    update_library()
    with closing(shelves.opened_to_write(library_folder())) as shelf, shelves.writing(shelf):
        shelf.execute("UPDATE facts SET value = 1 WHERE name = 'words'")


def test_a_list_opens_no_transcript_that_it_knows(old):
    """Its entries have nothing to do with words."""
    seen = found_sessions()
    for each in seen:
        each.transcript.write_bytes(b"x" * each.size_bytes)
        os.utime(each.transcript, ns=(each.modified_ns, each.modified_ns))
    assert {entry.first_prompt for entry in entries(seen)} == {"A koala", "A wombat"}


def test_forgetting_works_and_the_next_search_makes_it_anew(old):
    """What is forgotten is left out of it."""
    plan = flow.plan_session(SESSION, Path.cwd())
    assert plan.in_library
    assert flow.forget(plan).left == ()
    assert not search(Asked(query="koala"), NOW).sessions
    assert [each.found.session_id for each in search(Asked(query="wombat"), NOW).sessions] == [OTHER]
