"""What the library never contains, what it removes, and what it reads from the archive."""

import json
import os
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from leftoff.archive.archive import archive_finished
from leftoff.catalogue import database
from leftoff.catalogue.database import library_folder
from leftoff.errors import DocumentError
from leftoff.forget import forget
from leftoff.platform import paths
from leftoff.search.search import SearchRequest, search
from leftoff.search.update_index import rebuild_library, update_library, update_library_and_archive
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace
from tests.forget.support import NOW, SESSION, finds, indexed_text, write_session
from tests.search.sample_library import everything

KEY = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


@pytest.fixture
def write_settings(isolated_home):
    """Write the user's settings."""
    mine = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    return lambda text: mine.write_text(f"context_management:\n{text}", encoding="utf-8")


def ran(home, result, **more_input):
    """A session with one command and its result."""
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("hello wombat")
    return home.claude(story.replied("ok", call("Bash", {"command": "cat vault"} | more_input, result)))


def test_the_later_result_of_an_excluded_call_is_left_out(home, write_settings):
    """An update comes between the call and its result."""
    write_settings("  capture:\n    exclude_tools: [Bash]\n")
    transcript = ran(home, "platypusresult")
    lines = transcript.read_bytes().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if b"platypusresult" in line)
    transcript.write_bytes(b"".join(lines[:at]))
    update_library(Workspace.open())
    transcript.write_bytes(b"".join(lines))
    update_library(Workspace.open())
    assert "wombat" in indexed_text()
    assert "platypusresult" not in indexed_text()


def test_calls_of_a_newly_excluded_tool_are_removed_by_the_next_update(home, write_settings):
    """The results are removed too, and the rest of the session is kept."""
    ran(home, "platypusresult")
    update_library(Workspace.open())
    assert "platypusresult" in indexed_text()
    write_settings("  capture:\n    exclude_tools: [Bash]\n")
    update_library(Workspace.open())
    assert "platypusresult" not in indexed_text()
    assert "vault" not in indexed_text()
    assert finds("wombat")


def test_a_credential_in_a_touched_path_is_redacted(home):
    """Paths are redacted like texts."""
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("hi")
    home.claude(story.replied("ok", call("Read", {"file_path": f"/srv/{KEY}/a.py"}, "x")))
    update_library(Workspace.open())
    assert KEY.encode() not in everything(paths.data_folder())
    assert finds("file:a.py")


def test_a_credential_in_a_folder_name_is_stored_only_in_paths_until_forgotten(home, write_settings):
    """Paths are needed to find the files; no text, title or touched file contains it."""
    write_settings("  archive:\n    enabled: true\n")
    story = Story(session_id=SESSION, project=f"/srv/{KEY}").asked(f"wombat in /srv/{KEY}")
    home.claude(story.replied("ok", call("Read", {"file_path": f"/srv/{KEY}/a.py"}, "x")))
    update_library_and_archive(Workspace.open(), NOW)
    (found,) = search(Workspace.open(), SearchRequest(query="wombat"), NOW).sessions
    assert found.source.project == f"/srv/{KEY}"
    assert KEY not in indexed_text()
    with closing(sqlite3.connect(Path(library_folder(), database.FILE_NAME))) as connection:
        assert not [
            row
            for row in connection.execute("SELECT title FROM sources UNION SELECT path FROM paths")
            if KEY in row[0]
        ]
    (facts,) = (paths.data_folder() / "archive").glob("*.json")
    assert KEY not in json.loads(facts.read_bytes())["first_prompt"]
    assert forget.forget(forget.plan_text(KEY, Workspace.open())).left == ()
    assert KEY.encode() not in everything(paths.data_folder())


def test_credentials_are_redacted_before_texts_are_cut(home):
    """A credential may be at the end of the head of a long line or span the whole cut."""
    body = "\n".join(f"{number:02}" + "Ab3" * 20 for number in range(50))
    pem = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
    line = f'{"x," * 1985}"{KEY}"{",1" * 20_000}'
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("hi")
    story.replied(
        "ok",
        call("Bash", {"command": "a"}, line),
        call("Bash", {"command": "b"}, f"{'word ' * 500}\n{pem}\n{'tail ' * 250}"),
    )
    home.claude(story)
    update_library(Workspace.open())
    assert "ghp_aB3" not in indexed_text()
    assert not [each for each in body.splitlines() if each in indexed_text()]


def test_a_credential_in_a_document_is_redacted(home):
    """A log from elsewhere may contain one."""
    log = Path(".leftoff/resume-logs/session-x.md")
    log.parent.mkdir(parents=True)
    log.write_text(f"# Log\nthe wombat token is {KEY}\n", encoding="utf-8")
    write_session(home, "hi")
    update_library(Workspace.open())
    assert "wombat" in indexed_text()
    assert KEY not in indexed_text()


def test_a_transcript_changed_in_place_is_read_again(home):
    """The change is noticed at the same length and also if something was appended."""
    transcript = write_session(home, "my koalasecret here", "and more")
    update_library(Workspace.open())
    transcript.write_bytes(transcript.read_bytes().replace(b"koalasecret", b"xxxxxxxxxxx"))
    update_library(Workspace.open())
    assert "koalasecret" not in indexed_text()
    lines = transcript.read_bytes().replace(b"xxxxxxxxxxx", b"yyyyyyyyyyy").splitlines(keepends=True)
    transcript.write_bytes(b"".join([*lines, lines[-1]]))
    update_library(Workspace.open())
    assert "xxxxxxxxxxx" not in indexed_text()


def damaged(home):
    """Return a library whose pages, except for the first, are noise."""
    for number in range(12):
        words = " ".join(os.urandom(4).hex() for _ in range(600))
        home.claude(
            Story(session_id=f"{number:08x}{SESSION[8:]}", project=str(Path.cwd()))
            .asked(f"koala {words}")
            .replied("ok")
        )
    update_library(Workspace.open())
    library = Path(library_folder(), database.FILE_NAME)
    data = bytearray(library.read_bytes())
    for page in range(8 * 4096, len(data), 4096):
        data[page : page + 4096] = b"\x5a" * 4096
    library.write_bytes(data)


def test_a_damaged_library_is_an_error_until_it_is_rebuilt(home):
    """Searching, updating and forgetting all report the damage."""
    damaged(home)
    attempts = (
        lambda: search(Workspace.open(), SearchRequest(query="koala"), NOW),
        lambda: update_library(Workspace.open()),
        lambda: forget.plan_session(f"00000001{SESSION[8:]}", Workspace.open()),
    )
    for attempt in attempts:
        with pytest.raises(DocumentError, match="leftoff search --rebuild"):
            attempt()
    assert rebuild_library(Workspace.open()).sessions == 12
    assert finds("koala")


def test_rebuilding_reads_archived_sessions_that_their_agent_deleted(home, write_settings):
    """The sessions are read from their copies, which are not left unpacked."""
    write_settings("  archive:\n    enabled: true\n")
    transcript = write_session(home, "koala")
    archive_finished(Workspace.open(), NOW)
    update_library(Workspace.open())
    transcript.unlink()
    for renew in (update_library, rebuild_library, update_library):
        renew(Workspace.open())
        (found,) = search(Workspace.open(), SearchRequest(query="koala"), NOW).sessions
        assert (found.source.path, found.source.archived, found.number) == (str(transcript), True, None)
    assert not [*Path(library_folder()).glob("unpacked-*")]


def test_a_session_removed_from_the_archive_is_no_longer_found(home, write_settings):
    """The text and the advice to restore it disappear together."""
    write_settings("  archive:\n    enabled: true\n    keep_days: 1\n")
    transcript = write_session(home, "koala")
    update_library_and_archive(Workspace.open(), NOW)
    transcript.unlink()
    assert finds("koala")
    update_library_and_archive(Workspace.open(), NOW + timedelta(days=40))
    assert not finds("koala")


def test_an_append_to_any_old_session_is_noticed(home):
    """An append is noticed however many sessions have changed since."""
    transcript = write_session(home, "koala")
    update_library(Workspace.open())
    with sqlite3.connect(Path(library_folder(), database.FILE_NAME)) as connection:
        rows = [(f"/x/{number}", 2**62) for number in range(3001)]
        connection.executemany(
            "INSERT INTO sources(type, path, modified_ns, size_bytes, archived) VALUES ('session', ?, ?, 1, 1)",
            rows,
        )
    connection.close()
    before = transcript.stat().st_mtime_ns
    last = next(line for line in transcript.read_bytes().splitlines(keepends=True) if b'"ok"' in line)
    with transcript.open("ab") as file:
        file.write(last.replace(b'"ok"', b'"echidna"'))
    os.utime(transcript, ns=(before, before))
    assert finds("echidna")


def test_a_password_is_known_by_its_name_in_the_input_of_a_call(home):
    """The name is not in the text that is stored, so the input is redacted before."""
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("Sign in.")
    signed_in = call("mcp__vault__login", {"user": "wombat", "password": "hunter2hunter2"}, "ok")
    home.claude(story.replied("", signed_in))
    update_library(Workspace.open())
    text = indexed_text()
    assert "wombat" in text
    assert "hunter2" not in text
