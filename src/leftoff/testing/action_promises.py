"""What an adapter promises of tool calls and prompts, one test each: a part of ``agent_promises``, which is what you subclass."""

from __future__ import annotations

from pathlib import Path

import pytest

from leftoff.model.actions import Answer, Changed, Looked, Planned, Ran, Searched, Todo, Wrote
from leftoff.model.protocols import Agent
from leftoff.model.records import RecordKind, Text, ToolResult, ToolUse
from leftoff.model.script import Asked, Script
from leftoff.model.session import ToolCall
from leftoff.model.wire import JsonObject
from leftoff.testing.builders import Story, call


def work_of_every_kind() -> Story:
    """One call of each kind that every agent can do, the last one a failure."""
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
    """Promises of ``actions``, ``answer``, ``typed`` and ``rewound``."""

    def write(self, agent: Agent, tmp_path: Path, script: Script) -> Path:
        """The script as a transcript."""
        raise NotImplementedError

    def test_calls_come_back_as_what_they_do(self, agent: Agent, tmp_path: Path) -> None:
        """Commands, reads, writes, edits, searches and lists of things to do, in words that no agent owns."""
        session = agent.open(self.write(agent, tmp_path, work_of_every_kind().script()))
        found = [each for call in session.tool_calls() for each in agent.actions(_use(call))]
        assert [each.command for each in found if isinstance(each, Ran)][:1] == ["make test"]
        assert Looked("/p/a.py", 3, 7) in found
        assert ("/p/new.py", "x = 1") in [(e.path, e.text.rstrip()) for e in found if isinstance(e, Wrote)]
        assert Changed("/p/a.py", "old", "new") in found
        assert any("find_me" in str(each) for each in found if isinstance(each, (Searched, Ran)))
        assert Planned((Todo("A", "completed"), Todo("B", "in_progress"), Todo("C"))) in found

    def test_answers_say_how_a_call_ended(self, agent: Agent, tmp_path: Path) -> None:
        """A failure is one, its exit code is told where it is known, and the words are those of the tool."""
        calls = [*agent.open(self.write(agent, tmp_path, work_of_every_kind().script())).tool_calls()]
        told = [agent.answer(_use(call), call.result) for call in calls if call.result]
        assert [bool(each.failed) for each in told] == [False] * (len(told) - 1) + [True]
        assert told[0].text.strip() == "2 passed"
        assert told[0].exit_code == 0
        assert "no rule" in told[-1].text
        assert told[-1].exit_code == 2
        assert not any(each.refused or each.said or each.chosen for each in told)

    @pytest.mark.parametrize(
        "given", [{}, {"a": [None, {"b": 1.5}]}, "", "*** Update File:", {"command": [1]}]
    )
    @pytest.mark.parametrize("tool", ["", "shell", "Bash", "apply_patch", "Edit", "TodoWrite", "unheard of"])
    def test_no_call_and_no_answer_raises(self, agent: Agent, tool: str, given: JsonObject | str) -> None:
        """Whatever a transcript holds, it is told somehow."""
        use = ToolUse(call_id="c", tool=tool, input=given)
        assert isinstance(agent.actions(use), tuple)
        for words in ("", "Exit code: x", "{", '{"output":', "\ufffd" * 9):
            for failed in (True, False, None):
                parts = (Text(text=words),)
                found = agent.answer(use, ToolResult(call_id="c", parts=parts, is_error=failed))
                assert isinstance(found, Answer)

    def test_what_was_typed_and_taken_back_can_be_asked_of_any_record(
        self, agent: Agent, tmp_path: Path
    ) -> None:
        """Prompts as they were typed; nothing of the story was taken back."""
        script = work_of_every_kind().delegated("Look", "Seen.").compacted("short").asked("more").script()
        records = [*agent.read(self.write(agent, tmp_path, script))]
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


def _use(call: ToolCall) -> ToolUse:
    return ToolUse(call_id=call.call_id, tool=call.tool, input=call.input)
