"""What a session in this folder can go on from: the project's logs in their order, and the text of the one that is taken."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from leftoff.errors import LeftoffError
from leftoff.flows.drift import drift_since
from leftoff.flows.log_folder import log_folder
from leftoff.flows.settings import settings_here
from leftoff.restore.choose import Candidate, Choice, Here, candidate_of, choose, foreign_candidate
from leftoff.restore.parts import Profile
from leftoff.restore.profiles import restoration_text
from leftoff.stores import log_files
from leftoff.stores.log_files import LogFiles
from leftoff.system import git, paths
from leftoff.system.register import Register, Standing

_MOST_READ = 30
_MOST_LOOKED_AT = 10  # of documents that were never noted at their place: copied by hand, or the clone's


def logs_to_offer(working_folder: Path, prompt: str = "") -> Choice:
    """The project's logs: those to offer, the best first, those that wait for trust, those that are over.

    One that cannot be read hides no other: ``leftoff log list`` names it.
    """
    project = paths.project_of(working_folder)
    settings = settings_here(working_folder).settings
    found = log_files.found_in(log_folder(project, settings.resume_logs.storage_dir))
    candidates = _candidates(found)
    here = Here(
        folder=str(working_folder),
        branch=git.branch(project.root) if project.in_git else None,
        worktree=project.worktree,
    )
    return choose(candidates, here, prompt)


def restored(
    candidate: Candidate, working_folder: Path, *, profile: Profile, most_chars: int | None = None
) -> str:
    """The log for a session to go on from, with what has changed since. NotTrustedError for what nobody has trusted.

    It has as many characters as the settings allow, and no more than ``most_chars``.
    """
    path = Path(candidate.path)
    Register(folder=paths.data_folder()).require(path)
    log = log_files.parsed(path, log_files.content(path))
    root = paths.project_of(working_folder).root
    allowed = settings_here(working_folder).settings.restore.max_chars
    return restoration_text(
        log,
        profile=profile,
        max_chars=allowed if most_chars is None else min(allowed, most_chars),
        drift=None if log.ground is None else drift_since(log.ground, root),
        path_of_whole=str(path),
    )


def _candidates(found: Iterable[LogFiles]) -> list[Candidate]:
    """The newest that this machine knows are read; of what it never heard of, so many are looked at, and the rest waits.

    A repository can bring any number of logs: they must not cost a session that begins more than a moment.
    """
    register = Register(folder=paths.data_folder())
    noted = register.noted_paths()
    readable = [(files, path) for files in found if (path := files.json) is not None]
    known = [each for each in readable if str(each[1]) in noted][:_MOST_READ]
    others = [each for each in readable if str(each[1]) not in noted]
    standings = register.standings(path for _, path in (*known, *others[:_MOST_LOOKED_AT]))
    made = (_candidate(files, path, standings.get(path)) for files, path in (*known, *others))
    return [each for each in made if each is not None]


def _candidate(files: LogFiles, path: Path, standing: Standing | None) -> Candidate | None:
    saved_at = datetime.fromtimestamp(files.saved_ns / 1e9, UTC)
    if standing is None:
        return foreign_candidate(files.session_id, path=str(path), saved_at=saved_at)
    try:
        return candidate_of(files.log(), path=str(path), standing=standing, saved_at=saved_at)
    except LeftoffError:
        return None
