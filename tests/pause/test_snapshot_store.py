"""Finished pauses: each counts once, whatever is left of it; one bad file hides no other."""

from __future__ import annotations

import gzip
import os
from datetime import UTC, datetime

import pytest

from leftoff.errors import DocumentError, StorageError
from leftoff.pause.snapshot import (
    LATEST_NAME,
    archive_bytes,
    build_state,
    close_recording,
    rename_recording,
    render_documents,
)
from leftoff.pause.snapshot_store import compress, latest_finished, list_finished, read_archive
from tests.pause import story


@pytest.fixture
def folder(tmp_path):
    """One whole snapshot, with its pointer."""
    place = tmp_path / "sessions"
    place.mkdir()
    put(place, story.ID)
    (place / LATEST_NAME).write_text(f"{story.ID}\n", encoding="utf-8")
    return place


def put(place, session_id):
    closed = close_recording(rename_recording(story.wind_down(), session_id), story.context())
    state = build_state(closed, story.context())
    for name, data in render_documents(state, closed).items():
        (place / name).write_bytes(data)
    (place / f"{session_id}-incremental.jsonl").write_bytes(archive_bytes(closed))


def test_a_snapshot_of_four_files_is_one_pause(folder):
    (kept,) = list_finished(folder)
    assert kept.session_id == story.ID
    assert kept.paused_at == story.ENDED
    assert kept.state["incremental_pause"]["action_count"] == 6
    assert kept.main.suffix == ".md"
    assert kept.note is None
    assert read_archive(kept).bad_lines == 1


def test_pauses_are_sorted_by_end_or_by_the_time_in_their_id(folder):
    (folder / "session-20270101-000000-x.md").write_text("# later\n", encoding="utf-8")
    (folder / "session-20250101-000000.md").write_text("# earlier\n", encoding="utf-8")
    assert [each.session_id for each in list_finished(folder)] == [
        "session-20270101-000000-x",
        story.ID,
        "session-20250101-000000",
    ]


@pytest.mark.parametrize("left", ["md", "yaml"])
def test_a_pause_without_its_json_is_listed_with_a_note(folder, left):
    for path in [*folder.glob("session-*")]:
        if path.suffix != f".{left}":
            path.unlink()
    (kept,) = list_finished(folder)
    assert kept.note == f"only {left} is left"
    assert kept.state is None
    assert kept.paused_at == story.BEGAN
    assert read_archive(kept) is None
    assert compress(kept) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": 99}', "[" * 100_000])
def test_a_broken_json_is_listed_with_the_reason_and_hides_no_other(folder, content):
    (folder / f"{story.ID}.json").write_text(content, encoding="utf-8")
    put(folder, "session-20260101-000000")
    notes = {each.session_id: each.note for each in list_finished(folder)}
    assert notes["session-20260101-000000"] is None
    assert str(folder / story.ID) in notes[story.ID]


def test_other_files_are_not_pauses(folder):
    for name in ("notes.md", "session-now.json", "ACTIVE-PAUSE.jsonl", "session-20260106-1200001.md.bak"):
        (folder / name).write_text("{}", encoding="utf-8")
    assert len(list_finished(folder)) == 1


def test_an_id_with_an_impossible_date_is_dated_at_the_epoch(folder):
    (folder / "session-20269999-999999.md").write_text("x", encoding="utf-8")
    assert list_finished(folder)[-1].paused_at == datetime(1970, 1, 1, tzinfo=UTC)


def test_a_missing_folder_has_no_pauses(tmp_path):
    """A file in place of the folder has no pauses either."""
    assert list_finished(tmp_path / "none") == []
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert list_finished(tmp_path / "file") == []


def test_a_folder_without_permission_is_an_error_not_an_empty_list(unprivileged_folder, run_python):
    """A file without permission is listed with the reason."""
    code = (
        "import os, sys; from pathlib import Path; from leftoff.errors import StorageError\n"
        "from leftoff.pause.snapshot_store import list_finished; drop()\n"
        "folder = Path(sys.argv[1]) / 's'; folder.mkdir(); name = folder / 'session-20260106-120000.json'\n"
        "name.write_text('{}', 'utf-8'); name.chmod(0)\n"
        "print(list_finished(folder)[0].note)\n"
        "folder.chmod(0)\n"
        "try: print(list_finished(folder))\n"
        "except StorageError as error: print(error)\n"
    )
    noted, refused = run_python(code, unprivileged_folder).stdout.splitlines()
    assert "session-20260106-120000.json: cannot be read: no permission." in noted
    assert "cannot be read: no permission" in refused


def test_a_compressed_archive_reads_the_same(folder):
    (before,) = list_finished(folder)
    plain = read_archive(before)
    packed = compress(before)
    assert packed.saved_bytes > 0
    assert packed.path.stat().st_mode & 0o777 == 0o600
    (after,) = list_finished(folder)
    assert set(after.files) == {"-incremental.jsonl.gz", ".md", ".json", ".yaml"}
    assert read_archive(after).lines == plain.lines
    assert compress(after) is None


@pytest.mark.parametrize("damage", [b"", b"nonsense", gzip.compress(b"x" * 1000)[:-10]])
def test_a_damaged_archive_is_an_error(folder, damage):
    (folder / f"{story.ID}-incremental.jsonl").unlink()
    (folder / f"{story.ID}-incremental.jsonl.gz").write_bytes(damage)
    (kept,) = list_finished(folder)
    if not damage:
        assert read_archive(kept).lines == ()  # an empty archive is one without lines
        return
    with pytest.raises(DocumentError, match="damaged"):
        read_archive(kept)


def test_links_are_not_followed(folder, tmp_path):
    """A cloned repository could name any file."""
    (tmp_path / "secret").write_text("{}", encoding="utf-8")
    for end in (".json", "-incremental.jsonl"):
        (folder / f"{story.ID}{end}").unlink()
        (folder / f"{story.ID}{end}").symlink_to(tmp_path / "secret")
    (kept,) = list_finished(folder)
    assert "symbolic link" in kept.note
    with pytest.raises(StorageError, match="symbolic link"):
        read_archive(kept)


def test_a_file_that_is_too_large_is_not_read(folder):
    os.truncate(folder / f"{story.ID}.json", 300 * 2**20)
    (kept,) = list_finished(folder)
    assert "larger than 16 MB" in kept.note


def test_an_archive_that_cannot_be_removed_is_reported(unprivileged_folder, run_python):
    """The compressed one is written, and the plain one stays."""
    code = (
        "import os, sys; from pathlib import Path; from leftoff.errors import StorageError\n"
        "from leftoff.pause.snapshot_store import list_finished, compress; drop()\n"
        "folder = Path(sys.argv[1]) / 's'; folder.mkdir(); name = folder / 'session-20260106-120000-incremental.jsonl'\n"
        "name.write_text('{}\\n', 'utf-8'); kept = list_finished(folder)[0]; folder.chmod(0o500)\n"
        "try: compress(kept)\n"
        "except StorageError as error: print(error)\n"
    )
    assert "no permission" in run_python(code, unprivileged_folder).stdout


def test_the_pointer_names_the_latest_snapshot(folder):
    """The pointer names no snapshot if it is missing, broken or outdated."""
    assert latest_finished(folder).paused_at == story.ENDED
    for named in ("../../evil", "session-20260101-000000", "\udcff"):
        (folder / LATEST_NAME).write_bytes(named.encode("utf-8", "surrogateescape"))
        assert latest_finished(folder) is None
    (folder / LATEST_NAME).unlink()
    assert latest_finished(folder) is None


def test_an_archive_without_permission_is_an_error(unprivileged_folder, run_python):
    code = (
        "import sys; from pathlib import Path; from leftoff.errors import StorageError\n"
        "from leftoff.pause.snapshot_store import list_finished, read_archive; drop()\n"
        "folder = Path(sys.argv[1]) / 's'; folder.mkdir(); name = folder / 'session-20260106-120000-incremental.jsonl'\n"
        "name.write_text('{}\\n', 'utf-8'); name.chmod(0)\n"
        "try: read_archive(list_finished(folder)[0])\n"
        "except StorageError as error: print(error)\n"
    )
    assert "no permission" in run_python(code, unprivileged_folder).stdout


def test_a_pipe_in_place_of_a_file_is_not_opened(folder):
    folder.mkdir(parents=True, exist_ok=True)
    os.mkfifo(folder / "session-20260101-000000.json")
    (kept,) = [each for each in list_finished(folder) if each.session_id == "session-20260101-000000"]
    assert "not a file" in kept.note
