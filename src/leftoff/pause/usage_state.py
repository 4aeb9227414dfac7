"""Token usage of a session whose caller reports each reply, in memory or in the user's state folder by session id."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from leftoff.config.load import thresholds
from leftoff.config.settings import Settings
from leftoff.core.metrics import ContextMetrics, Level, Thresholds
from leftoff.core.records import Usage
from leftoff.core.wire import SCHEMAS, JsonObject, JsonValue, upgrade_document
from leftoff.errors import DocumentError, StorageError, describe_os_error
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


def add_usage(state: UsageState, reply: Usage, budget: Budget, *, is_occupancy: bool = False) -> UsageState:
    """Return the state after one more reply.

    With ``is_occupancy`` the percentage is of what the reply leaves in the window, otherwise of the input and output of all replies. A
    reply that does not say what it was sent changes nothing of the first: it may be the end of a stream, or an error of the API.
    """
    occupancy_tokens = reply.occupancy_tokens if reply.sent_tokens else state.occupancy_tokens or 0
    summed = replace(
        state,
        cumulative_input_tokens=state.cumulative_input_tokens + reply.input_tokens,
        cumulative_output_tokens=state.cumulative_output_tokens + reply.output_tokens,
        cache_creation_tokens=state.cache_creation_tokens + reply.cache_creation_tokens,
        cache_read_tokens=state.cache_read_tokens + reply.cache_read_tokens,
        occupancy_tokens=occupancy_tokens if is_occupancy else None,
        last_updated=_now(),
    )
    metrics = summed.metrics(budget.tokens)
    level = budget.thresholds.level(metrics) or Level.OK
    return replace(
        summed,
        percentage_used=metrics.percentage_used or 0.0,
        threshold_reached=None if level is Level.OK else level.value,
        auto_pause_active=level.rank >= Level.AUTO_PAUSE.rank,
    )


def _now() -> str:
    return clock.format_rfc3339(clock.now())


class UsageStore:
    """Keeps the usage of one session: in the user's state folder if the session has an id, otherwise in this object."""

    def __init__(self, session_id: str | None) -> None:
        self._is_kept = session_id is not None
        self._state = UsageState(new_session_id()) if session_id is None else load_usage(session_id)

    def load(self) -> UsageState:
        """Return the current state, with what other processes added."""
        if self._is_kept:
            self._state = load_usage(self._state.session_id)
        return self._state

    def change(self, step: Callable[[UsageState], UsageState]) -> UsageState:
        """Replace the state with what ``step`` makes of it, and return that; other processes wait meanwhile."""
        if self._is_kept:
            self._state = change_usage(self._state.session_id, step)
        else:
            self._state = step(self._state)
        return self._state

    def reset(self, session_id: str | None = None) -> UsageState:
        """Start from zero: as the session of that id, or as the same one if it was named, or as a new one."""
        if session_id is not None:
            self._is_kept = True
            self._state = UsageState(session_id)
        wanted = self._state.session_id if self._is_kept else new_session_id()
        return self.change(lambda _: UsageState(wanted))


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

    ``threshold_reached`` is the highest threshold crossed, None below all; ``auto_pause_active`` is true from auto_pause on.
    ``occupancy_tokens`` is what the last reply left in the window; None where replies are added up instead. ``announced`` is the level
    that a handler has announced, ``pause_begun`` whether it has begun a pause since auto_pause was crossed.
    """

    session_id: str
    cumulative_input_tokens: int = 0
    cumulative_output_tokens: int = 0
    cache_creation_tokens: int = 0
    cache_read_tokens: int = 0
    percentage_used: float = 0.0
    threshold_reached: str | None = None
    auto_pause_active: bool = False
    last_updated: str = field(default_factory=_now)
    occupancy_tokens: int | None = None
    announced: str = Level.OK.value
    pause_begun: bool = False

    @property
    def total_tokens(self) -> int:
        """The input and output tokens of all replies; cache tokens are counted separately."""
        return self.cumulative_input_tokens + self.cumulative_output_tokens

    @property
    def used_tokens(self) -> int:
        """The tokens that ``percentage_used`` is about."""
        return self.total_tokens if self.occupancy_tokens is None else self.occupancy_tokens

    def metrics(self, budget_tokens: int) -> ContextMetrics:
        """Return the state as context metrics of that budget."""
        return ContextMetrics(
            total_budget=budget_tokens,
            used_tokens=self.used_tokens,
            basis="reported",
            timestamp=self.last_updated,
        )

    def to_dict(self) -> JsonObject:
        """Return the stored form."""
        return {"schema": SCHEMAS["usage_state"], **vars(self)}

    @classmethod
    def from_dict(cls, data: JsonValue, *, where: str) -> UsageState:
        """Return the state of a stored form; raise DocumentError if it is not one."""
        known = upgrade_document("usage_state", data, where=where)
        match {"occupancy_tokens": None, "announced": Level.OK.value, "pause_begun": False} | known:
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
                "occupancy_tokens": int() | None as occupancy,
                "announced": str(announced),
                "pause_begun": bool(begun),
            } if announced in [*Level]:
                return cls(
                    session_id=session_id,
                    cumulative_input_tokens=input_tokens,
                    cumulative_output_tokens=output_tokens,
                    cache_creation_tokens=creation_tokens,
                    cache_read_tokens=read_tokens,
                    percentage_used=float(percentage),
                    threshold_reached=threshold,
                    auto_pause_active=active,
                    last_updated=updated or "",
                    occupancy_tokens=occupancy,
                    announced=announced,
                    pause_begun=begun,
                )
            case _:
                raise DocumentError(
                    f"{where}: not a usage state in the known form. Delete it to start from zero.", path=where
                )
