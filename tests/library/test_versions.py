"""A library whose words an older leftoff cut otherwise: its catalogue holds, it can be forgotten from, and a search makes it anew."""

from contextlib import closing
from datetime import UTC, datetime

import pytest

from leftoff.errors import DocumentError, StorageError
from leftoff.library import shelf as shelves
from leftoff.library.catalogue import Catalogue, Stamp
from leftoff.library.writing import Writer
from leftoff.model.session import SessionEntry
from tests.library.shelves import fill, piece

STAMP = Stamp(1, 2, "claude")


def entry(name):
    """What a list shows of a session."""
    moment = datetime(2026, 1, 31, tzinfo=UTC)
    return SessionEntry(
        agent="claude",
        session_id=name,
        transcript=f"/{name}.jsonl",
        project="/p",
        modified_at=moment,
        size_bytes=2,
    )


def known(folder, *names):
    """Which of these sessions the catalogue knows."""
    catalogue = Catalogue(str(folder))
    try:
        return sorted(catalogue.known({f"/{name}.jsonl": STAMP for name in names}))
    finally:
        catalogue.close()


def keep(folder, name):
    """Keep an entry as a list does: closed before it is kept."""
    catalogue = Catalogue(str(folder))
    catalogue.close()
    catalogue.keep([(STAMP, entry(name))])


def set_fact(folder, name, value):
    """As another leftoff would have left it."""
    with closing(shelves.opened_to_write(str(folder))) as shelf, shelves.writing(shelf):
        shelf.execute("UPDATE facts SET value = ? WHERE name = ?", (value, name))


@pytest.fixture
def old(tmp_path):
    """A library of an older leftoff, with a session that was read and one that was listed."""
    fill(tmp_path, {"a": [piece("koala")]})
    keep(tmp_path, "listed")
    set_fact(tmp_path, "words", 1)
    return tmp_path


def test_lists_go_on_with_what_they_know(old):
    """And keep what is new, without making anything anew."""
    assert shelves.opened_to_read(str(old)) is None
    assert known(old, "listed", "new") == ["/listed.jsonl"]
    keep(old, "new")
    assert known(old, "listed", "new") == ["/listed.jsonl", "/new.jsonl"]
    with closing(shelves.read_if_any(str(old))) as shelf:
        assert shelf.execute("SELECT count(*) FROM pieces").fetchone() == (1,)


def test_a_writer_makes_the_words_anew_and_keeps_the_catalogue(old):
    """Nothing of the old words is left to be searched."""
    with closing(Writer(str(old))) as writer:
        assert writer.known() == {}
    assert known(old, "listed") == ["/listed.jsonl"]
    with closing(shelves.opened_to_read(str(old))) as shelf:
        assert shelf.execute("SELECT count(*) FROM pieces").fetchone() == (0,)


@pytest.mark.parametrize("schema", [1, 99])
def test_tables_of_another_form_are_of_no_use(old, schema):
    """Nothing is known, nothing is kept, and nothing is made anew for a list."""
    with closing(shelves.opened_to_catalogue(str(old), patience_seconds=1)) as shelf, shelves.writing(shelf):
        shelf.execute("UPDATE facts SET value = ? WHERE name = 'schema'", (schema,))
    assert known(old, "listed") == []
    keep(old, "new")
    with pytest.raises(StorageError, match="made by a"):
        shelves.opened_to_catalogue(str(old), patience_seconds=1)
    with pytest.raises(DocumentError, match="nobody can say"):
        shelves.read_if_any(str(old))


def test_a_library_of_another_form_is_made_anew_without_its_catalogue(old):
    """It may mean something else there."""
    with closing(shelves.opened_to_catalogue(str(old), patience_seconds=1)) as shelf, shelves.writing(shelf):
        shelf.execute("UPDATE facts SET value = 1 WHERE name = 'schema'")
    Writer(str(old)).close()
    assert known(old, "listed") == []
