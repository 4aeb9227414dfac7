"""Which log to offer a session: by folder, branch, worktree and what it shares with the prompt, then the newest.

Only logs that this machine wrote or the user trusted are offered; the others wait. A log of a session that was cleared or
finished is kept and not offered: the user has said that it is over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from leftoff.model.entries import REASON
from leftoff.model.resume_log import ResumeLog
from leftoff.system.register import Standing

ENDED = "ended"  # the key of a log's metadata that says how its session ended
OVER = frozenset({"cleared", "finished"})  # endings after which a log is not offered by itself
_WORD = re.compile(r"[\w@~./-]*\w")
_COMMON_CHARS = 3  # shorter words are in every prompt
_GO_ON = re.compile(
    r"(?:please\s+|ok(?:ay)?,?\s+|let'?s\s+|can (?:you|we)\s+)*"
    r"(?:(?:continue|resume|proceed|go on|carry on|keep going|pick up)\b"
    r"(?!\s+(?:to|with)\s+(?:a|another|the next|something)\s+(?:new|different|other)\b)"
    r"|where (?:were we|did we (?:stop|leave off))|what(?:'s| is) next\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A log that could be offered. ``folder`` is where its session ran; None is not known."""

    session_id: str
    path: str
    standing: Standing
    saved_at: datetime
    folder: str | None
    branch: str | None
    worktree: str | None
    ended: str | None
    words: frozenset[str]  # its files, their last parts, and its names


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
        saved_at=saved_at,
        folder=folder if isinstance(folder, str) else None,
        branch=ground.branch if ground is not None else None,
        worktree=ground.worktree if ground is not None else None,
        ended=ended if isinstance(ended, str) else None,
        words=frozenset(_words_of(log)),
    )


def is_wanted(candidate: Candidate, prompt: str) -> bool:
    """Whether a prompt asks for the log: it says to go on, or shares files or names with it."""
    return asks_to_go_on(prompt) or bool(shared(candidate, prompt))


def asks_to_go_on(prompt: str) -> bool:
    """Whether the prompt begins by asking to go on, whatever follows."""
    return _GO_ON.match(prompt.strip()) is not None


def shared(candidate: Candidate, prompt: str) -> frozenset[str]:
    """The files and names of the log that the prompt speaks of."""
    return candidate.words & {word.removeprefix("./") for word in _WORD.findall(prompt)}


def _rank(candidate: Candidate, here: Here, prompt: str) -> tuple[int, bool, bool, int, datetime]:
    return (
        _nearness(candidate.folder, here.folder),
        candidate.branch == here.branch,
        candidate.worktree == here.worktree,
        len(shared(candidate, prompt)),
        candidate.saved_at,
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
    for text in (*_entries(files), *_entries(names), *map(str, told)):
        for word in _WORD.findall(text.partition(REASON)[0]):
            yield from (part for part in (word, word.rpartition("/")[2]) if len(part) > _COMMON_CHARS)


def _entries(value: Any) -> Iterable[str]:
    return map(str, value) if isinstance(value, dict | list) else ()
