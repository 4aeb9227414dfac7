"""Private copies of many files: all at once or not at all, and what cannot be read is left out."""

import os
import resource
from pathlib import Path

import pytest

from leftoff.errors import StorageError
from leftoff.platform.large_files import copy_files


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """An empty folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


@pytest.fixture
def originals(here: Path) -> dict[str, Path]:
    """Two files that can be copied; one is larger than what is read at a time."""
    beside = here / "originals"
    beside.mkdir()
    (beside / "a").write_bytes(b"\x00\xff\n")
    (beside / "b").write_bytes(b"0123456789" * 300_000)
    return {"in/a": beside / "a", "in/b": beside / "b"}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_copies_are_the_same_bytes_and_this_users_own(here: Path, originals: dict[str, Path]) -> None:
    """The folder has the requested names and nothing else."""
    originals["in/a"].chmod(0o644)
    assert copy_files(here / "made", originals) == {}
    assert names(here) == ["made", "originals"]
    assert names(here / "made") == ["in"]
    for name, original in originals.items():
        copy = here / "made" / name
        assert copy.read_bytes() == original.read_bytes()
        assert copy.stat().st_mode & 0o777 == 0o600
        assert copy.stat().st_ino != original.stat().st_ino


def test_what_cannot_be_read_is_left_out_and_named(here: Path, originals: dict[str, Path]) -> None:
    """One that is gone, a link, and one whose reading fails, each with the reason; the others are copied."""
    folder, link = here / "originals" / "folder", here / "originals" / "link"
    folder.mkdir()
    link.symlink_to(originals["in/a"])
    gone = here / "originals" / "gone"
    left = copy_files(here / "made", {"in/f": folder, "in/g": gone, "in/l": link, **originals})
    assert [*left] == [folder, gone, link]
    assert left[folder] == "a folder is where a file should be"
    assert left[gone] == "no such file or directory"
    assert left[link].startswith("a symbolic link")
    assert names(here / "made" / "in") == ["a", "b"]


def test_no_folder_is_created_if_nothing_can_be_read(here: Path) -> None:
    """An empty one would say that there was something."""
    gone = here / "gone"
    assert copy_files(here / "made", {"in/g": gone}) == {gone: "no such file or directory"}
    assert names(here) == []


def test_a_full_disk_leaves_nothing(here: Path, originals: dict[str, Path]) -> None:
    """A file that may not grow is the same to a writer."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, before[1]))
    try:
        with pytest.raises(StorageError, match="made: not written"):
            copy_files(here / "made", originals)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert names(here) == ["originals"]


def test_a_folder_that_is_there_is_not_written_over(here: Path, originals: dict[str, Path]) -> None:
    (here / "made").mkdir()
    (here / "made" / "mine").write_bytes(b"")
    with pytest.raises(StorageError, match="made: not written"):
        copy_files(here / "made", originals)
    assert names(here / "made") == ["mine"]
    assert names(here) == ["made", "originals"]


def test_drafts_of_writers_killed_long_ago_are_removed(here: Path, originals: dict[str, Path]) -> None:
    """A young one may still be written; a link, a file and other folders stay."""
    old, young = (here / f".was.{number:012x}.tmp" for number in (1, 2))
    other, link = here / ".was.tmp", here / f".was.{3:012x}.tmp"
    for folder in (old, young, other):
        folder.mkdir()
        (folder / "half").write_bytes(b"half")
    link.symlink_to(other)
    os.utime(old, (0, 0))
    os.utime(other, (0, 0))
    os.utime(link, (0, 0), follow_symlinks=False)
    copy_files(here / "made", originals)
    assert names(here) == sorted([young.name, link.name, other.name, "made", "originals"])
    assert names(other) == ["half"]
