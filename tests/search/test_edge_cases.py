"""Exclusions, versions, long queries and damaged files."""

import os
import sqlite3

import pytest

from leftoff.archive.archive_files import Archive
from leftoff.catalogue import database
from leftoff.errors import DocumentError, StorageError, UsageError
from leftoff.search.pieces import unpack_texts
from leftoff.search.query import parse_query
from tests.archive.test_archive_files import described, session  # noqa: F401
from tests.search.sample_library import NOW, ask, fill, names, piece


@pytest.mark.parametrize(
    "query", ["-docs", "kind:prompt -docs", "agent:claude -docs", "nowhere write code now -docs"]
)
def test_exclusions_work_without_other_words(tmp_path, query):
    """Exclusions work without words, with filters only, and if only some words are found."""
    fill(tmp_path, {"a": [piece("write code now docs")], "b": [piece("write code now")]})
    assert names(ask(tmp_path, query)) == ["b"]


def test_a_version_is_found_without_its_letter(tmp_path):
    """1.2.3 is found in v1.2.3, but not in 11.2.3."""
    fill(tmp_path, {"a": [piece("released v1.2.3 today")], "b": [piece("released 11.2.3 today")]})
    assert names(ask(tmp_path, "1.2.3")) == ["a"]


def test_a_query_of_hundreds_of_words_is_refused():
    """SQLite would refuse it with its own message."""
    with pytest.raises(UsageError, match="201 words; 200"):
        parse_query(" ".join(["ab"] * 201), NOW)
    assert len(parse_query(" ".join(["ab"] * 200), NOW).terms) == 200


def test_a_long_query_is_answered(tmp_path):
    """A query may have as many words as are allowed."""
    fill(tmp_path, {"a": [piece("write docs now")]})
    answers = ask(tmp_path, " ".join(f"w{number:03}" for number in range(199)) + " docs")
    assert (names(answers), answers.complete) == (["a"], False)


def test_a_damaged_block_is_a_database_error():
    """A damaged block is reported like other damage."""
    with pytest.raises(sqlite3.DatabaseError, match="damaged"):
        unpack_texts(b"noise")


def test_the_error_names_the_file_in_the_way(tmp_path, session):  # noqa: F811
    """Restored files keep their permissions."""
    transcript, beside = session
    transcript.chmod(0o640)
    archive = Archive(folder=tmp_path / "archive")
    kept = archive.add(described(), session)
    beside.write_bytes(b"another")
    with pytest.raises(StorageError, match=r"one\.jsonl: another"):
        archive.restore(kept)
    beside.unlink()
    transcript.unlink()
    archive.restore(kept)
    assert transcript.stat().st_mode & 0o777 == 0o640
    assert archive.sessions() == [kept]


def test_an_unreadable_library_is_an_error(tmp_path):
    """A missing one is None."""
    assert database.open_if_present(str(tmp_path)) is None
    (tmp_path / database.FILE_NAME).write_bytes(b"noise" * 100)
    with pytest.raises(DocumentError, match="cannot be read"):
        database.open_if_present(str(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_library_in_a_folder_that_cannot_be_written_is_read(tmp_path):
    fill(tmp_path, {"a": [piece("write docs now")]})
    tmp_path.chmod(0o500)
    try:
        assert names(ask(tmp_path, "docs")) == ["a"]
    finally:
        tmp_path.chmod(0o700)
