"""The curve of a context window: how full it was after each request, what filled it, and what emptied it.

The line is exact: at each request it is what ``leftoff status`` says when the transcript ends there. What filled the window is an
estimate: characters by kind since the last compaction, scaled to the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from leftoff.agents.base import USUAL_IMAGE_CHARS, count_chars
from leftoff.core.actions import Fetched, Looked, Ran, Searched
from leftoff.core.metrics import USUAL_TOKENS_PER_CHAR, AgentWindow, Occupancy, used_tokens
from leftoff.core.protocols import Agent
from leftoff.core.records import Block, Compaction, Record, RecordKind, Thinking, ToolResult, ToolUse
from leftoff.platform import clock
from leftoff.sessions.lineage import read_origin
from leftoff.workspace import SessionRef

MarkKind = Literal["compaction", "idle compaction", "results cleared", "trim", "continued", "fork", "pause"]
# What fills a window, in the order in which it is drawn from the bottom.
KINDS = ("system", "prompts", "replies", "thinking", "reads", "commands", "MCP", "other tools")
_SYSTEM, _PROMPTS, _REPLIES, _THINKING, _READS, _COMMANDS, _MCP, _OTHER = range(len(KINDS))
_IDLE = timedelta(
    minutes=30
)  # without any record before an automatic compaction: the agent did it while nobody worked
_DERIVED: dict[str, MarkKind] = {"trimmed": "trim", "continued": "continued", "forked": "fork"}
_SENT = frozenset(
    {
        *(RecordKind.PROMPT, RecordKind.REPLY, RecordKind.RESULT, RecordKind.CONTEXT),
        *(RecordKind.COMPACTION, RecordKind.REPEATED),
    }
)


@runtime_checkable
class CanLookBack(Protocol):
    """An agent whose transcript says how full the window was at an earlier time; every ``JsonlAgent`` is one."""

    def occupancy_at(self, transcript: Path, end_bytes: int) -> Occupancy:
        """Return how full the window was when the transcript ended at that byte; the compaction point may be a later one."""


class CurvePoint(NamedTuple):
    """The window after one request. ``parts`` are the estimated tokens of each of ``KINDS``; together they are ``tokens``."""

    tokens: int
    line: int  # of the record, 1-based
    at: datetime | None
    parts: tuple[int, ...]


class CurveMark(NamedTuple):
    """Something that happened between two requests: before the one with the index ``request``. None: not known."""

    kind: MarkKind
    request: int
    line: int
    at: datetime | None
    before_tokens: int | None = None
    after_tokens: int | None = None


class ContextCurve(NamedTuple):
    """One point per request of the main conversation, oldest first, and the marks between them."""

    points: tuple[CurvePoint, ...]
    marks: tuple[CurveMark, ...]


def context_curve(ref: SessionRef) -> ContextCurve:
    """Read the whole transcript once and return its curve."""
    fold = CurveFold(ref.agent)
    fold.add_all(ref.session.records)
    return ContextCurve(tuple(fold.points), (*origin_marks(ref.transcript, fold.points), *fold.marks))


def origin_marks(transcript: Path, points: Sequence[CurvePoint]) -> list[CurveMark]:
    """Return the mark of a session that was made from another: where its own work begins."""
    origin = read_origin(transcript)
    kind = _DERIVED.get(origin.derivation) if origin else None
    if origin is None or kind is None:
        return []
    at = None if origin.at is None else clock.parse_rfc3339(origin.at)
    return [CurveMark(kind, 0 if at is None else request_at(points, at), 1, at)]


def request_at(points: Sequence[CurvePoint], at: datetime) -> int:
    """Return the index of the first request after a moment."""
    return next((index for index, each in enumerate(points) if each.at and each.at > at), len(points))


@dataclass(slots=True)
class CurveFold:
    """Builds the curve record by record, so that a growing transcript is read only where it is new."""

    agent: Agent
    points: list[CurvePoint] = field(default_factory=list)
    marks: list[CurveMark] = field(default_factory=list)
    _chars: list[int] = field(default_factory=lambda: [0] * len(KINDS))
    _system_tokens: int | None = None
    _reply_id: str | None = None
    _is_open: bool = False  # whether the next record with usage can belong to the same reply
    _is_answered: bool = False  # whether results follow the last reply, of which its usage does not know yet
    _tools: dict[str, int] = field(default_factory=dict)  # the kind of each tool
    _calls: dict[str, int] = field(default_factory=dict)  # the kind of each call
    _last_at: datetime | None = None
    _agent_window: AgentWindow | None = None

    def add_all(self, records: Iterable[Record]) -> None:
        """Add records of the transcript, in its order."""
        for record in records:
            if record.actor is None:
                self.add(record)

    def add(self, record: Record) -> None:
        """Add one record of the main conversation."""
        if record.compaction is not None:
            self._add_compaction(record, record.compaction)
        before = sum(self._chars)
        if record.kind in _SENT:
            for message in record.messages:
                for block in message.blocks:
                    self._add_block(block, record.kind)
        if record.kind in _SENT and record.messages:
            self._is_answered = record.kind is not RecordKind.REPLY
        if record.usage is not None:
            self._add_usage(record, before)
        elif record.kind in _SENT:
            self._is_open = False  # what the next record of this reply counts, status estimates
        self._last_at = record.at or self._last_at

    def _add_usage(self, record: Record, chars_before: int) -> None:
        assert record.usage is not None
        tokens = self._estimate(record) if self._is_answered else record.usage.occupancy_tokens
        is_same = record.reply_id is not None and record.reply_id == self._reply_id
        if is_same and not self._is_open:
            return
        if self._system_tokens is None and record.usage.sent_tokens:
            conversation = int(chars_before * USUAL_TOKENS_PER_CHAR)
            self._system_tokens = max(0, record.usage.sent_tokens - conversation)
        if is_same:
            tokens = max(tokens, self.points.pop().tokens)
        point = CurvePoint(tokens, record.place.line_idx + 1, record.at, self._parts(tokens))
        self.points.append(point)
        self._reply_id, self._is_open = record.reply_id, True

    def _estimate(self, record: Record) -> int:
        """Return what the gauge says where the usage of a reply is written only after its results."""
        assert record.usage is not None
        place = record.place
        if not isinstance(self.agent, CanLookBack):
            return record.usage.occupancy_tokens
        occupancy = self.agent.occupancy_at(Path(place.transcript), place.end)
        tokens, _ = used_tokens(occupancy, self._window(occupancy))
        return record.usage.occupancy_tokens if tokens is None else tokens

    def _window(self, occupancy: Occupancy) -> AgentWindow:
        if self._agent_window is None:
            self._agent_window = self.agent.window(occupancy, None)
        return self._agent_window

    def _parts(self, tokens: int) -> tuple[int, ...]:
        """Share the tokens out: the system's own first, then by characters; what rounding leaves goes to the largest."""
        total = sum(self._chars)
        system = min(tokens, self._system_tokens or 0) if total else tokens
        parts = [(tokens - system) * chars // total if total else 0 for chars in self._chars]
        parts[_SYSTEM] = system
        parts[parts.index(max(parts))] += tokens - sum(parts)
        return tuple(parts)

    def _add_compaction(self, record: Record, compaction: Compaction) -> None:
        kind: MarkKind = "compaction"
        if compaction.trigger == "micro":
            kind = "results cleared"
        elif (
            compaction.trigger == "auto" and record.at and self._last_at and record.at - self._last_at > _IDLE
        ):
            kind = "idle compaction"
        if compaction.trigger != "micro":
            if compaction.summary and self.marks and self._is_summary_of_mark():
                return  # the second record of the same compaction
            self._chars = [0] * len(KINDS)
            self._reply_id, self._is_open = None, False
        line = record.place.line_idx + 1
        numbers = compaction.before_tokens, compaction.after_tokens
        self.marks.append(CurveMark(kind, len(self.points), line, record.at, *numbers))

    def _is_summary_of_mark(self) -> bool:
        last = self.marks[-1]
        return last.request == len(self.points) and last.kind in {"compaction", "idle compaction"}

    def _add_block(self, block: Block, kind: RecordKind) -> None:
        chars = count_chars((block,), image_chars=USUAL_IMAGE_CHARS)
        match block:
            case ToolUse(call_id=call_id, tool=tool):
                part = self._tools.get(tool)
                if part is None:
                    part = self._tools[tool] = self._kind_of_tool(block)
                self._calls[call_id] = part
            case ToolResult(call_id=call_id):
                part = self._calls.pop(call_id, _OTHER)
            case Thinking():
                part = _THINKING
            case _:
                part = _REPLIES if kind is RecordKind.REPLY else _PROMPTS
        self._chars[part] += chars

    def _kind_of_tool(self, use: ToolUse) -> int:
        """Return what a tool's calls count as; its first call stands for all."""
        if use.tool.startswith("mcp__"):
            return _MCP
        actions = self.agent.actions(use)
        if any(isinstance(action, Ran) for action in actions):
            return _COMMANDS
        return (
            _READS if any(isinstance(action, Looked | Searched | Fetched) for action in actions) else _OTHER
        )
