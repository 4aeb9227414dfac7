"""``SessionManager`` (000): a session from its start to its end, with its usage and its resume logs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leftoff.api.resume_log_generator import ResumeLogGenerator
from leftoff.errors import UsageError
from leftoff.flows.given_settings import with_given
from leftoff.flows.known_state import known_state
from leftoff.flows.settings import settings_here
from leftoff.flows.track_usage import new_session_id
from leftoff.model.context_metrics import ContextMetrics
from leftoff.model.resume_log import ResumeLog
from leftoff.resume_logs.due import MANUAL_PAUSE
from leftoff.resume_logs.make import USUAL_STOP_REASON
from leftoff.system import paths

__all__ = ["SessionManager", "get_session_manager"]

_LOGGER = logging.getLogger(__name__)


class SessionManager:
    """One session.

    ``update_token_usage`` adds up what it is fed, against ``budget_total``: a sum says what was billed. What stands in the
    window is ``observe_occupancy``, and everything that leftoff decides live comes from there (L1).
    """

    _metrics: ContextMetrics

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        session_id: str | None = None,
        transcript: Path | None = None,
    ) -> None:
        self._folder = paths.working_folder()
        self._settings = with_given(settings_here(self._folder).settings, config)
        self._resume_log_generator = ResumeLogGenerator(config)
        self._lock = threading.Lock()
        self._begin(session_id, transcript)

    @property
    def session_id(self) -> str:
        """The id that logs are saved under."""
        return self._session_id

    @property
    def resume_logs(self) -> ResumeLogGenerator:
        """The generator: section providers, triggers and storage backends are registered there."""
        return self._resume_log_generator

    @property
    def metrics(self) -> ContextMetrics:
        """How full the window is, as far as this manager was told."""
        with self._lock:
            return self._metrics

    def start_session(
        self, session_id: str | None = None, transcript: Path | None = None
    ) -> ResumeLog | None:
        """Begin a session with empty counters; the latest resume log, to go on from."""
        with self._lock:
            self._begin(session_id, transcript)
        return self.load_resume_log_on_startup()

    def update_token_usage(
        self, input_tokens: int, output_tokens: int, stop_reason: str = USUAL_STOP_REASON
    ) -> None:
        """Add one reply to the sum. A negative number is a ValueError and changes nothing."""
        added = _whole("input_tokens", input_tokens) + _whole("output_tokens", output_tokens)
        with self._lock:
            self._is_told = True
            self._sum_tokens += added
            self._metrics = ContextMetrics(
                total_budget=self._settings.budget_total,
                used_tokens=self._sum_tokens,
                stop_reason=stop_reason,
                model=self._metrics.model,
            )

    def observe_occupancy(
        self,
        used_tokens: int,
        stop_reason: str = USUAL_STOP_REASON,
        total_budget: int | None = None,
        model: str | None = None,
    ) -> None:
        """What stands in the window now, in place of what was known; ``total_budget`` is the usable window."""
        used = _whole("used_tokens", used_tokens)
        with self._lock:
            self._is_told = True
            name = model or self._metrics.model
            self._metrics = ContextMetrics(
                total_budget=total_budget or self._settings.windows.get(name, self._settings.budget_total),
                used_tokens=used,
                stop_reason=stop_reason,
                model=name,
            )

    def should_warn_context_limit(self, threshold: float = 0.70) -> bool:
        """Whether usage stands at or above this fraction of the budget."""
        used = self.metrics.percentage_used
        return used is not None and used >= round(threshold * 100, 6)  # 0.07 * 100 is a little above 7

    def get_context_metrics(self) -> dict[str, Any]:
        """The metrics as a mapping of their own."""
        return self.metrics.to_dict()

    def generate_resume_log(self, session_state: dict[str, Any] | None = None) -> Path | None:
        """Save a resume log now; its path, or None where resume logs are switched off or nothing is known to write.

        Without a state it is extracted from the session's transcript, where one is known; else the log holds the metrics,
        as far as any were told.
        """
        if not self._resume_log_generator.enabled:
            return None
        state = session_state
        if state is None:
            named = self._session_id if self._is_named else None
            state = known_state(named, self._transcript, self._folder)
        if state is None and not self._is_told:
            _LOGGER.warning(
                "No resume log of %s: no state, no transcript and no usage are known.", self._session_id
            )
            return None
        metrics = self.metrics
        state = {"context_metrics": metrics.to_dict()} | (state or {})
        log = self._resume_log_generator.generate_from_session_state(
            self._session_id, state, stop_reason=metrics.stop_reason
        )
        return self._resume_log_generator.save_sparing(log, {self._session_id})

    def load_resume_log_on_startup(self) -> ResumeLog | None:
        """The latest resume log that this machine wrote or the user trusted; None where there is none."""
        return self._resume_log_generator.get_latest_trusted_log()

    def pause_session(self, session_state: dict[str, Any] | None = None) -> Path | None:
        """Save a resume log, unless the settings leave ``manual_pause`` out of the triggers."""
        due = self._resume_log_generator.should_generate(self.metrics, MANUAL_PAUSE, session_state)
        return self.generate_resume_log(session_state) if due else None

    def resume_session(self, session_id: str | None = None) -> ResumeLog | None:
        """Go on with the session of that id, and give its resume log; without an id the latest one."""
        if session_id is None:
            return self.load_resume_log_on_startup()
        log = self._resume_log_generator.load_resume_log(session_id)
        with self._lock:
            if session_id != self._session_id:
                self._begin(session_id, None)
        return log

    def end_session(self, session_state: dict[str, Any] | None = None) -> Path | None:
        """Save a resume log if one is due: a threshold is crossed, the reply was cut off, or a condition wants it."""
        due = self._resume_log_generator.is_due(self.metrics, session_state)
        return self.generate_resume_log(session_state) if due else None

    def _begin(self, session_id: str | None, transcript: Path | None) -> None:
        self._is_named = session_id is not None
        self._session_id = session_id or new_session_id()
        self._transcript = None if transcript is None else Path(transcript)
        self._is_told = False  # nothing of the window yet
        self._sum_tokens = 0
        self._metrics = ContextMetrics(total_budget=self._settings.budget_total, used_tokens=0)


_managers: dict[str, SessionManager] = {}
_managers_lock = threading.Lock()


def get_session_manager(session_id: str | None = None) -> SessionManager:
    """The manager of that session, made on first use; without an id the one asked for last. Sessions never share one (L7)."""
    with _managers_lock:
        if session_id is None:
            if not _managers:
                _managers[""] = SessionManager()
            return next(reversed(_managers.values()))
        manager = _managers.pop(session_id, None) or SessionManager(session_id=session_id)
        _managers[session_id] = manager  # the last is the one asked for last
        return manager


def _whole(name: str, value: Any) -> int:
    match value:
        case int() if value >= 0 and not isinstance(value, bool):
            return value
        case _:
            raise UsageError(f"{name} is {value!r:.40}: a whole number of tokens, 0 or more.")
