"""How full the window is, from the end of a transcript: the same work for a file of any size.

Looked at are the last replies and turns, as far as a megabyte goes, and more only to find the last reply. A reply stands
on several lines, and its tools may answer between them: what it does not hold yet is all that follows its first line and
is none of them. The ratio of characters to tokens is that of a reply and what came behind it to what the next one was sent
more: of what a reply is sent the client writes the truth, of what it answered not always (old versions: the first token
alone).
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from leftoff.agents.claude.blocks import chars
from leftoff.agents.claude.queued import record_of
from leftoff.agents.ends import newest_first
from leftoff.agents.fields import text
from leftoff.model.occupancy import Occupancy
from leftoff.model.records import Compaction, Record, RecordKind, Usage
from leftoff.model.values import dataclass, field

REACH_BYTES = 1024 * 1024
SAMPLED_REPLIES = 16
TURNS = 9


def occupancy(transcript: Path) -> Occupancy:
    """The last word of the transcript on how full the window is."""
    return looked_at(transcript, reach_bytes=REACH_BYTES).occupancy()


def looked_at(transcript: Path, *, reach_bytes: int) -> Tail:
    """The end of the transcript: what the gauge wants within ``reach_bytes``, the last reply wherever it stands."""
    newest: list[_Note] = []
    seen = _Seen()
    version: str | None = None
    limit: int | None = None
    for piece in newest_first(transcript):
        limit = piece.place.end - reach_bytes if limit is None else limit
        if seen.is_enough or (seen.has_last_reply and piece.place.end <= limit):
            break
        record = record_of(transcript, piece)
        version = version or (text(piece.value, "version") if piece.value else None)
        if record.actor is None:
            newest.append(_note(record))
            seen.step(record)
    tail = Tail(client_version=version)
    for note in reversed(newest):
        tail.step(note)
    return tail


@dataclass(slots=True)
class _Seen:
    """How much has been met on the way back. A reply is whole when the one before it has been met."""

    replies: int = 0
    pairs: int = 0  # of replies with no compaction between them
    turn_ends: int = 0
    _reply_id: str | None = None
    _in_turn: bool = False
    _is_cut: bool = True

    @property
    def has_last_reply(self) -> bool:
        """Whether the last reply is whole."""
        return self.replies > 1

    @property
    def is_enough(self) -> bool:
        """Whether all replies and turns that are wanted are whole."""
        return self.pairs > SAMPLED_REPLIES and self.turn_ends > TURNS

    def step(self, record: Record) -> None:
        """Take in the record before those met so far."""
        if record.kind is RecordKind.PROMPT:
            self._in_turn = False
        elif record.type == "system/compact_boundary":
            self.turn_ends, self._is_cut = TURNS + 1, True  # turns before it do not count
        if record.usage and (record.reply_id is None or record.reply_id != self._reply_id):
            self.replies += 1
            self.pairs += not self._is_cut
            self.turn_ends += not self._in_turn
            self._reply_id, self._in_turn, self._is_cut = record.reply_id, True, False


@dataclass(frozen=True, slots=True)
class _Note:
    """What the gauge wants to know of a record."""

    kind: RecordKind
    chars: int
    reply_id: str | None
    usage: Usage | None
    model: str | None
    compaction: Compaction | None


def _note(record: Record) -> _Note:
    return _Note(
        record.kind, chars(record.blocks), record.reply_id, record.usage, record.model, record.compaction
    )


@dataclass(slots=True)
class _Reply:
    """One reply of the model, put together from its lines."""

    reply_id: str | None
    usage: Usage
    own_chars: int
    after_chars: int = 0  # added behind its first line and before the next reply's
    ends_turn: bool = False

    @property
    def sent_tokens(self) -> int:
        """What stood in the window before it."""
        return self.usage.occupancy_tokens - self.usage.output_tokens


@dataclass(slots=True)
class Tail:
    """What the end of a transcript says, line by line."""

    client_version: str | None = None
    model: str | None = None
    compactions: int = 0
    compacted_at_tokens: int | None = None
    _earlier: list[list[_Reply]] = field(default_factory=list)  # before each compaction
    _replies: list[_Reply] = field(default_factory=list)  # since the last one
    _compaction: Compaction | None = None
    _unmetered_chars: int = 0  # since it, before the first reply that says what it took
    _unmetered_added_chars: int = 0  # of these, prompts and results
    _cleared_tokens: int = 0  # since the last reply

    def step(self, note: _Note) -> None:
        """Take in the next record of the main conversation."""
        self.model = note.model or self.model
        if note.usage:
            self._add_reply(note, note.usage)
        elif note.compaction:
            self._add_compaction(note.compaction)
        elif note.kind is RecordKind.PROMPT and self._replies:
            self._replies[-1].ends_turn = True
        if not note.usage:
            self._add_chars(note)

    def occupancy(self) -> Occupancy:
        """All of it as the gauge wants it."""
        sample_chars, sample_tokens = self._sample()
        ends = [reply.usage.occupancy_tokens for reply in self._replies if reply.ends_turn]
        ends += [reply.usage.occupancy_tokens for reply in self._replies[-1:] if not reply.ends_turn]
        return Occupancy(
            used_tokens=self.used_tokens,
            tail_chars=self._tail_chars(),
            sample_chars=sample_chars,
            sample_tokens=sample_tokens,
            model=self.model,
            compacted_at_tokens=self.compacted_at_tokens,
            client_version=self.client_version,
            turn_ends_tokens=tuple(ends[-TURNS:]),
        )

    @property
    def used_tokens(self) -> int | None:
        """After the last reply, less what was cleared since; after a compaction what the client says is left."""
        if self._replies:
            return max(0, self._replies[-1].usage.occupancy_tokens - self._cleared_tokens)
        return self._compaction.after_tokens if self._compaction else None

    def _tail_chars(self) -> int:
        if self._replies:
            return self._replies[-1].after_chars
        return self._unmetered_chars if self.used_tokens is None else self._unmetered_added_chars

    def _sample(self) -> tuple[int, int]:
        """Characters and the tokens they took, from the newest pairs of replies between which the context grew."""
        newest = [
            (earlier.own_chars + earlier.after_chars, later.sent_tokens - earlier.sent_tokens)
            for replies in reversed([*self._earlier, self._replies])
            for earlier, later in reversed([*pairwise(replies)])
        ][:SAMPLED_REPLIES]
        grown = [pair for pair in newest if pair[1] > 0]
        return sum(chars for chars, _ in grown), sum(tokens for _, tokens in grown)

    def _add_reply(self, note: _Note, usage: Usage) -> None:
        last = self._replies[-1] if self._replies else None
        if last and note.reply_id is not None and last.reply_id == note.reply_id:
            last.usage = max(last.usage, usage, key=lambda each: each.occupancy_tokens)
            last.own_chars += note.chars
        else:
            self._replies.append(_Reply(note.reply_id, usage, note.chars))
            self._cleared_tokens = 0

    def _add_compaction(self, compaction: Compaction) -> None:
        if compaction.trigger == "micro":
            self._cleared_tokens += (compaction.before_tokens or 0) - (compaction.after_tokens or 0)
            return
        if compaction.summary and self._compaction and not self._replies:
            return  # the summary of the boundary before it
        self.compactions += 1
        self.compacted_at_tokens = (
            compaction.before_tokens if compaction.trigger == "auto" else self.compacted_at_tokens
        )
        self._earlier.append(self._replies)
        self._replies, self._compaction = [], compaction
        self._unmetered_chars = self._unmetered_added_chars = self._cleared_tokens = 0

    def _add_chars(self, note: _Note) -> None:
        if self._replies:
            self._replies[-1].after_chars += note.chars
            return
        self._unmetered_chars += note.chars
        if note.kind in {RecordKind.PROMPT, RecordKind.RESULT}:
            self._unmetered_added_chars += note.chars
