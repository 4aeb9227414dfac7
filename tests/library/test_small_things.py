"""Refusals, versions, long queries, and copies that come back as they were."""

import os
import sqlite3

import pytest

from leftoff.errors import DocumentError, StorageError, UsageError
from leftoff.library import shelf as shelves
from leftoff.library.archive import Archive
from leftoff.library.blocks import unpacked
from leftoff.library.query import parsed
from tests.library.shelves import NOW, ask, fill, names, piece
from tests.library.test_archive import described, session  # noqa: F401


@pytest.mark.parametrize(
    "query", ["-docs", "kind:prompt -docs", "agent:claude -docs", "nowhere write code now -docs"]
)
def test_what_is_not_wanted_is_refused_without_other_words_too(tmp_path, query):
    """No word, filters alone, or words of which only some are found."""
    fill(tmp_path, {"a": [piece("write code now docs")], "b": [piece("write code now")]})
    assert names(ask(tmp_path, query)) == ["b"]


def test_a_version_is_found_without_its_letter(tmp_path):
    """1.2.3 stands in v1.2.3, and not in 11.2.3."""
    fill(tmp_path, {"a": [piece("released v1.2.3 today")], "b": [piece("released 11.2.3 today")]})
    assert names(ask(tmp_path, "1.2.3")) == ["a"]


def test_a_query_of_hundreds_of_words_is_refused_in_words():
    """SQLite would refuse it in its own."""
    with pytest.raises(UsageError, match="201 words; 200"):
        parsed(" ".join(["ab"] * 201), NOW)
    assert len(parsed(" ".join(["ab"] * 200), NOW).terms) == 200


def test_a_long_query_is_answered(tmp_path):
    """As many words as are allowed."""
    fill(tmp_path, {"a": [piece("write docs now")]})
    assert names(ask(tmp_path, " ".join(f"w{number:03}" for number in range(199)) + " docs")) == []


def test_a_block_that_is_damaged_is_damage_of_the_library():
    """Whoever reads it says what to do."""
    with pytest.raises(sqlite3.DatabaseError, match="damaged"):
        unpacked(b"noise")


def test_a_file_that_stands_in_the_way_is_the_one_that_is_named(tmp_path, session):  # noqa: F811
    """Not the first that happens to stand there; and copies get their own permissions back."""
    transcript, beside = session
    transcript.chmod(0o640)
    archive = Archive(folder=tmp_path / "archive")
    kept = archive.keep(described(), session)
    beside.write_bytes(b"another")
    with pytest.raises(StorageError, match=r"one\.jsonl: another"):
        archive.restore(kept)
    beside.unlink()
    transcript.unlink()
    archive.restore(kept)
    assert transcript.stat().st_mode & 0o777 == 0o640
    assert archive.sessions() == [kept]


def test_an_unreadable_library_is_not_taken_for_none(tmp_path):
    """None at all is None."""
    assert shelves.read_if_any(str(tmp_path)) is None
    (tmp_path / shelves.NAME).write_bytes(b"noise" * 100)
    with pytest.raises(DocumentError, match="nobody can say"):
        shelves.read_if_any(str(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_library_in_a_folder_that_cannot_be_written_is_read(tmp_path):
    """As it stands there."""
    fill(tmp_path, {"a": [piece("write docs now")]})
    tmp_path.chmod(0o500)
    try:
        assert names(ask(tmp_path, "docs")) == ["a"]
    finally:
        tmp_path.chmod(0o700)
