"""``ResumeLogGenerator`` makes, saves, lists and cleans up the resume logs of a project."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from leftoff.api.arguments import require
from leftoff.config.load import with_overrides
from leftoff.core.metrics import ContextMetrics
from leftoff.core.protocols import SectionProvider, StorageBackend, TriggerCondition
from leftoff.core.resume_log import ResumeLog
from leftoff.errors import LeftoffError
from leftoff.platform import clock, paths
from leftoff.resume_logs import build, cleanup, list_logs, save
from leftoff.resume_logs.build import USUAL_STOP_REASON
from leftoff.resume_logs.cleanup import surplus
from leftoff.storage.repository import LogRepository
from leftoff.workspace import Workspace

__all__ = ["ResumeLogGenerator"]

_LOGGER = logging.getLogger(__name__)


class ResumeLogGenerator:
    """The resume logs of the project that the working folder belongs to.

    ``config`` overrides the settings: keys of ``resume_logs`` (``storage_dir``, ``max_tokens``, ``enabled`` …), or of all settings as
    ``{"context_management": {"thresholds": {…}, "resume_logs": {…}}}``. A plugin that fails is logged, listed in ``troubles`` and skipped.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        here = paths.working_folder()
        workspace = Workspace.open(here)
        settings = with_overrides(workspace.settings, config)
        workspace = replace(workspace, config=workspace.config._replace(settings=settings))
        given = config.get("storage_dir") if config else None
        self._repository = LogRepository.open(workspace, folder=None if given is None else here / given)
        self._reported = 0
        self._report()

    @property
    def storage_dir(self) -> Path:
        """The folder of the local copies."""
        return self._repository.local.folder

    @property
    def max_tokens(self) -> int:
        """The largest size of a log's Markdown."""
        return self._repository.settings.resume_logs.max_tokens

    @property
    def enabled(self) -> bool:
        """Whether logs are made without being asked for."""
        return self._repository.settings.resume_logs.enabled

    @property
    def troubles(self) -> list[LeftoffError]:
        """What was skipped so far: plugins that failed, logs that cannot be read."""
        return [*self._repository.troubles]

    def register_section_provider(self, provider: SectionProvider) -> None:
        """Add a section to every log that is generated from now on, after the existing ones."""
        self._repository.providers.append(provider)

    def register_trigger(self, trigger: TriggerCondition) -> None:
        """Also evaluate this condition to decide whether a log is due."""
        self._repository.conditions.append(trigger)

    def set_storage_backend(self, backend: StorageBackend) -> None:
        """Store logs there from now on; a local copy is still written, and its path returned."""
        self._repository.backend = backend

    def generate_from_session_state(
        self, session_id: str, session_state: dict[str, Any], stop_reason: str = USUAL_STOP_REASON
    ) -> ResumeLog:
        """Return the log of a session state, with the sections of all providers. Nothing is written.

        A key that no part of a log is made from is named in a warning.
        """
        require("session_state", session_state, Mapping)
        has_plugins = bool(self._repository.providers or self._repository.conditions)
        named = {trouble.message for trouble in self._repository.troubles}
        unused = build.unused_keys(session_state, with_plugins=has_plugins)
        self._repository.troubles += [trouble for trouble in unused if trouble.message not in named]
        log = save.build_with_sections(session_id, session_state, self._repository, stop_reason=stop_reason)
        self._report()
        return log

    def generate_from_todo_list(
        self, session_id: str, todos: list[dict[str, str]], context_metrics: ContextMetrics
    ) -> ResumeLog:
        """Return the log of a todo list: completed todos are accomplishments, open ones next steps. Nothing is written."""
        _require_metrics(context_metrics)
        require("todos", todos, list)
        for todo in todos:
            require("todos", todo, Mapping, hint="Each todo has a content and a status.")
        log = build.from_todos(session_id, todos, context_metrics)
        state = log.to_dict() | {"todos": todos}
        made = save.add_custom_sections(log, state, self._repository)
        self._report()
        return made

    def save_resume_log(self, resume_log: ResumeLog) -> Path:
        """Write Markdown and JSON as one set, without credentials, and return the path of the local Markdown."""
        require("resume_log", resume_log, ResumeLog, hint="ResumeLog.from_dict makes one of a mapping.")
        kept = save.store_log(resume_log, self._repository)
        self._report()
        return kept.markdown_file

    def load_resume_log(self, session_id: str) -> ResumeLog | None:
        """Return a session's log, or None; DocumentError if it is damaged."""
        require("session_id", session_id, str)
        log = self._repository.load(session_id)
        self._report()
        return log

    def list_resume_logs(self) -> list[tuple[str, Path]]:
        """Return session ids with the paths of the local copies, newest save first.

        A log that only the storage backend has is listed with the path that its local copy would have; ``load_resume_log`` loads it.
        """
        listed = self._repository.list_everywhere()
        self._report()
        return listed

    def get_latest_resume_log(self, *, trusted_only: bool = False) -> ResumeLog | None:
        """Return the newest log that can be read and says more than how full the window was.

        ``trusted_only`` limits it to logs that may be used without asking: those that this machine wrote, or that were trusted.
        """
        log = self._repository.latest_trusted() if trusted_only else self._repository.latest()
        self._report()
        return log

    def cleanup_old_logs(self, keep_count: int = 10) -> list[Path]:
        """Delete all but the newest; one path for each log deleted. Logs of running sessions stay."""
        require("keep_count", keep_count, int)
        surplus((), keep_count, ())  # a number that makes no sense is refused, whatever the settings allow
        if not self._repository.settings.resume_logs.cleanup.enabled:
            return []
        running = cleanup.running_sessions(clock.now())
        removed = cleanup.clean_up(self._repository, keep_count, active=running)
        self._report()
        return removed

    def should_generate(
        self, context_metrics: ContextMetrics, trigger: str, session_state: dict[str, Any] | None = None
    ) -> bool:
        """Return whether a log is due: ``trigger`` is enabled in the settings and applies, or a registered condition does."""
        _require_metrics(context_metrics)
        due = build.is_log_due(trigger, context_metrics, self._repository, session_state)
        self._report()
        return due

    def is_due(self, context_metrics: ContextMetrics, session_state: dict[str, Any] | None = None) -> bool:
        """Return whether the metrics alone, or a registered condition, make a log due."""
        _require_metrics(context_metrics)
        due = build.is_log_due_by_metrics(context_metrics, self._repository, session_state)
        self._report()
        return due

    def get_stats(self) -> dict[str, Any]:
        """Return numbers about the logs: how many, how large, where, the newest."""
        return dict(list_logs.repository_stats(self._repository).to_dict())

    def _report(self) -> None:
        for trouble in self._repository.troubles[self._reported :]:
            _LOGGER.warning("%s", trouble)
        self._reported = len(self._repository.troubles)


def _require_metrics(value: object) -> None:
    require("context_metrics", value, ContextMetrics, hint="ContextMetrics.from_dict makes one of a mapping.")
