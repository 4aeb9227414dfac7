"""What counts as a match."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.archive.file_texts import unit_texts
from leftoff.catalogue.forgotten import MASK, spellings
from leftoff.errors import UsageError
from leftoff.forget.matcher import Matcher, require_distinctive


@pytest.mark.parametrize(
    ("text", "other", "masked"),
    [
        ("the koala", "THE\n  Ko\u00e1la!", "[forgotten]!"),
        ("a-b-c", "abc abcess", "[forgotten] abcess"),
        ("«Ö» plan", "the «Ö» plan.", "the [forgotten]."),
        ("sessions", "in /x/.leftoff/sessions/a.md, sessions", "in /x/.leftoff/sessions/a.md, [forgotten]"),
    ],
)
def test_a_text_is_found_in_any_case_spacing_and_punctuation(text, other, masked):
    """Few letters count only as a word; names of our own folders stay."""
    assert Matcher([text]).mask(other) == masked


def test_an_id_is_found_only_as_a_whole():
    """An id that is a plain word counts only where an id is written."""
    matcher = Matcher(session_ids=["session-1", "written"])
    assert matcher.mask("session-1, session-10, my-session-1, session-1.5") == (
        "[forgotten], session-10, my-session-1, session-1.5"
    )
    assert matcher.mask("it was written") == "it was written"
    assert matcher.mask("written") == "[forgotten]"
    assert matcher.mask("/x/session-written.md") == "/x/session-[forgotten].md"


def test_a_line_without_the_text_is_ruled_out_without_decoding_it():
    assert not Matcher(["The koala-sleeps"]).may_be_in(b"the koala wakes")


_SPACING = st.text("aB \t\n\b\f\r.-_/\\\"'é犬", max_size=4)


@given(st.lists(_SPACING, min_size=14, max_size=14), st.booleans())
def test_no_line_with_a_match_is_ruled_out(between, escaped):
    """The quick check sees every match that the full comparison finds: in any spacing, as plain text, JSON, and JSON in JSON."""
    matcher = Matcher(["blueheronnine"])
    text = "".join(letter + gap for letter, gap in zip("Blueheronnine.", between, strict=True))
    record = json.dumps({"text": text}, ensure_ascii=escaped)
    for line in (text, record, json.dumps([record])):
        if any(matcher.find(each) for each in unit_texts(line.encode())):
            assert matcher.may_be_in(line.encode())


@pytest.mark.parametrize(
    "written", ["blue-heron-nine", "b l u e h e r o n n i n e", "Blue\theron\nNine", "C:\\blue\\heron\\nine"]
)
def test_spacing_inside_words_does_not_hide_a_text(written):
    matcher = Matcher(["blueheronnine"])
    assert matcher.find(written)
    assert matcher.may_be_in(json.dumps(written).encode())
    assert matcher.may_be_in(written.encode())


@pytest.mark.parametrize(
    "text",
    ["abc", "[a].", "a-b-c", "  .;:!  ", "犬", "forgotten", "[FORGOTTEN]", r"\u00e9", r"[f\u006frgotten]"],
)
def test_a_text_with_too_few_letters_is_refused(text):
    """Texts that are too short are refused, and so is the mask itself."""
    with pytest.raises(UsageError, match=r"at least 4 letters|cannot be forgotten itself"):
        require_distinctive(text)


@pytest.mark.parametrize("text", ["abcd", "a.b.c.d", "犬猫", "แมว", "한국", r"\u591c\u83ba"])
def test_a_text_with_enough_letters_is_accepted(text):
    """Two are a word in scripts without spaces."""
    require_distinctive(text)


@pytest.mark.parametrize(
    "text", ["koala-sleeps", r"C:\Users\koala", r"a_\"koala\"_sleeps", r"\n\t\r", '"\\n']
)
def test_a_text_that_is_not_from_json_is_taken_as_typed(text):
    """Escapes are not decoded if that would give the same letters or none."""
    assert [each for each, _ in spellings(text)] == [text]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("/home/ada/shop", "[forgotten]"),
        ("see /home/ada/shop/src/a.py.", "see [forgotten]/src/a.py."),
        ("in `/home/ada/shop`, file:///home/ada/shop/x", "in `[forgotten]`, file://[forgotten]/x"),
        ("/home/ada/shop-2 /home/ada/shop.bak /home/ada/shopping", None),
        ("/mnt/home/ada/shop ~/home/ada/shop", None),
        ("/home/ada/shop/inner /home/ada/shop/inner/b.py", None),
        ("/home/ada/shop/inner-2", "[forgotten]/inner-2"),
    ],
)
def test_a_folder_is_found_with_what_is_below_it_and_no_other_folder(text, masked):
    """Folders inside that belong to another project stay."""
    matcher = Matcher(folders=[Path("/home/ada/shop")], other_folders=[Path("/home/ada/shop/inner")])
    assert matcher.mask(text) == (masked or text)
    assert matcher.may_be_in(text.encode()) or masked is None


def test_a_text_is_found_as_it_is_written_in_a_url():
    matcher = Matcher(texts=["koala sleeps"])
    assert (
        matcher.mask("see https://x.example/?q=Koala%20sleeps&p=1") == f"see https://x.example/?q={MASK}&p=1"
    )
