"""No copy is replaced by one with less content: then there are several."""

import json
import shutil
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path

import pytest

from leftoff.archive.archive_files import Archive, any_file_in_copy
from leftoff.errors import DocumentError, NotFoundError, StorageError
from leftoff.platform import zstd
from tests.archive.test_archive_files import described, session  # noqa: F401

LATER = "2026-01-07T12:00:00Z"
LATEST = "2026-01-08T12:00:00Z"


@pytest.fixture
def archive(tmp_path):
    """An empty one."""
    return Archive(folder=tmp_path / "archive")


def copies(archive):
    """What each copy is called, and how long the transcript in it is."""
    return {each.name: each.files[0].size_bytes for each in archive.sessions()}


def cut(content):
    return content[: len(content) // 2]


def with_new_first_line(content):
    return b"new\n" + content


@pytest.mark.parametrize("change", [cut, with_new_first_line, lambda _: b""], ids=["cut", "anew", "emptied"])
def test_a_transcript_that_lost_something_does_not_replace_its_copy(archive, session, change):  # noqa: F811
    """Both copies are kept, and each can be restored."""
    transcript = session[0]
    whole = transcript.read_bytes()
    archive.add(described(), session)
    transcript.write_bytes(change(whole))
    second = archive.add(replace(described(), archived_at=LATER), session)
    assert second.name == f"claude-{'a' * 8}~20260107T120000Z"
    assert second.copy == "20260107T120000Z"
    first = next(each for each in archive.sessions() if each.name == f"claude-{'a' * 8}")
    assert first.copy == "20260106T120000Z"
    for copy, content in ((first, whole), (second, change(whole))):
        transcript.unlink()
        archive.restore(copy)
        assert transcript.read_bytes() == content
    assert archive.sessions_with_several_copies() == [first, second]


def test_a_continued_session_replaces_only_the_copy_it_continues(archive, session):  # noqa: F811
    """The cut one grows; then the complete one is back and grows, and contains both."""
    transcript = session[0]
    whole = transcript.read_bytes()
    archive.add(described(), session)
    transcript.write_bytes(cut(whole))
    name = archive.add(described(), session).name
    assert name == f"claude-{'a' * 8}~20260106T120000Z-2"
    transcript.write_bytes(cut(whole) + b"other\n")
    archive.add(described(), session)
    assert copies(archive) == {f"claude-{'a' * 8}": len(whole), name: len(cut(whole)) + 6}
    transcript.write_bytes(whole + b"more\n")
    archive.add(described(), session)
    assert copies(archive) == {f"claude-{'a' * 8}": len(whole) + 5, name: len(cut(whole)) + 6}


def test_a_copy_that_contains_two_others_replaces_both(archive, session):  # noqa: F811
    transcript = session[0]
    whole = transcript.read_bytes()
    for content in (whole, cut(whole), whole + b"more\n"):
        transcript.write_bytes(content)
        archive.add(described(), session)
    assert copies(archive) == {f"claude-{'a' * 8}": len(whole) + 5}
    assert len([*archive.folder.iterdir()]) == 2


def test_a_copy_with_a_file_that_is_now_missing_is_kept(archive, session):  # noqa: F811
    archive.add(described(), session)
    archive.add(described(), session[:1])
    assert sorted(len(each.files) for each in archive.sessions()) == [1, 2]


def test_a_moved_session_has_one_copy_and_two_sessions_of_one_id_have_two(archive, session, tmp_path):  # noqa: F811
    """A session may be moved with the files beside it, or still exist in its old place."""
    archive.add(described(), session)
    moved = tmp_path / "elsewhere"
    shutil.copytree(session[0].parent, moved)
    there = [moved / path.relative_to(session[0].parent) for path in session]
    archive.add(described(), there)
    assert len(archive.sessions()) == 2
    for each in archive.sessions()[1:]:
        archive.remove(each)
    session[0].unlink()
    archive.add(described(), there)
    assert [each.transcript for each in archive.sessions()] == [str(there[0])]


def test_a_transcript_compressed_by_its_agent_continues_its_copy(archive, session):  # noqa: F811
    """The compressed transcript must have at least the same content; otherwise there are two copies."""
    plain, beside = session
    content = plain.read_bytes()
    packed = plain.with_name(f"{plain.name}.zst")
    archive.add(described(), session)
    plain.unlink()
    for text, copies_then in ((content[:9], 2), (None, 3), (content + b"more\n", 3)):
        if text is None:
            packed.write_bytes(packed.read_bytes()[:-3])
        else:
            with zstd.open_zstd(packed, "wb") as file:
                file.write(text)
        kept = archive.add(described(), [packed, beside])
        assert len(archive.sessions()) == copies_then
    assert kept.name == f"claude-{'a' * 8}"


def test_a_copy_with_an_unreadable_description_is_not_overwritten(archive, session):  # noqa: F811
    """An orphaned copy is kept; one that a killed process did not describe is replaced."""
    first = archive.copy_path(archive.add(described(), session))
    facts = first.with_name(f"claude-{'a' * 8}.json")
    before = first.read_bytes()
    facts.write_bytes(b"{")
    assert archive.orphans() == [first]
    session[0].write_bytes(b"less\n")
    assert archive.copy_path(archive.add(described(), session)) != first
    assert first.read_bytes() == before
    facts.unlink()
    archive.add(described(), session)
    assert first.read_bytes() != before
    assert archive.orphans() == []


def test_an_unreadable_copy_raises_an_error(archive, session):  # noqa: F811
    """Truncated, garbled, foreign and missing copies raise an error instead of an empty answer."""
    place = archive.copy_path(archive.add(described(), session))
    whole = place.read_bytes()

    def no(file):
        file.read()
        return False

    for damage in (whole[:-20], whole[: len(whole) // 2], b"garbage" + whole[7:], b"", b"words"):
        place.write_bytes(damage)
        with pytest.raises(DocumentError, match="the copy is damaged"):
            any_file_in_copy(place, no)
    place.unlink()
    with pytest.raises(NotFoundError):
        any_file_in_copy(place, no)
    place.mkdir()
    with pytest.raises(StorageError, match="cannot be read"):
        any_file_in_copy(place, no)


_KILLED_AT = """
import json, os, sys
from pathlib import Path
from leftoff.archive.archive_files import Archive, Archived

left, what = int(sys.argv.pop(1)), Archived(files=(), **json.loads(sys.argv.pop(1)))
folder, *session = map(Path, sys.argv[1:])

def count(event, arguments):
    global left
    if event in {"os.rename", "os.link", "os.remove"} and str(folder) in str(arguments[0]):
        left -= 1
        if left < 0:
            print("killed", flush=True)
            os._exit(0)

sys.addaudithook(count)
Archive(folder=folder).add(what, session)
"""


@pytest.mark.slow
def test_a_kill_while_replacing_a_copy_leaves_one_that_can_be_restored(
    archive,
    session,  # noqa: F811
    run_python,
):
    """At every step each listed copy matches its description, and the next archiving cleans up."""
    transcript = session[0]
    whole = transcript.read_bytes()
    later = {**asdict(described()), "archived_at": LATER}
    del later["files"]
    for step in count():
        shutil.rmtree(archive.folder, ignore_errors=True)
        transcript.write_bytes(whole)
        archive.add(described(), session)
        transcript.write_bytes(whole + b"more\n")
        killed = run_python(_KILLED_AT, step, json.dumps(later), archive.folder, *session).stdout
        there = [each for each in archive.sessions() if archive.copy_path(each).exists()]
        for each in there:
            transcript.unlink()
            archive.restore(each)
        assert transcript.read_bytes() in {whole, whole + b"more\n"}
        if not killed:
            break
        transcript.write_bytes(whole + b"more\nand more\n")
        for _ in range(2):
            archive.add(replace(described(), archived_at=LATEST), session)
        assert copies(archive) == {f"claude-{'a' * 8}": len(whole) + 14}
        assert [path for path in archive.orphans() if path.suffix != ".tmp"] == []
    assert step >= 6
    assert [each.name for each in there] == [f"claude-{'a' * 8}"]


def test_a_copy_that_cannot_be_removed_is_still_listed(archive, session):  # noqa: F811
    """``forget`` can then name the copy."""
    kept = archive.add(described(), session)
    place = archive.copy_path(kept)
    place.unlink()
    Path(place, "x").mkdir(parents=True)
    with pytest.raises(StorageError, match="not removed"):
        archive.remove(kept)
    assert archive.sessions() == [kept]
