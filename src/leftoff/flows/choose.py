"""Which session is meant: a number of the list last shown, an id or unique prefix, a path, or ``latest``."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from leftoff.errors import AmbiguousSessionError, NotFoundError
from leftoff.flows.agents import agent_of, agents_here
from leftoff.flows.sessions import found_sessions, glimpsed, looked_at_alone, numbered, sessions_of
from leftoff.model.session import Session, SessionEntry
from leftoff.model.values import dataclass
from leftoff.system import paths

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from leftoff.model.protocols import Agent

LATEST = "latest"
_SHORTEST_PREFIX = 4
_LONGEST_NUMBER = 9
_NEWEST = 3  # who asks for the latest is at work in it, as a rule
_HELP = "leftoff sessions lists what there is."


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A session's file and the agent that wrote it."""

    agent: Agent
    transcript: Path

    def open(self) -> Session:
        """The session itself."""
        return self.agent.open(self.transcript)


def choose(words: str, working_folder: Path) -> Chosen:
    """The session that ``words`` name; NotFoundError or AmbiguousSessionError when they name none or several."""
    if words == LATEST:
        return _latest(working_folder)
    if (
        words.isdecimal()
        and len(words) <= _LONGEST_NUMBER
        and (transcript := numbered(int(words))) is not None
    ):
        return _at(transcript)
    if (path := _path(words)) is not None:
        return _at(path)
    return _by_id(words)


def _path(words: str) -> Path | None:
    """The path that is meant: one that exists, or words that can be nothing else."""
    try:
        path = Path(words).expanduser()
        exists = path.exists()
    except (OSError, ValueError, RuntimeError):  # too long, a NUL, a user that nobody knows
        path, exists = Path(words), False
    return path if exists or "/" in words or words.endswith(".jsonl") else None


def open_session(words: str = LATEST, working_folder: Path | None = None) -> Session:
    """The session that ``words`` name, ready to be read."""
    return choose(words, working_folder or paths.working_folder()).open()


def _latest(working_folder: Path) -> Chosen:
    found = found_sessions()
    newest = sessions_of(working_folder, found[:_NEWEST], looked_at_alone)
    older = sessions_of(working_folder, found[_NEWEST:], glimpsed)
    entry = next(chain(newest, older), None)
    if entry is None:
        raise NotFoundError(
            f"No session of {working_folder} was found. leftoff sessions lists those of all projects."
        )
    return _at(Path(entry.transcript))


def _at(transcript: Path) -> Chosen:
    return Chosen(agent=agent_of(transcript), transcript=transcript)


def _by_id(words: str) -> Chosen:
    """By the id in the file's name first, which costs no reading; then by the ids that the transcripts give."""
    found = found_sessions()
    named = [each for each in found if words in each.transcript.name]
    matches = _matching(words, glimpsed(named)) or _matching(words, glimpsed(found))
    if not matches and words.isdecimal():
        raise NotFoundError(
            f"The list last shown has no number {words[:20]}, and no session an id that begins so. {_HELP}"
        )
    if not matches:
        names = ", ".join(agent.name for agent in agents_here())
        raise NotFoundError(f"No session of {names} has the id {words[:60]!r}. {_HELP}")
    exact = [entry for entry in matches if entry.session_id == words]
    if len(matches) > 1 and len(exact) != 1:
        some = ", ".join(entry.session_id for entry in matches[:4])
        more = f" and {len(matches) - 4} more" if len(matches) > 4 else ""
        raise AmbiguousSessionError(
            f"{words[:60]!r} names {len(matches)} sessions: {some}{more}. Give more of the id."
        )
    return _at(Path((exact or matches)[0].transcript))


def _matching(words: str, listed: object) -> list[SessionEntry]:
    if len(words) < _SHORTEST_PREFIX:
        return []
    assert hasattr(listed, "__iter__")
    return [entry for entry in listed if entry.session_id.startswith(words)]
