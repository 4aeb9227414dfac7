"""What is for the loop and what for the agent, and how a stream becomes blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from leftoff.chat.blocks import Blocks
from leftoff.chat.commands import COMMANDS, Command, parse
from leftoff.chat.line_editor import _CommandCompleter


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("compact", Command(name="compact")),
        ("#compact", Command(name="compact")),
        ("  Compact ", Command(name="compact")),
        ("quit", Command(name="exit")),
        ("resume 1", Command(name="resume", argument="1")),
        (
            "resume simple_sally_20251230_112153",
            Command(name="resume", argument="simple_sally_20251230_112153"),
        ),
        (
            "resume simple_sally_20251230_112153_2",
            Command(name="resume", argument="simple_sally_20251230_112153_2"),
        ),
        ("resume session_3", Command(name="resume", argument="session_3")),
        ("resume session_three", None),
        ("#resume ../../evil", Command(name="resume", argument="../../evil")),
        ("#show", Command(name="show")),
        ("show", None),
        ("show me the code", None),
        ("resume the work on auth", None),
        ("resume work", None),
        ("delete everything", None),
        ("compact that function", None),
        ("help me", None),
        ("exit\nand more", None),
        ("# a heading", None),
        ("", None),
    ],
)
def test_a_bare_word_is_a_command_only_when_it_can_be_nothing_else(line, command):
    """With the sign it always is."""
    assert parse(line) == command


def test_commands_are_completed_at_the_beginning_of_a_line():
    """In either spelling, and nowhere else."""

    def completed(typed):
        found = _CommandCompleter().get_completions(Document(typed), CompleteEvent())
        return [each.text for each in found]

    assert completed("com") == ["compact"]
    assert completed("#s") == ["sessions", "show", "save"]
    assert completed("#") == [*COMMANDS]
    assert completed("") == completed("please com") == completed("x\ncom") == []


def test_blocks_end_at_blank_lines_outside_code():
    """A fence is one block, however many blank lines it holds."""
    blocks = Blocks()
    assert blocks.feed("One\ntwo\n") == []
    assert blocks.begun == "One\ntwo\n"
    assert blocks.feed("\n```py\nx = 1\n\ny = 2\n") == ["One\ntwo"]
    assert blocks.feed("```\n\nend") == ["```py\nx = 1\n\ny = 2\n```"]
    assert (blocks.rest(), blocks.rest()) == ("end", "")


@given(st.lists(st.text(alphabet="ab`\n ", max_size=8)))
def test_no_word_of_a_stream_is_lost(pieces):
    """However it is cut."""
    blocks = Blocks()
    out = [block for piece in pieces for block in blocks.feed(piece)]
    assert "".join("".join([*out, blocks.rest()]).split()) == "".join("".join(pieces).split())
