"""What to do with a session whose window fills up: the decision tree of 002, with the numbers that decide it."""

from __future__ import annotations

from pathlib import Path

from leftoff.errors import StorageError
from leftoff.flows.choose import Chosen, choose
from leftoff.flows.settings import settings_here
from leftoff.flows.shrink_session import Wanted, looked_at, planned_of, without_cuts
from leftoff.flows.status import status_of
from leftoff.model.session import Session
from leftoff.model.trim_plan import TrimPlan
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.shrink import advise as shrinking
from leftoff.shrink import planning
from leftoff.shrink.advise import FULL_FRACTION, Measured
from leftoff.system import clock

_UNMEASURED = Measured(saved_tokens=0, lost_pieces=0, cache_write_tokens=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One strategy on this session: what it frees, what it loses, and what the first prompt afterwards writes to the cache."""

    how: str
    tokens_saved: int
    context_saved_percent: float
    loses: str
    cache_write_tokens: int

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "how": self.how,
            "tokens_saved": self.tokens_saved,
            "context_saved_percent": round(self.context_saved_percent, 1),
            "loses": self.loses,
            "cache_write_tokens": self.cache_write_tokens,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The strategy for now, and why. ``percentage_used`` is None where the window is not known."""

    session_id: str
    how: str
    why: str
    percentage_used: float | None
    options: tuple[Option, ...]

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "session_id": self.session_id,
            "how": self.how,
            "why": self.why,
            "percentage_used": self.percentage_used and round(self.percentage_used, 1),
            "options": [option.to_dict() for option in self.options],
        }


def advise(words: str, working_folder: Path) -> Advice:
    """The advice for the session that ``words`` name, with every strategy measured on it."""
    chosen = choose(words, working_folder)
    return _advice(chosen, _fraction(chosen))


def advised(chosen: Chosen) -> Advice:
    """The same where only the advice counts: below the mark nothing is measured."""
    fraction = _fraction(chosen)
    if fraction is not None and fraction >= FULL_FRACTION:
        return _advice(chosen, fraction)
    return _told(chosen.open(), fraction, shrinking.advise(fraction, 0, _UNMEASURED, _UNMEASURED), ())


def _fraction(chosen: Chosen) -> float | None:
    percentage = status_of(chosen, settings_here(), clock.now()).metrics.percentage_used
    return None if percentage is None else percentage / 100


def _advice(chosen: Chosen, fraction: float | None) -> Advice:
    session = chosen.open()
    trim = _planned(chosen, Wanted(strategy="trim", force=True))
    smart = _planned(chosen, Wanted(strategy="smart-trim", force=True))
    options = (
        Option(
            how="as-is",
            tokens_saved=0,
            context_saved_percent=0.0,
            loses="nothing; the agent compacts when the window is full",
            cache_write_tokens=0,
        ),
        _shrinking(trim, "the middle of long results; both ends stay"),
        _shrinking(smart, "what later work has overtaken; a line stays of each"),
        _fresh(trim, settings_here().settings.restore.max_chars),
    )
    found = shrinking.advise(fraction, trim.live_tokens, _measured(trim), _measured(smart))
    return _told(session, fraction, found, options)


def _planned(chosen: Chosen, wanted: Wanted) -> TrimPlan:
    """What ``leftoff trim`` would say: without cuts where the copy would be no smaller, or would be refused."""
    planned = planned_of(chosen, wanted)
    try:
        return looked_at(planned).plan
    except StorageError:
        return without_cuts(planned.plan)


def _told(
    session: Session, fraction: float | None, found: shrinking.Advice, options: tuple[Option, ...]
) -> Advice:
    return Advice(
        session_id=session.session_id,
        how=found.how,
        why=found.reasons[0],
        percentage_used=None if fraction is None else 100 * fraction,
        options=options,
    )


def _measured(plan: TrimPlan) -> Measured:
    left = max(0, plan.live_tokens - plan.saved_tokens)
    return Measured(saved_tokens=plan.saved_tokens, lost_pieces=len(plan.cuts), cache_write_tokens=left)


def _shrinking(plan: TrimPlan, loses: str) -> Option:
    lost = f"{loses} ({len(plan.cuts)} pieces)" if plan.cuts else "nothing: there is nothing to gain"
    return Option(
        how=plan.strategy,
        tokens_saved=plan.saved_tokens,
        context_saved_percent=plan.context_saved_percent,
        loses=lost,
        cache_write_tokens=max(0, plan.live_tokens - plan.saved_tokens) if plan.cuts else 0,
    )


def _fresh(plan: TrimPlan, most_chars: int) -> Option:
    """A rollover, at the most its first message may take: to know better, the log would have to be made."""
    freed = max(0, plan.live_chars - most_chars)
    saved = planning.tokens(freed, plan)
    return Option(
        how="rollover",
        tokens_saved=saved,
        context_saved_percent=100 * freed / plan.live_chars if freed else 0.0,
        loses="the conversation; the resume log stays" if freed else "nothing: there is nothing to gain",
        cache_write_tokens=max(0, plan.live_tokens - saved) if freed else 0,
    )
