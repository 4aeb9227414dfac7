"""How full the context window is, from the end of a rollout, and how large the window is.

Occupancy: the newest reading counts. ``token_usage_record`` directly follows the reply's items; ``token_count`` follows the answers
to its calls (until 0.63 it precedes the reply). What was added after the reply is not in the reading yet: that is the tail, and
it includes the answers before a ``token_count``. After a compaction without a later reading the occupancy is unknown, and
everything that is sent then is tail. Codex does not say whether a compaction was automatic, so none is reported as such.

Window: what Codex reports itself, else its ``config.toml``, else the table of models. Two numbers are called window: the raw one,
which ``model_context_window`` sets, and 95 % of it, which Codex reports in rollouts under the same name. Ours is the reported one.
Codex compacts at 90 % of the raw one; ``model_auto_compact_token_limit`` can only lower that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from leftoff.agents.base import OWN_METADATA, add_own_metadata
from leftoff.agents.codex import items, rollouts
from leftoff.agents.codex.records import read_record
from leftoff.agents.codex.versions import known, version
from leftoff.agents.jsonl import JsonLines, count, table, text
from leftoff.core.metrics import AgentWindow, Occupancy, WindowBasis
from leftoff.core.records import RecordKind
from leftoff.core.wire import JsonObject
from leftoff.platform.files import MAX_SETTINGS_BYTES, read_regular_file

# Enough text between two readings that the tokens by which they differ are nearly all of that text.
SAMPLE_CHARS = 20_000
TURN_ENDS = 9  # eight steps
TURN_BYTES = 1024 * 1024  # no further back for turn ends
_BUILT_IN = "openai"


def occupancy(transcript: Path, home: Path) -> Occupancy:
    """Return how full the window is, from the end of the rollout or of those that it continues."""
    with rollouts.open_rollout(transcript) as lines:
        segments = rollouts.lineage_of(lines, home)
        return read_tail(lines, segments, with_history=True)


def read_tail(lines: JsonLines, segments: tuple[rollouts.Segment, ...], *, with_history: bool) -> Occupancy:
    """Read the occupancy; the ends of turns only with history, because they are further back."""
    if with_history:
        found = _read_tail(lines, segments, sample_chars=SAMPLE_CHARS, turn_ends=TURN_ENDS)
    else:
        found = _read_tail(lines, segments, sample_chars=0, turn_ends=0)
        if found.tail_chars:
            found = _read_tail(lines, segments, sample_chars=SAMPLE_CHARS, turn_ends=0)
    payload = table(lines.first_object(OWN_METADATA), "payload")
    return add_own_metadata(found, payload) if payload else found


def _read_tail(
    lines: JsonLines, segments: tuple[rollouts.Segment, ...], *, sample_chars: int, turn_ends: int
) -> Occupancy:
    client_version = segments[-1].meta.client_version
    tail = _Tail(usage_first=version(client_version or "") <= known().usage_before_reply_until)
    sample = _Sample(enough_chars=sample_chars)
    turns = _Turns(enough=turn_ends)
    model = window_tokens = None
    for piece in rollouts.newest_first(lines, segments):
        record = read_record(piece)
        model = model or record.model
        window_tokens = window_tokens or record.window_tokens
        step = _Step(
            record.kind,
            sum(map(items.chars, record.messages)),
            len(piece.raw),
            reading(piece.value) if piece.value else None,
        )
        for fold in (tail, sample, turns):
            if not fold.is_known:
                fold.add(step)
        if model and window_tokens and tail.is_known and sample.is_known and turns.is_known:
            break
    return Occupancy(
        used_tokens=tail.used_tokens,
        tail_chars=tail.chars,
        sample_chars=sample.chars,
        sample_tokens=sample.tokens,
        model=model,
        window_tokens=window_tokens,
        client_version=client_version,
        turn_ends_tokens=tuple(reversed(turns.ends)),
    )


class _Step(NamedTuple):
    """What matters of one piece on the way back."""

    kind: RecordKind
    chars: int
    size_bytes: int
    reading: Reading | None

    @property
    def is_compaction(self) -> bool:
        """Whether what precedes it is no longer sent."""
        return self.reading is not None and self.reading.used_tokens is None

    @property
    def replied_tokens(self) -> int | None:
        """The tokens after a reply; None also for an estimate."""
        return None if self.reading is None or self.reading.is_estimate else self.reading.used_tokens


@dataclass(slots=True, kw_only=True)
class _Tail:
    """The newest reading, and the characters that are not in it."""

    usage_first: bool  # readings precede the reply they belong to
    newest: Reading | None = None
    is_known: bool = False
    _chars_after: int = 0
    _reply_chars: int = 0  # of those after the newest reading, what the model wrote
    _doubtful_chars: int = 0  # before the newest reading; not in it only if an earlier reading was the same

    @property
    def used_tokens(self) -> int | None:
        return self.newest.used_tokens if self.newest else None

    @property
    def chars(self) -> int:
        is_in_reading = self.usage_first and self.used_tokens is not None
        return self._chars_after - self._reply_chars if is_in_reading else self._chars_after

    def add(self, step: _Step) -> None:
        if self.newest is None:
            self.newest = step.reading
            self._chars_after += step.chars
            self._reply_chars += step.chars if step.kind is RecordKind.REPLY else 0
            self.is_known = step.reading is not None and step.replied_tokens is None
        elif step.reading == self.newest:
            self._chars_after += self._doubtful_chars
            self._doubtful_chars = 0
        elif step.reading:
            self.is_known = True
        elif step.kind is RecordKind.REPLY:
            self.is_known = not self.usage_first
        elif self.usage_first:
            self._doubtful_chars += step.chars
        else:
            self._chars_after += step.chars


@dataclass(slots=True, kw_only=True)
class _Sample:
    """Characters between the newest reading and an older one, and the tokens by which the two differ."""

    enough_chars: int
    is_known: bool = False
    _newest: int | None = None
    _oldest: int = 0
    _chars: int = 0
    _between: int = 0

    @property
    def tokens(self) -> int:
        return max(0, self._newest - self._oldest) if self._newest and self._between else 0

    @property
    def chars(self) -> int:
        return self._between if self.tokens else 0

    def add(self, step: _Step) -> None:
        if step.is_compaction:
            self.is_known = True
        elif self._newest is not None:
            self._chars += step.chars
            if step.replied_tokens:
                self._oldest, self._between = step.replied_tokens, self._chars
                self.is_known = self._between >= self.enough_chars
        elif step.reading:
            self._newest = step.replied_tokens
            self.is_known = self._newest is None or not self.enough_chars


@dataclass(slots=True, kw_only=True)
class _Turns:
    """The last reading before each prompt, and the newest of all; newest first."""

    enough: int
    ends: list[int] = field(default_factory=list)
    is_known: bool = False
    _is_due: bool = True
    _bytes: int = 0

    def add(self, step: _Step) -> None:
        self._bytes += step.size_bytes
        if step.kind is RecordKind.PROMPT:
            self._is_due = True
        elif self._is_due and step.replied_tokens and len(self.ends) < self.enough:
            self.ends.append(step.replied_tokens)
            self._is_due = False
        self.is_known = step.is_compaction or len(self.ends) >= self.enough or self._bytes >= TURN_BYTES


def window(home: Path, occupancy: Occupancy) -> AgentWindow:
    """Return the window of a session with this occupancy."""
    config = read_config(home)
    raw_tokens, basis = _raw_window(config, occupancy)
    limit = count(config, "model_auto_compact_token_limit") or None
    point = raw_tokens * known().compacts_at_percent // 100 if raw_tokens else None
    is_lowered = limit is not None and (point is None or limit < point)
    reported = _reported(raw_tokens) if raw_tokens else None
    return AgentWindow(
        window_tokens=occupancy.window_tokens or reported,
        window_basis=basis,
        compacts_at_tokens=limit if is_lowered else point,
        compaction_basis="setting" if is_lowered else "table" if point else "unknown",
        baseline_tokens=known().baseline_tokens,
        tokens_per_char=known().tokens_per_char,
    )


def _raw_window(config: JsonObject, occupancy: Occupancy) -> tuple[int | None, WindowBasis]:
    if occupancy.window_tokens:
        return _raw(occupancy.window_tokens), "reported"
    if configured := count(config, "model_context_window"):
        return configured, "setting"
    model = occupancy.model or text(config, "model")
    if model is None:
        return None, "unknown"
    assumed = known().raw_window(model)
    used_tokens = occupancy.used_tokens or 0
    if used_tokens <= _reported(assumed):
        return assumed, "table"
    return min(
        (size for size in known().window_sizes if _reported(size) >= used_tokens), default=used_tokens
    ), "observed"


def _reported(raw_tokens: int) -> int:
    return raw_tokens * known().reported_percent // 100


def _raw(reported_tokens: int) -> int:
    """Return the raw window for a reported one. In 2025 Codex reported the raw one itself."""
    if reported_tokens in known().window_sizes:
        return reported_tokens
    return reported_tokens * 100 // known().reported_percent


def read_config(home: Path) -> JsonObject:
    """Read Codex' ``config.toml``; empty when it is missing or broken."""
    import tomllib  # noqa: PLC0415 - slow to load, and a list of sessions rarely needs it

    try:
        return tomllib.loads(read_regular_file(home / "config.toml", MAX_SETTINGS_BYTES).decode())
    except (OSError, ValueError):
        return {}


def model_provider(home: Path) -> str:
    """Return the provider of a new session. Codex does not open a session that names none."""
    config = read_config(home)
    profile = table(table(config, "profiles"), text(config, "profile") or "")
    return text(profile, "model_provider") or text(config, "model_provider") or _BUILT_IN


class Reading(NamedTuple):
    """Tokens in the window; None at a compaction, after which they are unknown. An estimate is made by Codex."""

    used_tokens: int | None
    is_estimate: bool = False


def reading(line: JsonObject) -> Reading | None:
    """Return what a line says about the window; None when it says nothing."""
    payload = table(line, "payload")
    match line.get("type"):
        case "token_usage_record":
            return _usage_reading(table(payload, "usage"))
        case "event_msg" if payload.get("type") == "token_count":
            return _usage_reading(table(table(payload, "info"), "last_token_usage"))
        case "compacted":
            return Reading(None)
        case _:
            return None


def _usage_reading(numbers: JsonObject) -> Reading | None:
    total = count(numbers, "total_tokens")
    return Reading(total, is_estimate=not count(numbers, "input_tokens")) if total else None
