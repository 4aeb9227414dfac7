"""A library with other tokens keeps its catalogue; one with another schema does not."""

from contextlib import closing
from datetime import UTC, datetime

import pytest

from leftoff.catalogue import database
from leftoff.catalogue.catalogue import Catalogue, Stamp
from leftoff.core.session import SessionEntry
from leftoff.errors import DocumentError, StorageError
from leftoff.search.index_writer import IndexWriter
from tests.search.sample_library import fill, piece

STAMP = Stamp(1, 2, "claude")


def entry(name):
    """Return the entry of a session."""
    parse_time = datetime(2026, 1, 31, tzinfo=UTC)
    return SessionEntry(
        agent="claude",
        session_id=name,
        transcript=f"/{name}.jsonl",
        project="/p",
        modified_at=parse_time,
        size_bytes=2,
    )


def known(folder, *names):
    """Return which of these sessions the catalogue knows."""
    catalogue = Catalogue(str(folder))
    try:
        return sorted(catalogue.find({f"/{name}.jsonl": STAMP for name in names}))
    finally:
        catalogue.close()


def keep(folder, name):
    """Store an entry as a list does."""
    catalogue = Catalogue(str(folder))
    catalogue.close()
    catalogue.save([(STAMP, entry(name))])


def set_fact(folder, name, value):
    """Write a fact as another leftoff would have."""
    with closing(database.open_for_writing(str(folder))) as connection, database.transaction(connection):
        connection.execute("UPDATE facts SET value = ? WHERE name = ?", (value, name))


@pytest.fixture
def old(tmp_path):
    """A library of an older leftoff with an indexed and a listed session."""
    fill(tmp_path, {"a": [piece("koala")]})
    keep(tmp_path, "listed")
    set_fact(tmp_path, "words", 1)
    return tmp_path


def test_lists_use_the_old_entries(old):
    """Lists use old entries and add new ones without rebuilding anything."""
    assert database.open_for_search(str(old)) is None
    assert known(old, "listed", "new") == ["/listed.jsonl"]
    keep(old, "new")
    assert known(old, "listed", "new") == ["/listed.jsonl", "/new.jsonl"]
    with closing(database.open_if_present(str(old))) as connection:
        assert connection.execute("SELECT count(*) FROM pieces").fetchone() == (1,)


def test_a_writer_rebuilds_the_index_and_keeps_the_catalogue(old):
    """None of the old tokens is left in the index."""
    with closing(IndexWriter(str(old))) as writer:
        assert writer.known_sources() == {}
    assert known(old, "listed") == ["/listed.jsonl"]
    with closing(database.open_for_search(str(old))) as connection:
        assert connection.execute("SELECT count(*) FROM pieces").fetchone() == (0,)


@pytest.mark.parametrize("schema", [1, 99])
def test_tables_of_another_schema_are_not_used(old, schema):
    """A list neither reads, writes nor rebuilds such tables."""
    with (
        closing(database.open_for_catalogue(str(old), patience_seconds=1)) as connection,
        database.transaction(connection),
    ):
        connection.execute("UPDATE facts SET value = ? WHERE name = 'schema'", (schema,))
    assert known(old, "listed") == []
    keep(old, "new")
    with pytest.raises(StorageError, match="made by a"):
        database.open_for_catalogue(str(old), patience_seconds=1)
    with pytest.raises(DocumentError, match="cannot be read"):
        database.open_if_present(str(old))


def test_a_library_of_another_schema_is_rebuilt_without_its_catalogue(old):
    """The entries of another schema may mean something else."""
    with (
        closing(database.open_for_catalogue(str(old), patience_seconds=1)) as connection,
        database.transaction(connection),
    ):
        connection.execute("UPDATE facts SET value = 1 WHERE name = 'schema'")
    IndexWriter(str(old)).close()
    assert known(old, "listed") == []
