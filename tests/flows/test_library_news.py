"""What a search looks at before it answers, and that it reads no more than has changed."""

import os
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from leftoff.flows.library_folder import LOCK, library_folder
from leftoff.flows.library_stale import LOOKED, News, folder_variables, news
from leftoff.flows.library_update import update_library
from leftoff.flows.search import Asked, search
from leftoff.library import shelf as shelves
from leftoff.system import clock, locks, paths
from leftoff.testing.builders import Story
from tests.flows.test_forget import NOW, OTHER, SESSION

TEN_MINUTES = 600


@pytest.fixture
def old(home):
    """An old session that is known, and a thousand newer ones, of which the archive alone has copies."""
    transcript = home.claude(
        Story(session_id=SESSION, project=str(Path.cwd())).asked("A koala").replied("yes")
    )
    update_library()
    with closing(shelves.opened_to_write(library_folder())) as shelf, shelves.writing(shelf):
        shelf.executemany(
            "INSERT INTO sources(type, path, modified_ns, size_bytes, archived) VALUES ('session', ?, ?, 1, 1)",
            [(f"/gone/{number}.jsonl", 2_000_000_000_000_000_000 + number) for number in range(1000)],
        )
    return transcript


def new_at(seconds):
    """What is new, so many seconds after all was last looked at."""
    looked = Path(library_folder(), LOOKED)
    at = looked.stat().st_mtime if seconds is not None else 0
    with closing(shelves.opened_to_read(library_folder())) as shelf:
        return news(shelf, library_folder(), folder_variables(paths.environment()), at + (seconds or 0))


def grow(transcript):
    """One more line."""
    with transcript.open("ab") as file:
        file.write(transcript.read_bytes().splitlines(keepends=True)[-1])


def test_old_sessions_are_looked_at_every_ten_minutes_only(old):
    """The newest thousand at each search; a clock that was set back does not put it off."""
    assert new_at(0) == News()
    grow(old)
    assert new_at(TEN_MINUTES - 1) == News()
    assert new_at(TEN_MINUTES) == News(changed=(str(old),))
    assert new_at(-1) == News(changed=(str(old),))


def test_old_sessions_are_looked_at_again_until_they_are_read(old):
    """A look that led to no reading does not count; one that found nothing new among the old ones does."""
    looked = Path(library_folder(), LOOKED)
    before = looked.stat().st_mtime
    grow(old)
    assert new_at(TEN_MINUTES).changed
    assert looked.stat().st_mtime == before
    assert new_at(TEN_MINUTES).changed
    os.utime(old, ns=(3_000_000_000_000_000_000, 3_000_000_000_000_000_000))
    update_library(changed=[str(old)])
    grow(old)  # the newest now, and those are looked at each time
    assert new_at(TEN_MINUTES).changed
    assert looked.stat().st_mtime == pytest.approx(before + TEN_MINUTES)


def test_while_others_hold_the_lock_what_an_old_session_was_given_waits_for_the_next_search(old):
    """Not for ten minutes more."""
    with old.open("ab") as file:
        file.write(old.read_bytes().replace(b"koala", b"platypus"))
    later = clock.now() + timedelta(seconds=TEN_MINUTES + 1)
    with locks.held(Path(library_folder(), LOCK)):
        waiting = search(Asked(query="platypus"), later)
    assert (waiting.sessions, waiting.unread) == ((), True)
    found = search(Asked(query="platypus"), later + timedelta(seconds=1))
    assert (len(found.sessions), found.unread) == (1, False)


def test_nothing_is_remembered_where_it_cannot_be(old):
    """Then all are looked at again."""
    Path(library_folder(), LOOKED).unlink()
    Path(library_folder(), LOOKED).symlink_to("/nowhere/at/all")
    grow(old)
    assert new_at(None) == News(changed=(str(old),))
    assert new_at(None) == News(changed=(str(old),))


def test_many_changes_are_a_matter_for_a_whole_update(home):
    """So is a file that is gone."""
    ids = [f"{number:08x}-1111-4111-8111-111111111111" for number in range(21)]
    transcripts = [home.claude(Story(session_id=each).asked("A koala").replied("yes")) for each in ids]
    update_library()
    for transcript in transcripts:
        os.utime(transcript, ns=(1, 1))
    assert new_at(0).everywhere
    update_library()
    assert new_at(0) == News()
    transcripts[0].unlink()
    assert new_at(0).everywhere


def test_only_what_has_changed_is_read(home):
    """A new session beside it waits for who looks for new ones; a document is read too, and what has vanished is passed over."""
    Path(".git").mkdir()
    pauses = Path(".leftoff/sessions")
    pauses.mkdir(parents=True)
    pause = pauses / "session-20260107-120000.md"
    pause.write_text("wombat", encoding="utf-8")
    transcript = home.claude(
        Story(session_id=SESSION, project=str(Path.cwd())).asked("A koala").replied("yes")
    )
    gone = home.claude(Story(session_id=SESSION[:-1] + "9").asked("A dodo").replied("yes"))
    update_library()
    with transcript.open("ab") as file:
        file.write(transcript.read_bytes().replace(b"koala", b"platypus"))
    pause.write_text("echidna", encoding="utf-8")
    home.claude(Story(session_id=OTHER).asked("A quokka").replied("yes"))
    gone.unlink()
    known = [str(transcript), str(gone), str(pause.absolute()), "/never/heard/of.jsonl"]
    done = update_library(changed=known)
    assert (done.sessions, done.documents, done.finished) == (1, 1, True)
    with closing(shelves.opened_to_read(library_folder())) as shelf:
        held = {
            word: bool(shelf.execute("SELECT 1 FROM words WHERE words MATCH ?", (word,)).fetchone())
            for word in ("koala", "platypus", "echidna", "wombat", "quokka")
        }
    assert held == {"koala": True, "platypus": True, "echidna": True, "wombat": False, "quokka": False}
    assert search(Asked(query="quokka"), NOW).sessions


def test_a_newly_excluded_tool_makes_it_a_whole_update(home, own_world):
    """Else what was read of it would stay."""
    transcript = home.claude(
        Story(session_id=SESSION, project=str(Path.cwd())).asked("A koala").replied("yes")
    )
    update_library()
    home.claude(Story(session_id=OTHER).asked("A quokka").replied("yes"))
    settings = own_world / ".config" / "leftoff" / "configuration.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text("context_management:\n  capture:\n    exclude_tools: [shell]\n", encoding="utf-8")
    update_library(changed=[str(transcript)])
    with closing(shelves.opened_to_read(library_folder())) as shelf:  # only a whole update finds the new one
        assert {row[0] for row in shelf.execute("SELECT session_id FROM sources")} == {SESSION, OTHER}


def test_an_update_of_what_changed_keeps_to_its_time(home):
    """What is left is read by the next."""
    transcript = home.claude(
        Story(session_id=SESSION, project=str(Path.cwd())).asked("A koala").replied("yes")
    )
    update_library()
    grow(transcript)
    done = update_library(changed=[str(transcript)], budget_seconds=0)
    assert (done.sessions, done.finished) == (0, False)
    assert update_library(changed=[str(transcript)]).sessions == 1
