"""A library that an older leftoff tokenised differently: lists, forgetting and searching work with it."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from leftoff.catalogue import database
from leftoff.catalogue.database import library_folder
from leftoff.forget import forget
from leftoff.search.search import SearchRequest, search
from leftoff.search.update_index import update_library
from leftoff.sessions.listing import entries, list_transcripts
from leftoff.testing.builders import Story
from leftoff.workspace import Workspace
from tests.forget.support import NOW, OTHER, SESSION


@pytest.fixture
def old(home):
    """Two sessions in a library of an older leftoff."""
    for session_id, word in ((SESSION, "koala"), (OTHER, "wombat")):
        story = Story(session_id=session_id, project=str(Path.cwd())).asked(f"A {word}").replied("yes")
        home.claude(story)
    update_library(Workspace.open())
    with closing(database.open_for_writing(library_folder())) as connection, database.transaction(connection):
        connection.execute("UPDATE facts SET value = 1 WHERE name = 'words'")


def test_a_list_opens_no_known_transcript(old):
    """The entries of a list do not depend on the index."""
    seen = list_transcripts()
    for each in seen:
        each.transcript.write_bytes(b"x" * each.size_bytes)
        os.utime(each.transcript, ns=(each.modified_ns, each.modified_ns))
    assert {entry.first_prompt for entry in entries(seen)} == {"A koala", "A wombat"}


def test_forgetting_works_and_the_next_search_rebuilds_the_index(old):
    """The rebuilt index does not contain what was forgotten."""
    plan = forget.plan_session(SESSION, Workspace.open())
    assert plan.in_library
    assert forget.forget(plan).left == ()
    assert not search(Workspace.open(), SearchRequest(query="koala"), NOW).sessions
    assert [
        each.source.session_id
        for each in search(Workspace.open(), SearchRequest(query="wombat"), NOW).sessions
    ] == [OTHER]
