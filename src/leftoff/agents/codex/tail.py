"""How full the window is, from the end of a rollout: the same work for a file of any size.

The newest reading counts, wherever it stands: ``token_usage_record`` comes right behind the reply's items, ``token_count``
behind the answers to its calls (until 0.63 before the reply). What the reading does not hold yet is what was added behind
the reply: that is the tail, and it reaches back over the answers that stand before a ``token_count``. A compaction
with nothing said since makes the occupancy unknown, and all that is sent then is tail. Codex does not say whether a
compaction was automatic, so where one came is not told.
"""

from __future__ import annotations

from pathlib import Path

from leftoff.agents.codex import forks, items
from leftoff.agents.codex.known import known, version
from leftoff.agents.codex.metering import Reading, reading
from leftoff.agents.codex.reading import record
from leftoff.agents.jsonl import Piece
from leftoff.model.occupancy import Occupancy
from leftoff.model.records import RecordKind
from leftoff.model.tuples import NamedTuple
from leftoff.model.values import dataclass, field

# Far enough back that what stands between two readings and what they differ by is the same text, all but a little.
SAMPLE_CHARS = 20_000
TURN_ENDS = 9  # eight steps
TURN_BYTES = 1024 * 1024  # no further back for them


def occupancy(transcript: Path, home: Path) -> Occupancy:
    """The last word of the rollout, or of those it goes on from, on how full the window is."""
    return look(forks.lineage(transcript, home), sample_chars=SAMPLE_CHARS, turn_ends=TURN_ENDS)


def look(segments: tuple[forks.Segment, ...], *, sample_chars: int = 0, turn_ends: int = 0) -> Occupancy:
    """The same, with as long a sample and as many ends of turns as are asked for: none, and it is read back less far."""
    client_version = segments[-1].meta.client_version
    tail = _Tail(usage_first=version(client_version or "") <= known().usage_before_reply_until)
    sample = _Sample(enough_chars=sample_chars)
    turns = _Turns(enough=turn_ends)
    model = window_tokens = None
    for piece in forks.newest_first(segments):
        seen = record(piece)
        model = model or seen.model
        window_tokens = window_tokens or seen.window_tokens
        step = _Step(seen.kind, sum(map(items.chars, seen.messages)), len(piece.raw), _reading(piece))
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
        """Whether what came before is no longer sent."""
        return self.reading is not None and self.reading.used_tokens is None

    @property
    def replied_tokens(self) -> int | None:
        """What a reply said; None for an estimate too."""
        return None if self.reading is None or self.reading.is_estimate else self.reading.used_tokens


def _reading(piece: Piece) -> Reading | None:
    return reading(piece.value) if piece.value else None


@dataclass(slots=True, kw_only=True)
class _Tail:
    """The newest reading, and the characters it does not hold."""

    usage_first: bool  # readings stand before the reply they are of
    newest: Reading | None = None
    is_known: bool = False
    _behind: int = 0
    _replied: int = 0  # of what stands behind the newest reading, what the model wrote
    _doubtful: int = 0  # before the newest reading; not in it only if that was said before already

    @property
    def used_tokens(self) -> int | None:
        return self.newest.used_tokens if self.newest else None

    @property
    def chars(self) -> int:
        is_in_reading = self.usage_first and self.used_tokens is not None
        return self._behind - self._replied if is_in_reading else self._behind

    def add(self, step: _Step) -> None:
        if self.newest is None:
            self.newest = step.reading
            self._behind += step.chars
            self._replied += step.chars if step.kind is RecordKind.REPLY else 0
            self.is_known = step.reading is not None and step.replied_tokens is None
        elif step.reading == self.newest:
            self._behind += self._doubtful
            self._doubtful = 0
        elif step.reading:
            self.is_known = True
        elif step.kind is RecordKind.REPLY:
            self.is_known = not self.usage_first
        elif self.usage_first:
            self._doubtful += step.chars
        else:
            self._behind += step.chars


@dataclass(slots=True, kw_only=True)
class _Sample:
    """Characters between the newest reading and an older one, and by how many tokens the two differ."""

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
