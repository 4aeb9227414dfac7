"""What was forgotten is recognised by digests, and stays away."""

from pathlib import Path

import pytest

from leftoff.catalogue.database import FORGOTTEN_FILE
from leftoff.catalogue.forgotten import MASK, Forgotten
from leftoff.errors import DocumentError, StorageError
from leftoff.search.index_writer import IndexWriter
from leftoff.search.pieces import mask_forgotten
from tests.search.sample_library import everything, piece, reached, source

SECRET = "Operation Nightingale"


def test_a_forgotten_text_is_masked_when_it_comes_back(tmp_path):
    """The file holds digests and no text."""
    writer = IndexWriter(str(tmp_path))
    writer.forgotten.add_text(SECRET)
    writer.close()
    writer = IndexWriter(str(tmp_path))
    forgotten = writer.forgotten
    pieces = mask_forgotten(
        [piece(f"x {SECRET.upper()}, then operation Nightly"), piece("nothing")], forgotten
    )
    assert [each.text for each in pieces] == [f"x {MASK}, then operation Nightly", "nothing"]
    writer.add(source("a"), pieces, before=None, after=reached(1))
    writer.close()
    assert b"ightingal" not in everything(tmp_path)


def test_few_letters_are_masked_only_as_a_whole_word(tmp_path):
    """In a script without spaces, two letters are masked anywhere."""
    writer = IndexWriter(str(tmp_path))
    for text in ("a-b-c", "夜莺"):
        writer.forgotten.add_text(text)
    assert writer.forgotten.mask("abc abcess a.b.c 今夜莺歌") == f"{MASK} abcess {MASK} 今{MASK}歌"
    writer.close()


def test_accents_case_and_composition_make_no_difference(tmp_path):
    """The longest of several that begin alike is masked."""
    forgotten = Forgotten(str(tmp_path))
    forgotten.add_text("Café Straße")
    forgotten.add_text("café")
    assert forgotten.mask("x CAFE\u0301-STRASSE y cafe z") == f"x {MASK} y {MASK} z"
    assert forgotten.text_occurs_in(["nothing", "the CAFÉ"])
    assert not forgotten.text_occurs_in(["nothing"])
    assert not forgotten.mentions_session_in(["the café"])


def test_a_broken_file_stops_indexing(tmp_path):
    """Without the file, forgotten texts would be indexed again; a file of a newer leftoff stops it too."""
    kept = tmp_path / FORGOTTEN_FILE
    for damage in ("no json", "[]", '{"schema": 1}', '{"schema": 99}'):
        kept.write_text(damage, encoding="utf-8")
        with pytest.raises(DocumentError):
            IndexWriter(str(tmp_path))
    kept.unlink()
    kept.mkdir()
    with pytest.raises(StorageError):
        Forgotten(str(tmp_path))


def test_the_file_format_is_read_and_changes_are_noticed(tmp_path):
    """The golden file of schema 1 can be read, and a change by another process is noticed."""
    golden = Path(__file__).parents[1] / "golden" / "wire" / "forgotten.v1.json"
    (tmp_path / FORGOTTEN_FILE).write_bytes(golden.read_bytes())
    known = Forgotten(str(tmp_path))
    assert known.has_texts
    assert not known.has_changed()
    Forgotten(str(tmp_path)).add_sessions(["0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"])
    assert known.has_changed()
    again = Forgotten(str(tmp_path))
    assert again.includes_session("0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11")
    assert again.mentions_session_in(["see 0B54F7AA-6d0c-4c7b-9d57-3f6c9d9a3b11."])


def test_a_cut_off_text_loses_as_much_of_its_end_as_a_forgotten_one_is_long(tmp_path):
    """Only digests are known, so the beginning of a forgotten text cannot be recognised."""
    forgotten = Forgotten(str(tmp_path))
    assert forgotten.mask_truncated("about Marma") == "about Marma"
    forgotten.add_text("Marmaduke47")
    assert forgotten.mask_truncated("a long story about Marma") == "a long story "
    assert forgotten.mask_truncated("short") == ""
    assert forgotten.mask_truncated("?!") == "?!"
