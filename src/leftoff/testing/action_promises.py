"""What an adapter promises about tool calls and prompts, one test each. ``AgentPromises`` includes it; subclass that."""

from __future__ import annotations

from pathlib import Path

import pytest

from leftoff.core.actions import Answer, Changed, Looked, Planned, Ran, Searched, Todo, Wrote
from leftoff.core.protocols import Agent
from leftoff.core.records import RecordKind, Text, ToolResult, ToolUse
from leftoff.core.session import ToolCall
from leftoff.core.wire import JsonObject
from leftoff.testing.builders import Story, call
from leftoff.testing.script import Asked, Script


def work_of_every_kind() -> Story:
    """Return a story with one call of each kind that every agent can make; the last one fails."""
    todo: JsonObject = {
        "items": [
            {"text": "A", "status": "completed"},
            {"text": "B", "status": "in_progress"},
            {"text": "C", "status": "pending"},
        ]
    }
    story = Story(project="/p").asked("Do all of it")
    for each in (
        call("shell", {"command": "make test"}, "2 passed"),
        call("read", {"path": "/p/a.py", "offset": 3, "limit": 5}, "old"),
        call("write", {"path": "/p/new.py", "content": "x = 1\n"}),
        call("edit", {"path": "/p/a.py", "old": "old", "new": "new"}),
        call("search", {"pattern": "find_me", "path": "/p"}, "a.py:3"),
        call("todo", todo),
        call("shell", {"command": "make all"}, "Exit code 2\nno rule", failed=True),
    ):
        story.replied("", each)
    return story


class ActionPromises:
    """Promises of ``actions``, ``answer``, ``typed`` and ``rewound``.

    Set ``describes_tools`` to False for an adapter that leaves ``actions`` and ``answer`` at the defaults of ``JsonlAgent``.
    """

    describes_tools = True

    def written(self, home: Path, script: Script) -> Path:
        """Write the script as a transcript where the agent looks for it, and return its path."""
        raise NotImplementedError

    def test_calls_come_back_as_what_they_do(self, agent: Agent, tmp_path: Path) -> None:
        """Commands, reads, writes, edits, searches and to-do lists are independent of the agent."""
        self._require_descriptions()
        session = agent.open(self.written(tmp_path, work_of_every_kind().script()))
        actions = [each for call in session.tool_calls() for each in agent.actions(_use(call))]
        assert [each.command for each in actions if isinstance(each, Ran)][:1] == ["make test"]
        assert Looked("/p/a.py", 3, 7) in actions
        assert ("/p/new.py", "x = 1") in [(e.path, e.text.rstrip()) for e in actions if isinstance(e, Wrote)]
        assert Changed("/p/a.py", "old", "new") in actions
        assert any("find_me" in str(each) for each in actions if isinstance(each, (Searched, Ran)))
        assert Planned((Todo("A", "completed"), Todo("B", "in_progress"), Todo("C"))) in actions

    def test_answers_say_how_a_call_ended(self, agent: Agent, tmp_path: Path) -> None:
        """Failures are marked, exit codes are given if known, and the text is that of the tool."""
        self._require_descriptions()
        calls = [*agent.open(self.written(tmp_path, work_of_every_kind().script())).tool_calls()]
        answers = [agent.answer(_use(call), call.result) for call in calls if call.result]
        assert [bool(each.failed) for each in answers] == [False] * (len(answers) - 1) + [True]
        assert answers[0].text.strip() == "2 passed"
        assert answers[0].exit_code == 0
        assert "no rule" in answers[-1].text
        assert answers[-1].exit_code == 2
        assert not any(each.refused or each.user_text or each.chosen for each in answers)

    @pytest.mark.parametrize(
        "given", [{}, {"a": [None, {"b": 1.5}]}, "", "*** Update File:", {"command": [1]}]
    )
    @pytest.mark.parametrize("tool", ["", "shell", "Bash", "apply_patch", "Edit", "TodoWrite", "unheard of"])
    def test_no_call_and_no_answer_raises(self, agent: Agent, tool: str, given: JsonObject | str) -> None:
        """Whatever the input is, actions and an answer are returned."""
        use = ToolUse(call_id="c", tool=tool, input=given)
        assert isinstance(agent.actions(use), tuple)
        for output in ("", "Exit code: x", "{", '{"output":', "\ufffd" * 9):
            for failed in (True, False, None):
                parts = (Text(text=output),)
                answer = agent.answer(use, ToolResult(call_id="c", parts=parts, is_error=failed))
                assert isinstance(answer, Answer)

    def test_typed_text_and_rewinds_are_given_for_any_record(self, agent: Agent, tmp_path: Path) -> None:
        """Prompts are as they were typed, and no record of the story rewinds the conversation."""
        script = work_of_every_kind().delegated("Look", "Seen.").compacted("short").asked("more").script()
        records = [*agent.read(self.written(tmp_path, script))]
        typed = [
            agent.typed(record)
            for record in records
            if record.actor is None and record.kind is RecordKind.PROMPT
        ]
        assert typed == [event.text for event in script.events if isinstance(event, Asked)]
        (tmp_path / "odd.jsonl").write_bytes(b'{"torn"\n[]\n{}\n\xff\n{"type": "last-prompt"}\n')
        for record in (*records, *agent.read(tmp_path / "odd.jsonl")):
            agent.typed(record)
            assert not isinstance(agent.rewound(record), int) or agent.rewound(record) == 0

    def _require_descriptions(self) -> None:
        if not self.describes_tools:
            pytest.skip("this adapter names tools and inputs only")


def _use(call: ToolCall) -> ToolUse:
    return ToolUse(call_id=call.call_id, tool=call.tool, input=call.input)
