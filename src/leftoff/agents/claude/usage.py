"""How full the context window is, from the end of a transcript, and how large the window is.

Occupancy: the last replies and turns are read, as far as a megabyte goes, and more only to find the last reply. A reply takes
several lines, and its tools may answer between them; what it does not include yet is everything after its first line that is
not part of it. The ratio of characters to tokens comes from pairs of replies: what the second was sent in addition, because the
client records what a reply was sent correctly, but not always what it answered. The last automatic compaction is looked for by
its mark in two megabytes, so that it counts for as long as the conversation after it lasts.

Window: the environment and the settings come before the table of models. Settings are merged as the client does: the user's, the
project's, the project's local ones; the environment, and what settings put into it, override them. Unreadable files are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from orjson import loads

from leftoff.agents.base import OWN_METADATA, add_own_metadata
from leftoff.agents.claude.records import read_record
from leftoff.agents.claude.repeated import Open
from leftoff.agents.claude.user_text import chars
from leftoff.agents.claude.versions import Known, KnownModel, known
from leftoff.agents.jsonl import JsonLines, count, find_last_line, parse_line, table, text
from leftoff.core.metrics import AgentWindow, Occupancy, StatusInput, WindowBasis
from leftoff.core.records import Compaction, Record, RecordKind, Usage
from leftoff.platform.files import MAX_SETTINGS_BYTES, read_regular_file

if TYPE_CHECKING:
    from datetime import datetime

    from leftoff.core.wire import JsonObject

REACH_BYTES = 1024 * 1024
_COMPACTION_REACH_BYTES = 2 * 1024 * 1024  # a window of 200,000 tokens hardly ever takes more
_BOUNDARY = b'"compact_boundary"'
SAMPLED_REPLIES = 16
TURNS = 9
WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
PERCENT = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
OFF = ("DISABLE_AUTO_COMPACT", "DISABLE_COMPACT")
VARIABLES = (WINDOW, PERCENT, *OFF)
_FALSE = ("", "0", "false", "no", "off")
USAGE_KEYS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def read_tail(lines: JsonLines, *, with_history: bool) -> Occupancy:
    """Read the end of a transcript: the last reply, however far back, and with history what a megabyte holds before it."""
    tail = _read_steps(lines, with_history=with_history)
    if not with_history and tail.occupancy().tail_chars:
        tail = _read_steps(
            lines, with_history=True
        )  # what no reply has counted is estimated by the ratio of earlier ones
    occupancy = tail.occupancy()._replace(compacted_at_tokens=_last_automatic_compaction(lines))
    line = lines.first_object(OWN_METADATA)
    return add_own_metadata(occupancy, line) if line else occupancy


def _last_automatic_compaction(lines: JsonLines) -> int | None:
    """Return the tokens in the window when the client last compacted it by itself; None if it has not, or does not say."""
    found: list[int] = []

    def is_automatic(line: bytes) -> bool:
        for piece in parse_line("", 0, 0, line):
            compaction = read_record(piece).compaction
            if compaction and compaction.trigger == "auto" and compaction.before_tokens:
                found.append(compaction.before_tokens)
        return bool(found)

    find_last_line(lines.file, _BOUNDARY, is_automatic, reach_bytes=_COMPACTION_REACH_BYTES)
    return found[-1] if found else None


def _read_steps(lines: JsonLines, *, with_history: bool) -> _Tail:
    newest: list[_Step] = []
    progress = _Progress()
    version: str | None = None
    limit: int | None = None
    for piece in lines.newest_first():
        if limit is None:
            limit = piece.place.end - (REACH_BYTES if with_history else 0)
        if progress.is_enough or (progress.has_last_reply and piece.place.end <= limit):
            break
        record = read_record(piece)
        version = version or (text(piece.value, "version") if piece.value else None)
        if record.actor is None:
            newest.append(
                _Step(
                    kind=record.kind,
                    chars=chars(record.blocks),
                    reply_id=record.reply_id,
                    usage=record.usage,
                    model=record.model,
                    compaction=record.compaction,
                    at=record.at,
                )
            )
            progress.add(record)
    tail = _Tail(client_version=version)
    for step in reversed(newest):
        tail.add(step)
    return tail


class _Progress:
    """How much was read on the way back. A reply is complete when the one before it was reached."""

    def __init__(self) -> None:
        self.replies = 0
        self.pairs = 0  # of replies with no compaction between them
        self.turn_ends = 0
        self._reply_id: str | None = None
        self._in_turn = False
        self._after_compaction = True

    @property
    def has_last_reply(self) -> bool:
        """Whether the last reply is complete."""
        return self.replies > 1

    @property
    def is_enough(self) -> bool:
        """Whether all replies and turns that are needed are complete."""
        return self.pairs > SAMPLED_REPLIES and self.turn_ends > TURNS

    def add(self, record: Record) -> None:
        """Count the record that precedes those counted so far."""
        if record.kind is RecordKind.PROMPT:
            self._in_turn = False
        elif record.type == "system/compact_boundary":
            self.turn_ends, self._after_compaction = TURNS + 1, True  # turns before it do not count
        if record.usage and (record.reply_id is None or record.reply_id != self._reply_id):
            self.replies += 1
            self.pairs += not self._after_compaction
            self.turn_ends += not self._in_turn
            self._reply_id, self._in_turn, self._after_compaction = record.reply_id, True, False


class _Step(NamedTuple):
    """What counts of one record; its text would fill the memory."""

    kind: RecordKind
    chars: int
    reply_id: str | None
    usage: Usage | None
    model: str | None
    compaction: Compaction | None
    at: datetime | None


class _Reply:
    """One reply of the model, joined from its lines."""

    def __init__(self, reply_id: str | None, usage: Usage, own_chars: int) -> None:
        self.reply_id = reply_id
        self.usage = usage
        self.own_chars = own_chars
        self.after_chars = 0  # added after its first line and before the next reply
        self.ends_turn = False

    @property
    def sent_tokens(self) -> int:
        """What was in the window before it."""
        return self.usage.sent_tokens


class _Tail:
    """The end of a transcript, added up step by step."""

    def __init__(self, client_version: str | None) -> None:
        self.client_version = client_version
        self.model: str | None = None
        self._earlier: list[list[_Reply]] = []  # before each compaction
        self._replies: list[_Reply] = []  # since the last one
        self._compaction: Compaction | None = None
        self._unmetered_chars = 0  # since it, before the first reply with usage
        self._unmetered_added_chars = 0  # of these, prompts and results
        self._cleared_tokens = 0  # since the last reply
        self._open = Open()

    def add(self, step: _Step) -> None:
        """Add the next record of the main conversation."""
        self._open = self._open.after(step)
        if self._open.repeats(step):
            step = step._replace(kind=RecordKind.REPEATED)  # the client has counted it as left
        self.model = step.model or self.model
        if step.usage:
            self._add_reply(step, step.usage)
        elif step.compaction:
            self._add_compaction(step.compaction)
        elif step.kind is RecordKind.PROMPT and self._replies:
            self._replies[-1].ends_turn = True
        if not step.usage:
            self._add_chars(step)

    def occupancy(self) -> Occupancy:
        """Return the sum."""
        sample_chars, sample_tokens = self._sample()
        ends = [reply.usage.occupancy_tokens for reply in self._replies if reply.ends_turn]
        ends += [reply.usage.occupancy_tokens for reply in self._replies[-1:] if not reply.ends_turn]
        return Occupancy(
            used_tokens=self.used_tokens,
            tail_chars=self._tail_chars(),
            sample_chars=sample_chars,
            sample_tokens=sample_tokens,
            model=self.model,
            client_version=self.client_version,
            turn_ends_tokens=tuple(ends[-TURNS:]),
        )

    @property
    def used_tokens(self) -> int | None:
        """Tokens after the last reply, less what was cleared since; after a compaction, what the client says is left."""
        if self._replies:
            return max(0, self._replies[-1].usage.occupancy_tokens - self._cleared_tokens)
        return self._compaction.after_tokens if self._compaction else None

    def _tail_chars(self) -> int:
        if self._replies:
            return self._replies[-1].after_chars
        return self._unmetered_chars if self.used_tokens is None else self._unmetered_added_chars

    def _sample(self) -> tuple[int, int]:
        """Return characters and the tokens they took, from the newest pairs of replies between which the context grew."""
        newest = [
            (earlier.own_chars + earlier.after_chars, later.sent_tokens - earlier.sent_tokens)
            for replies in reversed([*self._earlier, self._replies])
            for earlier, later in reversed([*pairwise(replies)])
        ][:SAMPLED_REPLIES]
        grown = [pair for pair in newest if pair[1] > 0]
        return sum(chars for chars, _ in grown), sum(tokens for _, tokens in grown)

    def _add_reply(self, step: _Step, usage: Usage) -> None:
        last = self._replies[-1] if self._replies else None
        if last and step.reply_id is not None and last.reply_id == step.reply_id:
            last.usage = max(last.usage, usage, key=lambda each: each.occupancy_tokens)
            last.own_chars += step.chars
        else:
            self._replies.append(_Reply(step.reply_id, usage, step.chars))
            self._cleared_tokens = 0

    def _add_compaction(self, compaction: Compaction) -> None:
        if compaction.trigger == "micro":
            self._cleared_tokens += (compaction.before_tokens or 0) - (compaction.after_tokens or 0)
            return
        if compaction.summary and self._compaction and not self._replies:
            return  # the summary of the boundary before it
        self._earlier.append(self._replies)
        self._replies, self._compaction = [], compaction
        self._unmetered_chars = self._unmetered_added_chars = self._cleared_tokens = 0

    def _add_chars(self, step: _Step) -> None:
        if self._replies:
            self._replies[-1].after_chars += step.chars
            return
        self._unmetered_chars += step.chars
        if step.kind in {RecordKind.PROMPT, RecordKind.RESULT}:
            self._unmetered_added_chars += step.chars


class _Setup(NamedTuple):
    """What the user has configured. None means that they have not."""

    is_off: bool
    window_tokens: int | None
    percent: int | None


def window(
    home: Path, environment: Mapping[str, str], occupancy: Occupancy, project: str | None
) -> AgentWindow:
    """Return the size of the window of such a session, and where the client compacts it."""
    setup = _read_setup(home, environment, project)
    data = known()
    family = data.model(occupancy.model) if occupancy.model else None
    tokens, basis = _size(data, family, occupancy)
    if setup.is_off:
        return AgentWindow(
            window_tokens=tokens,
            window_basis=basis,
            compacts_at_tokens=None,
            compaction_basis="setting",
            baseline_tokens=data.baseline_tokens,
        )
    if tokens is None:
        return AgentWindow(
            window_tokens=None,
            window_basis=basis,
            compacts_at_tokens=None,
            baseline_tokens=data.baseline_tokens,
        )
    output = family.max_output_tokens if family else data.output_reserve_tokens
    effective = min(tokens, setup.window_tokens or tokens) - min(output, data.output_reserve_tokens)
    point = effective - data.margin_tokens
    is_set = setup.window_tokens is not None
    if setup.percent is not None and (is_set or tokens >= data.large_window_tokens):
        point, is_set = min(point, effective * setup.percent // 100), True
    return AgentWindow(
        window_tokens=tokens,
        window_basis=basis,
        compacts_at_tokens=max(1, point),
        compaction_basis="setting" if is_set else "table",
        baseline_tokens=data.baseline_tokens,
    )


def _size(data: Known, family: KnownModel | None, occupancy: Occupancy) -> tuple[int | None, WindowBasis]:
    """Return the size from the table of models; more in use than that shows that it is the large window."""
    if occupancy.window_tokens is not None:
        return occupancy.window_tokens, "reported"
    is_large = (occupancy.model or "").endswith(data.large_window_suffix)
    tokens = data.large_window_tokens if is_large else family.window_tokens if family else None
    if tokens is None and occupancy.model:
        tokens = data.large_window_tokens  # what the client assumes for an unknown model
    if tokens is not None and (occupancy.used_tokens or 0) > tokens:
        return max(data.large_window_tokens, occupancy.used_tokens or 0), "observed"
    return tokens, "table" if tokens is not None else "unknown"


def _read_setup(home: Path, environment: Mapping[str, str], project: str | None) -> _Setup:
    files = [home / "settings.json"]
    if project:
        folder = Path(project) / ".claude"
        files += [folder / "settings.json", folder / "settings.local.json"]
    settings: JsonObject = {}
    variables = dict(environment)
    for file in files:
        layer = _read_settings(file)
        settings |= layer
        env = table(layer, "env")
        variables |= {name: value for name in VARIABLES if (value := text(env, name)) is not None}
    return _Setup(
        is_off=settings.get("autoCompactEnabled") is False
        or any(_is_true(variables.get(name)) for name in OFF),
        window_tokens=_number(variables.get(WINDOW)) or count(settings, "autoCompactWindow") or None,
        percent=_number(variables.get(PERCENT)),
    )


def _read_settings(file: Path) -> JsonObject:
    try:
        settings = loads(read_regular_file(file, MAX_SETTINGS_BYTES))
    except (OSError, ValueError):  # missing or broken
        return {}
    return settings if isinstance(settings, dict) else {}


def _is_true(value: str | None) -> bool:
    return value is not None and value.strip().lower() not in _FALSE


def _number(value: str | None) -> int | None:
    digits = (value or "").strip()
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else None


def read_status_input(payload: JsonObject) -> StatusInput | None:
    """Parse what the client passes to the command of its status line; None when it is something else."""
    session_id = text(payload, "session_id")
    if session_id is None or "workspace" not in payload:
        return None
    return StatusInput(
        session_id=session_id,
        transcript=text(payload, "transcript_path"),
        folder=text(table(payload, "workspace"), "project_dir") or text(payload, "cwd"),
        window_tokens=count(table(payload, "context_window"), "context_window_size") or None,
    )
