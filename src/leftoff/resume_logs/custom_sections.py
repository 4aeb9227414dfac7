"""Sections and triggers of plugins: a plugin that fails is skipped, and its error is returned beside the rest."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from leftoff.core.metrics import ContextMetrics
from leftoff.core.protocols import SectionProvider, TriggerCondition
from leftoff.core.resume_log import CustomSection
from leftoff.errors import PluginError
from leftoff.storage.store_base import call_plugin


def build_custom_sections(
    providers: Iterable[SectionProvider], session_state: dict[str, Any]
) -> tuple[list[CustomSection], list[PluginError]]:
    """Return the sections in order of registration, and the errors of the providers that failed."""
    sections: list[CustomSection] = []
    troubles: list[PluginError] = []
    for provider in providers:
        section = call_plugin(provider, partial(_section, provider, session_state))
        if isinstance(section, PluginError):
            troubles.append(section)
        else:
            sections.append(section)
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


def any_condition_triggers(
    conditions: Iterable[TriggerCondition], metrics: ContextMetrics, session_state: dict[str, Any]
) -> tuple[bool, list[PluginError]]:
    """Return whether one of the conditions wants a log now, and the errors of those that failed."""
    troubles: list[PluginError] = []
    for condition in conditions:
        result = call_plugin(condition, partial(condition.should_trigger, metrics, session_state))
        if isinstance(result, PluginError):
            troubles.append(result)
        elif result:
            return True, troubles
    return False, troubles
