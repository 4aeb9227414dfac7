"""What the library never takes in, takes out again, or reads from the archive."""

import json
import os
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from leftoff.errors import DocumentError
from leftoff.flows import forget as flow
from leftoff.flows.archive_sessions import keep_finished
from leftoff.flows.library_folder import library_folder
from leftoff.flows.library_tend import tend
from leftoff.flows.library_update import rebuild_library, update_library
from leftoff.flows.search import Asked, search
from leftoff.library import shelf as shelves
from leftoff.system import paths
from leftoff.testing.builders import Story, call
from tests.flows.test_forget_stays import NOW, SESSION, finds, one, stored
from tests.library.shelves import everything

KEY = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


@pytest.fixture
def wanted(own_world):
    """Write the user's settings."""
    mine = own_world / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    return lambda text: mine.write_text(f"context_management:\n{text}", encoding="utf-8")


def ran(home, result, **given):
    """A session with one command and its result."""
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("hello wombat")
    return home.claude(story.replied("ok", call("Bash", {"command": "cat vault"} | given, result)))


def test_the_result_of_an_excluded_call_is_left_out_also_when_it_comes_later(home, wanted):
    """An update between the call and its result."""
    wanted("  capture:\n    exclude_tools: [Bash]\n")
    transcript = ran(home, "platypusresult")
    lines = transcript.read_bytes().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if b"platypusresult" in line)
    transcript.write_bytes(b"".join(lines[:at]))
    update_library()
    transcript.write_bytes(b"".join(lines))
    update_library()
    assert "wombat" in stored()
    assert "platypusresult" not in stored()


def test_a_tool_that_is_excluded_later_goes_at_the_next_update(home, wanted):
    """Its calls and results; the rest of the session stays."""
    ran(home, "platypusresult")
    update_library()
    assert "platypusresult" in stored()
    wanted("  capture:\n    exclude_tools: [Bash]\n")
    update_library()
    assert "platypusresult" not in stored()
    assert "vault" not in stored()
    assert finds("wombat")


def test_a_credential_in_a_touched_path_is_redacted(home):
    """In the names of files as in the texts."""
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("hi")
    home.claude(story.replied("ok", call("Read", {"file_path": f"/srv/{KEY}/a.py"}, "x")))
    update_library()
    assert KEY.encode() not in everything(paths.data_folder())
    assert finds("file:a.py")


def test_a_credential_in_the_name_of_a_folder_stands_in_paths_alone_until_it_is_forgotten(home, wanted):
    """They are needed to find the files; no text, title or touched file holds it."""
    wanted("  archive:\n    enabled: true\n")
    story = Story(session_id=SESSION, project=f"/srv/{KEY}").asked(f"wombat in /srv/{KEY}")
    home.claude(story.replied("ok", call("Read", {"file_path": f"/srv/{KEY}/a.py"}, "x")))
    tend(NOW)
    (found,) = search(Asked(query="wombat"), NOW).sessions
    assert found.found.project == f"/srv/{KEY}"
    assert KEY not in stored()
    with closing(sqlite3.connect(Path(library_folder(), shelves.NAME))) as shelf:
        assert not [
            row
            for row in shelf.execute("SELECT title FROM sources UNION SELECT path FROM paths")
            if KEY in row[0]
        ]
    (facts,) = (paths.data_folder() / "archive").glob("*.json")
    assert KEY not in json.loads(facts.read_bytes())["first_prompt"]
    assert flow.forget(flow.plan_text(KEY)).left == ()
    assert KEY.encode() not in everything(paths.data_folder())


def test_a_credential_that_a_cut_would_halve_is_redacted_before(home):
    """At the end of the head of a long line without spaces, and a key of many lines over the whole cut."""
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
    update_library()
    assert "ghp_aB3" not in stored()
    assert not [each for each in body.splitlines() if each in stored()]


def test_a_credential_in_a_document_is_redacted(home):
    """A log that came from elsewhere may hold one."""
    log = Path(".leftoff/resume-logs/session-x.md")
    log.parent.mkdir(parents=True)
    log.write_text(f"# Log\nthe wombat token is {KEY}\n", encoding="utf-8")
    one(home, "hi")
    update_library()
    assert "wombat" in stored()
    assert KEY not in stored()


def test_a_transcript_that_was_scrubbed_in_place_is_read_anew(home):
    """Same length, other content; also where something was appended since."""
    transcript = one(home, "my koalasecret here", "and more")
    update_library()
    transcript.write_bytes(transcript.read_bytes().replace(b"koalasecret", b"xxxxxxxxxxx"))
    update_library()
    assert "koalasecret" not in stored()
    lines = transcript.read_bytes().replace(b"xxxxxxxxxxx", b"yyyyyyyyyyy").splitlines(keepends=True)
    transcript.write_bytes(b"".join([*lines, lines[-1]]))
    update_library()
    assert "xxxxxxxxxxx" not in stored()


def damaged(home):
    """A library whose pages are noise but for the first."""
    for number in range(12):
        words = " ".join(os.urandom(4).hex() for _ in range(600))
        home.claude(
            Story(session_id=f"{number:08x}{SESSION[8:]}", project=str(Path.cwd()))
            .asked(f"koala {words}")
            .replied("ok")
        )
    update_library()
    library = Path(library_folder(), shelves.NAME)
    data = bytearray(library.read_bytes())
    for page in range(8 * 4096, len(data), 4096):
        data[page : page + 4096] = b"\x5a" * 4096
    library.write_bytes(data)


def test_a_library_that_is_damaged_further_on_is_said_in_a_sentence_and_made_anew(home):
    """By a search, an update and by forgetting; rebuilding mends it."""
    damaged(home)
    attempts = (
        lambda: search(Asked(query="koala"), NOW),
        update_library,
        lambda: flow.plan_session(f"00000001{SESSION[8:]}", Path.cwd()),
    )
    for attempt in attempts:
        with pytest.raises(DocumentError, match="leftoff search --rebuild"):
            attempt()
    assert rebuild_library().sessions == 12
    assert finds("koala")


def test_rebuilding_reads_archived_sessions_that_their_agent_deleted(home, wanted):
    """From their copies, which are nowhere unpacked afterwards; they still count as archived."""
    wanted("  archive:\n    enabled: true\n")
    transcript = one(home, "koala")
    keep_finished(NOW)
    update_library()
    transcript.unlink()
    for renew in (update_library, rebuild_library, update_library):
        renew()
        (found,) = search(Asked(query="koala"), NOW).sessions
        assert (found.found.path, found.found.archived, found.number) == (str(transcript), True, None)
    assert not [*Path(library_folder()).glob("unpacked-*")]


def test_what_the_archive_no_longer_keeps_is_no_longer_found(home, wanted):
    """Text and advice go together."""
    wanted("  archive:\n    enabled: true\n    keep_days: 1\n")
    transcript = one(home, "koala")
    tend(NOW)
    transcript.unlink()
    assert finds("koala")
    tend(NOW + timedelta(days=40))
    assert not finds("koala")


def test_an_append_to_any_old_session_is_noticed(home):
    """However many were changed since."""
    transcript = one(home, "koala")
    update_library()
    with sqlite3.connect(Path(library_folder(), shelves.NAME)) as shelf:
        rows = [(f"/x/{number}", 2**62) for number in range(3001)]
        shelf.executemany(
            "INSERT INTO sources(type, path, modified_ns, size_bytes, archived) VALUES ('session', ?, ?, 1, 1)",
            rows,
        )
    shelf.close()
    before = transcript.stat().st_mtime_ns
    last = next(line for line in transcript.read_bytes().splitlines(keepends=True) if b'"ok"' in line)
    with transcript.open("ab") as file:
        file.write(last.replace(b'"ok"', b'"echidna"'))
    os.utime(transcript, ns=(before, before))
    assert finds("echidna")
