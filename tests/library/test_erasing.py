"""What is erased is gone from the bytes, and stays away."""

from hashlib import sha256
from pathlib import Path

import pytest

from leftoff.errors import DocumentError, StorageError
from leftoff.library import shelf as shelves
from leftoff.library.erasing import cutting, erase_sessions, erase_text, holds, masking, sources_of
from leftoff.library.forgotten import MASK, Forgotten
from leftoff.library.pieces import Touch
from leftoff.library.shelf import REMEMBERED
from leftoff.library.writing import Writer
from tests.library.shelves import ask, everything, fill, names, piece, reached, source

SECRET = "Operation Nightingale"
NAME = "zanzibarquux"


def test_a_session_that_was_erased_is_in_no_byte_of_the_library(tmp_path):
    """Neither its words nor its id; the rest is still found; it is known again by its id alone."""
    fill(
        tmp_path,
        {
            NAME: [piece(f"{NAME} unheardof common", touches=(Touch(f"/x/{NAME}.py", "read"),))],
            "other": [piece("common words")],
        },
    )
    writer = Writer(str(tmp_path))
    assert sources_of(writer.shelf, NAME) == [f"/home/dev/{NAME}.jsonl"]
    assert erase_sessions(writer, [NAME], []) == 1
    writer.erase_traces()
    assert writer.forgotten.is_session(NAME)
    assert not writer.forgotten.is_session("other")
    writer.shelf.execute("INSERT INTO words(words) VALUES ('integrity-check')")
    writer.close()
    assert NAME.encode() not in everything(tmp_path)
    assert b"unheardof" not in everything(tmp_path)
    assert names(ask(tmp_path, "common")) == ["other"]


def test_without_erasing_traces_the_bytes_would_still_hold_it(tmp_path):
    """The scan above can fail: deleting rows alone leaves words behind."""
    fill(tmp_path, {"a": [piece(f"{NAME} common")], "b": [piece("common")]})
    writer = Writer(str(tmp_path))
    writer.remove(["/home/dev/a.jsonl"])
    assert NAME.encode() in everything(tmp_path)
    writer.erase_traces()
    writer.close()
    assert NAME.encode() not in everything(tmp_path)


def test_a_text_that_was_erased_is_masked_and_the_rest_of_its_piece_stays(tmp_path):
    """In any case and spacing; words that stand elsewhere too are still found there."""
    fill(
        tmp_path,
        {
            "a": [piece(f"about {SECRET} and the budget"), piece("operation  nightingale!", 2)],
            "b": [piece("operation")],
        },
    )
    writer = Writer(str(tmp_path))
    assert holds(writer.shelf, [SECRET])
    assert erase_text(writer, SECRET) == 2
    writer.erase_traces()
    assert not holds(writer.shelf, [SECRET])
    writer.shelf.execute("INSERT INTO words(words) VALUES ('integrity-check')")
    writer.close()
    assert names(ask(tmp_path, "nightingale")) == []
    assert names(ask(tmp_path, "operation")) == ["b"]
    assert ask(tmp_path, "budget").sessions[0].hits[0].text == f"about {MASK} and the budget"
    assert b"ightingal" not in everything(tmp_path)


def test_what_was_forgotten_is_masked_when_it_comes_in_again(tmp_path):
    """By digests alone: the text stands nowhere."""
    writer = Writer(str(tmp_path))
    erase_text(writer, SECRET)
    writer.close()
    writer = Writer(str(tmp_path))
    forgotten = writer.forgotten
    pieces = forgotten.masked([piece(f"x {SECRET.upper()}, then operation Nightly"), piece("nothing")])
    assert [each.text for each in pieces] == [f"x {MASK}, then operation Nightly", "nothing"]
    writer.add(source("a"), pieces, before=None, after=reached(1))
    writer.close()
    assert b"ightingal" not in everything(tmp_path)


def test_a_text_without_a_word_is_erased_but_not_remembered(tmp_path):
    """There is nothing to know it by."""
    fill(tmp_path, {"a": [piece("what is ?!?! this")]})
    writer = Writer(str(tmp_path))
    assert erase_text(writer, "?!?!") == 1
    assert not (tmp_path / REMEMBERED).exists()
    writer.close()
    assert shelves.opened_to_read(str(tmp_path)) is not None


def test_what_was_taken_out_leaves_no_free_page_and_no_log(tmp_path):
    """The file itself is smaller, and the log is empty while the writer is still there."""
    texts = (
        " ".join(sha256(b"%d %d" % (each, more)).hexdigest() for more in range(60)) for each in range(60)
    )
    fill(tmp_path, {"a": [piece(text, number) for number, text in enumerate(texts, 1)]})
    kept = tmp_path / shelves.NAME
    writer = Writer(str(tmp_path))
    before = kept.stat().st_size
    writer.remove(["/home/dev/a.jsonl"])
    writer.erase_traces()
    assert writer.shelf.execute("PRAGMA freelist_count").fetchone() == (0,)
    assert (tmp_path / f"{shelves.NAME}-wal").stat().st_size == 0
    assert kept.stat().st_size < before
    writer.close()


def test_a_row_that_is_deleted_is_overwritten(tmp_path):
    """Also where no page becomes free."""
    writer = Writer(str(tmp_path))
    assert writer.shelf.execute("PRAGMA secure_delete").fetchone() == (1,)
    writer.note("x", NAME)
    writer.shelf.execute("DELETE FROM facts WHERE name = 'x'")
    writer.shelf.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert NAME.encode() not in everything(tmp_path)
    writer.close()


def test_few_letters_are_masked_only_as_a_word_of_their_own(tmp_path):
    """``a-b-c`` is not every ``abc`` in a word; two letters of a script without spaces count anywhere."""
    writer = Writer(str(tmp_path))
    for text in ("a-b-c", "夜莺"):
        writer.forgotten.add_text(text)
    assert writer.forgotten.masked_text("abc abcess a.b.c 今夜莺歌") == f"{MASK} abcess {MASK} 今{MASK}歌"
    assert masking("a-b-c")("abc abcess") == f"{MASK} abcess"
    writer.close()


def test_accents_case_and_composition_do_not_matter(tmp_path):
    """The longest of several that begin alike is masked."""
    forgotten = Forgotten(str(tmp_path))
    forgotten.add_text("Café Straße")
    forgotten.add_text("café")
    assert forgotten.masked_text("x CAFE\u0301-STRASSE y cafe z") == f"x {MASK} y {MASK} z"
    assert forgotten.holds(["nothing", "the CAFÉ"])
    assert not forgotten.holds(["nothing"])
    assert not forgotten.is_named_in(["the café"])


def test_a_broken_memory_of_what_was_forgotten_stops_everything(tmp_path):
    """Reading on without it would take in what must not be; so does one of a newer leftoff."""
    kept = tmp_path / REMEMBERED
    for damage in ("no json", "[]", '{"schema": 1}', '{"schema": 99}'):
        kept.write_text(damage, encoding="utf-8")
        with pytest.raises(DocumentError):
            Writer(str(tmp_path))
    kept.unlink()
    kept.mkdir()
    with pytest.raises(StorageError):
        Forgotten(str(tmp_path))


def test_what_was_forgotten_is_read_as_it_was_written(tmp_path):
    """The golden file, and one that changes meanwhile."""
    golden = Path(__file__).parents[1] / "golden" / "wire" / "forgotten.v1.json"
    (tmp_path / REMEMBERED).write_bytes(golden.read_bytes())
    known = Forgotten(str(tmp_path))
    assert known.has_texts
    assert not known.has_changed()
    Forgotten(str(tmp_path)).add_sessions(["0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"])
    assert known.has_changed()
    again = Forgotten(str(tmp_path))
    assert again.is_session("0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11")
    assert again.is_named_in(["see 0B54F7AA-6d0c-4c7b-9d57-3f6c9d9a3b11."])


def test_several_sessions_are_erased_in_one_pass(tmp_path):
    """Every block is unpacked once, however many they are; what names them is masked."""
    gone = [f"0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b{number}" for number in range(11, 16)]
    fill(
        tmp_path, {each: [piece("common")] for each in gone} | {"other": [piece(f"after {', '.join(gone)}.")]}
    )
    writer = Writer(str(tmp_path))
    asked = []
    writer.shelf.set_trace_callback(asked.append)
    assert erase_sessions(writer, gone, []) == 5
    assert asked.count("SELECT id FROM blocks") == 1
    assert not holds(writer.shelf, gone)
    assert asked.count("SELECT data FROM blocks") == 1
    assert all(writer.forgotten.is_session(each) for each in gone)
    writer.close()
    assert ask(tmp_path, "after").sessions[0].hits[0].text == f"after {', '.join([MASK] * 5)}."


def test_traces_are_not_called_erased_while_somebody_reads(tmp_path):
    """The log cannot be emptied then."""
    fill(tmp_path, {"a": [piece("common")]})
    reader = shelves.opened_to_read(str(tmp_path))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM pieces").fetchone()
    writer = Writer(str(tmp_path), patience_seconds=0.05)
    writer.remove(["/home/dev/a.jsonl"])
    assert not writer.erase_traces()
    reader.close()
    assert writer.erase_traces()
    writer.close()


def test_half_a_text_is_cut_off_the_end_alone():
    """As far as it goes, in any case and spacing; a whole one, or one further ahead, is no half."""
    cut = cutting(["Marmaduke47", "mars"])
    assert cut("about MARMA-duke 4") == "about "
    assert cut("marmaduke and so") == "marmaduke and so"
    assert cut("to m") == "to "
    assert cut("") == ""
    assert cutting(["?!"])("what ?") == "what ?"


def test_a_text_that_was_cut_loses_as_much_as_a_forgotten_one_is_long(tmp_path):
    """Only its digest is known, so nobody can say whether its beginning stands there."""
    forgotten = Forgotten(str(tmp_path))
    assert forgotten.masked_cut("about Marma") == "about Marma"
    forgotten.add_text("Marmaduke47")
    assert forgotten.masked_cut("a long story about Marma") == "a long story "
    assert forgotten.masked_cut("short") == ""
    assert forgotten.masked_cut("?!") == "?!"
