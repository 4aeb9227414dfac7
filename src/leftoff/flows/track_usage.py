"""Token usage of a hand-fed session: added up in memory, or under a lock in the user's state folder, by session id (L7)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from leftoff.config.layers import thresholds
from leftoff.errors import DocumentError, StorageError
from leftoff.flows.settings import settings_here
from leftoff.model.context_metrics import Thresholds
from leftoff.model.usage_state import UsageState, with_usage
from leftoff.model.values import dataclass
from leftoff.system import clock, files, ids, locks, paths, reasons

FOLDER = "usage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What usage is measured against."""

    tokens: int
    thresholds: Thresholds


def budget_here(folder: Path) -> Budget:
    """As the settings in force in ``folder`` say."""
    settings = settings_here(folder).settings
    return Budget(tokens=settings.budget_total, thresholds=thresholds(settings))


def new_session_id() -> str:
    """An id for a session that nobody named."""
    return ids.timed_id("session", clock.now())


def added(state: UsageState, tokens: dict[str, int], budget: Budget) -> UsageState:
    """The state after one more reply."""
    return with_usage(
        state,
        tokens,
        budget_tokens=budget.tokens,
        thresholds=budget.thresholds,
        at=clock.rfc3339(clock.now()),
    )


def kept_state(session_id: str) -> UsageState:
    """The state of a named session as it is kept; a fresh one where nothing is."""
    path = _path(session_id)
    try:
        return UsageState.from_dict(json.loads(path.read_bytes()), where=str(path))
    except FileNotFoundError:
        return UsageState(session_id=session_id)
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {reasons.words(error)}.", path=path) from error
    except (json.JSONDecodeError, RecursionError, UnicodeDecodeError) as error:
        raise DocumentError(f"{path}: not JSON. Delete it to start from zero.", path=path) from error


def change_kept(session_id: str, step: Callable[[UsageState], UsageState]) -> UsageState:
    """Put the state of a named session one step on; nobody else does so at the same time."""
    path = _path(session_id)
    files.make_folder(path.parent)
    with locks.held(path.with_name(f".{path.name}.lock")):
        state = step(kept_state(session_id))
        files.write_file(path, json.dumps(state.to_dict()).encode())
    return state


def _path(session_id: str) -> Path:
    return paths.inside(paths.state_folder(), FOLDER, f"{ids.checked(session_id)}.json")
