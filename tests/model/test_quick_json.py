"""The scanner reads what orjson reads, and leaves to it whatever they could see differently."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.model import quick_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
ODD = [
    b"",
    b" ",
    b"-0",
    b"-0.0",
    b"01",
    b"1.",
    b".5",
    b"-",
    b"1e5",
    b"1E400",
    b"-1e400",
    b"1e-400",
    b"9007199254740993",
    b"123456789012345678",
    b"9223372036854775808",
    b"18446744073709551616",
    b"-9223372036854775809",
    b"NaN",
    b"-Infinity",
    b"[1,]",
    b"{} {}",
    b"{}\x00",
    b"\x0b{}",
    b"\xc2\xa0{}",
    b"\xef\xbb\xbf{}",
    b" \t{}\r\n",
    b'{"a":1,"b":2,"a":3}',
    b'"\x01"',
    b'"\x7f"',
    b'"\\x"',
    b'"\\/\\u0000"',
    b'"\\ud83d\\ude00"',
    b'"\\ud83d"',
    b'"\\uD83D\\uDE00"',
    b'"\xed\xa0\x80"',
    b'"\xff"',
    "\u0661".encode(),  # a digit elsewhere
    b"[" * 1100 + b"]" * 1100,
    b"[" * 100_000,
    b"tru",
    b'"a\nb"',
]


@pytest.fixture(autouse=True)
def _as_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """orjson counts as not loaded, and nothing as read."""
    monkeypatch.setattr(quick_json, "_found", [])
    monkeypatch.setattr(quick_json, "_left_bytes", [10**9])
    monkeypatch.setattr(quick_json, "_is_loaded", lambda: False)


def seen(read: Callable[[Any], Any], raw: bytes | str) -> object:
    """The value with its types, or that there is none."""
    try:
        return repr(read(raw))
    except ValueError:
        return ValueError


@pytest.mark.parametrize("raw", ODD, ids=range(len(ODD)))
def test_odd_texts_are_read_as_orjson_reads_them(raw: bytes) -> None:
    """The same value, of the same types, or none."""
    assert seen(quick_json.loads, raw) == seen(orjson.loads, raw)


@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_any_value_is_read_as_orjson_reads_it(value: Any, ascii_only: bool, indent: int | None) -> None:
    """However it was written."""
    raw = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    quick_json._found.clear()
    assert seen(quick_json.loads, raw) == seen(orjson.loads, raw)


@given(st.binary(max_size=40))
def test_any_bytes_are_read_as_orjson_reads_them(raw: bytes) -> None:
    """Most are nothing."""
    quick_json._found.clear()
    assert seen(quick_json.loads, raw) == seen(orjson.loads, raw)


@pytest.mark.parametrize("text", ['{"a": "日本語"}', '"\ud800"', "nothing"], ids=range(3))
def test_text_is_read_as_its_bytes_are(text: str) -> None:
    """Where that can be."""
    assert seen(quick_json.loads, text) == seen(orjson.loads, text)


def test_plain_lines_are_read_without_orjson() -> None:
    """Which is what all this is for."""
    assert quick_json.loads('{"a": [1, -2.5, "日本語 \\n", null, true]}\n'.encode()) == {
        "a": [1, -2.5, "日本語 \n", None, True]
    }
    assert quick_json._found == []


def test_from_some_megabytes_on_orjson_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """By then it has been worth loading it."""
    monkeypatch.setattr(quick_json, "_left_bytes", [100])
    line = b'{"text": "' + b"x" * 40 + b'"}'
    quick_json.loads(line)
    assert quick_json._found == []
    quick_json.loads(line)
    assert quick_json._found == [orjson.loads]
    assert quick_json.loads(line) == {"text": "x" * 40}


def test_where_orjson_is_loaded_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is to be spared then."""
    monkeypatch.setattr(quick_json, "_is_loaded", lambda: True)
    assert quick_json.loads(b"[1]") == [1]
    assert quick_json._found == [orjson.loads]
