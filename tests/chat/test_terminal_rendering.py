"""How a streamed answer is drawn, measured in bytes that reach the terminal and never in time."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from leftoff.chat.terminal import AnswerRenderer, BlockSplitter

ROWS, COLUMNS = 24, 80
CODE = "```python\n" + "".join(f"value_{number} = compute({number})\n" for number in range(100)) + "```\n"


class Screen:
    """A terminal that keeps what is drawn, and a clock that advances by ``step`` for each piece."""

    def __init__(self, step):
        self.out = io.StringIO()
        self.now = 0.0
        self.step = step
        self.drawing = AnswerRenderer(
            Console(file=self.out, force_terminal=True, width=COLUMNS, height=ROWS, color_system=None),
            visible=lambda text: text,
            seconds=self.seconds,
        )

    def seconds(self):
        self.now += self.step
        return self.now

    def hears(self, text, size=4):
        self.drawing.begin("Sally")
        for at in range(0, len(text), size):
            self.drawing.show_piece(text[at : at + size])
        self.drawing.end(None)
        return self.out.getvalue()


def test_long_code_in_small_pieces_is_drawn_cheaply():
    """A hundred lines in pieces of four characters: a few previews, and the code once."""
    drawn = Screen(step=0.001).hears(CODE)
    assert len(drawn) < 60_000
    assert drawn.count("value_99 = compute(99)") == 1


def test_a_preview_is_drawn_at_most_ten_times_a_second():
    """The first piece is drawn at once, and later ones at most ten times a second, whatever their size."""
    screen = Screen(step=0.01)
    drawn = screen.hears("word " * 60, size=1)
    assert drawn.count("Sally:") <= 3 + 10 * screen.now
    assert drawn.count("Sally:") >= 8 * screen.now


def test_a_preview_never_exceeds_the_screen():
    """The last rows are shown, and each preview can be cleared."""
    screen = Screen(step=1.0)
    screen.drawing.begin("Sally")
    for line in CODE.splitlines(keepends=True)[:-1]:
        before = len(screen.out.getvalue())
        screen.drawing.show_piece(line)
        assert screen.out.getvalue()[before:].count("\n") < ROWS
    assert "value_99 = compute(99)" in screen.out.getvalue()[before:]
    assert "value_60 " not in screen.out.getvalue()[before:]


@pytest.mark.parametrize("size", [1, 4, 7, 10_000])
def test_the_final_rendering_does_not_depend_on_the_pieces(size):
    """Prose, a list and code, each once, and the name before the first."""
    text = f"Here it is:\n\n- one\n- two\n\n{CODE}\nThat is all."
    drawn = Screen(step=0.0).hears(text, size)
    for words in ("value_0 ", "value_99 ", " • two"):
        assert drawn.count(words) == 1
    assert (
        drawn.index("Sally:") < drawn.index(" • two") < drawn.index("value_0 ") < drawn.rindex("That is all.")
    )


def test_an_answer_that_was_not_streamed_is_drawn_whole():
    """An answer is drawn with the agent's name even if it is empty."""
    screen = Screen(step=0.0)
    screen.drawing.begin("Sally")
    screen.drawing.end("All of it.")
    screen.drawing.begin("Sally")
    screen.drawing.end(None)
    assert screen.out.getvalue().count("Sally:") == 2
    assert "All of it." in screen.out.getvalue()


class Watched(str):
    """Text that counts how often any of it is cut into lines."""

    looked = 0

    def split(self, *arguments):
        Watched.looked += len(self)
        return super().split(*arguments)


def test_every_character_is_scanned_once():
    """The work does not grow with the length of a block."""
    blocks = BlockSplitter()
    Watched.looked = 0
    for at in range(0, len(CODE), 4):
        blocks.feed(Watched(CODE[at : at + 4]))
    assert Watched.looked == len(CODE)
    assert blocks.rest() == CODE.strip("\n")


def test_the_end_of_a_long_code_block_keeps_its_fence():
    """The opening fence is shown even if its line is above the visible part."""
    blocks = BlockSplitter()
    blocks.feed("```py\na\nb\nc\nd")
    assert blocks.last_lines(2, 100) == "```py\nb\nc\nd"
    assert blocks.last_lines(9, 100) == "```py\na\nb\nc\nd"
    assert blocks.last_lines(9, 3) == "```py\nc\nd"


def test_blocks_end_at_blank_lines_outside_code():
    """A code block is one block, however many blank lines it has."""
    blocks = BlockSplitter()
    assert blocks.feed("One\ntwo\n") == []
    assert blocks.incomplete == "One\ntwo\n"
    assert blocks.feed("\n```py\nx = 1\n\ny = 2\n") == ["One\ntwo"]
    assert blocks.feed("```\n\nend") == ["```py\nx = 1\n\ny = 2\n```"]
    assert (blocks.rest(), blocks.rest()) == ("end", "")


@given(st.lists(st.text(alphabet="ab`\n ", max_size=8)))
def test_no_text_of_a_stream_is_lost(pieces):
    """No text is lost however a stream is split into pieces."""
    blocks = BlockSplitter()
    out = [block for piece in pieces for block in blocks.feed(piece)]
    assert "".join("".join([*out, blocks.rest()]).split()) == "".join("".join(pieces).split())
