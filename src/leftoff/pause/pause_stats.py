"""Statistics over the pauses of a project, and compression of their archives. All readers accept compressed archives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from statistics import median

from leftoff.core.wire import JsonObject
from leftoff.errors import StorageError
from leftoff.pause.folders import sessions_folder
from leftoff.pause.lifecycle import count_discarded
from leftoff.pause.snapshot_store import compress, list_finished, read_archive
from leftoff.pause.texts import PauseSummary, first_and_last_time, summarize
from leftoff.platform import clock, paths
from leftoff.platform.register import Register
from leftoff.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseStatistics:
    """Sums over pauses. Minutes are from a pause's first action to its end; None if there is no pause."""

    finished: int
    discarded: int
    actions: int
    kinds: dict[str, int]
    tools: dict[str, int]
    bad_lines: int
    median_minutes: float | None
    longest_minutes: float | None

    @property
    def discarded_fraction(self) -> float | None:
        """The share of ended pauses that were discarded; None if none has ended."""
        ended = self.finished + self.discarded
        return self.discarded / ended if ended else None

    def to_dict(self) -> JsonObject:
        """Return the form that scripts rely on."""
        return {
            "finished": self.finished,
            "discarded": self.discarded,
            "discarded_fraction": self.discarded_fraction,
            "actions": self.actions,
            "kinds": dict(self.kinds),
            "tools": dict(self.tools),
            "bad_lines": self.bad_lines,
            "median_minutes": self.median_minutes,
            "longest_minutes": self.longest_minutes,
        }


def compute_statistics(
    summaries: Iterable[PauseSummary], *, finished: int, discarded: int
) -> PauseStatistics:
    """Add up the summaries, most frequent first. Finished pauses whose lines are gone have no summary."""
    kinds: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    minutes = []
    bad_lines = 0
    for summary in summaries:
        kinds.update(summary.kinds)
        tools.update(summary.tools)
        minutes.append(summary.duration_seconds / 60)
        bad_lines += summary.bad_lines
    return PauseStatistics(
        finished=finished,
        discarded=discarded,
        actions=kinds.total(),
        kinds=dict(kinds.most_common()),
        tools=dict(tools.most_common()),
        bad_lines=bad_lines,
        median_minutes=round(median(minutes), 1) if minutes else None,
        longest_minutes=round(max(minutes), 1) if minutes else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectStatistics:
    """The sums, and the number of finished pauses that they miss because their lines are gone or cannot be read."""

    statistics: PauseStatistics
    without_lines: int

    def to_dict(self) -> JsonObject:
        """Return the form that scripts rely on."""
        return self.statistics.to_dict() | {"without_lines": self.without_lines}


def project_statistics(workspace: Workspace) -> ProjectStatistics:
    """Return the statistics of all archives of this project; one that cannot be read hides no other."""
    project = workspace.project
    summaries, without = [], 0
    for pause in list_finished(sessions_folder(project)):
        if not pause.was_recorded:
            continue
        try:
            recorded = read_archive(pause)
        except StorageError:
            recorded = None
        if recorded is None:
            without += 1
        else:
            summaries.append(summarize(recorded, first_and_last_time(recorded)[1]))
    statistics = compute_statistics(
        summaries, finished=len(summaries) + without, discarded=count_discarded(project.root)
    )
    return ProjectStatistics(statistics=statistics, without_lines=without)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionResult:
    """How many archives were compressed, how many bytes that saved, and what went wrong with others."""

    archives: int
    saved_bytes: int
    troubles: tuple[str, ...] = ()


def compress_archives(workspace: Workspace, older_than: timedelta) -> CompressionResult:
    """Compress the archives of pauses that ended longer ago; one that fails stops no other."""
    moment = clock.now()
    register = Register(folder=paths.data_folder())
    archives, saved_bytes, troubles = 0, 0, []
    for pause in list_finished(sessions_folder(workspace.project)):
        if pause.paused_at > moment - older_than:
            continue
        try:
            if (compressed := compress(pause)) is not None:
                archives += 1
                saved_bytes += compressed.saved_bytes
                register.note_written(compressed.path, pause.session_id, moment)
        except StorageError as error:
            troubles.append(error.message)
    return CompressionResult(archives=archives, saved_bytes=saved_bytes, troubles=tuple(troubles))
