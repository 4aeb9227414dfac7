"""What must be true of every session, whatever agent resumes it. A cut is allowed where none of these forbids it.

``watch`` returns an observer of a copy while it is written. Lines without a change pass through as they were, so what only a changed line
can break is checked there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from leftoff.core.trim_plan import CopyChecker, Cut, Invariant, Outline


@dataclass(frozen=True, slots=True)
class AnswersFirst:
    """In a message that answers calls, the answers come first: the API refuses text before them."""

    name: str = "answers first"

    def forbids(self, cut: Cut) -> str | None:  # noqa: ARG002 - a cut stays in its place, so it moves nothing
        """Allow every cut: content is replaced where it is."""
        return None

    def watch(self) -> CopyChecker:
        """Look for text before answers."""
        return _AnswersFirstWatcher()


@dataclass(slots=True)
class _AnswersFirstWatcher:
    _misplaced: list[bytes] = field(default_factory=list)

    def see(self, lines: Outline) -> None:
        self._misplaced += lines.misplaced

    def broken(self) -> tuple[str, ...]:
        names = (call.decode("utf-8", "replace") for call in self._misplaced)
        return tuple(f"something comes before the answer to {name} in its message" for name in names)


@dataclass(frozen=True, slots=True)
class CallsAnswered:
    """A call and its answer stay together, the call first: an agent drops an answer without its call, or invents a missing one."""

    name: str = "calls answered"

    def forbids(self, cut: Cut) -> str | None:
        """Forbid removing an answer or a request, which may only be shortened, and cuts of a call without an id."""
        if cut.part not in {"result", "input"}:
            return None
        if not cut.call_id:
            return "the call has no id"
        return None if cut.replacement else "the call would lose one of its halves"

    def watch(self) -> CopyChecker:
        """Look for answers without requests and for halves lost by changed lines; an interrupted call has no answer."""
        return _CallsAnsweredWatcher()


@dataclass(slots=True)
class _CallsAnsweredWatcher:
    _asked: set[bytes] = field(default_factory=set)
    _lost: dict[bytes, None] = field(default_factory=dict)
    _early: dict[bytes, None] = field(default_factory=dict)

    def see(self, lines: Outline) -> None:
        self._lost.update(dict.fromkeys(lines.lost))
        for call, is_answer in lines.calls:
            if not is_answer:
                self._asked.add(call)
            elif call not in self._asked:
                self._early[call] = None

    def broken(self) -> tuple[str, ...]:
        early, lost = (
            [call.decode("utf-8", "replace") for call in calls] for calls in (self._early, self._lost)
        )
        return (
            *(f"the answer to {call} has no request before it" for call in early),
            *(f"{call} has lost its request or its answer" for call in lost),
        )


@dataclass(frozen=True, slots=True)
class NoEmptyMessage:
    """Every message keeps some content: the API refuses an empty one."""

    name: str = "no empty message"

    def forbids(self, cut: Cut) -> str | None:
        """Forbid leaving a text empty; only thoughts may be removed whole."""
        if cut.part == "thinking" or cut.replacement.strip():
            return None
        return "nothing would be left of it"

    def watch(self) -> CopyChecker:
        """Count empty messages."""
        return _NoEmptyMessageWatcher()


@dataclass(slots=True)
class _NoEmptyMessageWatcher:
    _empty: int = 0

    def see(self, lines: Outline) -> None:
        self._empty += lines.empty_messages

    def broken(self) -> tuple[str, ...]:
        return tuple(f"{number} changed messages have nothing in them" for number in (self._empty,) if number)


@dataclass(frozen=True, slots=True)
class UnbrokenChain:
    """The parent of every record is in the session: an agent that follows the chain stops, or guesses, at a missing link."""

    name: str = "unbroken chain"

    def forbids(self, cut: Cut) -> str | None:
        """Forbid removing a record, except for thoughts: the writer of the copy then links what follows to the record before."""
        return None if cut.replacement or cut.part == "thinking" else "what follows would hang from nothing"

    def watch(self) -> CopyChecker:
        """Remember all ids and all parents."""
        return _UnbrokenChainWatcher()


@dataclass(slots=True)
class _UnbrokenChainWatcher:
    _there: set[bytes] = field(default_factory=set)
    _missing: set[bytes] = field(default_factory=set)  # so far: a parent may come after its child

    def see(self, lines: Outline) -> None:
        self._there.update(lines.ids)
        self._missing.update(set(lines.parent_ids) - self._there)

    def broken(self) -> tuple[str, ...]:
        missing = sorted(self._missing - self._there)
        return tuple(
            f"something hangs from {name.decode('utf-8', 'replace')}, which is not there" for name in missing
        )


@dataclass(frozen=True, slots=True)
class UniqueIds:
    """No two records have the same id: an agent forgets the first of them and everything linked to it."""

    name: str = "unique ids"

    def forbids(self, cut: Cut) -> str | None:  # noqa: ARG002 - a cut changes no id
        """Allow every cut: ids do not change."""
        return None

    def watch(self) -> CopyChecker:
        """Remember the ids."""
        return _UniqueIdsWatcher()


@dataclass(slots=True)
class _UniqueIdsWatcher:
    _seen: set[bytes] = field(default_factory=set)
    _twice: dict[bytes, None] = field(default_factory=dict)

    def see(self, lines: Outline) -> None:
        new = set(lines.ids)
        if len(new) < len(lines.ids):
            self._twice.update(
                dict.fromkeys(name for name, number in Counter(lines.ids).items() if number > 1)
            )
        if not self._seen.isdisjoint(new):
            self._twice.update(dict.fromkeys(name for name in lines.ids if name in self._seen))
        self._seen |= new

    def broken(self) -> tuple[str, ...]:
        return tuple(f"the id {name.decode('utf-8', 'replace')} is on two records" for name in self._twice)


COMMON_INVARIANTS: tuple[Invariant, ...] = (
    CallsAnswered(),
    AnswersFirst(),
    UniqueIds(),
    UnbrokenChain(),
    NoEmptyMessage(),
)
