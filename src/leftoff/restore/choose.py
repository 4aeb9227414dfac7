"""Which log to offer a session: by folder, branch, worktree and what it shares with the prompt, then the newest.

Only logs that this machine wrote or the user trusted are offered; the others wait. A log of a session that was cleared or
finished is kept and not offered: the user has said that it is over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from leftoff.model.entries import ELSEWHERE, REASON
from leftoff.model.resume_log import ResumeLog
from leftoff.model.values import dataclass
from leftoff.restore.going_on import asks_to_go_on
from leftoff.system import clock
from leftoff.system.register import Standing

ENDED = "ended"  # the key of a log's metadata that says how its session ended
LAST_ACTIVITY = "last_activity"  # the key that says when its session last did anything
CLEARED, FINISHED = "cleared", "finished"
OVER = frozenset({CLEARED, FINISHED})  # endings after which a log is not offered by itself
_WORD = re.compile(r"[\w@~./-]*\w")
_COMMON_CHARS = 3  # shorter words are in every prompt
# A word that people use too when they speak of something else; it counts where it is written as code.
_PLAIN = re.compile(r"(?![A-Z]\w*file\b)[A-Za-z][a-z]*(?:-[a-z]+)*|[A-Z]+")
_AS_CODE = re.compile(r"`([^`\s]+)`|([\w.]+)\(")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A log that could be offered. ``folder`` is where its session ran; None is not known."""

    session_id: str
    path: str
    standing: Standing
    left_at: datetime  # when its session was last at work
    folder: str | None
    branch: str | None
    worktree: str | None
    ended: str | None
    words: frozenset[str]  # its files, their last parts, and its names
    mission: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """Where the new session is."""

    folder: str
    branch: str | None
    worktree: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Logs to offer, the best first; those that wait for trust; those that are over."""

    offered: tuple[Candidate, ...]
    waiting: tuple[Candidate, ...]
    over: tuple[Candidate, ...]


def choose(candidates: Iterable[Candidate], here: Here, prompt: str = "") -> Choice:
    """Every candidate in its place."""
    ranked = sorted(candidates, key=lambda each: _rank(each, here, prompt), reverse=True)
    trusted = [each for each in ranked if each.standing != "foreign"]
    return Choice(
        offered=tuple(each for each in trusted if each.ended not in OVER),
        waiting=tuple(each for each in ranked if each.standing == "foreign"),
        over=tuple(each for each in trusted if each.ended in OVER),
    )


def candidate_of(log: ResumeLog, *, path: str, standing: Standing, saved_at: datetime) -> Candidate:
    """A log as a candidate."""
    ground, metadata = log.ground, log.metadata
    folder, ended = metadata.get("project"), metadata.get(ENDED)
    return Candidate(
        session_id=log.session_id,
        path=path,
        standing=standing,
        left_at=left_at(log, saved_at),
        folder=folder if isinstance(folder, str) else None,
        branch=ground.branch if ground is not None else None,
        worktree=ground.worktree if ground is not None else None,
        ended=ended if isinstance(ended, str) else None,
        words=frozenset(_words_of(log)),
        mission=log.mission_summary,
    )


def left_at(log: ResumeLog, saved_at: datetime) -> datetime:
    """When its session was last at work: the log may have been saved long after that."""
    told = log.metadata.get(LAST_ACTIVITY)
    active_at = clock.from_rfc3339(told) if isinstance(told, str) else None
    return saved_at if active_at is None else min(saved_at, active_at)


def foreign_candidate(session_id: str, *, path: str, saved_at: datetime) -> Candidate:
    """A log that nobody trusts, and that nobody has looked into."""
    return Candidate(
        session_id=session_id,
        path=path,
        standing="foreign",
        left_at=saved_at,
        folder=None,
        branch=None,
        worktree=None,
        ended=None,
        words=frozenset(),
        mission="",
    )


def is_wanted(candidate: Candidate, prompt: str) -> bool:
    """Whether a prompt asks for the log: it says to go on, or shares files or names with it."""
    return asks_to_go_on(prompt) or bool(shared(candidate, prompt))


def shared(candidate: Candidate, prompt: str) -> frozenset[str]:
    """The files and names of the log that the prompt speaks of."""
    spoken = {word.removeprefix("./") for word in _WORD.findall(prompt)}
    as_code = {word for pair in _AS_CODE.findall(prompt) for word in pair}
    return frozenset(
        word for word in candidate.words & spoken if word in as_code or not _PLAIN.fullmatch(word)
    )


def _rank(candidate: Candidate, here: Here, prompt: str) -> tuple[int, bool, bool, int, datetime]:
    return (
        _nearness(candidate.folder, here.folder),
        candidate.branch == here.branch,
        candidate.worktree == here.worktree,
        len(shared(candidate, prompt)),
        candidate.left_at,
    )


def _nearness(folder: str | None, here: str) -> int:
    """2: the same folder; 1: one is inside the other; 0: elsewhere or not known."""
    if folder is None:
        return 0
    one, other = folder.rstrip("/") + "/", here.rstrip("/") + "/"
    return 2 if one == other else int(one.startswith(other) or other.startswith(one))


def _words_of(log: ResumeLog) -> Iterator[str]:
    files, names = (log.critical_context.get(key) for key in ("files", "names"))
    told = names.values() if isinstance(names, dict) else ()
    places = (each for each in _entries(names) if each != ELSEWHERE)
    for text in (*_entries(files), *places, *map(str, told)):
        for word in _WORD.findall(text.partition(REASON)[0]):
            yield from (part for part in (word, word.rpartition("/")[2]) if len(part) > _COMMON_CHARS)


def _entries(value: Any) -> Iterable[str]:
    return map(str, value) if isinstance(value, dict | list) else ()
