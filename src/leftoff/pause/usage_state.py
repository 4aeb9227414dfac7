"""Token usage of a session whose caller reports each reply: added up in memory, or in the user's state folder by session id.

The sums are over all replies. What is in the context window at one moment is ``core.metrics.Occupancy``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from leftoff.config.load import thresholds
from leftoff.config.settings import Settings
from leftoff.core.metrics import ContextMetrics, Level, Thresholds
from leftoff.core.wire import SCHEMAS, JsonObject, JsonValue, upgrade_document
from leftoff.errors import DocumentError, InvalidValueError, StorageError, describe_os_error
from leftoff.platform import clock, files, locks, paths

FOLDER = "usage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What usage is measured against."""

    tokens: int
    thresholds: Thresholds


def budget_of(settings: Settings) -> Budget:
    """Return the budget and thresholds of the settings."""
    return Budget(tokens=settings.budget_total, thresholds=thresholds(settings))


def new_session_id() -> str:
    """Return an id for a session without one."""
    return clock.timed_id("session", clock.now())


def add_usage(state: UsageState, tokens: dict[str, int], budget: Budget) -> UsageState:
    """Return the state after one more reply. ``tokens`` are by field; negative numbers are refused."""
    for name, count in tokens.items():
        if not _is_count(count):
            raise InvalidValueError(f"{name} is {count!r}: tokens are whole numbers and never negative.")
    sums = {name: getattr(state, name) + count for name, count in tokens.items()}
    summed = replace(state, last_updated=clock.format_rfc3339(clock.now()), **sums)
    metrics = summed.metrics(budget.tokens)
    level = budget.thresholds.level(metrics) or Level.OK
    return replace(
        summed,
        percentage_used=metrics.percentage_used or 0.0,
        threshold_reached=None if level is Level.OK else level.value,
        auto_pause_active=level.rank >= Level.AUTO_PAUSE.rank,
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def load_usage(session_id: str) -> UsageState:
    """Return the stored state of a session; an empty one if nothing is stored."""
    path = _path(session_id)
    try:
        return UsageState.from_dict(json.loads(path.read_bytes()), where=str(path))
    except FileNotFoundError:
        return UsageState(session_id=session_id)
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {describe_os_error(error)}.", path=path) from error
    except (json.JSONDecodeError, RecursionError, UnicodeDecodeError) as error:
        raise DocumentError(f"{path}: not JSON. Delete it to start from zero.", path=path) from error


def change_usage(session_id: str, step: Callable[[UsageState], UsageState]) -> UsageState:
    """Apply ``step`` to the stored state of a session, under a lock, and return the new state."""
    path = _path(session_id)
    files.make_folder(path.parent)
    with locks.hold(path.with_name(f".{path.name}.lock")):
        state = step(load_usage(session_id))
        files.write_file(path, json.dumps(state.to_dict()).encode())
    return state


def _path(session_id: str) -> Path:
    return paths.safe_join(paths.state_folder(), FOLDER, f"{clock.check_id(session_id)}.json")


@dataclass(frozen=True)  # without slots: callers pass its __dict__ on
class UsageState:
    """The tokens used so far. ``percentage_used`` is 0-100 of the budget and may exceed 100.

    ``threshold_reached`` is the highest threshold crossed, None below all; ``auto_pause_active`` is true from auto_pause on;
    ``last_updated`` is None before the first update.
    """

    session_id: str
    cumulative_input_tokens: int = 0
    cumulative_output_tokens: int = 0
    cache_creation_tokens: int = 0
    cache_read_tokens: int = 0
    percentage_used: float = 0.0
    threshold_reached: str | None = None
    auto_pause_active: bool = False
    last_updated: str | None = None

    @property
    def total_tokens(self) -> int:
        """The input and output tokens; cache tokens are counted separately."""
        return self.cumulative_input_tokens + self.cumulative_output_tokens

    def metrics(self, budget_tokens: int) -> ContextMetrics:
        """Return the state as context metrics of that budget."""
        return ContextMetrics(
            total_budget=budget_tokens,
            used_tokens=self.total_tokens,
            basis="reported",
            timestamp=self.last_updated or "",
        )

    def to_dict(self) -> JsonObject:
        """Return the stored form."""
        return {"schema": SCHEMAS["usage_state"], **vars(self)}

    @classmethod
    def from_dict(cls, data: JsonValue, *, where: str) -> UsageState:
        """Return the state of a stored form; raise DocumentError if it is not one."""
        match upgrade_document("usage_state", data, where=where):
            case {
                "session_id": str(session_id),
                "cumulative_input_tokens": int(input_tokens),
                "cumulative_output_tokens": int(output_tokens),
                "cache_creation_tokens": int(creation_tokens),
                "cache_read_tokens": int(read_tokens),
                "percentage_used": float() | int() as percentage,
                "threshold_reached": str() | None as threshold,
                "auto_pause_active": bool(active),
                "last_updated": str() | None as updated,
            }:
                return cls(
                    session_id=session_id,
                    cumulative_input_tokens=input_tokens,
                    cumulative_output_tokens=output_tokens,
                    cache_creation_tokens=creation_tokens,
                    cache_read_tokens=read_tokens,
                    percentage_used=float(percentage),
                    threshold_reached=threshold,
                    auto_pause_active=active,
                    last_updated=updated,
                )
            case _:
                raise DocumentError(
                    f"{where}: not a usage state in the known form. Delete it to start from zero.", path=where
                )
