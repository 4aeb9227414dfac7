"""The tools of invented sessions, read back."""

import pytest

from leftoff.core.actions import (
    Answer,
    Changed,
    Delegated,
    Fetched,
    Looked,
    Other,
    Planned,
    Ran,
    Searched,
    Todo,
    Wrote,
)
from leftoff.core.records import Text, ToolResult, ToolUse
from leftoff.testing.plain_agent import actions, answer


@pytest.mark.parametrize(
    ("tool", "given", "does"),
    [
        ("shell", {"command": "ls"}, Ran("ls")),
        ("read", {"path": "a"}, Looked("a")),
        ("read", {"path": "a", "offset": 3, "limit": 5}, Looked("a", 3, 7)),
        ("write", {"path": "a", "content": "x"}, Wrote("a", "x")),
        ("edit", {"path": "a", "old": "x", "new": "y"}, Changed("a", "x", "y")),
        ("search", {"pattern": "x"}, Searched("x")),
        ("list", {"path": "a"}, Searched("a", "a")),
        ("fetch", {"url": "https://x"}, Fetched("https://x")),
        ("delegate", {"task": "look"}, Delegated("look", "look")),
        (
            "todo",
            {"items": [{"text": "A", "status": "completed"}, {"text": "B"}, 7]},
            Planned((Todo("A", "completed"), Todo("B"))),
        ),
        ("odd", {"x": 1}, Other("odd", "{'x': 1}")),
        ("odd", "words", Other("odd", "words")),
    ],
)
def test_a_tool_does(tool: str, given, does) -> None:
    """Each call of an invented tool is one action."""
    assert actions(ToolUse(call_id="c", tool=tool, input=given)) == (does,)


@pytest.mark.parametrize(
    ("tool", "words", "failed", "found"),
    [
        ("shell", "out", False, Answer("out", 0, failed=False)),
        ("shell", "Exit code 2\nout", True, Answer("out", 2, failed=True)),
        ("shell", "killed", True, Answer("killed", None, failed=True)),
        ("read", "Exit code 2", False, Answer("Exit code 2", None, failed=False)),
    ],
)
def test_an_answer_says(tool: str, words: str, failed: bool, found: Answer) -> None:
    """The answer says how a command ended and what it printed."""
    use = ToolUse(call_id="c", tool=tool, input={})
    assert answer(use, ToolResult(call_id="c", parts=(Text(text=words),), is_error=failed)) == found
