"""``ContextUsageTracker`` (004): token usage that the caller reports, added up against a budget.

For callers who count tokens themselves. What leftoff decides live it decides from occupancy, which sums are not (L1).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from leftoff.flows import track_usage as flow
from leftoff.model.context_metrics import Level
from leftoff.model.usage_state import UsageState
from leftoff.system import paths

__all__ = ["ContextUsageTracker", "UsageState"]


class ContextUsageTracker:
    """Adds up usage and tells which threshold is crossed.

    Without ``session_id`` the sums are this object's own. With one they are kept in the user's state folder under that id,
    and any number of processes may add to them: nothing gets lost (L7).
    """

    def __init__(self, project_path: Path | None = None, session_id: str | None = None) -> None:
        self.project_path = Path(project_path) if project_path else paths.working_folder()
        self.budget = flow.budget_here(self.project_path)
        self._is_kept = session_id is not None
        self._state = flow.kept_state(session_id) if session_id else UsageState(flow.new_session_id())

    def update_usage(
        self, input_tokens: int, output_tokens: int, cache_creation: int = 0, cache_read: int = 0
    ) -> UsageState:
        """Add one reply; the state after it. A negative number is a ValueError and changes nothing."""
        tokens = {
            "cumulative_input_tokens": input_tokens,
            "cumulative_output_tokens": output_tokens,
            "cache_creation_tokens": cache_creation,
            "cache_read_tokens": cache_read,
        }
        if self._is_kept:
            self._state = flow.change_kept(
                self._state.session_id, lambda state: flow.added(state, tokens, self.budget)
            )
        else:
            self._state = flow.added(self._state, tokens, self.budget)
        return self._state

    def check_thresholds(self) -> str | None:
        """The highest threshold crossed: caution, warning, auto_pause or critical; None below all."""
        return self.get_current_state().threshold_reached

    def should_auto_pause(self) -> bool:
        """Whether auto_pause is crossed (90 % by default)."""
        return self.get_current_state().auto_pause_active

    def get_current_state(self) -> UsageState:
        """The state now; of a named session also with what other processes added."""
        if self._is_kept:
            self._state = flow.kept_state(self._state.session_id)
        return self._state

    def reset_session(self, session_id: str | None = None) -> UsageState:
        """Start from zero: as the session of that id, else of the same one where it was named, else of a new one."""
        if session_id is not None or self._is_kept:
            self._is_kept = True
            wanted = session_id or self._state.session_id
            self._state = flow.change_kept(wanted, lambda _: UsageState(wanted))
        else:
            self._state = UsageState(flow.new_session_id())
        return self._state

    def get_usage_summary(self) -> dict[str, Any]:
        """The state in numbers for a person: totals, what remains, what is crossed."""
        state = self.get_current_state()
        return {
            "session_id": state.session_id,
            "total_tokens": state.total_tokens,
            "budget": self.budget.tokens,
            "remaining_tokens": max(0, self.budget.tokens - state.total_tokens),
            "percentage_used": round(state.percentage_used, 2),
            "threshold_reached": state.threshold_reached or Level.OK.value,
            "auto_pause_active": state.auto_pause_active,
            "breakdown": {
                "input_tokens": state.cumulative_input_tokens,
                "output_tokens": state.cumulative_output_tokens,
                "cache_creation_tokens": state.cache_creation_tokens,
                "cache_read_tokens": state.cache_read_tokens,
            },
            "last_updated": state.last_updated,
        }
