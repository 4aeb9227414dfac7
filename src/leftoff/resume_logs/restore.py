"""Choose the resume logs to offer to a new session, and restore one as text.

Only logs that this machine wrote or the user trusts are offered, and only those whose work is open (``core.open_work``). The others are
kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leftoff.core.open_work import LAST_ACTIVITY, is_begun, is_open, open_sessions, title
from leftoff.core.resume_log import ResumeLog
from leftoff.errors import LeftoffError
from leftoff.platform import clock, git, paths
from leftoff.platform.register import NOT_WRITTEN_HERE, Judgement, Register, Standing
from leftoff.storage import file_store
from leftoff.storage.file_store import LogFiles
from leftoff.workspace import Workspace

if TYPE_CHECKING:
    from leftoff.resume_logs.restore_text import Profile

_MAX_READ = 200
_MAX_OPEN = 30
_MAX_LISTED_FILES = 200  # that this machine does not know: two for each log
_MAX_UNKNOWN = 10  # logs that this machine did not write: copied by hand, or from a clone
_LARGEST_UNKNOWN_BYTES = 1_000_000  # a log that leftoff wrote is far smaller
_NOT_WRITTEN = Judgement("foreign", NOT_WRITTEN_HERE)
_UNREADABLE = Judgement("foreign", "it cannot be read")
_WORD = re.compile(r"[\w@~./-]*\w")
_MAX_COMMON_CHARS = 3  # words of this length are in every prompt
# A word that people also use about something else: it counts only where it is written as code.
_ORDINARY_WORD = re.compile(r"(?![A-Z]\w*file\b)[A-Za-z][a-z]*(?:-[a-z]+)*|[A-Z]+")
_AS_CODE = re.compile(r"`([^`\s]+)`|([\w.]+)\(")


def logs_to_offer(workspace: Workspace, prompt: str = "", *, without: Collection[str] = ()) -> Choice:
    """Return the project's logs: those to offer, best first, those that need trust, and those without open work.

    A log that cannot be read or says nothing about the work is left out; ``leftoff log list`` names it. So are those of
    the sessions in ``without``; a session whose work one of them took over is offered as if that had not happened.
    """
    project = workspace.project
    candidates = _candidates(workspace.log_folder, without)
    here = Location(
        folder=str(workspace.folder),
        branch=git.branch(project.root) if project.in_git else None,
        worktree=project.worktree,
    )
    return rank_candidates(candidates, here, prompt)


def restore_log(
    candidate: Candidate, workspace: Workspace, *, profile: Profile, max_chars: int | None = None
) -> str:
    """Return the text that a session continues from, with what has changed since; NotTrustedError for an untrusted log.

    It has at most as many characters as the settings allow, and at most ``max_chars``.
    """
    from leftoff.resume_logs.drift import drift_since  # noqa: PLC0415 - an offer alone needs neither
    from leftoff.resume_logs.restore_text import restoration_text  # noqa: PLC0415

    path = Path(candidate.path)
    Register(folder=paths.data_folder()).require(path)
    log = file_store.parse_log(path, file_store.read_log_file(path))
    allowed = workspace.settings.restore.max_chars
    return restoration_text(
        log,
        profile=profile,
        max_chars=allowed if max_chars is None else min(allowed, max_chars),
        drift=None if log.ground is None else drift_since(log.ground, workspace.project.root),
        log_path=str(path),
    )


def _candidates(folder: Path, without: Collection[str]) -> list[Candidate]:
    """Read the newest logs that this machine knows, and check a few that it does not know.

    A repository can bring any number of logs: they must not slow down the start of a session.
    """
    register = Register(folder=paths.data_folder())
    known_paths = register.noted_paths(folder)
    found = file_store.list_known_log_files(folder, known_paths, most_unknown=_MAX_LISTED_FILES)
    readable = [
        (files, path)
        for files in found
        if (path := files.json) is not None and files.session_id not in without
    ]
    known = [each for each in readable if str(each[1]) in known_paths][:_MAX_READ]
    others = [each for each in readable if str(each[1]) not in known_paths]
    checked = [path for _, path in others[:_MAX_UNKNOWN] if _size_bytes(path) <= _LARGEST_UNKNOWN_BYTES]
    judged = register.judge_all((*(path for _, path in known), *checked))
    judged |= {path: _NOT_WRITTEN for _, path in others if path not in judged}
    logs: dict[Path, ResumeLog] = {}
    count_open = 0
    for files, path in (*known, *others):  # newest first: what took over another's work comes before it
        if judged.get(path, _UNREADABLE).standing == "foreign" or count_open >= _MAX_OPEN:
            continue  # not parsed: its content could take long and fill the memory
        with suppress(LeftoffError):
            logs[path] = files.log()
            count_open += is_open(logs[path]) and is_begun(logs[path])  # the others must not fill the room
    still_open = open_sessions(logs.values())
    read = (
        _candidate(files, path, judged.get(path, _UNREADABLE), logs.get(path), still_open)
        for files, path in (*known, *others)
    )
    return [each for each in read if each is not None]


def _size_bytes(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _candidate(
    files: LogFiles, path: Path, judgement: Judgement, log: ResumeLog | None, still_open: Collection[str]
) -> Candidate | None:
    saved_at = datetime.fromtimestamp(files.saved_ns / 1e9, UTC)
    standing = judgement.standing
    if standing == "foreign":
        return untrusted_candidate(files.session_id, path=str(path), saved_at=saved_at, why=judgement.why)
    if log is None or log.is_empty:
        return None
    candidate = make_candidate(log, path=str(path), standing=standing, saved_at=saved_at)
    return candidate._replace(is_open=log.session_id in still_open)


class Candidate(NamedTuple):
    """A log that could be offered. ``folder`` is where its session ran; None where not known."""

    session_id: str
    path: str
    standing: Standing
    left_at: datetime  # when its session was last active
    folder: str | None
    branch: str | None
    worktree: str | None
    is_open: bool
    is_begun: bool
    words: frozenset[str]  # its paths, file names and identifiers
    mission: str
    transcript: str | None
    why: str = ""  # it waits for the user's trust


class Location(NamedTuple):
    """Where the new session runs."""

    folder: str
    branch: str | None
    worktree: str | None


class Choice(NamedTuple):
    """Logs to offer, best first; those that need trust; those without open work."""

    offered: tuple[Candidate, ...]
    waiting: tuple[Candidate, ...]
    over: tuple[Candidate, ...]


def rank_candidates(candidates: Iterable[Candidate], here: Location, prompt: str = "") -> Choice:
    """Sort the candidates by what may be offered, whether work has begun, folder, branch, worktree, shared words and age."""
    ranked = sorted(candidates, key=lambda each: _rank(each, here, prompt), reverse=True)
    trusted = [each for each in ranked if each.standing != "foreign"]
    return Choice(
        offered=tuple(each for each in trusted if each.is_open),
        waiting=tuple(each for each in ranked if each.standing == "foreign"),
        over=tuple(each for each in trusted if not each.is_open),
    )


def make_candidate(log: ResumeLog, *, path: str, standing: Standing, saved_at: datetime) -> Candidate:
    """Return a log as a candidate."""
    ground, metadata = log.ground, log.metadata
    folder, transcript = metadata.get("project"), metadata.get("transcript")
    return Candidate(
        session_id=log.session_id,
        path=path,
        standing=standing,
        left_at=left_at(log, saved_at),
        folder=folder if isinstance(folder, str) else None,
        branch=ground.branch if ground is not None else None,
        worktree=ground.worktree if ground is not None else None,
        is_open=is_open(log),
        is_begun=is_begun(log),
        words=frozenset(_words_of(log)),
        mission=title(log),
        transcript=transcript if isinstance(transcript, str) else None,
    )


def left_at(log: ResumeLog, saved_at: datetime) -> datetime:
    """Return when the session was last active: the log may have been saved long after that."""
    recorded = log.metadata.get(LAST_ACTIVITY)
    active_at = clock.parse_rfc3339(recorded) if isinstance(recorded, str) else None
    return saved_at if active_at is None else min(saved_at, active_at)


def untrusted_candidate(session_id: str, *, path: str, saved_at: datetime, why: str) -> Candidate:
    """Return a log that is not trusted and was not read as a candidate."""
    return Candidate(
        session_id=session_id,
        path=path,
        standing="foreign",
        left_at=saved_at,
        folder=None,
        branch=None,
        worktree=None,
        is_open=True,
        is_begun=True,
        words=frozenset(),
        mission="",
        why=why,
        transcript=None,
    )


def shared_words(candidate: Candidate, prompt: str) -> frozenset[str]:
    """Return the files and names of the log that the prompt mentions."""
    mentioned = {word.removeprefix("./") for word in _WORD.findall(prompt)}
    as_code = {word for pair in _AS_CODE.findall(prompt) for word in pair}
    return frozenset(
        word for word in candidate.words & mentioned if word in as_code or not _ORDINARY_WORD.fullmatch(word)
    )


def words_to_look_for(candidates: Iterable[Candidate]) -> set[str]:
    """Return texts of which each prompt contains one that shares files or names with a log."""
    words = {word for candidate in candidates for word in candidate.words}
    ordinary = {word for word in words if _ORDINARY_WORD.fullmatch(word)}
    return words - ordinary | {code for word in ordinary for code in (f"`{word}`", f"{word}(")}


def _rank(candidate: Candidate, here: Location, prompt: str) -> tuple[bool, int, bool, bool, int, datetime]:
    return (
        candidate.is_begun,
        _nearness(candidate.folder, here.folder),
        candidate.branch == here.branch,
        candidate.worktree == here.worktree,
        len(shared_words(candidate, prompt)),
        candidate.left_at,
    )


def _nearness(folder: str | None, here: str) -> int:
    """Return 2 for the same folder, 1 if one is inside the other, 0 for another or unknown folder."""
    if folder is None:
        return 0
    one, other = folder.rstrip("/") + "/", here.rstrip("/") + "/"
    return 2 if one == other else int(one.startswith(other) or other.startswith(one))


def _words_of(log: ResumeLog) -> Iterator[str]:
    """Yield the files of the log, the words of its requests and the names that it writes as code."""
    files = log.critical_context.get("files")
    prose = "\n".join([*log.accomplishments, *log.key_findings, *log.next_steps])
    as_code = (pair[0] for pair in _AS_CODE.findall(prose))
    for text in (*map(str, files if isinstance(files, dict | list) else ()), log.mission_summary, *as_code):
        for word in _WORD.findall(text):
            yield from (part for part in (word, word.rpartition("/")[2]) if len(part) > _MAX_COMMON_CHARS)
