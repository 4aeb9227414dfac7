"""What a session in this folder can go on from: the project's logs in their order, and the text of the one that is taken."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from leftoff.errors import LeftoffError
from leftoff.flows.drift import drift_since
from leftoff.flows.log_folder import log_folder
from leftoff.flows.settings import settings_here
from leftoff.restore.choose import Candidate, Choice, Here, candidate_of, choose
from leftoff.restore.parts import Profile
from leftoff.restore.profiles import restoration_text
from leftoff.stores import log_files
from leftoff.stores.log_files import LogFiles
from leftoff.system import git, paths
from leftoff.system.register import Register


def logs_to_offer(working_folder: Path, prompt: str = "") -> Choice:
    """The project's logs: those to offer, the best first, those that wait for trust, those that are over.

    One that cannot be read hides no other: ``leftoff log list`` names it.
    """
    project = paths.project_of(working_folder)
    settings = settings_here(working_folder).settings
    register = Register(folder=paths.data_folder())
    found = log_files.found_in(log_folder(project, settings.resume_logs.storage_dir))
    candidates = [each for files in found if (each := _candidate(files, register)) is not None]
    here = Here(
        folder=str(working_folder),
        branch=git.branch(project.root) if project.in_git else None,
        worktree=project.worktree,
    )
    return choose(candidates, here, prompt)


def restored(candidate: Candidate, working_folder: Path, *, profile: Profile) -> str:
    """The log for a session to go on from, with what has changed since. NotTrustedError for what nobody has trusted."""
    path = Path(candidate.path)
    Register(folder=paths.data_folder()).require(path)
    log = log_files.parsed(path, log_files.content(path))
    root = paths.project_of(working_folder).root
    return restoration_text(
        log,
        profile=profile,
        max_chars=settings_here(working_folder).settings.restore.max_chars,
        drift=None if log.ground is None else drift_since(log.ground, root),
        path_of_whole=str(path),
    )


def _candidate(files: LogFiles, register: Register) -> Candidate | None:
    if files.json is None:
        return None
    try:
        return candidate_of(
            files.log(),
            path=str(files.json),
            standing=register.standing(files.json),
            saved_at=datetime.fromtimestamp(files.saved_ns / 1e9, UTC),
        )
    except LeftoffError:
        return None
