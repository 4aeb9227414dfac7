"""``leftoff search``, ``archive`` and ``forget`` as processes: what they say, and what to type next."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.cli.columns import columns_of
from leftoff.platform import paths
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript

pytestmark = pytest.mark.measured

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
HOSTILE = "\x1b[2Jnumbat \x1b]0;pwned\x07 \x1b \x9b2J [bold red]x[/] \u202eevil"


def leftoff(*arguments, code=0, **environment):
    ended = subprocess.run(
        [sys.executable, "-m", "leftoff", *arguments],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=120,
        env=paths.environment() | environment,
    )
    assert ended.returncode == code, ended
    return ended.stdout if code in {0, 3} else ended.stdout + ended.stderr


@pytest.fixture
def session(isolated_home):
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("Why does the limiter drop bursts?")
    story.replied("I look.", call("shell", {"command": "pytest tests"}, "E  burst dropped", failed=True))
    story.asked(HOSTILE).replied("The bucket refills.")
    path = isolated_home / ".claude" / "projects" / "-slug" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    write_transcript(claude.here(), story.script(), path)
    os.utime(path, (1_760_000_000, 1_760_000_000))
    return path


def test_what_was_found_is_shown_with_what_to_type_next(session):
    """Grouped by session, with line and kind, and the number for show and resume."""
    output = leftoff("search", "limiter")
    assert "claude" in output
    assert "Why does the limiter drop bursts?" in output
    assert "leftoff show 1 --at" in output
    assert "leftoff resume 1" in output
    assert "limiter" in leftoff("show", "1")


def test_scripts_get_the_shape_they_rely_on(session):
    """The output is JSON for results, for no result and for errors."""
    found = json.loads(leftoff("search", "limiter", "--json"))
    assert {"hits", "took_ms"} <= found.keys()
    (hit,) = found["hits"]
    assert {"session_id", "agent", "project", "line", "kind", "snippet", "score"} <= hit.keys()
    assert (hit["session_id"], hit["agent"], hit["kind"], hit["number"]) == (SESSION, "claude", "prompt", 1)
    assert json.loads(leftoff("search", "nowhere", "--json", code=3))["hits"] == []
    assert "error" in json.loads(leftoff("search", "since:soon", "--json", code=2))


def test_hostile_text_does_nothing_to_the_terminal(session):
    """Escapes are shown, not sent; markup stays text; also on a terminal, where our own colours are."""
    output = leftoff("search", "numbat")
    assert "\x1b" not in output
    assert "\u202e" not in output
    assert "[bold red]x[/]" in output
    raw = leftoff("search", "numbat", "--json")
    assert not {"\x1b", "\x9b", "\u202e"} & {*raw}
    assert "\u202eevil" in json.loads(raw)["hits"][0]["snippet"]
    ours = on_terminal("search", "numbat")
    assert "\x1b]0;" not in ours
    assert "\x1b[2J" not in ours
    assert "\x1b[33m\x1b[1m" in ours
    assert "\x1b" not in on_terminal("search", "numbat", NO_COLOR="1")


def on_terminal(*arguments, **environment):
    main, side = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "leftoff", *arguments],
        stdin=side,
        stdout=side,
        stderr=subprocess.DEVNULL,
        env=paths.environment() | {"TERM": "xterm", "COLUMNS": "200"} | environment,
    )
    os.close(side)
    output = b""
    try:
        while chunk := os.read(main, 65536):
            output += chunk
    except OSError:  # the other side is closed
        pass
    finally:
        child.wait(timeout=120)
        os.close(main)
    assert child.returncode == 0, output
    return output.decode()


def test_nothing_found_is_exit_3_with_a_hint(session):
    """The word that may have been meant."""
    assert "Did you mean: limiter" in leftoff("search", "limitre", code=3)
    assert "Try fewer words" in leftoff("search", "qqqqqqqq", code=3)


def test_questions_that_people_ask_have_options(session):
    """What ran, and what followed an error; words in parts when none has them all."""
    output = leftoff("search", "--command", "pytest")
    assert "pytest tests" in output
    assert "failed" in output or "exit" in output
    assert "then reply" in leftoff("search", "--error=burst dropped")
    assert "limiter" in leftoff("search", "--newest", "--limit", "1", "--hits=1", "--", "limiter")
    assert "best partial matches" in leftoff("search", "limiter", "refills")


@pytest.mark.slow
def test_help_update_and_rebuild(session):
    """The help explains the whole query language."""
    output = leftoff("search", "--help")
    assert all(
        name in output
        for name in ("agent:", "since:", "--file", "--command", "--error", "--newest", "Example")
    )
    assert "1 session and" in leftoff("search", "--update")
    assert json.loads(leftoff("search", "--rebuild", "--json"))["sessions"] == 1
    assert "take no query" in leftoff("search", "--update", "x", code=2)
    assert "Try: leftoff search --help" in leftoff("search", "--nonsense", code=2)


def test_a_closed_pipe_is_not_an_error(session):
    """A pipe such as ``| head -1`` may end early."""
    command = f"{sys.executable} -m leftoff search limiter OR bucket OR numbat | head -1"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=120)
    assert ended.stderr == ""


@pytest.mark.slow
def test_forgetting_asks_and_says_what_it_did(session):
    """Without a terminal, forgetting needs ``--yes``; the agent's own file is named and kept."""
    leftoff("search", "limiter")
    before = session.read_bytes()
    refused = leftoff("forget", SESSION[:8], code=1)
    assert "Nothing was erased" in refused
    assert str(session) in refused
    assert "Nothing was erased" in leftoff("forget", SESSION, "--dry-run")
    output = leftoff("forget", SESSION, "--yes")
    assert "none holds it" in output
    assert session.read_bytes() == before
    assert "Nothing was found" in leftoff("search", "limiter", code=3)
    assert "keeps nothing" in leftoff("forget", "--text", "never heard of", code=3)
    assert "Name one thing" in leftoff("forget", code=2)


def test_forgetting_for_scripts(session):
    """The JSON lists what would be erased, and then what was erased."""
    leftoff("search", "limiter")
    plan = json.loads(leftoff("forget", "--text", "limiter drop", "--json", code=1))
    assert (plan["erased"], plan["in_library"], plan["agents_own"]) == (False, True, [str(session)])
    done = json.loads(leftoff("forget", "--text", "limiter drop", "--yes", "--json"))
    assert (done["erased"], done["left"]) == (True, [])
    assert json.loads(leftoff("forget", "--project", "--yes", "--json"))["sessions"] == [SESSION]


def test_the_archive_is_listed_and_gives_back(session, isolated_home):
    """A session that its agent deleted can be listed and restored."""
    assert "No archived session was deleted" in leftoff("archive", "list", code=3)
    leftoff("search", "--update", LEFTOFF_ARCHIVE_ENABLED="true")
    assert SESSION in leftoff("archive", "list", "--all", COLUMNS="140")
    session.unlink()
    assert "archive restore" in leftoff("search", "limiter")
    assert [each["deleted"] for each in json.loads(leftoff("archive", "list", "--json"))] == [True]
    assert "leftoff resume" in leftoff("archive", "restore", SESSION[:8])
    assert session.exists()
    session.unlink()
    assert json.loads(leftoff("archive", "restore", SESSION, "--json"))["restored"] == [str(session)]
    assert "in the archive" in leftoff("archive", "restore", "nobody", code=1)


def test_an_empty_archive_is_called_empty(isolated_home):
    """The advice to use --all is for those who have not."""
    assert "archive list --all" in leftoff("archive", "list", code=3)
    assert leftoff("archive", "list", "--all", code=3) == "The archive is empty.\n"


def test_the_data_folder_is_private_whatever_creates_it_first(session, isolated_home):
    leftoff("search", "limiter")
    made = [isolated_home / ".local" / "share" / name for name in ("leftoff", "leftoff/library")]
    assert [each.stat().st_mode & 0o777 for each in made] == [0o700, 0o700]


def test_installing_asks_a_person_about_the_archive(isolated_home):
    """The question is asked once, and the answer is added to the user's configuration."""
    mine = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  # mine\n  triggers_prefix: '!'\n", encoding="utf-8")
    main, side = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "leftoff", "install", "claude"],
        stdin=side,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    os.write(main, b"y\ny\n")  # the first answer is to install
    out, _ = child.communicate(timeout=120)
    os.close(main)
    os.close(side)
    assert child.returncode == 0, out
    assert b"Keep copies" in out
    text = mine.read_text(encoding="utf-8")
    assert "# mine" in text
    assert "enabled: true" in text
    assert "Keep copies" not in leftoff("install", "claude")


def test_words_that_are_not_utf_8_are_refused(session):
    """The message says which."""
    assert "is not UTF-8 text" in leftoff("search", os.fsdecode(b"abc\xff"), code=2)


def test_letters_of_two_columns_fit_a_narrow_terminal(isolated_home):
    """What was found is in the part that is shown."""
    story = Story(session_id=SESSION, project="/home/dev/日本語のプロジェクト")
    story.asked("これはとても長い質問です。" * 12 + "認証が失敗しました。" + "続きもとても長いです。" * 12)
    path = isolated_home / ".claude" / "projects" / "-slug" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    write_transcript(claude.here(), story.script(), path)
    shown = leftoff("search", "認証", COLUMNS="40").partition("\n\n")[0]
    assert "認証" in shown
    assert max(map(columns_of, shown.splitlines())) <= 40
