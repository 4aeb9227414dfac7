"""``SessionManager`` follows a session from its start to its end, with its usage and its resume logs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from leftoff.agents.registry import agent_of
from leftoff.api.arguments import path, require, token_count
from leftoff.api.resume_log_generator import ResumeLogGenerator
from leftoff.config.load import with_overrides
from leftoff.core.metrics import DEFAULT_FRACTIONS, ContextMetrics, Level
from leftoff.core.resume_log import ResumeLog
from leftoff.core.triggers import MANUAL_PAUSE
from leftoff.errors import TranscriptError, UsageError
from leftoff.pause.journal import is_number
from leftoff.pause.usage_state import new_session_id
from leftoff.resume_logs.build import USUAL_STOP_REASON
from leftoff.sessions.find import find_by_id
from leftoff.workspace import SessionRef, Workspace

_LOGGER = logging.getLogger(__name__)
_managers: dict[str, SessionManager] = {}
_managers_lock = threading.Lock()

__all__ = ["SessionManager", "get_session_manager"]


class SessionManager:
    """One session.

    ``config`` overrides the settings: keys of ``resume_logs``, or of all settings as ``{"context_management": {…}}``.
    ``update_token_usage`` adds up replies against ``budget_total``: a sum says what was billed. ``observe_occupancy`` says what is in
    the context window, which is what leftoff's own decisions are based on.
    """

    _metrics: ContextMetrics

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        session_id: str | None = None,
        transcript: Path | None = None,
    ) -> None:
        self._workspace = Workspace.open()
        self._settings = with_overrides(self._workspace.settings, config)
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
        """How full the window is, as far as was reported to this manager."""
        with self._lock:
            return self._metrics

    def start_session(
        self, session_id: str | None = None, transcript: Path | None = None
    ) -> ResumeLog | None:
        """Begin a session with empty counters and return the latest resume log, to continue from."""
        with self._lock:
            self._begin(session_id, transcript)
        return self.load_resume_log_on_startup()

    def update_token_usage(
        self, input_tokens: int, output_tokens: int, stop_reason: str = USUAL_STOP_REASON
    ) -> None:
        """Add one reply to the sum. A negative number is a ValueError and changes nothing."""
        added = token_count("input_tokens", input_tokens) + token_count("output_tokens", output_tokens)
        with self._lock:
            self._has_usage = True
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
        """Set what is in the window now; ``total_budget`` is the usable window."""
        used = token_count("used_tokens", used_tokens)
        if model is not None:
            require("model", model, str)
        with self._lock:
            self._has_usage = True
            name = model or self._metrics.model
            self._metrics = ContextMetrics(
                total_budget=total_budget or self._settings.windows.get(name, self._settings.budget_total),
                used_tokens=used,
                stop_reason=stop_reason,
                model=name,
            )

    def should_warn_context_limit(self, threshold: float = DEFAULT_FRACTIONS[Level.CAUTION]) -> bool:
        """Return whether usage is at or above ``threshold``: a fraction of the budget up to 1 (0.7), or a percentage above (70)."""
        if not is_number(threshold) or not 0 <= threshold <= 100:
            raise UsageError(
                f"threshold is {threshold!r:.60}: a fraction (0.7) or a percentage (70) was expected."
            )
        used = self.metrics.percentage_used
        wanted = threshold * 100 if threshold <= 1 else threshold
        return used is not None and used >= round(wanted, 6)  # 0.07 * 100 is a little above 7

    def get_context_metrics(self) -> dict[str, Any]:
        """Return the metrics as a new mapping."""
        return self.metrics.to_dict()

    def generate_resume_log(self, session_state: dict[str, Any] | None = None) -> Path | None:
        """Save a resume log now and return its path; None if resume logs are switched off or nothing is known to write.

        Without a state it is extracted from the session's transcript if that is known; otherwise the log has the metrics that were
        reported.
        """
        if not self._resume_log_generator.enabled:
            return None
        if session_state is not None:
            require("session_state", session_state, Mapping)
        state = session_state
        if state is None:
            named = self._session_id if self._is_named else None
            state = _known_state(named, self._transcript, self._workspace)
        if state is None and not self._has_usage:
            _LOGGER.warning(
                "No resume log of %s: no state, no transcript and no usage are known.", self._session_id
            )
            return None
        metrics = self.metrics
        if not self._has_usage:  # then 0 tokens would be a claim
            metrics = replace(metrics, used_tokens=None, percentage_used=None, remaining_tokens=None)
        state = {"context_metrics": metrics.to_dict()} | (state or {})
        log = self._resume_log_generator.generate_from_session_state(
            self._session_id, state, stop_reason=metrics.stop_reason
        )
        return self._resume_log_generator.save_resume_log(log)

    def load_resume_log_on_startup(self) -> ResumeLog | None:
        """Return the latest resume log that this machine wrote or the user trusted, or None."""
        return self._resume_log_generator.get_latest_resume_log(trusted_only=True)

    def pause_session(self, session_state: dict[str, Any] | None = None) -> Path | None:
        """Save a resume log, unless the settings leave ``manual_pause`` out of the triggers."""
        due = self._resume_log_generator.should_generate(self.metrics, MANUAL_PAUSE, session_state)
        return self.generate_resume_log(session_state) if due else None

    def resume_session(self, session_id: str | None = None) -> ResumeLog | None:
        """Continue the session of that id and return its resume log; without an id, the latest log."""
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
        self._transcript = None if transcript is None else path("transcript", transcript)
        self._has_usage = False
        self._sum_tokens = 0
        self._metrics = ContextMetrics(total_budget=self._settings.budget_total, used_tokens=0)


def get_session_manager(session_id: str | None = None) -> SessionManager:
    """Return the manager of that session, created on first use; without an id, the one last returned.

    Sessions never share a manager.
    """
    if session_id is not None:
        require("session_id", session_id, str)
    with _managers_lock:
        if session_id is None:
            if not _managers:
                _managers[""] = SessionManager()
            return next(reversed(_managers.values()))
        manager = _managers.pop(session_id, None) or SessionManager(session_id=session_id)
        _managers[session_id] = manager  # the last entry is the one last returned
        return manager


def _known_state(
    session_id: str | None, transcript: Path | None, workspace: Workspace
) -> dict[str, Any] | None:
    """Return the session state by the transcript, or by the id of any agent's session; None if neither is known."""
    if transcript is None and session_id is not None:
        transcript = _transcript_of(session_id, workspace)
    if transcript is None:
        return None
    from leftoff.resume_logs.save import session_state_of  # noqa: PLC0415 - loads extraction and all agents

    return session_state_of(SessionRef(agent=agent_of(transcript), transcript=transcript), workspace)


def _transcript_of(session_id: str, workspace: Workspace) -> Path | None:
    """Return the transcript of the session with exactly that id: a number or a prefix would name another session."""
    try:
        ref = find_by_id(session_id, workspace)
    except TranscriptError:
        return None
    return None if ref is None else ref.transcript
