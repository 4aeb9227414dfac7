"""Advise which strategy to use when the context window fills up, with the effect of each on this session."""

from __future__ import annotations

from typing import Literal, NamedTuple

from leftoff.core.trim_plan import TrimPlan
from leftoff.core.wire import JsonObject
from leftoff.errors import StorageError
from leftoff.sessions.find import find_session
from leftoff.sessions.status import status_of
from leftoff.shrink.cuts import tokens_for
from leftoff.shrink.trim import TrimOptions, prepare_trim_of, preview_trim, without_cuts
from leftoff.workspace import SessionRef, Workspace

How = Literal["as-is", "trim", "smart-trim", "rollover"]
FULL_FRACTION = 0.80  # below this there is nothing to do
_ENOUGH_FRACTION = 0.60  # a strategy that leaves the window fuller than this has to be repeated soon
_LARGE_RESULTS_SHARE = 0.40  # of the context: then trimming is worth it even if the window stays fuller


class Option(NamedTuple):
    """One strategy on this session: what it frees, what it loses, and how much the next prompt writes to the cache."""

    how: str
    tokens_saved: int
    context_saved_percent: float
    loses: str
    cache_write_tokens: int

    def to_dict(self) -> JsonObject:
        """Return the JSON shape for scripts."""
        return self._asdict() | {"context_saved_percent": round(self.context_saved_percent, 1)}


class Advice(NamedTuple):
    """The recommended strategy and the reason. ``percentage_used`` is None if the size of the window is not known."""

    session_id: str
    how: str
    why: str
    percentage_used: float | None
    options: tuple[Option, ...]

    def to_dict(self) -> JsonObject:
        """Return the JSON shape for scripts."""
        return self._asdict() | {
            "percentage_used": self.percentage_used and round(self.percentage_used, 1),
            "options": [option.to_dict() for option in self.options],
        }


def advise(selector: str, workspace: Workspace) -> Advice:
    """Advise on the selected session, with the effect of every strategy."""
    ref = find_session(selector, workspace)
    return _measure(ref, workspace, _used_fraction(ref, workspace))


def advise_if_full(ref: SessionRef, workspace: Workspace) -> Advice:
    """Advise without measuring the strategies, unless the window is nearly full."""
    fraction = _used_fraction(ref, workspace)
    if fraction is not None and fraction >= FULL_FRACTION:
        return _measure(ref, workspace, fraction)
    return _advice(ref.session_id, fraction, recommend(fraction, 0.0, 0.0), ())


def _used_fraction(ref: SessionRef, workspace: Workspace) -> float | None:
    percentage = status_of(ref, workspace).metrics.percentage_used
    return None if percentage is None else percentage / 100


def _measure(ref: SessionRef, workspace: Workspace, fraction: float | None) -> Advice:
    trim = _plan(ref, workspace, TrimOptions(strategy="trim", force=True))
    smart = _plan(ref, workspace, TrimOptions(strategy="smart-trim", force=True))
    options = (
        Option(
            how="as-is",
            tokens_saved=0,
            context_saved_percent=0.0,
            loses="nothing; the agent compacts when the window is full",
            cache_write_tokens=0,
        ),
        _trim_option(trim, "the middle of long results; both ends stay"),
        _trim_option(smart, "what later work has overtaken; a line stays of each"),
        _rollover_option(trim, workspace.settings.restore.max_chars),
    )
    return _advice(ref.session_id, fraction, recommend(fraction, _freed(trim), _freed(smart)), options)


def _plan(ref: SessionRef, workspace: Workspace, options: TrimOptions) -> TrimPlan:
    """Plan as ``leftoff trim`` does, without cuts if the copy would be no smaller or would be refused."""
    planned = prepare_trim_of(ref, workspace, options)
    try:
        return preview_trim(planned).plan
    except StorageError:
        return without_cuts(planned.plan)


def _freed(plan: TrimPlan) -> float:
    """Return the share of the context that a plan frees."""
    return plan.saved_tokens / plan.live_tokens if plan.live_tokens else 0.0


def _trim_option(plan: TrimPlan, loses: str) -> Option:
    lost = f"{loses} ({len(plan.cuts)} pieces)" if plan.cuts else "nothing: there is nothing to gain"
    return Option(
        how=plan.strategy,
        tokens_saved=plan.saved_tokens,
        context_saved_percent=plan.context_saved_percent,
        loses=lost,
        cache_write_tokens=max(0, plan.live_tokens - plan.saved_tokens) if plan.cuts else 0,
    )


def _rollover_option(plan: TrimPlan, most_chars: int) -> Option:
    """Estimate a rollover with the longest first message allowed; the exact size would need the resume log."""
    freed = max(0, plan.live_chars - most_chars)
    saved = tokens_for(freed, plan)
    return Option(
        how="rollover",
        tokens_saved=saved,
        context_saved_percent=100 * freed / plan.live_chars if freed else 0.0,
        loses="the conversation; the resume log stays" if freed else "nothing: there is nothing to gain",
        cache_write_tokens=max(0, plan.live_tokens - saved) if freed else 0,
    )


def _advice(
    session_id: str, fraction: float | None, recommended: Recommendation, options: tuple[Option, ...]
) -> Advice:
    return Advice(
        session_id=session_id,
        how=recommended.how,
        why=recommended.why,
        percentage_used=None if fraction is None else 100 * fraction,
        options=options,
    )


class Recommendation(NamedTuple):
    """The recommended strategy and the reason."""

    how: How
    why: str


def recommend(used_fraction: float | None, trim_frees: float, smart_trim_frees: float) -> Recommendation:
    """Choose the gentlest strategy that makes enough room, given the shares of the context that trimming frees.

    ``used_fraction`` is None if the size of the window is not known.
    """
    if used_fraction is None:
        return Recommendation("as-is", "how full the window is, is not known yet")
    full = f"the window is {used_fraction:.0%} full"
    if used_fraction < FULL_FRACTION:
        return Recommendation("as-is", f"{full}, and there is room up to {FULL_FRACTION:.0%}")
    if used_fraction * (1 - smart_trim_frees) <= _ENOUGH_FRACTION:
        return Recommendation(
            "smart-trim", f"{full}, and later work has overtaken {smart_trim_frees:.0%} of it"
        )
    if used_fraction * (1 - trim_frees) <= _ENOUGH_FRACTION or trim_frees >= _LARGE_RESULTS_SHARE:
        return Recommendation("trim", f"{full}, and large tool results take {trim_frees:.0%} of it")
    best = max(trim_frees, smart_trim_frees)
    return Recommendation("rollover", f"{full}, and trimming would free only {best:.0%} of it")
