"""Foreign text can do nothing to a terminal, and fits its line."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.cli import output
from leftoff.cli.columns import _columns, columns_of
from leftoff.cli.output import escape_json, one_line, visible


@pytest.mark.parametrize(
    "letter",
    "\x00\x1b\x7f\x9b\xad\u061c\u180e\u200d\u202e\u2066\ufeff\ufff9\U000e0001\U000e0041",
)
def test_what_hides_turns_round_or_controls_is_shown(letter):
    """Hidden characters are shown by their symbol or code point."""
    shown = visible(f"a{letter}b")
    assert letter not in shown
    assert shown[0] + shown[-1] == "ab"
    assert "U+" in shown or shown[1] in "␀␛␡"


@given(st.text())
def test_letters_spaces_and_line_ends_stay_as_they_are(text):
    """Only control and format characters are dangerous."""
    kept = "".join(
        letter
        for letter in text
        if letter in "\t\n" or unicodedata.category(letter) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    )
    assert visible(kept) == kept


@given(st.text())
def test_json_says_the_same_when_it_is_harmless(text):
    """Escaped JSON has the same value, even for characters beyond the first plane."""
    harmless = escape_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(harmless) == text
    assert harmless == visible(harmless)


@given(st.text(), st.integers(2, 40))
def test_a_line_is_never_wider_than_it_may_be(text, width):
    """Plain English is cut without counting; the outcome is the same."""
    line = one_line(text, width)
    assert columns_of(line) <= width
    assert "\n" not in line


@given(st.text(alphabet=st.characters(max_codepoint=126, min_codepoint=32)), st.integers(1, 40))
def test_plain_english_is_cut_as_any_other_text(text, width):
    """A plain letter takes one column."""
    flat = " ".join(text.split())
    assert one_line(text, width) == (flat if len(flat) <= width else f"{flat[: width - 1]}…")
    assert sum(map(_columns, flat)) == len(flat)


def test_a_table_shows_control_characters_of_its_cells_and_title(capsys):
    """A command that fills it cannot forget to."""
    output.table(["a", "b"], [["x\x1b[31m", "\x9b31m"]], title="\x1b[2Jtitle")
    shown = capsys.readouterr().out
    assert not {"\x1b", "\x9b"} & {*shown}
    assert "␛[31m" in shown
