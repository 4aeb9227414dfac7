"""What ``leftoff search`` says where it finds nothing: why it may be there all the same, and what to type next."""

import json
from pathlib import Path

import pytest

from leftoff.catalogue import database
from leftoff.catalogue.database import LOCK_NAME, library_folder
from leftoff.platform import locks
from tests.cli.test_search import SESSION, leftoff, session  # noqa: F401

OTHER = "1c54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b22"


def test_while_another_process_builds_nothing_is_not_all_there_is(session):  # noqa: F811
    """The message says that not everything was read, and how to read the rest."""
    folder = Path(library_folder())
    folder.mkdir(parents=True)
    database.open_for_writing(str(folder)).close()
    with locks.hold(folder / LOCK_NAME):
        output = leftoff("search", "limiter", code=3)
        data = json.loads(leftoff("search", "limiter", "--json", code=3))
    assert "Nothing was found so far.\nNot everything has been read yet" in output
    assert "leftoff search --update" in output
    assert "Try fewer words" not in output
    assert data["unread"] is True
    assert "limiter" in leftoff("search", "limiter")


def test_forgotten_texts_are_named_as_a_reason(session):  # noqa: F811
    """A text that is part of every path hides every session, also later ones."""
    assert "forgotten" not in leftoff("search", "wombat", code=3)
    leftoff("search", "limiter")
    leftoff("forget", "--text", "-slug", "--yes")
    session.with_name(f"{OTHER}.jsonl").write_bytes(
        session.read_bytes().replace(SESSION.encode(), OTHER.encode())
    )
    output = leftoff("search", "limiter", code=3)
    assert "What you erased with leftoff forget --text" in output
    assert json.loads(leftoff("search", "limiter", "--json", code=3))["leaves_out"] is True


def test_a_search_works_if_the_list_of_forgotten_texts_cannot_be_read(session):  # noqa: F811
    """The hint is missing, and the answer is given."""
    leftoff("search", "limiter")
    Path(library_folder(), "forgotten.json").write_text("{", encoding="utf-8")
    assert "Nothing was found" in leftoff("search", "quokkaquokka", code=3)


def test_a_query_that_is_not_utf8_is_refused(session):  # noqa: F811
    """The error says that the query is not UTF-8."""
    assert "not UTF-8" in leftoff("search", "project:\udcff limiter", code=2)
    assert "not UTF-8" in leftoff("search", "--file", "a\udcff", code=2)


@pytest.mark.slow
def test_a_home_without_sessions_an_unknown_agent_and_project_are_the_reason(session):  # noqa: F811
    """No other words are advised if no words could have matched."""
    assert "There are sessions of: claude" in leftoff("search", "limiter", "agent:nobodys", code=3)
    assert "leftoff sessions" in leftoff("search", "limiter", "project:nowhere", code=3)
    assert "Try fewer words" in leftoff("search", "quokkaquokka", "agent:claude", code=3)
    session.unlink()
    leftoff("search", "--update")
    assert "no sessions to search" in leftoff("search", "limiter", code=3)
    assert "leftoff doctor" in json.loads(leftoff("search", "limiter", "--json", code=3))["reason"]
