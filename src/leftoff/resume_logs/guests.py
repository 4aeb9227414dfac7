"""Asking somebody's plugin: whatever it does, the answer is an answer or an error that names it, never the end of us."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from leftoff.errors import PluginError
from leftoff.model.context_metrics import ContextMetrics
from leftoff.model.protocols import SectionProvider, TriggerCondition
from leftoff.model.resume_log import CustomSection

Answer = TypeVar("Answer")


def asked(guest: object, question: Callable[[], Answer]) -> Answer | PluginError:
    """What the plugin answers, or the error that says which one failed and how."""
    try:
        return question()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code may raise anything; the log is made without it
        return failed(guest, f"{type(error).__name__}: {error}")


def failed(guest: object, how: str) -> PluginError:
    """The error that names a plugin."""
    kind = type(guest)
    return PluginError(f"Plugin {kind.__module__}.{kind.__qualname__} failed and was passed over: {how}.")


def custom_sections(
    providers: Iterable[SectionProvider], session_state: dict[str, Any]
) -> tuple[list[CustomSection], list[PluginError]]:
    """The sections in order of registration, and the providers that made none."""
    sections: list[CustomSection] = []
    troubles: list[PluginError] = []
    for provider in providers:
        made = asked(provider, partial(_section, provider, session_state))
        if isinstance(made, PluginError):
            troubles.append(made)
        else:
            sections.append(made)
    return sections, troubles


def _section(provider: SectionProvider, session_state: dict[str, Any]) -> CustomSection:
    name: object = provider.get_section_name()
    budget: object = provider.get_token_budget()
    content: object = provider.generate_content(session_state)
    if not isinstance(name, str) or not name.strip():
        raise TypeError(f"its section name is {name!r:.80}, not a line of text")
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        raise TypeError(f"its token budget is {budget!r:.80}, not a whole number from 0 up")
    if not isinstance(content, str):
        raise TypeError(f"its content is of type {type(content).__name__}, not text")
    return CustomSection(name=name, budget_tokens=budget, content=content)


def any_triggers(
    conditions: Iterable[TriggerCondition], metrics: ContextMetrics, session_state: dict[str, Any]
) -> tuple[bool, list[PluginError]]:
    """Whether one of the conditions wants a log now, and those that could not be asked."""
    troubles: list[PluginError] = []
    for condition in conditions:
        answer = asked(condition, partial(condition.should_trigger, metrics, session_state))
        if isinstance(answer, PluginError):
            troubles.append(answer)
        elif answer:
            return True, troubles
    return False, troubles
