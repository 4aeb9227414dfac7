"""Archived copies and the agents' own files: a text is found in any spelling, and an unreadable file is named."""

import json
import os
import subprocess
import sys

import pytest

from leftoff.archive.archive import archive_finished, open_archive
from leftoff.forget import forget as forget_module
from leftoff.platform import paths, zstd
from leftoff.search.update_index import update_library
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace
from tests.forget.support import NOW, OTHER, SECRET, SESSION, archived_ids, forget_session, forget_text

TEXT = "the koala sleeps"


@pytest.fixture
def archived(home, isolated_home):
    """Return a function that writes two sessions, the first with the given prompt, archives them and returns their transcripts."""
    mine = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  archive:\n    enabled: true\n", encoding="utf-8")

    def make(prompt):
        first = Story(session_id=SESSION, project="/srv/a").asked("go on").replied("yes").asked(prompt)
        transcripts = (
            home.claude(first.replied("done", call("shell", {"command": "x"}, "ok"))),
            home.claude(Story(session_id=OTHER, project="/srv/b").asked("The quokka wakes").replied("yes")),
        )
        archive_finished(Workspace.open(), NOW)
        update_library(Workspace.open())
        return transcripts

    return make


def copy_of(session_id):
    archive = open_archive()
    return next(archive.copy_path(each) for each in archive.sessions() if each.session_id == session_id)


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
    "prompt",
    [
        "Here The  KOALA sleeps",
        "the koála\n- Sleeps!",
        'so: {"x": "the\\nkoala sleeps"}',
        "the_ko-ala slee ps",
    ],
)
def test_a_text_is_found_in_any_spelling(archived, prompt):
    """The copy is deleted, the agent's file is named, and the session is not archived again."""
    transcript, other = archived(prompt)
    plan = forget_module.plan_text(TEXT, Workspace.open())
    assert plan.agents_own == (transcript,)
    assert forget_module.forget(plan).left == ()
    assert archived_ids() == {OTHER}
    archive_finished(Workspace.open(), NOW)
    assert archived_ids() == {OTHER}
    assert other.exists()


def test_files_beside_a_transcript_are_read_too(archived):
    """Files beside a transcript are read in the archived copy and in the agent's folder."""
    transcript, _ = archived("go on")
    beside = transcript.with_suffix("") / "tool-results" / "one.txt"
    beside.parent.mkdir(parents=True)
    beside.write_text("first\nThe koala\nsleeps\n", encoding="utf-8")
    os.utime(transcript, (NOW.timestamp() - 9000, NOW.timestamp() - 9000))
    archive_finished(Workspace.open(), NOW)
    plan = forget_module.plan_text(TEXT, Workspace.open())
    assert plan.agents_own == (beside,)
    assert forget_module.forget(plan).left == ()
    assert archived_ids() == {OTHER}
    archive_finished(Workspace.open(), NOW)
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
def test_a_copy_that_cannot_be_read_is_named_and_stays(archived, damage):
    """The rest is forgotten."""
    archived("Here the koala sleeps")
    copy = copy_of(SESSION)
    damage(copy)
    for plan in (
        forget_module.plan_text("quokka wakes", Workspace.open()),
        forget_module.plan_text("stands nowhere", Workspace.open()),
    ):
        done = forget_module.forget(plan)
        assert done.left == (copy,)
        assert [each.reason.startswith(f"{copy}: the copy ") for each in done.unread] == [True]
    assert archived_ids().isdisjoint({OTHER})
    assert forget_session(OTHER).left == (copy,)


def test_an_unreadable_copy_is_reported_with_exit_code_1(archived):
    archived("Here the koala sleeps")
    copy = copy_of(SESSION)
    torn(copy)
    code, output, complained = forget("--text", "quokka wakes", "--yes")
    assert (code, complained) == (1, "")
    assert "none holds it" not in output
    assert f"These files could not be read, so they may hold it:\n    {copy}: the copy is damaged" in output
    code, output, _ = forget("--text", "stands nowhere", "--yes", "--json")
    wire = json.loads(output)
    assert (code, wire["left"], [each["path"] for each in wire["unread"]]) == (1, [str(copy)], [str(copy)])


def test_the_session_of_an_unreadable_copy_can_be_forgotten(archived):
    """A copy is found by its name, and one that cannot be deleted is named."""
    archived("Here the koala sleeps")
    garbled(copy_of(SESSION))
    a_folder(copy := copy_of(OTHER))
    assert forget_session(SESSION).left == (copy,)
    assert archived_ids() == {OTHER}
    done = forget_session(OTHER)
    assert copy in done.left
    copy.rmdir()
    assert forget_session(OTHER).left == ()
    assert archived_ids() == set()


def test_without_zstd_every_copy_is_named(archived, run_python):
    """No copy can be read without zstd, so each one is reported."""
    archived("Here the koala sleeps")
    done = run_python(
        "import sys; sys.modules['backports'] = None; sys.modules['compression'] = None\n"
        "from leftoff.forget import forget as flow\nfrom leftoff.workspace import Workspace\n"
        "done = flow.forget(flow.plan_text('the koala sleeps', Workspace.open()))\n"
        "print(len(done.left), len(done.unread), done.archived, done.unread[0].reason)"
    )
    assert done.stdout.startswith(f"2 2 0 {copy_of(SESSION)}: The archive needs zstd")
    assert "pip install" in done.stdout
    assert forget_text(TEXT).left == ()
    assert archived_ids() == {OTHER}


def packed(path):
    """The file as its agent packs it after a while."""
    there = path.with_name(f"{path.name}.zst")
    with zstd.open_zstd(there, "wb") as file:
        file.write(path.read_bytes())
    os.utime(there, (NOW.timestamp() - 9000, NOW.timestamp() - 9000))
    path.unlink()
    return there


def test_a_compressed_transcript_is_read(home, archived):
    """A compressed transcript is read in the agent's folder and in the copy, and is not archived again."""
    archived("go on")
    thread = "01a1e0be-dee8-7b23-ae31-94e0123734a3"
    plain = home.codex(
        Story(session_id=thread, project="/srv/c").asked("Here The KOALA  sleeps").replied("yes")
    )
    archive_finished(Workspace.open(), NOW)
    transcript = packed(plain)
    archive_finished(Workspace.open(), NOW)
    assert [each.transcript for each in open_archive().sessions() if each.session_id == thread] == [
        str(transcript)
    ]
    plan = forget_module.plan_text(TEXT, Workspace.open())
    assert plan.agents_own == (transcript,)
    assert forget_module.forget(plan).left == ()
    for damage in (lambda _: None, torn):
        damage(transcript)
        archive_finished(Workspace.open(), NOW)
        assert archived_ids() == {SESSION, OTHER}
    (unread,) = forget_module.plan_text("stands nowhere", Workspace.open()).agents_unread
    assert unread.reason.startswith(f"{transcript}: The file is packed and damaged")


def test_an_unreadable_file_of_an_agent_is_named(archived):
    """The text is remembered all the same."""
    transcript, _ = archived("go on")
    transcript.unlink()
    transcript.symlink_to(transcript.name)
    assert forget_module.plan_text("stands nowhere", Workspace.open()).agents_unread == ()
    transcript.unlink()
    transcript.mkdir()
    (unread,) = forget_module.plan_text("stands nowhere", Workspace.open()).agents_unread
    assert unread.path == transcript
    code, output, _ = forget("--text", "stands nowhere", "--yes")
    assert code == 0
    assert f"which could not be read:\n    {transcript}: cannot be read" in output


def test_what_a_killed_process_left_in_the_archive_is_deleted(saved_sessions):
    """A copy without its description and a half-written copy are deleted."""
    archive = paths.data_folder() / "archive"
    copy = archive / f"claude-{SESSION}.tar.zst"
    half = archive / f".{copy.name}.123.tmp"
    half.write_bytes(copy.read_bytes())
    forget_text(SECRET)
    assert not half.exists()
    copy.write_bytes(b"orphan")
    assert forget_session(SESSION).left == ()
    assert not copy.exists()
