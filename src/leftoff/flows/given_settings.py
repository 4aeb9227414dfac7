"""Settings that a program gives as a mapping, put on top of those in force: each value checked as if it stood in a file."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import PurePath
from typing import Any

from leftoff.config.keys import WrongValueError, built, known_groups, known_keys
from leftoff.config.layers import SECTION
from leftoff.config.settings import Settings
from leftoff.errors import ConfigError

_RESUME_LOGS = "resume_logs"


def with_given(settings: Settings, config: Mapping[str, Any] | None) -> Settings:
    """``config`` holds the keys of ``resume_logs``, or all of them below ``context_management`` as a file does."""
    in_force = {dotted: attrgetter(dotted)(settings) for dotted in known_keys()}
    return built(in_force | {dotted: _checked(dotted, raw) for dotted, raw in _flat(*_section(config or {}))})


def _checked(dotted: str, raw: Any) -> Any:
    key = known_keys().get(dotted)
    if key is None:
        near = difflib.get_close_matches(dotted, known_keys(), n=1, cutoff=0.5)
        hint = f" Did you mean {near[0].removeprefix(f'{_RESUME_LOGS}.')}?" if near else ""
        raise ConfigError(f"{dotted} is no setting.{hint}")
    try:
        return key.value(str(raw) if isinstance(raw, PurePath) else raw)
    except WrongValueError as wrong:
        raise ConfigError(f"{dotted} is {raw!r:.60}; it takes: {wrong}.") from wrong


def _section(config: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    whole = config.get(SECTION)
    return (whole, "") if isinstance(whole, Mapping) else (config, f"{_RESUME_LOGS}.")


def _flat(given: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in given.items():
        dotted = f"{prefix}{name}"
        if dotted in known_groups() and isinstance(value, Mapping):
            yield from _flat(value, f"{dotted}.")
        else:
            yield dotted, [*value] if isinstance(value, tuple | set) else value
