"""JsonlAgent: a few methods make a read-only adapter, and one look at a transcript opens it once."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from leftoff.agents.base import JsonlAgent
from leftoff.agents.command_line import CommandLine
from leftoff.agents.jsonl import text
from leftoff.agents.registry import agent_by_id
from leftoff.core.protocols import Agent, CanCopy, CanResume, HasHooks
from leftoff.core.records import Compaction, Message, Record, RecordKind, Text, Usage
from leftoff.core.wire import JsonObject
from leftoff.testing.builders import Story
from tests.support.transcripts import write_transcript


class TinyAgent(JsonlAgent):
    """The smallest adapter: ``{"user": …}``, ``{"model": …, "used": …}`` and ``{"compacted": …}``."""

    id = "tiny"
    name = "Tiny"

    def transcripts(self) -> Iterator[Path]:
        return self.home.glob("*.jsonl")

    def recognises(self, head: bytes) -> bool:
        return head.startswith(b'{"user"')

    def parse(self, line: JsonObject, record: Record) -> Record:
        if prompt := text(line, "user"):
            message = Message(role="user", blocks=(Text(text=prompt),))
            return record._replace(kind=RecordKind.PROMPT, messages=(message,), cwd="/project")
        if reply := text(line, "model"):
            message = Message(role="assistant", blocks=(Text(text=reply),))
            used = line.get("used")
            usage = Usage(input_tokens=used, output_tokens=0) if isinstance(used, int) else None
            return record._replace(kind=RecordKind.REPLY, messages=(message,), usage=usage, model="tiny-1")
        if summary := text(line, "compacted"):
            message = Message(role="user", blocks=(Text(text=summary),))
            compaction = Compaction(trigger="auto", before_tokens=9, after_tokens=None, summary=summary)
            return record._replace(kind=RecordKind.COMPACTION, messages=(message,), compaction=compaction)
        return record


@pytest.fixture
def agent(tmp_path):
    return TinyAgent(tmp_path)


@pytest.fixture
def transcript(tmp_path):
    def write(*lines):
        path = tmp_path / "session-1.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return path

    return write


def test_a_subclass_is_an_agent_without_other_capabilities(agent):
    assert isinstance(agent, Agent)
    assert not isinstance(agent, CanCopy | CanResume | HasHooks)


def test_head_and_tail_fill_an_entry_and_a_session(agent, transcript):
    path = transcript({"user": "Fix it"}, {"model": "Done.", "used": 70}, {"user": "12345"})
    entry = agent.entry(path)
    assert (entry.session_id, entry.project, entry.model, entry.first_prompt) == (
        "session-1",
        "/project",
        "tiny-1",
        "Fix it",
    )
    assert (entry.occupancy.used_tokens, entry.occupancy.tail_chars, entry.size_bytes) == (
        70,
        5,
        path.stat().st_size,
    )
    session = agent.open(path)
    assert (session.agent, session.session_id, session.project) == ("tiny", "session-1", "/project")
    assert [record.kind for record in session.records] == ["prompt", "reply", "prompt"]
    assert [*session.records] == [*agent.read(path)], "records can be iterated again"
    assert agent.occupancy(path).used_tokens == 70


def test_after_a_compaction_the_occupancy_is_unknown_and_the_chain_begins_there(agent, transcript):
    path = transcript({"user": "a"}, {"model": "b", "used": 9}, {"compacted": "c"}, {"user": "d"})
    session = agent.open(path)
    assert agent.occupancy(path).used_tokens is None
    assert [message.text for message in agent.live_chain(session).messages(session.records)] == ["c", "d"]


def test_unknown_and_broken_lines_are_kept(agent, transcript):
    path = transcript({"type": "new"}, 7)
    assert [(record.kind, record.type) for record in agent.read(path)] == [("unknown", "new"), ("broken", "")]


_COUNT_OPENS = """
import sys
from pathlib import Path
from leftoff.agents.claude import Claude
from leftoff.agents.codex import Codex
agent_id, home, transcript = sys.argv[1:]
agent = (Claude if agent_id == "claude" else Codex)(home=Path(home))
opened = []
sys.addaudithook(lambda name, values: opened.append(1) if name == "open" and str(values[0]) == transcript else None)
for look in (agent.entry, agent.open, agent.occupancy):
    look(Path(transcript))
print(len(opened))
"""


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
def test_each_look_at_a_transcript_opens_it_once(agent_id, tmp_path, run_python):
    story = Story().asked("Fix it").replied("Done.", used=83_500).asked("And now?")
    path = tmp_path / f"rollout-2026-01-06T12-00-00-{story.session_id}.jsonl"
    write_transcript(agent_by_id(agent_id), story.script(), path)
    assert run_python(_COUNT_OPENS, agent_id, tmp_path, path).stdout == "3\n"


COMMAND_LINE = CommandLine(
    program="tiny",
    resume=("tiny", "resume"),
    headless=("tiny", "-p"),
    session_flags={"--resume"},
    flags_without_value={"--fast"},
    flags_with_values={"--dirs"},
    once={"exec", "-p"},
)


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        (["--fast", "Fix it"], ["--fast"]),
        (["--model", "m", "--resume", "id", "Fix it"], ["--model", "m"]),
        (["--dirs", "a", "b", "--model=m", "Fix it"], ["--dirs", "a", "b", "--model=m"]),
        (["--fast", "--", "--not-a-flag"], ["--fast"]),
    ],
)
def test_flags_are_kept_without_prompt_and_session(arguments, kept):
    assert [*COMMAND_LINE.flags_to_keep(arguments)] == kept


@pytest.mark.parametrize(
    ("arguments", "once"),
    [(["exec", "Fix it"], True), (["-p", "Fix it"], True), (["Fix it", "exec"], False), ([], False)],
)
def test_headless_arguments_are_recognised(arguments, once):
    assert COMMAND_LINE.answers_once(arguments) == once
