"""Keeping sessions compressed, and putting them back."""

import json
import os
from pathlib import Path

import pytest

from leftoff.errors import DocumentError, NotFoundError, StorageError
from leftoff.library import archive as module
from leftoff.library.archive import Archive, Archived, contains, looked_into
from leftoff.library.zstd import is_possible

GOLDEN = Path(__file__).parents[1] / "golden" / "wire"


def described(session_id="a" * 8, agent="claude"):
    return Archived(
        agent=agent,
        session_id=session_id,
        project="/home/dev/x",
        first_prompt="Fix it",
        archived_at="2026-01-06T12:00:00Z",
        files=(),
        packed_bytes=0,
    )


@pytest.fixture
def session(tmp_path):
    """A transcript and a file beside it."""
    transcript = tmp_path / "agent" / "s.jsonl"
    beside = tmp_path / "agent" / "s" / "subagents" / "one.jsonl"
    beside.parent.mkdir(parents=True)
    transcript.write_bytes(b'{"line": "\xff caf\xc3\xa9"}\n' * 5000)
    beside.write_bytes(b"beside\n")
    os.utime(transcript, ns=(1_760_000_000_123_456_789,) * 2)
    return [transcript, beside]


def test_a_session_comes_back_byte_for_byte_with_its_times(tmp_path, session):
    """Far smaller meanwhile, and for this user alone."""
    archive = Archive(folder=tmp_path / "archive")
    before = [path.read_bytes() for path in session]
    kept = archive.keep(described(), session)
    assert kept.packed_bytes < len(before[0]) / 20
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in archive.folder.iterdir())
    for path in session:
        path.unlink()
    (listed,) = archive.sessions()
    assert listed == kept
    assert archive.restore(listed) == session
    assert [path.read_bytes() for path in session] == before
    assert session[0].stat().st_mtime_ns == 1_760_000_000_123_456_789
    assert archive.restore(listed) == []


def test_restoring_never_overwrites(tmp_path, session):
    """What stands there may be newer."""
    archive = Archive(folder=tmp_path / "archive")
    kept = archive.keep(described(), session)
    session[0].write_bytes(b"newer\n")
    with pytest.raises(StorageError, match="another file stands there"):
        archive.restore(kept)
    assert session[0].read_bytes() == b"newer\n"


def test_a_damaged_copy_is_not_restored(tmp_path, session):
    """Cut short, replaced or gone; and nothing is left behind."""
    archive = Archive(folder=tmp_path / "archive")
    kept = archive.keep(described(), session)
    for path in session:
        path.unlink()
    (packed,) = archive.folder.glob("*.zst")
    whole = packed.read_bytes()
    packed.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DocumentError, match="damaged"):
        archive.restore(kept)
    session[0].write_bytes(b"other words\n")
    other = archive.keep(described("b" * 8), session[:1])
    archive.place(other).replace(packed)
    archive.remove(other)
    session[0].unlink()
    with pytest.raises(DocumentError, match="damaged"):
        archive.restore(kept)
    packed.unlink()
    with pytest.raises(NotFoundError, match="the copy is gone"):
        archive.restore(kept)
    assert not [path for path in (tmp_path / "agent").rglob("*") if path.is_file()]


def test_a_session_that_went_on_replaces_its_copy_and_can_be_taken_out(tmp_path, session):
    """One copy of each session; ids that are no names are kept by their hash."""
    archive = Archive(folder=tmp_path / "archive")
    archive.keep(described(), session[:1])
    with session[0].open("ab") as file:
        file.write(b"more\n")
    archive.keep(described(), session)
    odd = archive.keep(described("../../etc/passwd"), session)
    assert len(archive.sessions()) == 2
    assert looked_into(archive.place(odd), lambda file: contains(file, [b"nothing", b"beside"]))
    assert not looked_into(archive.place(odd), lambda file: contains(file, [b"nothing"]))
    for each in archive.sessions():
        archive.remove(each)
    assert [*archive.folder.iterdir()] == []


def test_one_broken_entry_hides_no_other(tmp_path, session):
    """Nonsense, another schema, no files at all."""
    archive = Archive(folder=tmp_path / "archive")
    assert archive.sessions() == []
    archive.keep(described(), session)
    for number, damage in enumerate(
        ("{", "[]", '{"schema": 99}', '{"schema": 1}', '{"schema": 1, "files": [{}]}')
    ):
        (archive.folder / f"x{number}.json").write_text(damage, encoding="utf-8")
    assert [each.session_id for each in archive.sessions()] == ["a" * 8]


def test_an_entry_of_the_first_version_is_read(tmp_path):
    """Schema 1."""
    (tmp_path / "x.json").write_bytes((GOLDEN / "archived.v1.json").read_bytes())
    (only,) = Archive(folder=tmp_path).sessions()
    assert (only.first_prompt, only.transcript.rpartition("/")[2], only.packed_bytes) == (
        "Fix the login",
        "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11.jsonl",
        321,
    )
    assert (
        json.loads((GOLDEN / "archived.v1.json").read_bytes())["files"][0]["sha256"] == only.files[0].sha256
    )


def test_a_full_or_missing_disk_is_said_and_leaves_no_half_copy(tmp_path, session):
    """The copy takes its name when it is whole."""
    archive = Archive(folder=tmp_path / "archive")
    with pytest.raises(StorageError, match="not archived"):
        archive.keep(described(), [tmp_path / "nowhere"])
    assert [*archive.folder.iterdir()] == []


def test_bytes_are_found_across_the_pieces_in_which_a_file_is_read(tmp_path):
    """A needle on the edge of two."""
    file = tmp_path / "large"
    file.write_bytes(b"x" * (module._CHUNK - 3) + b"needle" + b"x" * 10)
    with file.open("rb") as opened:
        assert contains(opened, [b"needle"])
    with file.open("rb") as opened:
        assert not contains(opened, [b"needles"])


def test_without_zstd_the_way_to_it_is_said(run_python):
    """In a Python that has no such module."""
    done = run_python(
        "import sys; sys.modules['backports'] = None; sys.modules['compression'] = None\n"
        "from leftoff.library import zstd\n"
        "print(zstd.is_possible())\n"
        "try: zstd.errors()\n"
        "except Exception as error: print(error)"
    )
    assert done.stdout.startswith("False\nThe archive needs zstd")
    assert is_possible()
