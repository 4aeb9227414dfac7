"""Archiving sessions and restoring them."""

import json
import os
from pathlib import Path

import pytest

from leftoff.archive.archive_files import Archive, Archived, any_file_in_copy
from leftoff.errors import DocumentError, NotFoundError, StorageError
from leftoff.platform.zstd import is_available

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


def test_a_session_is_restored_byte_for_byte_with_its_times(tmp_path, session):
    """The copy is far smaller and readable by this user only."""
    archive = Archive(folder=tmp_path / "archive")
    before = [path.read_bytes() for path in session]
    kept = archive.add(described(), session)
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
    """The existing file may be newer."""
    archive = Archive(folder=tmp_path / "archive")
    kept = archive.add(described(), session)
    session[0].write_bytes(b"newer\n")
    with pytest.raises(StorageError, match="another file is there"):
        archive.restore(kept)
    assert session[0].read_bytes() == b"newer\n"


def test_a_damaged_copy_is_not_restored(tmp_path, session):
    """The copy may be truncated, replaced or missing, and no partial file is left."""
    archive = Archive(folder=tmp_path / "archive")
    kept = archive.add(described(), session)
    for path in session:
        path.unlink()
    (packed,) = archive.folder.glob("*.zst")
    whole = packed.read_bytes()
    packed.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DocumentError, match="damaged"):
        archive.restore(kept)
    session[0].write_bytes(b"other words\n")
    other = archive.add(described("b" * 8), session[:1])
    archive.copy_path(other).replace(packed)
    archive.remove(other)
    session[0].unlink()
    with pytest.raises(DocumentError, match="damaged"):
        archive.restore(kept)
    packed.unlink()
    with pytest.raises(NotFoundError, match="the copy is gone"):
        archive.restore(kept)
    assert not [path for path in (tmp_path / "agent").rglob("*") if path.is_file()]


def test_a_continued_session_replaces_its_copy_and_can_be_removed(tmp_path, session):
    """Each session has one copy; ids that are not file names are stored by their hash."""
    archive = Archive(folder=tmp_path / "archive")
    archive.add(described(), session[:1])
    with session[0].open("ab") as file:
        file.write(b"more\n")
    archive.add(described(), session)
    odd = archive.add(described("../../etc/passwd"), session)
    assert len(archive.sessions()) == 2
    assert any_file_in_copy(archive.copy_path(odd), lambda file: b"beside" in file.read())
    assert not any_file_in_copy(archive.copy_path(odd), lambda file: b"nothing" in file.read())
    for each in archive.sessions():
        archive.remove(each)
    assert [*archive.folder.iterdir()] == []


def test_a_broken_entry_does_not_hide_others(tmp_path, session):
    """Nonsense, another schema and missing files are skipped."""
    archive = Archive(folder=tmp_path / "archive")
    assert archive.sessions() == []
    archive.add(described(), session)
    for number, damage in enumerate(
        ("{", "[]", '{"schema": 99}', '{"schema": 1}', '{"schema": 1, "files": [{}]}')
    ):
        (archive.folder / f"x{number}.json").write_text(damage, encoding="utf-8")
    assert [each.session_id for each in archive.sessions()] == ["a" * 8]


def test_an_entry_of_the_first_version_is_read(tmp_path):
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


def test_a_full_or_missing_disk_leaves_no_partial_copy(tmp_path, session):
    """The copy gets its name when it is complete."""
    archive = Archive(folder=tmp_path / "archive")
    with pytest.raises(StorageError, match="not archived"):
        archive.add(described(), [tmp_path / "nowhere"])
    assert [*archive.folder.iterdir()] == []


def test_without_zstd_the_error_says_what_to_install(run_python):
    """The error is raised by a Python without the module."""
    done = run_python(
        "import sys; sys.modules['backports'] = None; sys.modules['compression'] = None\n"
        "from leftoff.platform import zstd\n"
        "print(zstd.is_available())\n"
        "try: zstd.decode_errors()\n"
        "except Exception as error: print(error)"
    )
    assert done.stdout.startswith("False\nThe archive needs zstd")
    assert is_available()


def test_doctor_names_an_archive_that_cannot_be_written(run_python):
    """It is switched on, and this Python lacks what it needs."""
    done = run_python(
        "import sys; sys.modules['backports'] = None; sys.modules['compression'] = None\n"
        "from leftoff.cli.main import run\n"
        "run(['config', 'archive.enabled', 'true'])\n"
        "print('ended with', run(['doctor']))"
    )
    assert "ended with 1" in done.stdout
    assert "1 problem to fix:" in done.stdout
    assert "-m pip install backports.zstd" in " ".join(done.stdout.split())
