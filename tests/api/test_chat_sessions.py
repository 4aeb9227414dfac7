"""``ChatSessions``: saved chats for programs."""

import pytest

import leftoff
from leftoff.chat.page import END, START
from leftoff.errors import InvalidIdError, NotFoundError

PAGE = (
    "# Sally Conversation\n\n**Session ID:** s\n**Date:** 2025-12-30T14:30:22+00:00\n**Agent:** Sally\n"
    "**Resumed From:** session_1\n\n---\n\n## Query 1 (14:30:45)\n**You:** Hi\n\n**Sally:** Ho\n\n"
    "*Time: 3.2s | Tokens: 345 (in: 123, out: 222)*\n\n---\n"
)


@pytest.fixture
def sessions(tmp_path):
    return leftoff.ChatSessions(tmp_path / "work")


def test_a_page_is_saved_with_its_summary(sessions):
    """The page is private, is listed and ends with the summary between its markers."""
    path = sessions.save_markdown_with_summary("session_2", PAGE, "the words")
    assert path.read_text(encoding="utf-8").endswith(f"---\n\n{START}\nthe words\n{END}\n")
    assert path.stat().st_mode & 0o777 == 0o600
    assert sessions.extract_summary(path) == "the words"
    assert sessions.extract_metadata(path) == {
        "session_id": "session_2",
        "date": "2025-12-30T14:30:22Z",
        "agent": "Sally",
        "agent_path": None,
        "resumed_from": "session_1",
        "previous_session": None,
        "total_queries": 1,
        "total_tokens": 345,
        "has_summary": True,
    }
    assert [each["session_id"] for each in sessions.list()] == ["session_2"]
    assert sessions.resolve(1) == sessions.resolve("session_2") == sessions.resolve("sess") == path


def test_a_later_save_never_erases_a_summary(sessions):
    """Without a new summary the old one is kept; a new one replaces it."""
    sessions.save_markdown_with_summary("session_2", PAGE, "old")
    path = sessions.save_markdown_with_summary("session_2", PAGE + "\nmore\n")
    assert (sessions.extract_summary(path), "more" in path.read_text(encoding="utf-8")) == ("old", True)
    sessions.save_markdown_with_summary("session_2", path.read_text(encoding="utf-8"), "new")
    assert path.read_text(encoding="utf-8").count(START) == 1
    assert sessions.extract_summary(path) == "new"


def test_no_summary_is_none(sessions):
    path = sessions.save_markdown_with_summary("session_3", PAGE)
    assert sessions.extract_summary(path) is None


def test_a_summary_that_is_given_with_its_markers_is_between_one_pair(sessions):
    """A summary may be given with its markers, as an agent's answer or a file has it."""
    path = sessions.save_markdown_with_summary("session_3", PAGE, f"{START}\nthe words\n{END}\n")
    assert path.read_text(encoding="utf-8").count(START) == 1
    assert sessions.extract_summary(path) == "the words"


def test_the_summary_of_any_markdown_is_found(tmp_path, sessions):
    """A file without a header will do; without a summary the result is None."""
    path = tmp_path / "notes.md"
    path.write_text("# Notes\n", encoding="utf-8")
    assert sessions.extract_summary(path) is None
    path.write_text(f"# Notes\n\n{START}\nthe words\n{END}\n", encoding="utf-8")
    assert sessions.extract_summary(path) == "the words"


def test_bad_ids_are_refused_and_unknown_ones_not_found(sessions, tmp_path):
    """A refused id writes nothing outside the folder."""
    with pytest.raises(InvalidIdError):
        sessions.save_markdown_with_summary("../evil", PAGE)
    with pytest.raises(NotFoundError):
        sessions.resolve(4)
    assert not (tmp_path / "work" / ".leftoff").exists()
    assert leftoff.ChatSessions(folder=tmp_path / "here").folder == tmp_path / "here"
