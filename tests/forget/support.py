"""What the tests of forgetting share."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leftoff.archive.archive import open_archive
from leftoff.catalogue import database
from leftoff.catalogue.database import library_folder
from leftoff.forget.forget import ForgetResult, forget, plan_project, plan_session, plan_text
from leftoff.forget.index import library_path
from leftoff.platform import paths
from leftoff.search.pieces import unpack_texts
from leftoff.search.search import SearchRequest, search
from leftoff.testing.builders import Story
from leftoff.workspace import Workspace
from tests.search.sample_library import everything

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
OTHER = "11111111-1111-4111-8111-111111111111"
SECRET = 'the "Nachtigall" plan'
WORD = "zanzibarquux"
CHAT = "helper_20260106_120000"
CHAT_PAGE = (
    f"# Helper Conversation\n\n**Session ID:** {CHAT}\n**Date:** 2026-01-06T12:00:00+00:00\n\nkoala sleeps\n"
)


def forget_text(text: str) -> ForgetResult:
    """Plan and forget a text."""
    return forget(plan_text(text, Workspace.open()))


def forget_session(selector: str) -> ForgetResult:
    """Plan and forget a session."""
    return forget(plan_session(selector, Workspace.open()))


def forget_project() -> ForgetResult:
    """Plan and forget the project of the working folder."""
    return forget(plan_project(Workspace.open()))


def all_kept() -> bytes:
    """Return the content of every file in the folders of leftoff."""
    folders = (paths.data_folder(), paths.state_folder(), Path(".leftoff"))
    return b"\n".join(everything(folder) for folder in folders)


def archived_ids() -> set[str]:
    """Return the ids of the archived sessions."""
    return {each.session_id for each in open_archive().sessions()}


def finds(query: str) -> bool:
    """Return whether a search finds anything."""
    return bool(search(Workspace.open(), SearchRequest(query=query), NOW).sessions)


def indexed_text() -> str:
    """Return every text that is compressed in the library."""
    connection = database.open_for_search(library_folder())
    assert connection is not None
    with closing(connection):
        rows = connection.execute("SELECT data FROM blocks")
        return "\n".join(text for (data,) in rows for text in unpack_texts(data))


def query_library(query: str) -> list[object]:
    """Return the first column of a query of the library."""
    with closing(sqlite3.connect(library_path())) as connection:
        return [row[0] for row in connection.execute(query)]


def put(*paths: Path | str, text: str = "koala sleeps\n") -> dict[Path, str]:
    """Write files with the text."""
    for each in map(Path, paths):
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_text(text, encoding="utf-8")
    return {Path(each): text for each in paths}


def write_session(home: Any, *prompts: str) -> Path:
    """Write a session of this project with these prompts; return its transcript."""
    story = Story(session_id=SESSION, project=str(Path.cwd()))
    for prompt in prompts:
        story = story.asked(prompt).replied("ok")
    transcript: Path = home.claude(story)
    return transcript
