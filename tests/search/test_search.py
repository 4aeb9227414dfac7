"""Searching as a whole: transcripts of both agents in, results out."""

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.catalogue import database
from leftoff.catalogue.database import library_folder
from leftoff.errors import LockTimeoutError, UsageError
from leftoff.forget.index import index_holds
from leftoff.forget.matcher import Matcher
from leftoff.platform import locks, paths
from leftoff.search.changes import Changes, find_changes
from leftoff.search.pieces import HEAD_CHARS, TAIL_CHARS, shorten
from leftoff.search.search import SearchRequest, search
from leftoff.search.update_index import rebuild_library, update_library
from leftoff.sessions.status import list_sessions
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace
from tests.support.transcripts import write_transcript

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OTHER = "11111111-1111-4111-8111-111111111111"


def ask(query="", **changes):
    return search(Workspace.open(), SearchRequest(query=query, **changes), NOW)


def lines_of(results):
    return [
        (session.source.agent, hit.hit.kind, hit.hit.line)
        for session in results.sessions
        for hit in session.hits
    ]


def kept_bytes():
    return b"\n".join(path.read_bytes() for path in Path(library_folder()).iterdir())


@pytest.fixture
def story(home):
    """A session with a failing command and its follow-up, and one of another agent."""
    first = Story(project=str(Path.cwd()))
    first.asked("Why does the limiter drop bursts?").replied(
        "I look at it.",
        call(
            "shell",
            {"command": "pytest tests/test_limits.py"},
            "E   AssertionError: burst of 100 dropped",
            failed=True,
        ),
        call("read", {"path": "src/limits/bucket.py"}, "class TokenBucket:\n    def allowRequest(self): ..."),
    )
    first.asked("Mend it").replied(
        "Done: the bucket refills.", call("shell", {"command": "pytest tests"}, "12 passed")
    )
    second = Story(session_id=OTHER, project="/somewhere/else").asked("开发一个猜数字游戏").replied("好的。")
    return home.claude(first), home.codex(second)


def test_the_first_search_builds_the_library_and_finds_every_kind(story):
    """Prompts, replies, commands, calls and results, of every agent, by words and by parts of names."""
    for query, kind in {
        "limiter bursts": "prompt",
        "refills": "reply",
        "pytest test_limits": "command",
        "AssertionError": "result",
        "token bucket allow": "result",
        "猜数字": "prompt",
    }.items():
        results = ask(query)
        assert results.sessions, query
        assert results.sessions[0].hits[0].hit.kind == kind, query


def test_a_hit_is_the_record_at_that_byte_of_the_file(story):
    hit = ask("limiter").sessions[0].hits[0]
    content = story[0].read_bytes()
    assert b"Why does the limiter" in content[hit.hit.offset :].splitlines()[0]
    assert b"Why does the limiter" in content.splitlines()[hit.hit.line - 1]


def test_results_are_numbered_in_their_order(story):
    """``leftoff search`` remembers the numbers, as ``show`` and ``resume`` take them."""
    assert [session.number for session in ask("猜数字 OR limiter").sessions] == [1, 2]


def test_who_touched_a_file_how_a_command_ran_and_what_followed_an_error(story):
    """The options --file, --command and --error answer these questions."""
    touched = ask(file="limits/bucket.py")
    assert lines_of(touched)[0][:2] == ("claude", "call")
    ran = {
        hit.snippet.text: hit.hit.failed for session in ask(command="pytest").sessions for hit in session.hits
    }
    assert ran == {"pytest tests/test_limits.py": True, "pytest tests": False}
    (met,) = ask(error="burst of 100 dropped").sessions
    assert "Done: the bucket refills." in [each.snippet for each in met.hits[0].follow_ups]
    loose = ask(error="dropped the bursts")
    assert loose.sessions
    assert not loose.complete


@pytest.mark.parametrize("pasted", ["kind:foo dropped burst", "since:foo burst", "burst " * 300])
def test_a_pasted_error_is_never_taken_for_a_query(story, pasted):
    """What is not found literally is searched by its words."""
    assert not ask(error=pasted).complete


def test_what_was_appended_is_found_and_nothing_else_is_read(story):
    """Only new bytes are read, and an incomplete line waits."""
    ask("limiter")
    more = (
        Story(session_id=story[0].stem, project=str(Path.cwd()))
        .asked("Add a metric called drizzle")
        .replied("ok")
    )
    extra = Path("more.jsonl")
    write_transcript(claude.here(), more.script(), extra)
    lines = [line for line in extra.read_bytes().splitlines(keepends=True) if b"drizzle" in line]
    size = story[0].stat().st_size
    with story[0].open("ab") as file:
        file.write(lines[0][:40])
    assert not ask("drizzle").sessions
    with story[0].open("ab") as file:
        file.write(lines[0][40:].rstrip(b"\n") + b"\n")
    updated = update_library(Workspace.open())
    assert (updated.sessions, updated.read_bytes) == (1, story[0].stat().st_size - size)
    (found,) = ask("drizzle").sessions
    assert found.hits[0].hit.offset == size
    assert ask("bursts drop").sessions[0].source.places == 2


def test_a_rewritten_file_is_read_again_and_a_deleted_one_is_removed(story):
    """The library contains nothing that no longer exists."""
    ask("limiter")
    content = story[0].read_bytes()
    story[0].write_bytes(content.replace(b"refills", b"throttles"))
    assert not ask("refills").sessions
    assert ask("throttle").sessions[0].source.places == 1
    story[1].unlink()
    assert not ask("猜数字").sessions


def test_an_up_to_date_index_is_recognised_without_loading_an_agent(story):
    """Only folders and files are checked; another home of an agent is a change."""
    variables = "HOME=/x"
    update_library(Workspace.open())
    with closing(database.open_for_search(library_folder())) as connection:
        connection.execute("PRAGMA query_only = OFF")
        connection.execute("UPDATE facts SET value = ? WHERE name = 'folders named'", (variables,))
        assert find_changes(connection, variables) == Changes()
        assert find_changes(connection, "HOME=/y").everywhere
        os.utime(story[0], ns=(1, 1))
        assert find_changes(connection, variables) == Changes(changed=(str(story[0]),))


def test_a_new_session_makes_it_stale(story, home):
    """A new session changes the time of its folder."""
    ask("limiter")
    home.claude(Story(session_id=OTHER).asked("A quokka appears").replied("yes"))
    assert ask("quokka").sessions


def test_credentials_are_taken_out_before_anything_is_stored(home):
    """A byte scan of the library finds none in prompts, commands and results, nor what the user denies."""
    secret = "ghp_" + "a1B2" * 9
    story = Story(project=str(Path.cwd())).asked(f"use {secret} please")
    story.replied(
        "no", call("shell", {"command": f"curl -H 'Authorization: Bearer {secret}'"}, f"token={secret}")
    )
    home.claude(story)
    assert ask("please").sessions
    assert secret.encode() not in kept_bytes()
    assert not ask(secret).sessions
    assert not index_holds(Matcher([secret]))


def test_tools_that_the_user_excluded_are_left_out(home, isolated_home):
    """Neither the input nor the results of an excluded tool are indexed."""
    mine = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  capture:\n    exclude_tools: [Bash]\n", encoding="utf-8")
    story = (
        Story(project=str(Path.cwd()))
        .asked("go")
        .replied("x", call("shell", {"command": "wombat"}, "echidna"))
    )
    home.claude(story)
    assert ask("go").sessions
    assert not ask("wombat").sessions
    assert not ask("echidna").sessions


def test_logs_pauses_and_chats_are_found_too(story):
    """Documents are found by section and line; deleted ones are removed and links are not followed."""
    folder = Path(".leftoff")
    for name, kind in (
        ("resume-logs/session-x.md", "log"),
        ("sessions/session-y.md", "pause"),
        ("chats/z.md", "chat"),
    ):
        path = folder / name
        path.parent.mkdir(parents=True)
        path.write_text(f"# Title\n\nintro\n\n## Next Steps\n\n- the {kind} kookaburra\n", encoding="utf-8")
    (folder / "chats" / "link.md").symlink_to("/etc/hostname")
    found = {
        (session.source.type, session.hits[0].hit.line, session.number)
        for session in ask("kookaburra").sessions
    }
    assert found == {("log", 5, None), ("pause", 5, None), ("chat", 5, None)}
    (folder / "chats" / "z.md").unlink()
    assert len(ask("kookaburra").sessions) == 2


def test_a_budget_ends_an_update_and_the_next_continues(story):
    """Nothing is lost and nothing is read twice."""
    cut = update_library(Workspace.open(), budget_seconds=0)
    assert not cut.finished
    whole = update_library(Workspace.open())
    assert whole.finished
    assert ask("bursts drop").sessions[0].source.places == 2


def test_while_another_process_updates_a_search_uses_the_index_as_it_is(story, home):
    """The search reports that something has not been read yet."""
    ask("limiter")
    home.claude(Story(session_id=OTHER).asked("A quokka appears").replied("yes"))
    with locks.hold(Path(library_folder(), "update.lock")):
        with pytest.raises(LockTimeoutError):
            update_library(Workspace.open())
        results = ask("limiter")
    assert results.sessions
    assert results.unread


def test_a_broken_library_is_rebuilt(story):
    """A broken library is rebuilt by the next search or on request."""
    ask("limiter")
    Path(library_folder(), database.FILE_NAME).write_bytes(b"rubbish" * 1000)
    assert ask("limiter").sessions
    assert rebuild_library(Workspace.open()).sessions == 2
    assert ask("limiter").sessions


def test_a_bad_transcript_does_not_hide_others(story):
    bad = story[0].with_name("22222222-2222-4222-8222-222222222222.jsonl")
    bad.write_bytes(b"\x00" * 4096 + b"\n{broken\n" + b"[1]\n")
    assert ask("limiter").sessions


def test_a_line_of_five_megabytes_and_hostile_text_are_harmless(home):
    """The text is cut to its head and tail and escaped when it is shown."""
    long = "start " + "x" * 5_000_000 + " finish"
    story = Story(project=str(Path.cwd())).asked(long).replied("x")
    story.asked("\x1b[2J\x1b]0;pwned\x07 [bold red]markup[/] \x00 numbat")
    home.claude(story)
    assert ask("finish").sessions
    assert Path(library_folder(), database.FILE_NAME).stat().st_size < 1_000_000
    assert ask("numbat").sessions[0].hits[0].hit.kind == "prompt"


def test_coloured_output_is_found_by_its_words(home):
    """Escape codes between the words are ignored."""
    output = "\x1b[31mFAILED\x1b[0m \x1b[1mbandicoot\x1b[m"
    home.claude(
        Story(project=str(Path.cwd())).asked("go").replied("x", call("shell", {"command": "t"}, output))
    )
    (found,) = ask("failed bandicoot").sessions
    assert found.hits[0].hit.text == "FAILED bandicoot"


def test_head_and_tail_are_cut_between_words():
    """Half a credential would not be recognised."""
    text = "word " * (HEAD_CHARS + TAIL_CHARS)
    cut = shorten(text)
    assert len(cut) < HEAD_CHARS + TAIL_CHARS + 10
    assert {*cut.split()} == {"word", "…"}
    assert shorten("short") == "short"
    assert len(shorten("x" * 9000)) > TAIL_CHARS


def test_a_question_without_words_is_refused(story):
    """The error has an example."""
    with pytest.raises(UsageError, match="leftoff search retry"):
        ask("  ")


def test_the_list_of_sessions_does_not_wait_for_a_writer(story):
    """While the library is locked, new entries are not stored, and the list is the same."""
    update_library(Workspace.open())
    with closing(
        sqlite3.connect(Path(library_folder(), database.FILE_NAME), isolation_level=None)
    ) as connection:
        connection.execute("BEGIN IMMEDIATE")
        assert len([*list_sessions(Workspace.open())]) == 2
    assert paths.state_folder() is not None
