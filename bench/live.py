"""Measures of what a user waits for while working: hooks, pauses, and saving a turn of a chat.

Hooks are real processes, called as agents call them, with a scratch HOME. The pause is measured in its own process (``python -m
bench.live FOLDER ROUNDS``), because a snapshot is noted in the user's register. The other side of each ratio is the least that
is necessary: a bare interpreter, a bare write, the same files written and synced plainly.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TypedDict

from ruamel.yaml import YAML

from bench.generate import generate
from bench.measuring import Row, scratch_environment, time_call
from leftoff.chat import chat_file
from leftoff.chat.chat_file import ChatFile
from leftoff.chat.conversation import Chat, ChatStore, OnText, Reply, Reset
from leftoff.chat.page import Header, Tokens, Turn
from leftoff.chat.turn import take_turn
from leftoff.core.protocols import Agent
from leftoff.core.wire import JsonObject
from leftoff.errors import ProcessError
from leftoff.live import fast, installed
from leftoff.pause.finalize import Ending, FinalizedPause, finalize
from leftoff.pause.folders import manual_pause
from leftoff.pause.lifecycle import record, start
from leftoff.platform import clock, process
from leftoff.platform.register import Register
from leftoff.workspace import Workspace
from tests.support.transcripts import write_transcript

HookPairs = Mapping[str, list[tuple[float, float]]]
_BARE = (sys.executable, "-I", "-S", "-c", "pass")
_EVENT = "PostToolUse"
_CALLS_PER_ROUND = 10  # a single start of an interpreter says little
_LINE_BYTES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _HookSession:
    """A session as its hooks see it, and their environment."""

    fast: Path
    agent: str
    session_id: str
    transcript: Path
    project: Path
    environment: Mapping[str, str]

    def call(self, name: str) -> float:
        """Return the seconds that a hook takes at the event."""
        event = {
            "hook_event_name": name,
            "session_id": self.session_id,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "tool_name": "Read",
            "tool_use_id": "call-1",
        }
        command = (sys.executable, "-I", "-S", str(self.fast), self.agent)
        return _time_command(command, self.environment, json.dumps(event).encode())


def measure_hooks(agent: Agent, folder: Path, rounds: int, large_bytes: int, small_bytes: int) -> HookPairs:
    """Return seconds per round, ours and theirs: ``fast`` against a bare interpreter, the rest a large against a small file."""
    environment = scratch_environment(folder, "XDG_", "LEFTOFF_")
    (folder / installed.FAST_PATH_NAME).write_bytes(installed.fast_path_content())  # as it is installed
    pattern = folder / "pattern.jsonl"
    write_transcript(agent, generate(seed=4, size_bytes=small_bytes), pattern)
    small = _create_session(agent, pattern, folder / "small", 0, environment)
    large = _create_session(agent, pattern, folder / "large", large_bytes, environment)
    for each in (small, large):  # the state is made, the log saved once, and what is loaded once is loaded
        for name in (_EVENT, "PreCompact", _EVENT):
            each.call(name)
    return {
        "fast": _compare(
            rounds, lambda: small.call(_EVENT), lambda: _time_command(_BARE, environment), _CALLS_PER_ROUND
        ),
        "large": _compare(rounds, lambda: large.call(_EVENT), lambda: small.call(_EVENT), _CALLS_PER_ROUND),
        "save": _compare(rounds, lambda: large.call("PreCompact"), lambda: small.call("PreCompact"), 1),
    }


def _compare(
    rounds: int, ours: Callable[[], float], theirs: Callable[[], float], times: int
) -> list[tuple[float, float]]:
    """Time ours and theirs in turn, so that a busy machine slows both."""
    found = []
    for _ in range(rounds):
        pairs = [(ours(), theirs()) for _ in range(times)]
        found.append((sum(mine for mine, _ in pairs) / times, sum(other for _, other in pairs) / times))
    return found


def _create_session(
    agent: Agent, pattern: Path, folder: Path, size_bytes: int, environment: Mapping[str, str]
) -> _HookSession:
    """Copy the pattern session under a new id and enlarge it to ``size_bytes``."""
    folder.mkdir()
    session_id = clock.uuid4()
    transcript = folder / f"{session_id}.jsonl"
    text = pattern.read_bytes().replace(agent.open(pattern).session_id.encode(), session_id.encode())
    head, _, rest = text.partition(b"\n")
    filler = json.dumps({"type": "filler", "text": "x" * _LINE_BYTES}).encode() + b"\n"
    with transcript.open("wb") as file:
        file.write(head + b"\n")
        for _ in range(max(0, size_bytes - len(rest)) // len(filler)):
            file.write(filler)
        file.write(rest)
    return _HookSession(
        fast=folder.parent / installed.FAST_PATH_NAME,
        agent=agent.id,
        session_id=session_id,
        transcript=transcript,
        project=folder,
        environment=environment,
    )


def _time_command(command: tuple[str, ...], environment: Mapping[str, str], stdin: bytes = b"") -> float:
    started = time.perf_counter()
    ended = process.run(command, timeout_seconds=300, stdin=stdin, environment=environment)
    seconds = time.perf_counter() - started
    if ended.exit_code != 0:
        raise ProcessError(f"{' '.join(command)}: {ended.complaint}")
    return seconds


_ACTIONS = 1000
_DATA: JsonObject = {
    "tool": "Read",
    "args": {"file_path": "/home/dev/shop/src/limits/bucket.py"},
    "result_summary": "def allow(self, user): " * 6,
}


class PausePairs(TypedDict):
    """Seconds per round, ours and theirs."""

    hook: list[tuple[float, float]]
    append: list[tuple[float, float]]
    finalise: list[tuple[float, float]]
    finalise_in_git: list[tuple[float, float]]


def measure_pause(folder: Path, rounds: int) -> PausePairs:
    """Measure all rounds, outside git and inside."""
    plain, tracked = folder / "plain", folder / "tracked"
    for project in (plain, tracked):
        project.mkdir()
    process.run(["git", "init", "--quiet"], folder=tracked, timeout_seconds=60)
    finalise_once(plain)  # what is loaded once is loaded now
    ready = _bare_line()
    return {
        "hook": [(hook_append(plain), bare_append(plain, lambda: ready)) for _ in range(rounds)],
        "append": [(append(plain), bare_append(plain, _bare_line)) for _ in range(rounds)],
        "finalise": [finalise_once(plain) for _ in range(rounds)],
        "finalise_in_git": [finalise_once(tracked) for _ in range(rounds)],
    }


def append(project: Path) -> float:
    """Time a thousand recorded actions: checked, redacted, under the lock."""
    home = manual_pause(Workspace.open(project))
    start(home, 0.9, {})
    seconds = time_call(lambda: [record(home, "tool_call", _DATA, 0.91) for _ in range(_ACTIONS)])
    home.file.discard()
    return seconds


def hook_append(project: Path) -> float:
    """Time a thousand lines added as the fast path does, under the pause's lock."""
    home = manual_pause(Workspace.open(project))
    start(home, 0.9, {})
    path, lock, line = str(home.file.path), str(home.file.lock), _bare_line()
    seconds = time_call(lambda: [fast.append_line(path, line, lock, creating=0) for _ in range(_ACTIONS)])
    home.file.discard()
    return seconds


def bare_append(project: Path, create_line: Callable[[], bytes]) -> float:
    """Time the same lines without id, lock or repair."""
    path = str(project / "bare.jsonl")

    def write() -> None:
        for _ in range(_ACTIONS):
            line = create_line()
            fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(fd, line)
            os.close(fd)

    return time_call(write)


def _bare_line() -> bytes:
    line = {
        "type": "tool_call",
        "timestamp": "2026-01-06T12:00:00Z",
        "session_id": "session-1",
        "data": _DATA,
    }
    return json.dumps(line).encode() + b"\n"


def finalise_once(project: Path) -> tuple[float, float]:
    """Time finalising a pause of a thousand actions, against writing and syncing the same files plainly."""
    home = manual_pause(Workspace.open(project))
    start(home, 0.9, {})
    for _ in range(_ACTIONS):
        home.file.append("tool_call", _DATA, 0.91, clock.now())
    ended: list[FinalizedPause | None] = []
    ours = time_call(lambda: ended.append(finalize(home, Ending())))
    assert ended[0] is not None
    contents = [path.read_bytes() for path in ended[0].files]
    return ours, time_call(lambda: _write_plainly(project, contents))


def _write_plainly(project: Path, contents: list[bytes]) -> None:
    """Read the lines, write the state as JSON and YAML, and sync each file."""
    lines, page, _, state_text = contents
    actions = [json.loads(line) for line in lines.splitlines()]
    state = json.loads(state_text)
    out = io.StringIO()
    YAML(typ="safe", pure=True).dump(state, out)
    texts = ["\n".join(map(json.dumps, actions)), page.decode(), out.getvalue(), json.dumps(state, indent=2)]
    for number, text in enumerate(texts):
        with (project / f"plain-{number}").open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())


TURNS = 200
MANY_TURNS = 4000  # about ten megabytes
_SAVES = 20  # timed together: one alone is as quick as the disk happens to be
_CHAT_AT = datetime(2026, 1, 6, 12, 0, tzinfo=UTC)
_QUERY = "How do we limit requests per user? " * 3
_ANSWER = "With a token bucket in Redis, refilled at a steady rate. " * 40
_TOKENS = Tokens(input_tokens=123, output_tokens=222)


def chat_measures(folder: Path, rounds: int) -> Iterator[Row]:
    """Measure that saving a turn costs the same however long the chat is, with and without a summary."""
    yield _chat_row(
        f"chat: 20 saves after {TURNS} turns",
        "20 saves after 10 turns",
        measure_chat(folder / "plain", rounds),
    )
    yield _chat_row(
        f"chat with a summary: 20 turns after {MANY_TURNS:,}",
        "20 turns after 10",
        measure_summarised_chat(folder / "summarised", rounds),
    )


def _chat_row(what: str, against: str, pairs: list[tuple[float, float]]) -> Row:
    return Row(
        what=what,
        against=against,
        ratio=median(late / early for late, early in pairs),
        limit=1.5,
        note=f"{median(late for late, _ in pairs) * 1000:.0f} ms",
    )


def measure_chat(folder: Path, rounds: int) -> list[tuple[float, float]]:
    """Return seconds per round: saves after many turns, and after ten."""
    long, short = _create_chat(folder, TURNS), _create_chat(folder, 10)
    return [
        (_time_saves(lambda: long.append([_turn()])), _time_saves(lambda: short.append([_turn()])))
        for _ in range(rounds)
    ]


def measure_summarised_chat(folder: Path, rounds: int) -> list[tuple[float, float]]:
    """Measure the same for whole turns of chats with a summary, the long one with very many turns."""
    store = ChatStore(
        workspace=Workspace.open(folder), folder=folder, register=Register(folder=folder / "register")
    )
    long, short = _create_summarised_chat(store, MANY_TURNS), _create_summarised_chat(store, 10)
    return [
        (_time_saves(lambda: _take_turn(long)), _time_saves(lambda: _take_turn(short))) for _ in range(rounds)
    ]


class _Sally:
    """An agent that answers at once."""

    name, path = "Simple Sally", "/home/dev/agents/sally/agent.py"

    def ask(self, prompt: str, *, on_text: OnText, timeout_seconds: float | None) -> Reply:  # noqa: ARG002 - the protocol's
        return Reply(text=_ANSWER, tokens=_TOKENS)

    def reset(self) -> Reset:
        return "dropped"


def _create_chat(folder: Path, turns: int) -> ChatFile:
    head = Header(session_id="", date=_CHAT_AT, agent=_Sally.name, agent_path=_Sally.path)
    return chat_file.create(folder, head, [_turn()] * turns, None)


def _create_summarised_chat(store: ChatStore, turns: int) -> Chat:
    chat = Chat(agent=_Sally(), store=store)
    chat.file = chat_file.create(
        store.folder, chat.header, [_turn()] * turns, "**Topics Discussed:**\n- limits"
    )
    chat.totals = chat.file.totals
    return chat


def _take_turn(chat: Chat) -> None:
    take_turn(chat, _QUERY, lambda _: None)


def _time_saves(save: Callable[[], object]) -> float:
    started = time.perf_counter()
    for _ in range(_SAVES):
        save()
    return time.perf_counter() - started


def _turn() -> Turn:
    return Turn(at=_CHAT_AT, query=_QUERY, answer=_ANSWER, seconds=3.2, tokens=_TOKENS)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure_pause(Path(sys.argv[1]), int(sys.argv[2]))))
