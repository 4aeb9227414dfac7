"""Looking for a text in transcripts: quickly, and never past it."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.flows.file_texts import holding, texts_in
from leftoff.flows.text_sieve import sieve
from leftoff.library.erasing import masking
from leftoff.library.normal import normal

PIECE = 1024 * 1024
SHORTEST = 4  # letters of a text that can be forgotten
SIGNS = 'abnrtfuAN019 -_/\\"\n\t\x1b.éßﬁＡ½夜莺ก𝐀'
AROUND = st.text(alphabet=SIGNS, max_size=12)


def holds(text, content):
    """Whether a file of these bytes holds the text."""
    return holding(text)(io.BufferedReader(io.BytesIO(content)))


@given(
    text=st.text(alphabet=SIGNS, min_size=5, max_size=14).filter(lambda text: len(normal(text)) >= SHORTEST),
    before=AROUND,
    after=AROUND,
    is_plain=st.booleans(),
    depth=st.integers(0, 2),
)
def test_a_text_never_falls_through(text, before, after, is_plain, depth):
    """Whatever stands around it, however often JSON stands in JSON, with letters beyond ASCII as codes or as themselves."""
    said = inner = before + text + after
    for _ in range(depth):
        said = json.dumps({"in": said}, ensure_ascii=is_plain)
    line = json.dumps({"x": [said]}, ensure_ascii=not is_plain).encode()
    if masking(text)(inner) != inner:
        assert sieve(text)(line)
        assert holds(text, line)


@pytest.mark.parametrize(
    "said",
    [
        "The KOALA sleeps",
        "the  koala\n\tsleeps",
        "the koálá-sleeps",
        'arguments: {"a": "the koala\\nsleeps"}',
        'deeper: {"a": "{\\"b\\": \\"the\\\\nkoala sleeps\\"}"}',
        "\x1b[0;34mother words\x1b[39m the koala sleeps",
    ],
)
def test_a_text_is_found_however_it_is_written(said):
    """In a string of a record, in a key, in plain letters."""
    for value in ({"text": said}, {said: 1}, [[said]]):
        for ensure_ascii in (True, False):
            assert holds("the koala sleeps", json.dumps(value, ensure_ascii=ensure_ascii).encode())


@pytest.mark.parametrize(
    "line",
    [
        b'{"a": "the koala", "b": "sleeps"}',
        b'{"a": "the koala never sleeps"}',
        b'{"a": "the koala\\u006e sleeps"}',
        b"",
    ],
)
def test_letters_that_meet_by_chance_are_not_the_text(line):
    """Over two strings, or with others between."""
    assert not holds("the koala sleeps", line)


def test_a_backslash_of_the_text_is_no_escape():
    """A path of Windows, beside a line end."""
    line = json.dumps({"p": "C:\\new\\bin\nkoala, \\u0041"}).encode()
    assert holds(r"c:\new\bin koala", line)
    assert holds(r"koala \u0041", line)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_backslash_of_the_text_is_no_escape_within_a_string_either(depth):
    """Where a line end and a letter as a code stand beside it."""
    said = "C:\\new\\token\nhunter2 \\u0041 é"
    for _ in range(depth):
        said = json.dumps({"arguments": said})
    line = json.dumps({"call": said}).encode()
    for text in ("C:\\new\\token\nhunter2", r"c:\new\token hunter2", r"hunter2 \u0041 É"):
        assert holds(text, line)


def test_a_text_that_was_copied_out_of_raw_json_is_found_as_it_is_meant_and_as_it_is_typed():
    """A short one only as it stands: its letters alone are a part of other words."""
    for said in ("pass\n  hunter2abc", r"pass\n  hunter2abc"):
        assert holds(r"pass\n  hunter2abc", json.dumps({"said": said}).encode())
    assert holds(r"D:\notes", json.dumps({"said": "D:\notes"}).encode())
    assert holds(r"D:\notes", json.dumps({"said": r"D:\notes"}).encode())
    assert not holds(r"D:\notes", json.dumps({"said": "many anecdotes"}).encode())


def test_a_file_without_records_is_read_across_its_lines():
    """Also on the edge of the pieces in which it is read; a line of braces makes no records of it."""
    assert holds("the koala sleeps", b"first\nthe\nkoala\n{\nsleeps\n")
    assert holds(
        "the koala sleeps", b"first\n" + b"x" * (PIECE - 10) + b" the koala\n sleeps " + b"y" * PIECE
    )
    assert not holds("the koala sleeps", b"first\nthe\nkoala\nnever\nsleeps\n" + b"y" * 3 * PIECE)


def test_what_follows_a_record_and_is_none_is_read_across_its_lines():
    """A result that begins with a line of JSON; records and empty lines before it are records still."""
    assert holds("the koala sleeps", b'[]\n\r\n{"a": 1}\n\nfirst\nthe\nkoala\nsleeps\n')
    assert not holds("the koala sleeps", b'{"a": 1}\n\r\n["the koala"]\n\n["sleeps"]\n')


@pytest.mark.parametrize("record", [b'{"args": {"phone": 4915112345678}}', b"[-49151.12345678]"])
def test_a_number_is_found_as_a_text_is(record):
    """Whatever is between its digits."""
    assert holds("4915112345678", record)
    assert not holds("4915112345679", record)


def test_a_value_whose_key_stands_twice_is_found():
    """The record is read as a text, escapes too."""
    assert holds("the koala sleeps", b'{"a": "the\\nkoala sleeps", "a": "x"}')


def test_a_torn_record_counts_as_it_stands():
    """A killed agent left half a line."""
    assert holds("the koala", b'{"a": 1}\n{"b": "The KOALA sle')
    torn = io.BufferedReader(io.BytesIO(b'{"a": "x"}\n{"b": "y'))
    assert [*texts_in(torn)] == ["a", "x", '{"b": "y']
