"""Advise which strategy to use when the context window fills up, with the effect of each on this session."""

from __future__ import annotations

from typing import Literal, NamedTuple

from leftoff.core.metrics import ContextMetrics, whole_percentage
from leftoff.core.prices import Price, dollars
from leftoff.core.quantities import count
from leftoff.core.session_ids import short_id
from leftoff.core.trim_plan import Savings
from leftoff.core.wire import JsonObject
from leftoff.errors import StorageError
from leftoff.sessions.find import find_session
from leftoff.sessions.price import find_price
from leftoff.sessions.status import status_of
from leftoff.shrink.rollover import expect_fresh_session
from leftoff.shrink.trim import PlannedTrim, TrimOptions, prepare_trim_of, preview_trim, without_cuts
from leftoff.workspace import SessionRef, Workspace

_LARGEST_PLANNED_BYTES = 20_000_000
How = Literal["as-is", "trim", "smart-trim", "rollover"]
FULL_FRACTION = 0.80  # below this there is nothing to do
_ENOUGH_FRACTION = 0.60  # a strategy that leaves the window fuller than this has to be repeated soon
_LARGE_RESULTS_SHARE = 0.40  # of the context: then trimming is worth it even if the window stays fuller


class Option(NamedTuple):
    """One strategy on this session: what it frees, what it loses, and how much the next prompt writes to the cache."""

    how: str
    savings: Savings
    loses: str
    cache_write_tokens: int
    first_prompt_usd: float | None = None  # if no cache holds the conversation; None: the price is not known

    def to_dict(self) -> JsonObject:
        """Return the JSON shape for scripts."""
        return {
            "how": self.how,
            **self.savings.to_dict(),
            "loses": self.loses,
            "cache_write_tokens": self.cache_write_tokens,
            "first_prompt_usd": self.first_prompt_usd,
        }


class Advice(NamedTuple):
    """The recommended strategy and the reason. ``percentage_used`` is ``None`` if the size of the window is not known."""

    session_id: str
    how: str
    why: str
    percentage_used: float | None  # as every screen shows it
    options: tuple[Option, ...]

    def to_dict(self) -> JsonObject:
        """Return the JSON shape for scripts."""
        return self._asdict() | {
            "options": [option.to_dict() for option in self.options],
        }


def advise(selector: str, workspace: Workspace) -> Advice:
    """Advise on the selected session, with the effect of every strategy."""
    ref = find_session(selector, workspace)
    status = status_of(ref, workspace)
    found = _measure(ref, workspace, status.metrics)
    price = find_price(ref.agent, status.model, workspace.settings.prices)
    return found._replace(options=tuple(_with_price(option, price) for option in found.options))


def _with_price(option: Option, price: Price | None) -> Option:
    tokens = option.savings.after.used_tokens
    if price is None or tokens is None:
        return option
    return option._replace(first_prompt_usd=round(price.of(tokens), 4))


def cold_cache_line(ref: SessionRef, workspace: Workspace, tokens: int, usd: float) -> str:
    """Say what continuing costs, and what it would in a smaller session, at the rate of the agent's own figure.

    A long transcript is not planned: the user waits for this line.
    """
    rate = Price(usd / tokens * 1_000_000)
    said = f"leftoff: cold cache: continuing writes {_thousands(tokens)} tokens, about {dollars(usd)}."
    others = [_rollover_option(ref, workspace)]
    if ref.transcript.stat().st_size <= _LARGEST_PLANNED_BYTES:
        smart = _plan(ref, workspace, TrimOptions(strategy="smart-trim", force=True))
        others.insert(0, _trim_option(smart, ""))
    prices = [
        f"{option.how}: {dollars(rate.of(max(0, tokens - option.savings.tokens)))}"
        for option in others
        if option.savings.tokens > 0
    ]
    if not prices:
        return said
    how = others[0].how if others[0].savings.tokens > 0 else others[-1].how
    return f"{said} In a smaller session, {', '.join(prices)} (leftoff resume {short_id(ref.session_id)} --how {how})."


def _thousands(tokens: int) -> str:
    return f"{tokens / 1000:.0f}k" if tokens >= 10_000 else f"{tokens:,}"


def advise_if_full(ref: SessionRef, workspace: Workspace) -> Advice:
    """Advise without measuring the strategies, unless the window is nearly full."""
    gauge = status_of(ref, workspace).metrics
    if gauge.used_fraction is not None and gauge.used_fraction >= FULL_FRACTION:
        return _measure(ref, workspace, gauge)
    return _advice(ref.session_id, gauge, recommend(gauge, gauge, gauge), ())


def _measure(ref: SessionRef, workspace: Workspace, gauge: ContextMetrics) -> Advice:
    trim = _plan(ref, workspace, TrimOptions(strategy="trim", force=True))
    smart = _plan(ref, workspace, TrimOptions(strategy="smart-trim", force=True))
    options = (
        Option(
            how="as-is",
            savings=Savings(0, gauge, gauge),
            loses="nothing; the agent compacts when the window is full",
            cache_write_tokens=0,
        ),
        _trim_option(trim, "the middle of long results; both ends stay"),
        _trim_option(smart, "outdated content; one line of each piece stays"),
        _rollover_option(ref, workspace),
    )
    recommended = recommend(gauge, trim.savings.after, smart.savings.after)
    return _advice(ref.session_id, gauge, recommended, options)


def _plan(ref: SessionRef, workspace: Workspace, options: TrimOptions) -> PlannedTrim:
    """Plan as ``leftoff trim`` does, without cuts if the copy would be no smaller or would be refused."""
    planned = prepare_trim_of(ref, workspace, options)
    try:
        return preview_trim(planned)
    except StorageError:
        return planned._replace(plan=without_cuts(planned.plan))


def _trim_option(planned: PlannedTrim, loses: str) -> Option:
    plan = planned.plan
    lost = f"{loses} ({count(len(plan.cuts), 'piece')})" if plan.cuts else "nothing: there is nothing to gain"
    return Option(
        how=plan.strategy,
        savings=planned.savings,
        loses=lost,
        cache_write_tokens=plan.tokens_after if plan.cuts else 0,
    )


def _rollover_option(ref: SessionRef, workspace: Workspace) -> Option:
    """Estimate a rollover with the longest first message allowed; the exact size would need the resume log."""
    savings = expect_fresh_session(ref, ref.agent, workspace.settings.restore.max_chars, workspace).savings
    return Option(
        how="rollover",
        savings=savings,
        loses="the conversation; the resume log stays"
        if savings.tokens
        else "nothing: there is nothing to gain",
        cache_write_tokens=(savings.after.used_tokens or 0) if savings.tokens else 0,
    )


def _advice(
    session_id: str, gauge: ContextMetrics, recommended: Recommendation, options: tuple[Option, ...]
) -> Advice:
    return Advice(
        session_id=session_id,
        how=recommended.how,
        why=recommended.why,
        percentage_used=gauge.shown_percentage,
        options=options,
    )


class Recommendation(NamedTuple):
    """The recommended strategy and the reason."""

    how: How
    why: str


def recommend(
    gauge: ContextMetrics, after_trim: ContextMetrics, after_smart_trim: ContextMetrics
) -> Recommendation:
    """Choose the gentlest strategy that makes enough room, given the gauge now and after trimming."""
    now, trimmed, smart = (each.used_fraction for each in (gauge, after_trim, after_smart_trim))
    if now is None or trimmed is None or smart is None:
        return Recommendation("as-is", "it is not known yet how full the window is")
    full = f"the window is {whole_percentage(now)} % full"
    if now < FULL_FRACTION:
        return Recommendation("as-is", f"{full}, and there is room up to {whole_percentage(FULL_FRACTION)} %")
    if smart <= _ENOUGH_FRACTION:
        return Recommendation(
            "smart-trim", f"{full}, and {whole_percentage(smart)} % without outdated content"
        )
    if trimmed <= _ENOUGH_FRACTION or 1 - trimmed / now >= _LARGE_RESULTS_SHARE:
        return Recommendation("trim", f"{full}, and {whole_percentage(trimmed)} % without long tool results")
    return Recommendation(
        "rollover", f"{full}, and trimming would leave it at {whole_percentage(min(trimmed, smart))} %"
    )
