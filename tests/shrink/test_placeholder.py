"""A placeholder for removed content is recognised by its structure, and by nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.core.records import Place
from leftoff.core.trim_plan import CutPart, Piece
from leftoff.shrink.placeholder import (
    Origin,
    excerpt,
    looks_like_placeholder,
    parse_key,
    parse_placeholder,
    placeholder,
    stated_chars,
)

ORIGIN = Origin("0123abcd-0000-4000-8000-000000000000", 40, "deadbeefcafe0123")


def test_a_result_s_placeholder_has_its_documented_form() -> None:
    """The text is an interface."""
    text = placeholder("Read", 1234, excerpt(piece_of("head " * 99 + "tail"), 4, 4), ORIGIN)
    assert text.startswith("[Results from Read tool suppressed - original content was 1234 characters")
    assert "It began:\nhead\n… and ended:\ntail\n" in text
    assert text.endswith(
        "line 41 of 0123abcd-0000-4000-8000-000000000000; leftoff expand 0123abcd-41-deadbeef]"
    )


def test_a_reply_s_placeholder_has_its_documented_form() -> None:
    text = placeholder(None, 77, "", ORIGIN)
    assert text.startswith("[Claude response trimmed - original was 77 characters")
    found = parse_placeholder(text)
    assert found is not None
    assert (found.kind, found.tool, found.original_chars, found.body) == ("reply", None, 77, "")


@given(
    tool=st.text(st.characters(codec="utf-8"), max_size=30),
    chars=st.integers(1, 10**7),
    body=st.text(max_size=300),
    line_idx=st.integers(0, 10**6),
)
def test_every_placeholder_is_parsed_again(tool: str, chars: int, body: str, line_idx: int) -> None:
    origin = ORIGIN._replace(line_idx=line_idx)
    text = placeholder(tool, chars, body, origin)
    found = parse_placeholder(text)
    assert found is not None
    assert (found.original_chars, found.line, found.key) == (chars, line_idx + 1, origin.key)
    assert found.session_id == origin.session_id
    assert looks_like_placeholder(text[:200], text[-200:])
    assert stated_chars(text[:300]) == chars


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "[Results from Read tool suppressed - original content was 5 characters]",  # another tool's
        "said: " + placeholder("Read", 5, "", ORIGIN),
        placeholder("Read", 5, "", ORIGIN) + " and more",
        placeholder("Read", 5, "", ORIGIN).replace("line 41", "line 42"),
        placeholder("Read", 5, "", ORIGIN).replace("of 0123abcd", "of 9999abcd"),
        "a log with [...truncated in it",
    ],
)
def test_a_text_that_quotes_a_placeholder_is_not_one(text: str) -> None:
    assert parse_placeholder(text) is None


def test_a_text_with_only_one_end_is_not_a_placeholder() -> None:
    text = placeholder("Read", 5, "", ORIGIN)
    assert not looks_like_placeholder(text[:50], "tail")
    assert not looks_like_placeholder("head", text[-60:])
    assert stated_chars("anything") is None


def test_a_key_holds_session_line_and_digest() -> None:
    key = Origin("0123abcd-rest", 6, "deadbeefcafe").key
    assert key == "0123abcd-7-deadbeef"
    assert parse_key(f" {key}\n") == ("0123abcd", 7, "deadbeef")
    assert parse_key("0123abcd-0-deadbeef") is None
    assert parse_key("../../etc") is None


def piece_of(text: str, part: CutPart = "result", window: int = 201, chars: int | None = None) -> Piece:
    """A piece as an adapter collects it, with one character more than an end may show."""
    return Piece(
        place=Place("t.jsonl", 1, 0, 9),
        part=part,
        call_id="c",
        tool="Read",
        chars=len(text) if chars is None else chars,
        turn=1,
        digest="0" * 16,
        head=text[:window],
        tail=text[-window:],
        text_chars=len(text),
    )


def ends_of(body: str) -> tuple[str, str]:
    begin, _, end = body.partition("\n… and ended:\n")
    return begin.removeprefix("It began:\n"), end


def test_an_input_s_placeholder_is_called_one() -> None:
    text = placeholder("Write", 5000, "", ORIGIN, is_input=True)
    assert text.startswith("[Input to Write tool suppressed - original content was 5000 characters")
    found = parse_placeholder(text)
    assert found is not None
    assert (found.kind, found.tool, found.original_chars) == ("input", "Write", 5000)
    assert looks_like_placeholder(text, text)
    assert stated_chars(text) == 5000


def test_an_excerpt_has_whole_words_and_characters() -> None:
    words = "and several words " * 90 + "at last"
    assert ends_of(excerpt(piece_of(words), 16, 20)) == ("and several", "several words at last"[8:])
    assert excerpt(piece_of("x" * 3000), 200, 200) == ""
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert ends_of(excerpt(piece_of(family * 90), 9, 12)) == (family, family * 2)
    assert excerpt(piece_of("e\u0301" * 300 + "日本語" * 300), 7, 7) == "… and ended:\n語日本語日本語"
    assert excerpt(piece_of("\x1b[31;1mred\x1b[0m\n" * 90), 6, 2) == ""


def test_ends_that_would_overlap_or_repeat_are_shown_once() -> None:
    """A picture counts what it costs, so its description can be shorter than its share."""
    assert (
        excerpt(piece_of("(a picture: image/png, 9 bytes)", chars=4000), 200, 200)
        == "(a picture: image/png, 9 bytes)"
    )
    assert excerpt(piece_of("ab " * 100, chars=4000), 200, 200) == "ab " * 100
    assert excerpt(piece_of("again " * 500), 5, 6) == "It began:\nagain"
    assert excerpt(piece_of("one of eleven todos", "input", chars=4000), 200, 200) == ""


_CHARACTERS = st.sampled_from(
    [
        *"ab1_-. \n\t\\é日",
        "e\u0301",
        "\U0001f1e9\U0001f1ea",
        "\U0001f44d\U0001f3fd",
        "\x1b[0m",
        "word ",
        "\r\n",
    ]
)


@given(
    text=st.lists(_CHARACTERS, min_size=1, max_size=400).map("".join),
    head=st.integers(0, 200),
    tail=st.integers(0, 200),
)
def test_every_excerpt_is_from_its_text_and_cuts_no_word(text: str, head: int, tail: int) -> None:
    body = excerpt(piece_of(text), head, tail)
    if len(text) <= head + tail:
        assert body == text
        return
    begin, end = ends_of(body) if body.startswith("It began") else ("", body.removeprefix("… and ended:\n"))
    assert len(begin) <= head
    assert len(end) <= tail
    assert text.startswith(begin)
    assert text.endswith(end)
    for at in (len(begin), len(text) - len(end)):
        if 0 < at < len(text) and (begin if at == len(begin) else end):
            assert not (
                text[at - 1].isascii()
                and text[at - 1].isalnum()
                and text[at].isascii()
                and text[at].isalnum()
            )
            assert text[at] not in "\u0301\U0001f3fd\n"[:2]


def test_an_impossible_size_is_ignored() -> None:
    assert stated_chars(placeholder("Read", 10**7, "", ORIGIN)) == 10**7
    assert stated_chars(placeholder("Read", 999_999_999_999, "", ORIGIN)) is None
