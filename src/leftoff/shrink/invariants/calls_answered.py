"""A tool call and its answer stay together: an agent drops an answer without its request, or invents the one that is missing."""

from __future__ import annotations

from dataclasses import dataclass, field

from leftoff.model.copying import Outline, Watcher
from leftoff.model.trim_plan import Cut


@dataclass(frozen=True, slots=True)
class CallsAnswered:
    """A call and its answer stay together, the call first."""

    name: str = "calls answered"

    def forbids(self, cut: Cut) -> str | None:
        """An answer or a request can be made shorter, not taken out; and whose it is must be said."""
        if cut.part not in {"result", "input"}:
            return None
        if not cut.call_id:
            return "the call has no id"
        return None if cut.replacement else "the call would lose one of its halves"

    def watch(self) -> Watcher:
        """Looks for answers without requests, and for what changed lines have lost; a call that was interrupted has no answer."""
        return _Watcher()


@dataclass(slots=True)
class _Watcher:
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
