"""Finding anything in any session, as a whole: real transcripts of both agents in, answers out."""

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.errors import LockTimeoutError, UsageError
from leftoff.flows.choose import choose
from leftoff.flows.library_folder import library_folder
from leftoff.flows.library_pieces import HEAD_CHARS, TAIL_CHARS, shortened
from leftoff.flows.library_stale import News, news
from leftoff.flows.library_update import rebuild_library, update_library
from leftoff.flows.list_sessions import list_sessions
from leftoff.flows.search import Asked, search
from leftoff.library import shelf as shelves
from leftoff.library.erasing import holds
from leftoff.system import locks, paths
from leftoff.testing.builders import Story, call

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OTHER = "11111111-1111-4111-8111-111111111111"


def ask(query="", **changes):
    return search(Asked(query=query, **changes), NOW)


def lines_of(results):
    return [
        (session.found.agent, shown.hit.kind, shown.hit.line)
        for session in results.sessions
        for shown in session.hits
    ]


def kept_bytes():
    return b"\n".join(path.read_bytes() for path in Path(library_folder()).iterdir())


@pytest.fixture
def story(home):
    """A session with a command that failed and what came of it, and one of another agent."""
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
    """Line and offset lead into the transcript."""
    shown = ask("limiter").sessions[0].hits[0]
    content = story[0].read_bytes()
    assert b"Why does the limiter" in content[shown.hit.offset :].splitlines()[0]
    assert b"Why does the limiter" in content.splitlines()[shown.hit.line - 1]


def test_numbers_name_the_sessions_that_were_shown(story):
    """For show and resume."""
    results = ask("猜数字 OR limiter")
    for session in results.sessions:
        assert str(choose(str(session.number), Path.cwd()).transcript) == session.found.path


def test_who_touched_a_file_how_a_command_ran_and_what_followed_an_error(story):
    """The questions that people ask."""
    touched = ask(file="limits/bucket.py")
    assert lines_of(touched)[0][:2] == ("claude", "call")
    ran = {
        shown.snippet.text: shown.hit.failed
        for session in ask(command="pytest").sessions
        for shown in session.hits
    }
    assert ran == {"pytest tests/test_limits.py": True, "pytest tests": False}
    (met,) = ask(error="burst of 100 dropped").sessions
    assert "Done: the bucket refills." in [each.snippet for each in met.hits[0].followed]
    loose = ask(error="dropped the bursts")
    assert loose.sessions
    assert not loose.complete


@pytest.mark.parametrize("pasted", ["kind:foo dropped burst", "since:foo burst", "burst " * 300])
def test_a_pasted_error_is_never_taken_for_a_query(story, pasted):
    """Whatever stands in it: what is not found as it stands is looked for by its words."""
    assert not ask(error=pasted).complete


def test_what_was_appended_is_found_and_nothing_else_is_read(story):
    """Only new bytes; a half-written line waits until it is whole."""
    ask("limiter")
    more = (
        Story(session_id=story[0].stem, project=str(Path.cwd()))
        .asked("Add a metric called drizzle")
        .replied("ok")
    )
    extra = Path("more.jsonl")
    claude.here().transcribe(more.script(), extra)
    lines = [line for line in extra.read_bytes().splitlines(keepends=True) if b"drizzle" in line]
    size = story[0].stat().st_size
    with story[0].open("ab") as file:
        file.write(lines[0][:40])
    assert not ask("drizzle").sessions
    with story[0].open("ab") as file:
        file.write(lines[0][40:].rstrip(b"\n") + b"\n")
    updated = update_library()
    assert (updated.sessions, updated.read_bytes) == (1, story[0].stat().st_size - size)
    (found,) = ask("drizzle").sessions
    assert found.hits[0].hit.offset == size
    assert ask("limiter").sessions[0].found.places == 1


def test_a_file_that_was_rewritten_is_read_anew_and_one_that_is_gone_is_forgotten(story):
    """The library says nothing of what exists nowhere."""
    ask("limiter")
    content = story[0].read_bytes()
    story[0].write_bytes(content.replace(b"limiter", b"throttle"))
    assert not ask("limiter").sessions
    assert ask("throttle").sessions[0].found.places == 1
    story[1].unlink()
    assert not ask("猜数字").sessions


def test_nothing_new_is_known_without_loading_any_agent(story):
    """Folders and files are asked; another home is another world."""
    variables = "HOME=/x"
    update_library()
    with closing(shelves.opened_to_read(library_folder())) as shelf:
        shelf.execute("PRAGMA query_only = OFF")
        shelf.execute("UPDATE facts SET value = ? WHERE name = 'folders named'", (variables,))
        now = NOW.timestamp()
        assert news(shelf, library_folder(), variables, now) == News()
        assert news(shelf, library_folder(), "HOME=/y", now).everywhere
        os.utime(story[0], ns=(1, 1))
        assert news(shelf, library_folder(), variables, now) == News(changed=(str(story[0]),))


def test_a_new_session_makes_it_stale(story, home):
    """Its folder has changed."""
    ask("limiter")
    home.claude(Story(session_id=OTHER).asked("A quokka appears").replied("yes"))
    assert ask("quokka").sessions


def test_credentials_are_taken_out_before_anything_is_stored(home):
    """A byte scan of the library finds none, in prompts, commands and results; nor what the user denies."""
    secret = "ghp_" + "a1B2" * 9
    story = Story(project=str(Path.cwd())).asked(f"use {secret} please")
    story.replied(
        "no", call("shell", {"command": f"curl -H 'Authorization: Bearer {secret}'"}, f"token={secret}")
    )
    home.claude(story)
    assert ask("please").sessions
    assert secret.encode() not in kept_bytes()
    assert not ask(secret).sessions
    with closing(shelves.opened_to_read(library_folder())) as shelf:
        assert not holds(shelf, [secret])


def test_tools_that_the_user_excluded_are_left_out(home, own_world):
    """What they were given, and what they answered."""
    mine = own_world / ".config" / "leftoff" / "configuration.yaml"
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
    """By their headings' sections, with the line; a document that is gone is forgotten, links are not followed."""
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
        (session.found.type, session.hits[0].hit.line, session.number)
        for session in ask("kookaburra").sessions
    }
    assert found == {("log", 5, None), ("pause", 5, None), ("chat", 5, None)}
    (folder / "chats" / "z.md").unlink()
    assert len(ask("kookaburra").sessions) == 2


def test_a_budget_ends_an_update_and_the_next_goes_on(story):
    """Nothing is lost, nothing read twice."""
    cut = update_library(budget_seconds=0)
    assert not cut.finished
    whole = update_library()
    assert whole.finished
    assert ask("limiter").sessions[0].found.places == 1


def test_while_another_process_updates_a_search_answers_with_what_there_is(story, home):
    """And says that something is not read yet."""
    ask("limiter")
    home.claude(Story(session_id=OTHER).asked("A quokka appears").replied("yes"))
    with locks.held(Path(library_folder(), "update.lock")):
        with pytest.raises(LockTimeoutError):
            update_library()
        results = ask("limiter")
    assert results.sessions
    assert results.unread


def test_a_broken_library_is_made_anew(story):
    """By the next search, or when asked to."""
    ask("limiter")
    Path(library_folder(), shelves.NAME).write_bytes(b"rubbish" * 1000)
    assert ask("limiter").sessions
    assert rebuild_library().sessions == 2
    assert ask("limiter").sessions


def test_one_bad_transcript_hides_no_other(story):
    """It is noted in our own log."""
    bad = story[0].with_name("22222222-2222-4222-8222-222222222222.jsonl")
    bad.write_bytes(b"\x00" * 4096 + b"\n{broken\n" + b"[1]\n")
    assert ask("limiter").sessions


def test_a_line_of_five_megabytes_and_hostile_text_are_kept_harmless(home):
    """Cut to head and tail; shown through the same eyes as all foreign text."""
    long = "start " + "x" * 5_000_000 + " finish"
    story = Story(project=str(Path.cwd())).asked(long).replied("x")
    story.asked("\x1b[2J\x1b]0;pwned\x07 [bold red]markup[/] \x00 numbat")
    home.claude(story)
    assert ask("finish").sessions
    assert Path(library_folder(), shelves.NAME).stat().st_size < 1_000_000
    assert ask("numbat").sessions[0].hits[0].hit.kind == "prompt"


def test_coloured_output_is_found_by_its_words(home):
    """The codes between them are no part of them."""
    output = "\x1b[31mFAILED\x1b[0m \x1b[1mbandicoot\x1b[m"
    home.claude(
        Story(project=str(Path.cwd())).asked("go").replied("x", call("shell", {"command": "t"}, output))
    )
    (found,) = ask("failed bandicoot").sessions
    assert found.hits[0].hit.text == "FAILED bandicoot"


def test_head_and_tail_are_cut_where_words_end():
    """Half a credential would not be known as one."""
    text = "word " * (HEAD_CHARS + TAIL_CHARS)
    cut = shortened(text)
    assert len(cut) < HEAD_CHARS + TAIL_CHARS + 10
    assert {*cut.split()} == {"word", "…"}
    assert shortened("short") == "short"
    assert len(shortened("x" * 9000)) > TAIL_CHARS


def test_a_question_without_words_is_refused(story):
    """With an example."""
    with pytest.raises(UsageError, match="leftoff search retry"):
        ask("  ")


def test_the_list_of_sessions_does_not_wait_for_a_writer(story):
    """Somebody holds the library for long: what is new is not kept, the list is the same."""
    update_library()
    with closing(sqlite3.connect(Path(library_folder(), shelves.NAME), isolation_level=None)) as shelf:
        shelf.execute("BEGIN IMMEDIATE")
        assert len([*list_sessions(None, None)]) == 2
    assert paths.state_folder() is not None
