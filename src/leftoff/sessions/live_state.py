"""What is remembered of a live session from one hook event to the next, one file per session in the state folder.

The fast path reads these files and only compares numbers: from ``next_mark_tokens`` on, or below ``rearm_below_tokens``,
there is work for the full program; ``is_due`` says that there is work in any case. Each file is changed under its own lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

import orjson

from leftoff.agents.registry import agent_by_id
from leftoff.core.metrics import Level
from leftoff.core.protocols import KeepsSessions
from leftoff.core.wire import SCHEMAS, JsonObject, JsonValue, upgrade_document
from leftoff.errors import DocumentError, LeftoffError
from leftoff.platform import clock, files, locks, paths, process

FOLDER = "watch"
CLEARED = "clear"  # why a session ended that the user cleared
_END = ".json"
_END_NOTE = ".end"
_MAX_AGE = timedelta(days=30)  # without an event; a threshold may then be announced once more
_LISTS = ("offer_words", "offered", "to_user", "to_agent")
Result = TypeVar("Result")
# How far a compaction has come: its losses are saved; the text that restores them was handed over, or withheld because no summary
# was asked for, so that much may have been kept. In the last two cases what else was dropped is not counted yet. Or leftoff answered
# the compaction itself, and there is nothing to restore.
CompactionState = Literal["saved", "restored", "withheld", "in_place"]


class LiveState(NamedTuple):
    """One session of one agent. None means not known or not there; times are RFC 3339."""

    agent: str
    session_id: str
    tail: str | None = None  # how fast paths installed by older versions read the end of the transcript
    fast_path: Mapping[str, object] | None = None  # how the fast path reads events and the transcript
    transcript: str | None = None
    folder: str | None = None
    project: str | None = None  # the root of its project
    home: str | None = None  # the folder that holds the project's documents: of a worktree, the main checkout
    started_at: str | None = None
    ended: str | None = None  # why it ended
    ended_at: str | None = None  # when it last ended: it may have been resumed since
    off: bool = False  # the settings make hooks silent
    is_headless: bool = False
    client_pid: int | None = None
    client_begun: str | None = None
    said: Level = Level.OK
    agent_told: bool = False
    used_tokens: int | None = None
    usable_tokens: int | None = None
    about: str | None = None  # what the end of the transcript says about model or window
    next_mark_tokens: int | None = 0  # None: the window is not known
    rearm_below_tokens: int = 0
    looked_bytes: int = 0  # size of the transcript when its tail was last estimated
    folded_bytes: int = 0  # size of the transcript when it was last extracted
    pause_id: str | None = None
    pause_declined: bool = False  # the user discarded it: no new one starts until the window has emptied
    triggers_prefix: str = ">"
    offer_open: bool = False  # the first prompt, which may ask for a resume log, has not come yet
    offer_words: tuple[str, ...] = ()  # the first prompt asks for a log if it contains one of them
    offered: tuple[
        str, ...
    ] = ()  # the logs that were named to the user, in that order: the first numbers of a pickup
    may_continue: bool = False  # a later prompt may still take up the offer, if it asks to continue
    expects_log: bool = (
        False  # an earlier session has no log yet: the first turn ends with the message about it
    )
    catching_up: bool = False  # a detached process may be writing the log that the first prompt asks for
    pickup: str | None = None  # the log to hand over with the next prompt
    project_state: str | None = None  # the resume state of the project being worked on
    project_said: str | None = None  # the last project_state threshold announced: warn, auto_save
    files: Mapping[str, int | None] = MappingProxyType({})  # to check after a turn: time of change by path
    compaction: CompactionState | None = None
    compaction_at_bytes: int = 0  # size of the transcript when its losses were saved
    hints: bool = False  # the settings want a word at the right moment: the full program sees every call
    hinted: tuple[str, ...] = ()  # what was hinted at, so that it is not done twice
    to_user: tuple[str, ...] = ()  # messages for the next event that can deliver them
    to_agent: tuple[str, ...] = ()

    @property
    def used_fraction(self) -> float | None:
        """The share of the usable window in use; None where it is not known."""
        if self.used_tokens is None or self.usable_tokens is None:
            return None
        return self.used_tokens / self.usable_tokens

    @property
    def is_due(self) -> bool:
        """Whether the next event needs the full program in any case, which an open offer alone does not."""
        is_unchecked = self.compaction in {"restored", "withheld"}
        return is_unchecked or bool(self.pickup or self.to_user or self.to_agent)

    def to_dict(self) -> JsonObject:
        """Return the JSON form."""
        data: dict[str, Any] = self._asdict()
        data |= {name: [*data[name]] for name in _LISTS} | {"said": self.said.value}
        data["files"] = {**self.files}
        if not self.offer_open:
            data["offer_words"] = []  # every later event would read them in vain
        if self.fast_path is None:
            del data["fast_path"]
        derived = {"is_due": self.is_due, "used_fraction": self.used_fraction}
        return {"schema": SCHEMAS["watch_state"], **data, **derived}

    @classmethod
    def from_dict(cls, data: JsonValue, *, where: str) -> LiveState:
        """Read the JSON form; DocumentError where it is not one, or of a newer leftoff."""
        known = upgrade_document("watch_state", data, where=where)
        values: dict[str, Any] = {name: value for name, value in known.items() if name in cls._fields}
        try:
            values |= {name: tuple(map(str, values.get(name) or ())) for name in _LISTS}
            values["said"] = Level(values.get("said", "ok"))
            return cls(**values)
        except (TypeError, ValueError) as error:
            raise DocumentError(f"{where}: not the state of a session: {error}.", path=where) from error

    def with_messages(self, *, to_user: str | None = None, to_agent: str | None = None) -> LiveState:
        """Return the state with messages queued for the next event that can deliver them, each only once."""
        users = (*self.to_user, to_user) if to_user and to_user not in self.to_user else self.to_user
        agents = (*self.to_agent, to_agent) if to_agent and to_agent not in self.to_agent else self.to_agent
        return self._replace(to_user=users, to_agent=agents)

    def without_message(self, to_user: str) -> LiveState:
        """Return the state without a message that is queued for the user."""
        return self._replace(to_user=tuple(each for each in self.to_user if each != to_user))


def path_of(agent_id: str, session_id: str) -> Path:
    """Return the file of a session's state; InvalidIdError for what cannot be an id."""
    name = f"{clock.check_id(agent_id, what='agent id')}-{clock.check_id(session_id)}{_END}"
    return paths.safe_join(paths.state_folder() / FOLDER, name)


def load(agent_id: str, session_id: str) -> LiveState:
    """Load a session's state, or an empty one if it cannot be read."""
    return _read(path_of(agent_id, session_id)) or LiveState(agent=agent_id, session_id=session_id)


def folder_of(state: LiveState) -> Path:
    """Return the folder the session runs in; where that is gone, the checkout that has its documents."""
    known = [Path(each) for each in (state.folder, state.project, state.home) if each is not None]
    return next((folder for folder in known if folder.is_dir()), known[0] if known else Path())


def change(agent_id: str, session_id: str, step: Callable[[LiveState], tuple[LiveState, Result]]) -> Result:
    """Change the state under its lock and return the step's result; StorageError if it cannot be saved."""
    path = path_of(agent_id, session_id)
    files.make_folder(path.parent)
    with locks.hold(path.with_name(f".{path.name}.lock")):
        before = load(agent_id, session_id)
        after, result = step(before)
        if after != before or not path.exists():
            # Hooks wait for this. If the machine crashes, the session is over, and what is lost is learned again.
            files.write_file(path, orjson.dumps(after.to_dict()), sync=False)
    return result


def running_in_project(project: str, session_id: str) -> list[LiveState]:
    """Return the other sessions that the user has open in the project, or that are at work, as far as it can be checked."""
    loaded = loaded_in_project(project)
    return [each for each in loaded if each.session_id != session_id and _is_open(each, loaded)]


def loaded_in_project(project: str) -> list[LiveState]:
    """Return the sessions of the project that have not ended and whose client still runs."""
    return [
        each
        for each in not_ended_in_project(project)
        if each.client_pid is not None and process.is_alive(each.client_pid, each.client_begun)
    ]


def not_ended_in_project(project: str) -> Iterator[LiveState]:
    """Return the sessions of the project whose end was not reported: they are running, or were killed or left."""
    return _states(project=project, ended=None)


def _is_open(state: LiveState, loaded: Sequence[LiveState]) -> bool:
    """Return whether a session is open, or at work. Some agents keep a session for a while that the user has left.

    Which screen shows which session is not known. If there are fewer screens than sessions, those that are not at work do not
    count as open: it is better to offer the log of one that is still open than to withhold that of one that was left.
    """
    try:
        agent = agent_by_id(state.agent)
    except LeftoffError:
        return True  # its plugin is gone
    if not isinstance(agent, KeepsSessions) or state.client_pid is None:
        return True
    screens = agent.open_screens(state.client_pid, Path(state.project or ""))
    sharing = [each for each in loaded if (each.agent, each.client_pid) == (state.agent, state.client_pid)]
    if screens is None or screens >= len(sharing):
        return True
    return state.transcript is not None and agent.is_at_work(Path(state.transcript))


def cleared_by_same_client(state: LiveState) -> list[LiveState]:
    """Return the other sessions of the same client process that ended because the user cleared them."""
    return [
        each
        for each in _states(ended=CLEARED)
        if each.session_id != state.session_id
        and (each.agent, each.client_pid, each.client_begun)
        == (state.agent, state.client_pid, state.client_begun)
    ]


def delete_old(now: datetime) -> None:
    """Delete the states of sessions without an event for a month."""
    for path in _paths():
        with suppress(OSError):
            if path.stat().st_mtime < (now - _MAX_AGE).timestamp():
                path.unlink()
                for beside in _beside(path):
                    beside.unlink(missing_ok=True)


def task_lock(path: Path) -> Path:
    """Return the lock of the one background process that works for the session."""
    return path.with_name(f".{path.name}.task.lock")


def end_note(agent_id: str, session_id: str) -> Path:
    """Return the file with the event that ended the session; it exists until everything due then has been saved."""
    return path_of(agent_id, session_id).with_suffix(_END_NOTE)


def with_end_note() -> list[LiveState]:
    """Return the sessions that have ended and for which not everything has been saved yet."""
    states = (_read(path.with_suffix(_END)) for path in _paths(_END_NOTE))
    return [state for state in states if state is not None]


def restoration_file(agent_id: str, session_id: str) -> Path:
    """Return the file with the text to restore after a compaction."""
    return path_of(agent_id, session_id).with_suffix(".txt")


def _beside(path: Path) -> tuple[Path, ...]:
    """Return the files that belong to a state and are deleted with it."""
    lock = path.with_name(f".{path.name}.lock")
    return lock, task_lock(path), path.with_suffix(".txt"), path.with_suffix(_END_NOTE)


def _states(**wanted: str | None) -> Iterator[LiveState]:
    """Return the sessions whose state has these values. There are hundreds of others, and a new session waits for this."""
    for path in _paths():
        if (state := _read(path, wanted)) is not None:
            yield state


def _paths(end: str = _END) -> list[Path]:
    try:
        inside = (paths.state_folder() / FOLDER).iterdir()
        return [path for path in inside if path.name.endswith(end) and path.name[0] != "."]
    except OSError:
        return []


def _read(path: Path, wanted: Mapping[str, str | None] = MappingProxyType({})) -> LiveState | None:
    try:
        data = orjson.loads(path.read_bytes())
        if isinstance(data, dict) and any(data.get(name) != value for name, value in wanted.items()):
            return None
        return LiveState.from_dict(data, where=str(path))
    except (OSError, ValueError, LeftoffError):
        return None
