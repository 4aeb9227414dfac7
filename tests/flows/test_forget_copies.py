"""Archived copies and the agents' own files: what holds a text is found in any writing, and what nobody can read proves nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.flows import forget as flow
from leftoff.flows.archive_sessions import archive_here, keep_finished
from leftoff.flows.library_update import update_library
from leftoff.library import zstd
from leftoff.testing.builders import Story, call
from tests.flows.test_forget import NOW, OTHER, SESSION, archived_ids

TEXT = "the koala sleeps"


@pytest.fixture
def archived(home, own_world):
    """Makes two sessions, of which the first says something, and archives them; their transcripts."""
    mine = own_world / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  archive:\n    enabled: true\n", encoding="utf-8")

    def make(said):
        first = Story(session_id=SESSION, project="/srv/a").asked("go on").replied("yes").asked(said)
        transcripts = (
            home.claude(first.replied("done", call("shell", {"command": "x"}, "ok"))),
            home.claude(Story(session_id=OTHER, project="/srv/b").asked("The quokka wakes").replied("yes")),
        )
        keep_finished(NOW)
        update_library()
        return transcripts

    return make


def copy_of(session_id):
    archive = archive_here()
    return next(archive.place(each) for each in archive.sessions() if each.session_id == session_id)


def forget(*words):
    """The command, as scripts run it: exit code, what it said, and what it complained about."""
    done = subprocess.run(
        [sys.executable, "-m", "leftoff", "forget", *words],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "said", ["Here The  KOALA sleeps", "the koála\n- Sleeps!", 'so: {"x": "the\\nkoala sleeps"}']
)
def test_a_copy_and_a_transcript_that_hold_a_text_in_another_writing_are_found(archived, said):
    """Case, spacing, accents, JSON in a string; the copy goes, the agent's file is named, and it is not archived again."""
    transcript, other = archived(said)
    plan = flow.plan_text(TEXT)
    assert plan.agents_own == (transcript,)
    assert flow.forget(plan).left == ()
    assert archived_ids() == {OTHER}
    keep_finished(NOW)
    assert archived_ids() == {OTHER}
    assert other.exists()


def test_what_stands_beside_a_transcript_is_looked_into_too(archived):
    """In the copy and with the agent: a result over several lines, in a file of its own."""
    transcript, _ = archived("go on")
    beside = transcript.with_suffix("") / "tool-results" / "one.txt"
    beside.parent.mkdir(parents=True)
    beside.write_text("first\nThe koala\nsleeps\n", encoding="utf-8")
    os.utime(transcript, (NOW.timestamp() - 9000, NOW.timestamp() - 9000))
    keep_finished(NOW)
    plan = flow.plan_text(TEXT)
    assert plan.agents_own == (beside,)
    assert flow.forget(plan).left == ()
    assert archived_ids() == {OTHER}
    keep_finished(NOW)
    assert archived_ids() == {OTHER}


def torn(copy):
    copy.write_bytes(copy.read_bytes()[:-20])


def garbled(copy):
    copy.write_bytes(b"garbage" + copy.read_bytes()[7:])


def a_folder(copy):
    copy.unlink()
    copy.mkdir()


def without_facts(copy):
    torn(copy)
    copy.with_name(copy.name.replace(".tar.zst", ".json")).write_bytes(b"{")


@pytest.mark.parametrize("damage", [torn, garbled, a_folder, without_facts])
def test_a_copy_that_cannot_be_read_is_left_and_named(archived, damage):
    """The rest is forgotten; also where nothing else holds it, and for a session."""
    archived("Here the koala sleeps")
    copy = copy_of(SESSION)
    damage(copy)
    for plan in (flow.plan_text("quokka wakes"), flow.plan_text("stands nowhere")):
        done = flow.forget(plan)
        assert done.left == (copy,)
        assert [each.reason.startswith(f"{copy}: the copy ") for each in done.unread] == [True]
    assert archived_ids().isdisjoint({OTHER})
    assert flow.forget(flow.plan_session(OTHER, Path.cwd())).left == (copy,)


def test_what_could_not_be_read_is_said_with_an_exit_code(archived):
    """In sentences and in JSON."""
    archived("Here the koala sleeps")
    copy = copy_of(SESSION)
    torn(copy)
    code, said, complained = forget("--text", "quokka wakes", "--yes")
    assert (code, complained) == (1, "")
    assert "none holds it" not in said
    assert (
        f"Nobody can say whether these copies of the archive hold it:\n    {copy}: the copy is damaged"
        in said
    )
    code, said, _ = forget("--text", "stands nowhere", "--yes", "--json")
    wire = json.loads(said)
    assert (code, wire["left"], [each["path"] for each in wire["unread"]]) == (1, [str(copy)], [str(copy)])


def test_the_session_of_an_unreadable_copy_can_be_forgotten(archived):
    """Its copy goes by its name; one that cannot be deleted is named."""
    archived("Here the koala sleeps")
    garbled(copy_of(SESSION))
    a_folder(copy := copy_of(OTHER))
    assert flow.forget(flow.plan_session(SESSION, Path.cwd())).left == (copy,)
    assert archived_ids() == {OTHER}
    done = flow.forget(flow.plan_session(OTHER, Path.cwd()))
    assert copy in done.left
    copy.rmdir()
    assert flow.forget(flow.plan_session(OTHER, Path.cwd())).left == ()
    assert archived_ids() == set()


def test_without_zstd_every_copy_is_named(archived, run_python):
    """None could be looked into; with it all is well."""
    archived("Here the koala sleeps")
    done = run_python(
        "import sys; sys.modules['backports'] = None; sys.modules['compression'] = None\n"
        "from leftoff.flows import forget as flow\n"
        "done = flow.forget(flow.plan_text('the koala sleeps'))\n"
        "print(len(done.left), len(done.unread), done.archived, done.unread[0].reason)"
    )
    assert done.stdout.startswith(f"2 2 0 {copy_of(SESSION)}: The archive needs zstd")
    assert "pip install" in done.stdout
    assert flow.forget(flow.plan_text(TEXT)).left == ()
    assert archived_ids() == {OTHER}


def packed(path):
    """The file as its agent packs it after a while."""
    there = path.with_name(f"{path.name}.zst")
    with zstd.opened(there, "wb") as file:
        file.write(path.read_bytes())
    os.utime(there, (NOW.timestamp() - 9000, NOW.timestamp() - 9000))
    path.unlink()
    return there


def test_a_transcript_that_its_agent_packed_is_looked_into(home, archived):
    """With the agent and in the copy, of which there is one; it is not archived again."""
    archived("go on")
    thread = "01a1e0be-dee8-7b23-ae31-94e0123734a3"
    plain = home.codex(
        Story(session_id=thread, project="/srv/c").asked("Here The KOALA  sleeps").replied("yes")
    )
    keep_finished(NOW)
    transcript = packed(plain)
    keep_finished(NOW)
    assert [each.transcript for each in archive_here().sessions() if each.session_id == thread] == [
        str(transcript)
    ]
    plan = flow.plan_text(TEXT)
    assert plan.agents_own == (transcript,)
    assert flow.forget(plan).left == ()
    for damage in (lambda _: None, torn):
        damage(transcript)
        keep_finished(NOW)
        assert archived_ids() == {SESSION, OTHER}
    (unread,) = flow.plan_text("stands nowhere").agents_unread
    assert unread.reason.startswith(f"{transcript}: The file is packed and damaged")


def test_halves_of_copies_go_whatever_is_forgotten(archived):
    """They are of no use, and nobody can say what stands in them."""
    archived("Here the koala sleeps")
    copy = copy_of(OTHER)
    half = copy.with_name(f".{copy.name}.123.tmp")
    half.write_bytes(copy.read_bytes()[:-20])
    assert flow.forget(flow.plan_session(SESSION, Path.cwd())).left == ()
    assert not half.exists()
    assert copy.exists()


def test_an_agent_s_file_that_cannot_be_read_is_named(archived):
    """And the text is remembered all the same."""
    transcript, _ = archived("go on")
    transcript.unlink()
    transcript.symlink_to(transcript.name)
    assert flow.plan_text("stands nowhere").agents_unread == ()
    transcript.unlink()
    transcript.mkdir()
    (unread,) = flow.plan_text("stands nowhere").agents_unread
    assert unread.path == transcript
    code, said, _ = forget("--text", "stands nowhere", "--yes")
    assert code == 0
    assert f"which could not be read:\n    {transcript}: cannot be read" in said
