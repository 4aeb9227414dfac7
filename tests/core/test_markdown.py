"""Foreign text in our Markdown, judged by a real CommonMark parser."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from leftoff.core import markdown
from tests.support import strategies

positions = st.integers(0, 10_000)


def blocks_of(text):
    return [token.type for token in MarkdownIt("commonmark").parse(text)]


def assert_harmless(body):
    """Nothing in ``body`` is a heading or HTML block, and nothing of it reaches what follows."""
    document = f"# Before\n\n{body}\n\n## After\n\nend"
    assert strategies.headings(document) == [(1, "Before"), (2, "After")]
    assert strategies.outer_headings(document) == ["After"]
    assert "html_block" not in blocks_of(document)
    document.encode()


@given(strategies.texts)
def test_a_block_is_never_structure(text):
    """Whatever the text, the section around it keeps its beginning and end."""
    assert_harmless(markdown.escape_block(text))


@given(strategies.texts, strategies.texts)
def test_an_item_is_never_structure(text, after):
    """Whatever the text, it stays one bullet and does not affect the next."""
    body = f"- {markdown.escape_item(text)}\n- {markdown.escape_item(after)}"
    assert_harmless(body)
    if text.strip() and after.strip():
        tops = [token for token in MarkdownIt("commonmark").parse(body) if token.level == 1]
        assert [token.type for token in tops] == ["list_item_open", "list_item_close"] * 2


@given(strategies.texts)
def test_inline_text_stays_on_its_line(text):
    """One line, whatever line ends the text had, and harmless in the middle of ours."""
    line = markdown.escape_inline(text)
    assert line.splitlines() in ([line], [])
    assert_harmless(f"- Name: {line}\n- **{line}**\n  - Rationale: {line}\n\n**Label:** {line}")


@given(strategies.texts)
def test_escaping_twice_is_escaping_once(text):
    once = markdown.escape_block(text)
    assert markdown.escape_block(once) == once


@given(strategies.texts, positions)
def test_a_block_cut_anywhere_can_be_closed(text, end):
    """Every beginning of a block is harmless after closing, wherever it was cut."""
    body = markdown.escape_block(text)
    assert_harmless(markdown.close_cut(body[: end % (len(body) + 1)]))


@given(strategies.texts, positions)
def test_an_item_cut_anywhere_can_be_closed(text, end):
    """The code of a bullet is indented and can be closed too."""
    body = f"- {markdown.escape_item(text)}"
    assert_harmless(markdown.close_cut(body[: end % (len(body) + 1)]))


@pytest.mark.parametrize(
    "text",
    [
        "Title\n-----x",
        "Title\n===== x",
        "Title\n- x\n-1",
        "##hash\n#!bang",
        "> 1. ---x",
        "``` a`b\nafter",
        "```py\n    ```x\n```x ```\nend\n```\nafter",
        "- ~~~~\n  ~~~ ~~~~x\n  ~~~~",
        "1. do\n   ```\n   code\n   ```\n2. done",
    ],
)
def test_a_cut_never_makes_structure_of_what_was_none(text):
    """A rule cut out of a word, a fence out of inline code, a closing out of code: at every single place."""
    for body in (markdown.escape_block(text), f"- {markdown.escape_item(text)}"):
        for end in range(len(body) + 1):
            assert_harmless(markdown.close_cut(body[:end]))


@pytest.mark.stress
@given(strategies.texts, strategies.texts, positions)
@settings(max_examples=10_000)
def test_ten_thousand_texts_are_never_structure(text, cut, end):
    """The properties above are checked with many more examples."""
    test_a_block_is_never_structure.hypothesis.inner_test(text)
    test_an_item_is_never_structure.hypothesis.inner_test(text, cut)
    test_inline_text_stays_on_its_line.hypothesis.inner_test(text)
    test_escaping_twice_is_escaping_once.hypothesis.inner_test(text)
    test_a_block_cut_anywhere_can_be_closed.hypothesis.inner_test(cut, end)
    test_an_item_cut_anywhere_can_be_closed.hypothesis.inner_test(cut, end)


PROSE = [
    "Fixed the parser in `src/leftoff/model/wire.py`; 3 tests were red, now 0.",
    "See #123 and PR #45, where a < b, x <= y and Vec<T> are discussed.",
    "#123 is closed",
    "-1 is returned when n == 0, --force is off, and ---color too",
    "1. Read the log\n2. Run `make test`\n   - only the slow ones\n3. Commit",
    "* one\n* two\n  still two\n\n+ three",
    "> the user said: never push to main",
    "| file | lines |\n|------|-------|\n| a.py | 12 |",
    "**bold**, _soft_ and https://example.org/a?b=1#c, <https://example.org> in the middle",
    "```python\n# a comment\ndef f(x: list[int]) -> None:\n    if x < 3:  # small\n        return\n\n### section\n```",
    "Before\n\n~~~\n<div>\n=====\n-----\n~~~\n\nafter",
    "````markdown\n```\ninner\n```\n````",
    "1. Build it:\n   ```bash\n   make build\n   ```\n2. Ship it",
    "```inline code``` at the start of a line",
    "```\n    ```\nnot closed by the line above\n```",
    "key = value\n== not a line of signs ==\n--verbose",
    "日本語のテキスト、绝对 и кириллица 🎉",
    "C:\\Users\\me and /etc/passwd and ~/.ssh and a\\*b",
]


@pytest.mark.parametrize("text", PROSE)
def test_what_is_harmless_comes_out_as_it_went_in(text):
    """Prose, lists, tables and code of every day are not touched."""
    assert markdown.escape_block(text) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("## Next Steps", "\\## Next Steps"),
        ("- ## Next Steps", "- \\## Next Steps"),
        ("1. > # x", "1. > \\# x"),
        ("Title\n=====", "Title\n\\====="),
        ("Title\n---", "Title\n\\---"),
        ("<!-- open", "\\<!-- open"),
        ("<div>", "\\<div>"),
        ("> ```\n> x", "> \\```\n> x"),
        ("> ~~~", "> \\~~~"),
        ("```\nopen", "```\nopen\n```"),
        ("~~~~ js\nopen", "~~~~ js\nopen\n~~~~"),
        ("```\n## Next Steps\n```", "```\n ## Next Steps\n```"),
        ("- a\n    ```sh\n    make\n    ```", "- a\n   ```sh\n   make\n   ```"),
        ("- ```sh\n  make\n\n  ```\nafter", "\\-\n  ```sh\n  make\n\n  ```\nafter"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("nul \x00 bell \x07 half \ud83d", "nul \ufffd bell \ufffd half \ufffd"),
        ("\n  \n    code\n\n", "    code"),
        ("", ""),
    ],
)
def test_what_would_be_structure_is_escaped_and_readable(text, escaped):
    """One backslash before a mark, a fence closed, code moved to where no reader loses it; nothing more."""
    assert markdown.escape_block(text) == escaped


def test_further_lines_of_an_item_are_indented():
    """Two spaces, and code keeps its own indentation; a first line has none."""
    assert markdown.escape_item("  do\nthis\n\n```py\nif x:\n    y\n```") == (
        "do\n  this\n\n  ```py\n  if x:\n      y\n  ```"
    )
    assert markdown.escape_item("") == ""


def test_inline_text_is_not_escaped_where_nothing_is_structure():
    """In the middle of a line, types, issue numbers and dashes are left alone."""
    assert markdown.escape_inline("<T>\n#123 ---") == "<T> #123 ---"


@pytest.mark.parametrize(
    "text",
    [
        ">" * 100_000,
        "- " * 50_000,
        " " * 100_000 + "x",
        "\n" * 100_000 + "x",
        "`" * 100_000,
        "=" * 100_000 + "x",
    ],
)
def test_hostile_text_costs_no_more_than_its_length(text):
    """No text makes escaping or repairing take seconds."""
    started = time.process_time()
    markdown.close_cut(markdown.escape_block(text))
    assert time.process_time() - started < 2
