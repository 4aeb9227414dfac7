"""Which lines are commands, and how commands are completed."""

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from leftoff.chat.console import COMMANDS, Command, parse_command
from leftoff.chat.terminal import _CommandCompleter


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
def test_a_bare_word_is_a_command_only_if_unambiguous(line, command):
    """A word with the command sign is always a command."""
    assert parse_command(line) == command


def test_commands_are_completed_at_the_beginning_of_a_line():
    """Commands are completed with and without the sign, but only at the beginning of the input."""

    def completed(typed):
        found = _CommandCompleter().get_completions(Document(typed), CompleteEvent())
        return [each.text for each in found]

    assert completed("com") == ["compact"]
    assert completed("#s") == ["sessions", "show", "save"]
    assert completed("#") == [*COMMANDS]
    assert completed("") == completed("please com") == completed("x\ncom") == []
