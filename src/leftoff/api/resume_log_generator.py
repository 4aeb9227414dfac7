"""``ResumeLogGenerator`` (000): makes, keeps, lists and cleans the resume logs of a project."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from leftoff.errors import LeftoffError
from leftoff.flows import cleanup_logs, due_log, keep_log, log_stats
from leftoff.flows.given_settings import with_given
from leftoff.flows.settings import settings_here
from leftoff.flows.shelf import shelf_here
from leftoff.model.context_metrics import ContextMetrics
from leftoff.model.protocols import SectionProvider, StorageBackend, TriggerCondition
from leftoff.model.resume_log import ResumeLog
from leftoff.resume_logs import make
from leftoff.resume_logs.make import USUAL_STOP_REASON
from leftoff.resume_logs.retention import beyond
from leftoff.system import clock, paths

__all__ = ["ResumeLogGenerator"]

_LOGGER = logging.getLogger(__name__)


class ResumeLogGenerator:
    """The resume logs of the project that the working folder belongs to.

    ``config`` holds keys of ``resume_logs`` (``storage_dir``, ``max_tokens``, ``enabled`` …) and stands above the settings in
    force. A plugin that fails is logged, kept in ``troubles`` and passed over.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        here = paths.working_folder()
        settings = with_given(settings_here(here).settings, config)
        given = (config or {}).get("storage_dir")
        self._shelf = shelf_here(here, settings, folder=None if given is None else here / given)
        self._reported = 0
        self._report()

    @property
    def storage_dir(self) -> Path:
        """The folder of the local copies."""
        return self._shelf.local.folder

    @property
    def max_tokens(self) -> int:
        """The most that the Markdown of a log takes."""
        return self._shelf.settings.resume_logs.max_tokens

    @property
    def enabled(self) -> bool:
        """Whether logs are made at all when nobody asks for one."""
        return self._shelf.settings.resume_logs.enabled

    @property
    def troubles(self) -> list[LeftoffError]:
        """What was passed over so far: plugins that failed, logs that cannot be read."""
        return [*self._shelf.troubles]

    def register_section_provider(self, provider: SectionProvider) -> None:
        """Add a section to every log that is generated from now on, behind those there are."""
        self._shelf.providers.append(provider)

    def register_trigger(self, trigger: TriggerCondition) -> None:
        """Ask this condition too whenever somebody asks whether a log is due."""
        self._shelf.conditions.append(trigger)

    def set_storage_backend(self, backend: StorageBackend) -> None:
        """Keep logs there from now on; a local copy is still written, and its path returned."""
        self._shelf.backend = backend

    def generate_from_session_state(
        self, session_id: str, session_state: dict[str, Any], stop_reason: str = USUAL_STOP_REASON
    ) -> ResumeLog:
        """The log of a session state, with the sections of all providers. Nothing is written."""
        log = keep_log.made_log(session_id, session_state, self._shelf, stop_reason=stop_reason)
        self._report()
        return log

    def generate_from_todo_list(
        self, session_id: str, todos: list[dict[str, str]], context_metrics: ContextMetrics
    ) -> ResumeLog:
        """The log of a todo list: completed todos are accomplishments, open ones next steps. Nothing is written."""
        log = make.from_todos(session_id, todos, context_metrics)
        state = log.to_dict() | {"todos": todos}
        made = keep_log.with_sections(log, state, self._shelf)
        self._report()
        return made

    def save_resume_log(self, resume_log: ResumeLog) -> Path:
        """Write Markdown and JSON as one set, without credentials; the path of the local Markdown, whatever the backend."""
        return self.save_sparing(resume_log, ())

    def save_sparing(self, resume_log: ResumeLog, active: Collection[str]) -> Path:
        """The same; cleaning up afterwards spares the logs of these sessions."""
        kept = keep_log.keep_log(resume_log, self._shelf, active=active)
        self._report()
        return kept.markdown_file

    def load_resume_log(self, session_id: str) -> ResumeLog | None:
        """A session's log; None when there is none, DocumentError when it is there and broken."""
        log = self._shelf.load(session_id)
        self._report()
        return log

    def list_resume_logs(self) -> list[tuple[str, Path]]:
        """Session ids with the paths of the local copies, newest save first."""
        return [(files.session_id, files.path) for files in self._shelf.local.logs()]

    def get_latest_resume_log(self) -> ResumeLog | None:
        """The newest log that can be read."""
        log = self._shelf.latest()
        self._report()
        return log

    def get_latest_trusted_log(self) -> ResumeLog | None:
        """The newest log that may be handed on without asking: one that this machine wrote, or that was trusted."""
        log = self._shelf.latest_trusted()
        self._report()
        return log

    def cleanup_old_logs(self, keep_count: int = 10) -> list[Path]:
        """Delete all but the newest; one path for each log deleted. Logs of running sessions stay."""
        beyond((), keep_count, ())  # a number that makes no sense is refused, whatever the settings allow
        if not self._shelf.settings.resume_logs.cleanup.enabled:
            return []
        running = cleanup_logs.running_sessions(clock.now())
        removed = cleanup_logs.clean_up(self._shelf, keep_count, active=running)
        self._report()
        return removed

    def should_generate(
        self, context_metrics: ContextMetrics, trigger: str, session_state: dict[str, Any] | None = None
    ) -> bool:
        """Whether a log is due: ``trigger`` is one that the settings want and holds, or a registered condition says so."""
        due = due_log.is_log_due(trigger, context_metrics, self._shelf, session_state)
        self._report()
        return due

    def is_due(self, context_metrics: ContextMetrics, session_state: dict[str, Any] | None = None) -> bool:
        """Whether the metrics by themselves, or a registered condition, make a log due."""
        due = due_log.is_log_due_by(context_metrics, self._shelf, session_state)
        self._report()
        return due

    def get_stats(self) -> dict[str, Any]:
        """Numbers about the logs: how many, how large, where, the newest."""
        return dict(log_stats.stats_of(self._shelf).to_dict())

    def _report(self) -> None:
        for trouble in self._shelf.troubles[self._reported :]:
            _LOGGER.warning("%s", trouble)
        self._reported = len(self._shelf.troubles)
