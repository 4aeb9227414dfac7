"""Nothing of what is forgotten is left in the library's file, and nothing comes back into it."""

import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from leftoff.archive.archive import archive_finished, open_archive
from leftoff.catalogue import database
from leftoff.catalogue.database import library_folder
from leftoff.core.session import MAX_PROMPT_CHARS
from leftoff.errors import DocumentError
from leftoff.forget import forget, index
from leftoff.forget.index import library_path
from leftoff.platform import locks, paths
from leftoff.resume_logs.save import save_log
from leftoff.search.search import SearchRequest, search
from leftoff.search.update_index import rebuild_library, update_library
from leftoff.search.updater import Updater
from leftoff.sessions.listing import entries, list_transcripts
from leftoff.sessions.status import list_sessions
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace
from tests.cli.test_install import leftoff
from tests.forget.support import (
    NOW,
    OTHER,
    SECRET,
    SESSION,
    WORD,
    all_kept,
    finds,
    forget_session,
    forget_text,
    indexed_text,
    query_library,
    write_session,
)
from tests.search.sample_library import everything

COPIED = r"pass\n  hunter2abc"


@pytest.fixture
def named(home, isolated_home):
    """A session below a folder that is called by the word, and one that is not; both archived."""
    settings = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text("context_management:\n  archive:\n    enabled: true\n", encoding="utf-8")
    story = Story(session_id=SESSION, project=f"/srv/{WORD}").asked("The koala sleeps").replied("yes")
    other = Story(session_id=OTHER, project="/srv/plain").asked("The quokka sleeps").replied("yes")
    transcripts = home.claude(story, f"-srv-{WORD}"), home.claude(other)
    archive_finished(Workspace.open(), NOW)
    update_library(Workspace.open())
    assert [*list_sessions(Workspace.open())]
    return transcripts


def test_a_session_with_the_text_in_its_path_leaves_library_and_archive(named):
    """The agent's own file is named; the other session stays."""
    assert WORD.encode() in everything(paths.data_folder())
    plan = forget.plan_text(WORD, Workspace.open())
    assert (plan.named_sources, plan.agents_own) == (1, (named[0],))
    assert forget.forget(plan).left == ()
    assert WORD.encode() not in all_kept()
    assert finds("quokka")
    assert named[0].exists()


def test_a_session_with_a_forgotten_text_in_its_path_does_not_come_back(named):
    """A forgotten session comes back neither in a search, a list, a rebuild nor the archive."""
    forget_text(WORD)
    named[0].touch()
    assert not finds("koala")
    assert {each.entry.session_id for each in list_sessions(Workspace.open())} == {SESSION, OTHER}
    rebuild_library(Workspace.open())
    archive_finished(Workspace.open(), NOW)
    assert not finds("koala")
    assert {each.session_id for each in open_archive().sessions()} == {OTHER}
    assert WORD.encode() not in everything(paths.data_folder())


def test_masked_documents_are_not_registered_under_a_path_with_the_text(home, isolated_home, monkeypatch):
    """Masking a log must not write its path into the register again."""
    project = isolated_home / WORD
    project.mkdir()
    monkeypatch.chdir(project)
    transcript = home.claude(
        Story(session_id=SESSION, project=str(project)).asked(f"Go to {WORD}").replied("ok")
    )
    save_log(str(transcript), Workspace.open(project))
    update_library(Workspace.open())
    assert forget_text(WORD).left == ()
    assert WORD.encode() not in all_kept()


def test_a_tool_with_the_text_in_its_name_loses_the_name(home):
    """The call itself is still found."""
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("do")
    home.claude(story.replied("ok", call(f"mcp__{WORD}__query", {"of": "platypus"}, "x")))
    update_library(Workspace.open())
    assert finds(f"tool:mcp__{WORD}__query platypus")
    assert forget_text(WORD).left == ()
    assert WORD.encode() not in everything(paths.data_folder())
    rebuild_library(Workspace.open())
    assert WORD.encode() not in everything(paths.data_folder())
    assert finds("platypus")


def test_a_text_in_a_file_name_does_not_come_back(home):
    """A forgotten file name is in neither the call nor the list of touched files."""
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("do")
    home.claude(story.replied("ok", call("Read", {"file_path": "/srv/zanzibarquux/a.py"}, "x")))
    update_library(Workspace.open())
    forget_text("zanzibarquux")
    rebuild_library(Workspace.open())
    assert b"zanzibarquux" not in everything(paths.data_folder())
    assert "zanzibarquux" not in indexed_text()


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("今天执行夜莺计划然后休息", "夜莺计划"),
        ("use customer_acmecorp2026prod now", "acmecorp"),
        ("the\n  Night-PLAN stands", "night plan"),
    ],
)
def test_a_text_inside_a_longer_word_is_masked_when_it_comes_back(home, prompt, text):
    """A rebuild reads the transcript, which still has it."""
    write_session(home, prompt)
    update_library(Workspace.open())
    forget_text(text)
    masked = indexed_text()
    assert "[forgotten]" in masked
    rebuild_library(Workspace.open())
    assert indexed_text() == masked


@pytest.mark.parametrize("damage", ["garbage", "older"])
def test_a_replaced_library_still_knows_what_was_forgotten(saved_sessions, damage):
    """Forgotten texts and sessions are remembered in a file of their own."""
    forget_session(SESSION)
    forget_text("Write the docs")
    library = Path(library_folder(), database.FILE_NAME)
    if damage == "garbage":
        library.write_bytes(b"garbage" * 1000)
    else:
        with sqlite3.connect(library) as connection:
            connection.execute("UPDATE facts SET value = 1 WHERE name = 'schema'")
        connection.close()
    assert not finds("koala")
    assert "Write the docs" not in indexed_text()


def test_a_library_of_a_newer_leftoff_is_left_alone(saved_sessions):
    """Searching, updating, rebuilding and forgetting leave the file unchanged."""
    library = Path(library_folder(), database.FILE_NAME)
    with sqlite3.connect(library) as connection:
        connection.execute("UPDATE facts SET value = 99 WHERE name = 'schema'")
    connection.close()
    before = library.read_bytes()
    for attempt in (
        lambda: search(Workspace.open(), SearchRequest(query="docs"), NOW),
        lambda: update_library(Workspace.open()),
        lambda: rebuild_library(Workspace.open()),
    ):
        with pytest.raises(DocumentError, match="newer leftoff"):
            attempt()
    with pytest.raises(DocumentError, match="cannot be read"):
        forget.plan_text(SECRET, Workspace.open())
    assert library.read_bytes() == before


def test_a_library_that_cannot_be_read_is_an_error(saved_sessions):
    """Nothing is reported as forgotten if the library cannot be read."""
    Path(library_folder(), database.FILE_NAME).write_bytes(b"garbage" * 1000)
    for attempt in (
        lambda: forget.plan_text("stands nowhere", Workspace.open()),
        lambda: forget.plan_session(SESSION, Workspace.open()),
    ):
        with pytest.raises(DocumentError, match="leftoff search --rebuild"):
            attempt()


def test_a_library_with_older_words_is_replaced(home):
    """The next search fills it without what was forgotten."""
    home.claude(Story(session_id=SESSION, project=str(Path.cwd())).asked(f"{WORD} koala").replied("yes"))
    update_library(Workspace.open())
    with closing(sqlite3.connect(library_path())) as connection, connection:
        connection.execute("UPDATE facts SET value = 1 WHERE name = 'words'")
    assert forget.plan_text(WORD, Workspace.open()).in_library
    assert "none holds it" in leftoff("forget", "--text", WORD, "--yes")
    assert search(Workspace.open(), SearchRequest(query="koala"), NOW).sessions
    assert not search(Workspace.open(), SearchRequest(query=WORD), NOW).sessions


def test_a_library_that_is_being_read_is_named(home, monkeypatch):
    """The old bytes are gone when the reader is done."""
    monkeypatch.setattr(index, "_READER_SECONDS", 0.2)
    text = "夜莺计划机密档案馆"  # no byte of the words has it whole: only what is compressed
    body = "\n".join(f"line {number} of a long reply {number * 7919}" for number in range(300))
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("A koala")
    home.claude(story.replied(f"start {text} {body}"))
    update_library(Workspace.open())
    old = max(query_library("SELECT data FROM blocks"), key=len)[50:150]
    assert old in everything(library_path().parent)
    with closing(sqlite3.connect(library_path(), isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM pieces").fetchone()
        assert forget_text(text).left == (library_path(),)
        assert old in everything(library_path().parent)
    assert old not in everything(library_path().parent)


def test_a_running_update_adds_nothing_that_was_forgotten_meanwhile(home):
    """The update had read the list of forgotten sessions before."""
    save_log(str(write_session(home, "koala one")), Workspace.open())
    Path(library_folder()).mkdir(parents=True)
    update = Updater(Workspace.open(), library_folder(), None, None)
    found = list_transcripts()
    forget_session(SESSION)
    assert not update.run(lambda: found).finished
    update.writer.close()
    update_library(Workspace.open())
    assert "koala" not in indexed_text()


def test_forgetting_waits_until_indexing_is_done(home):
    """Otherwise an update that has read the transcript already would add it again."""
    save_log(str(write_session(home, "koala one")), Workspace.open())
    update_library(Workspace.open())
    done = []
    waiting = threading.Thread(target=lambda: done.append(forget_session(SESSION)))
    with locks.hold(Path(library_folder()) / database.LOCK_NAME, timeout_seconds=60):
        waiting.start()
        waiting.join(timeout=1.0)
        assert done == []
        assert "koala" in indexed_text()
    waiting.join(timeout=60)
    assert len(done) == 1
    assert "koala" not in indexed_text()


def test_half_a_text_at_the_end_of_a_cut_title_or_prompt_is_erased(home):
    """The erased half does not come back with the next list or update."""
    text = "Marmaduke47"
    for session_id, chars in ((SESSION, 290), (OTHER, MAX_PROMPT_CHARS - 6)):
        story = Story(session_id=session_id, project=str(Path.cwd())).asked("p" * chars + f" {text} tail")
        home.claude(story.replied("ok"))
    update_library(Workspace.open())
    [*entries(list_transcripts())]
    assert b"Marmadu" in everything(library_path().parent)
    assert forget_text(text).left == ()
    assert b"Marma" not in everything(library_path().parent)
    shown = [entry.first_prompt for entry in entries(list_transcripts())]
    update_library(Workspace.open())
    assert len(shown) == len(query_library("SELECT entry FROM entries")) == 2
    assert b"Marma" not in everything(library_path().parent)


def test_half_a_text_is_erased_though_another_was_forgotten_before(home):
    """The first forgotten text changed the length of the cut title and prompt."""
    text, before = "Marmaduke the forty-seventh", "Koala99"
    prompts = {
        SESSION: f"{before} {'p' * 270} {text}",
        OTHER: f"{before} {'p' * (MAX_PROMPT_CHARS - 30)} {text}",
        "3c54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b22": "Is it warm",
    }
    for session_id, prompt in prompts.items():
        home.claude(Story(session_id=session_id, project=str(Path.cwd())).asked(prompt).replied("ok"))
    for each in (before, text):
        update_library(Workspace.open())
        [*entries(list_transcripts())]
        assert b"Marma" in everything(library_path().parent)
        assert forget_text(each).left == ()
    assert b"Marma" not in everything(library_path().parent)
    assert "Is it warm" in query_library("SELECT title FROM sources")


def test_a_text_copied_from_raw_json_is_masked_with_its_escapes_decoded(home, isolated_home):
    """The text is masked in an extraction, the library and the archive, and does not come back."""
    mine = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  archive:\n    enabled: true\n", encoding="utf-8")
    decoded = json.loads(f'"{COPIED}"')
    transcript = home.claude(
        Story(session_id=SESSION, project="/srv/a").asked(f"koala {decoded}").replied("yes")
    )
    archive_finished(Workspace.open(), NOW)
    update_library(Workspace.open())
    kept = paths.state_folder() / "extractions" / f"claude-{OTHER}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"said": decoded, "typed": COPIED}), encoding="utf-8")
    plan = forget.plan_text(COPIED, Workspace.open())
    assert plan.agents_own == (transcript,)
    assert forget.forget(plan).left == ()
    assert json.loads(kept.read_bytes()) == {"said": "[forgotten]", "typed": "[forgotten]"}
    assert open_archive().sessions() == archive_finished(Workspace.open(), NOW) == []
    update_library(Workspace.open())
    assert search(Workspace.open(), SearchRequest(query="koala"), NOW).sessions
    assert not search(Workspace.open(), SearchRequest(query="hunter2abc"), NOW).sessions
    assert b"hunter2abc" not in all_kept()
