"""What the pauses of a project come to: actions by kind and tool, minutes from 90 % to the end, how often discarded."""

from __future__ import annotations

from pathlib import Path

from leftoff.errors import StorageError
from leftoff.flows.pause_discard import discarded_in
from leftoff.flows.pause_homes import sessions_folder
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.pauses.shelf import kept_in, lines_of
from leftoff.pauses.statistics import PauseStatistics, statistics_of
from leftoff.pauses.summary import summarised, times
from leftoff.system import paths


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectStatistics:
    """The sums, and of how many finished pauses the actions are not in them: their lines are gone or cannot be read."""

    statistics: PauseStatistics
    without_lines: int

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return self.statistics.to_dict() | {"without_lines": self.without_lines}


def pause_stats(working_folder: Path) -> ProjectStatistics:
    """Over all archives of this project; one that cannot be read hides no other."""
    project = paths.project_of(working_folder)
    summaries, without = [], 0
    for kept in kept_in(sessions_folder(project)):
        if not kept.was_recorded:
            continue
        try:
            recorded = lines_of(kept)
        except StorageError:
            recorded = None
        if recorded is None:
            without += 1
        else:
            summaries.append(summarised(recorded, times(recorded)[1]))
    statistics = statistics_of(
        summaries, finished=len(summaries) + without, discarded=discarded_in(project.root)
    )
    return ProjectStatistics(statistics=statistics, without_lines=without)
