"""What is quick to load does as what it stands for: shutil, textwrap, click and orjson are asked the same."""

import contextlib
import io
import json
import shutil
import sys
import textwrap

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.cli import display, gauge, plain


@pytest.mark.parametrize("columns", [None, "", "0", "-5", "1", "57", " 60 ", "6_0", "x", "²", "9" * 30])
def test_the_width_is_that_of_shutil(monkeypatch, columns):
    """Whatever COLUMNS says."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert plain.width() == shutil.get_terminal_size().columns


def test_the_width_of_a_closed_stream_is_the_usual_one(monkeypatch):
    """And so it is where nobody looks."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "__stdout__", None)
    assert plain.width() == shutil.get_terminal_size().columns == 80


@given(
    text=st.text(st.sampled_from("ab -\t\n\r\x0b\x0c\x1c\x85\xa0\u2003日é"), max_size=120)
    | st.text(max_size=60),
    indent=st.sampled_from(["", "  ", "        "]),
    columns=st.integers(20, 70),
)
def test_words_are_wrapped_as_textwrap_does_it(text, indent, columns):
    """Line by line, also where it is not asked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        room = max(30, columns - 1)
        lines = [
            textwrap.wrap(line, room, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
            for line in text.splitlines()
        ]
        wanted = "\n".join(part for line in lines for part in (line or [""]))
        assert plain.wrapped(text, indent=indent) == wanted


@pytest.mark.parametrize(
    "style",
    [*gauge._STYLES.values(), {"bold": True}, {"fg": "white", "bold": True, "dim": True}, {"fg": 0}],
    ids=str,
)
def test_styles_are_those_of_click(style):
    """All that are used, and any other."""
    assert plain._styled("x", style) == click.style("x", **style)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**53), 2**53)
        | st.floats(0, 100).map(lambda f: round(f, 1))
        | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_json_is_that_of_the_command_line(value):
    """Byte for byte, and it can be read back."""
    written = _written(plain.as_json, value)
    assert written == _written(display.as_json, value)
    assert json.loads(written) == value


@pytest.mark.parametrize("value", ["\ud800", {"\udcff": "é\x1b\u202e"}, "é\x1b\u202e\x7f", "\U0001f600"])
def test_half_characters_and_those_that_turn_text_round_are_escaped(value):
    """In both ways alike."""
    assert _written(plain.as_json, value) == _written(display.as_json, value)
    assert json.loads(_written(plain.as_json, value)) == value


def _written(write, value):
    """What it writes, to a stream of its own: hypothesis asks more than once."""

    with contextlib.redirect_stdout(io.StringIO()) as out:
        write(value)
    return out.getvalue()
