"""Finished pauses: each counts once, whatever is left of it; one bad file hides no other."""

from __future__ import annotations

import gzip
import os
from datetime import UTC, datetime

import pytest

from leftoff.errors import DocumentError
from leftoff.pauses.shelf import compress, kept_in, latest_in, lines_of
from leftoff.pauses.snapshot import LATEST_NAME, archive, closing, documents, state_of
from tests.pauses import story


@pytest.fixture
def folder(tmp_path):
    """One whole snapshot, with its pointer."""
    place = tmp_path / "sessions"
    place.mkdir()
    put(place, story.ID)
    (place / LATEST_NAME).write_text(f"{story.ID}\n", encoding="utf-8")
    return place


def put(place, session_id):
    closed = closing(story.wind_down(), story.occasion())
    state = state_of(session_id, closed, story.occasion())
    for name, data in documents(state, closed).items():
        (place / name).write_bytes(data)
    (place / f"{session_id}-incremental.jsonl").write_bytes(archive(closed))


def test_a_pause_of_four_files_counts_once(folder):
    """With its numbers from the JSON and its lines from the archive."""
    (kept,) = kept_in(folder)
    assert kept.session_id == story.ID
    assert kept.paused_at == story.ENDED
    assert kept.state["incremental_pause"]["action_count"] == 6
    assert kept.main.suffix == ".md"
    assert kept.note is None
    assert lines_of(kept).bad_lines == 1


def test_the_newest_comes_first_by_when_it_ended(folder):
    """And those whose JSON is gone by the time in their name."""
    (folder / "session-20270101-000000-x.md").write_text("# later\n", encoding="utf-8")
    (folder / "session-20250101-000000.md").write_text("# earlier\n", encoding="utf-8")
    assert [each.session_id for each in kept_in(folder)] == [
        "session-20270101-000000-x",
        story.ID,
        "session-20250101-000000",
    ]


@pytest.mark.parametrize("left", ["md", "yaml"])
def test_what_only_a_page_is_left_of_is_listed(folder, left):
    """With a note that says so, and no lines."""
    for path in [*folder.glob("session-*")]:
        if path.suffix != f".{left}":
            path.unlink()
    (kept,) = kept_in(folder)
    assert kept.note == f"only {left} is left"
    assert kept.state is None
    assert kept.paused_at == story.BEGAN
    assert lines_of(kept) is None
    assert compress(kept) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": 99}', "[" * 100_000])
def test_a_broken_json_hides_nothing(folder, content):
    """It is listed with what is wrong, and the others with it."""
    (folder / f"{story.ID}.json").write_text(content, encoding="utf-8")
    put(folder, "session-20260101-000000")
    notes = {each.session_id: each.note for each in kept_in(folder)}
    assert notes["session-20260101-000000"] is None
    assert str(folder / story.ID) in notes[story.ID]


def test_other_files_are_no_pauses(folder):
    """Nor are names that only look like one."""
    for name in ("notes.md", "session-now.json", "ACTIVE-PAUSE.jsonl", "session-20260106-1200001.md.bak"):
        (folder / name).write_text("{}", encoding="utf-8")
    assert len(kept_in(folder)) == 1


def test_a_date_that_never_was_is_the_beginning_of_time(folder):
    """The file is still listed."""
    (folder / "session-20269999-999999.md").write_text("x", encoding="utf-8")
    assert kept_in(folder)[-1].paused_at == datetime(1970, 1, 1, tzinfo=UTC)


def test_no_folder_is_no_pauses_and_a_file_in_its_place_neither(tmp_path):
    """Nothing was ever kept there."""
    assert kept_in(tmp_path / "none") == []
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert kept_in(tmp_path / "file") == []


def test_no_permission_is_never_none(ordinary_folder, run_python):
    """A folder that may not be read is an error; a file that may not be read is listed with the reason."""
    code = (
        "import os, sys; from pathlib import Path; from leftoff.errors import StorageError\n"
        "from leftoff.pauses.shelf import kept_in; drop()\n"
        "folder = Path(sys.argv[1]) / 's'; folder.mkdir(); name = folder / 'session-20260106-120000.json'\n"
        "name.write_text('{}', 'utf-8'); name.chmod(0)\n"
        "print(kept_in(folder)[0].note)\n"
        "folder.chmod(0)\n"
        "try: print(kept_in(folder))\n"
        "except StorageError as error: print(error)\n"
    )
    noted, refused = run_python(code, ordinary_folder).stdout.splitlines()
    assert "session-20260106-120000.json: cannot be read: no permission." in noted
    assert "cannot be read: no permission" in refused


def test_an_archive_is_packed_and_reads_the_same(folder):
    """Once; the second time there is nothing to do."""
    (before,) = kept_in(folder)
    plain = lines_of(before)
    packed = compress(before)
    assert packed.saved_bytes > 0
    assert packed.path.stat().st_mode & 0o777 == 0o600
    (after,) = kept_in(folder)
    assert set(after.files) == {"-incremental.jsonl.gz", ".md", ".json", ".yaml"}
    assert lines_of(after).lines == plain.lines
    assert compress(after) is None


@pytest.mark.parametrize("damage", [b"", b"nonsense", gzip.compress(b"x" * 1000)[:-10]])
def test_a_damaged_archive_is_said(folder, damage):
    """Named, and nothing else is touched."""
    (folder / f"{story.ID}-incremental.jsonl").unlink()
    (folder / f"{story.ID}-incremental.jsonl.gz").write_bytes(damage)
    (kept,) = kept_in(folder)
    if not damage:
        assert lines_of(kept).lines == ()  # an empty archive is one without lines
        return
    with pytest.raises(DocumentError, match="damaged"):
        lines_of(kept)


def test_links_are_not_followed(folder, tmp_path):
    """A cloned repository could name any file."""
    (tmp_path / "secret").write_text("{}", encoding="utf-8")
    for end in (".json", "-incremental.jsonl"):
        (folder / f"{story.ID}{end}").unlink()
        (folder / f"{story.ID}{end}").symlink_to(tmp_path / "secret")
    (kept,) = kept_in(folder)
    assert "symbolic link" in kept.note
    with pytest.raises(DocumentError, match="symbolic link"):
        lines_of(kept)


def test_a_file_too_large_to_be_ours_is_not_read(folder):
    """A sparse file of 300 MB costs nothing."""
    os.truncate(folder / f"{story.ID}.json", 300 * 2**20)
    (kept,) = kept_in(folder)
    assert "larger than 256 MB" in kept.note


def test_an_archive_that_cannot_be_taken_away_is_said(ordinary_folder, run_python):
    """It is packed, and the plain one stays."""
    code = (
        "import os, sys; from pathlib import Path; from leftoff.errors import StorageError\n"
        "from leftoff.pauses.shelf import kept_in, compress; drop()\n"
        "folder = Path(sys.argv[1]) / 's'; folder.mkdir(); name = folder / 'session-20260106-120000-incremental.jsonl'\n"
        "name.write_text('{}\\n', 'utf-8'); kept = kept_in(folder)[0]; folder.chmod(0o500)\n"
        "try: compress(kept)\n"
        "except StorageError as error: print(error)\n"
    )
    assert "no permission" in run_python(code, ordinary_folder).stdout


def test_the_pointer_leads_to_the_latest(folder):
    """And nowhere when it is gone, broken, or names what is gone."""
    assert latest_in(folder).paused_at == story.ENDED
    for named in ("../../evil", "session-20260101-000000", "\udcff"):
        (folder / LATEST_NAME).write_bytes(named.encode("utf-8", "surrogateescape"))
        assert latest_in(folder) is None
    (folder / LATEST_NAME).unlink()
    assert latest_in(folder) is None


def test_an_archive_without_permission_is_said(ordinary_folder, run_python):
    """Not taken for an empty one."""
    code = (
        "import sys; from pathlib import Path; from leftoff.errors import StorageError\n"
        "from leftoff.pauses.shelf import kept_in, lines_of; drop()\n"
        "folder = Path(sys.argv[1]) / 's'; folder.mkdir(); name = folder / 'session-20260106-120000-incremental.jsonl'\n"
        "name.write_text('{}\\n', 'utf-8'); name.chmod(0)\n"
        "try: lines_of(kept_in(folder)[0])\n"
        "except StorageError as error: print(error)\n"
    )
    assert "no permission" in run_python(code, ordinary_folder).stdout


def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(folder):
    """It is listed with what is wrong, and not opened."""
    folder.mkdir(parents=True, exist_ok=True)
    os.mkfifo(folder / "session-20260101-000000.json")
    (kept,) = [each for each in kept_in(folder) if each.session_id == "session-20260101-000000"]
    assert "not a file" in kept.note
