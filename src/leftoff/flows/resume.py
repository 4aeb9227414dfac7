"""Pick up where you left off: what was done and what comes next, the text to go on from, and the agent started on it.

The log is brought up to date first, where its session went on after it was saved; a session that has none gets one.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from leftoff.errors import LeftoffError, NotFoundError, NotTrustedError
from leftoff.flows import rollover, shrink_session
from leftoff.flows.advise import advised
from leftoff.flows.agents import agent_called
from leftoff.flows.choose import LATEST, Chosen, choose
from leftoff.flows.derive import Made, require_known
from leftoff.flows.drift import drift_since
from leftoff.flows.list_logs import find_log
from leftoff.flows.re_home import re_homed
from leftoff.flows.restore import logs_to_offer
from leftoff.flows.save_log import save_log_of
from leftoff.flows.settings import settings_here
from leftoff.flows.shelf import Shelf, shelf_here
from leftoff.model.entries import is_open
from leftoff.model.protocols import CanResume
from leftoff.model.resume_log import ResumeLog, shown_decision
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.restore.choose import left_at
from leftoff.restore.profiles import restoration_text
from leftoff.stores import log_files
from leftoff.stores.log_files import LogFiles
from leftoff.system import clock, paths, process
from leftoff.system.register import Register

HOWS = ("as-is", "trim", "smart-trim", "rollover")
_NEWER_SECONDS = 5.0  # a client writes a little after its last event
_RECENT = 4
_KEY = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """Where a session left off. ``command`` starts its agent on it; None where nobody knows how."""

    session_id: str
    agent: str | None
    folder: Path
    last_session: datetime
    mission: str
    done: int
    open: int
    next_step: str | None
    recent: tuple[str, ...]
    key_context: tuple[str, ...]
    drift: str
    text: str
    log_file: Path
    command: tuple[str, ...] | None
    session: Chosen | None = None  # None: its transcript is gone

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "session_id": self.session_id,
            "agent": self.agent,
            "folder": str(self.folder),
            "last_session": clock.rfc3339(self.last_session),
            "mission": self.mission,
            "done": self.done,
            "open": self.open,
            "next_step": self.next_step,
            "drift": self.drift or None,
            "log_file": str(self.log_file),
            "command": None if self.command is None else [*self.command],
            "text": self.text,
        }


def welcome(words: str, working_folder: Path) -> Welcome:
    """Where the session that ``words`` name left off; ``latest`` is what a new session here would be offered."""
    settings = settings_here(working_folder).settings
    shelf = shelf_here(working_folder, settings)
    kept, chosen = _current(words, shelf, working_folder)
    path = kept.json
    if path is None:
        raise NotFoundError(f"{kept.path}: only the text of this log is left. leftoff log show prints it.")
    Register(folder=paths.data_folder()).require(path)
    log = log_files.parsed(path, log_files.content(path))
    root = paths.project_of(working_folder).root
    drift = None if log.ground is None else drift_since(log.ground, root)
    text = restoration_text(
        log, profile="fresh", max_chars=settings.restore.max_chars, drift=drift, path_of_whole=str(path)
    )
    return _welcome(log, kept, chosen, working_folder, drift=str(drift or ""), text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a session is gone on with: what to type, where, and why it is done so."""

    how: str
    command: tuple[str, ...] | None
    folder: Path
    why: str
    made: Made | None = None  # None: the session itself

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "how": self.how,
            "command": None if self.command is None else [*self.command],
            "folder": str(self.folder),
            "why": self.why,
            "made": None if self.made is None else self.made.to_dict(),
        }


def way_on(where: Welcome, how: str | None, *, here: Path | None) -> Way:
    """Make ready what is wanted; ``how`` None: what is advised. ``here`` re-homes a copy into that folder."""
    if where.session is None:
        raise LeftoffError(f"The transcript of session {where.session_id} is gone: only its log is left.")
    chosen, why = where.session, "as you said"
    if how is None:
        advice = advised(chosen)
        how, why = advice.how, advice.why
    if how == "as-is" and here is None:
        return Way(how=how, command=where.command, folder=where.folder, why=why)
    made = _made(chosen, how, here)
    if made.session_id is None:
        return Way(how="as-is", command=where.command, folder=where.folder, why="there is nothing to trim")
    return Way(how=how, command=made.resume_command, folder=made.folder or where.folder, why=why, made=made)


def _made(chosen: Chosen, how: str, here: Path | None) -> Made:
    session = chosen.open()
    require_known(
        chosen.agent,
        session,
        f"leftoff trim {session.session_id} --force writes one all the same; leftoff resume --how as-is needs none.",
    )
    if how == "as-is":
        assert here is not None
        return re_homed(chosen, here)
    if how == "rollover":
        return rollover.rolled_over_of(
            chosen, here or paths.working_folder(), rollover.Wanted(project=here, force=True)
        )
    strategy: Literal["trim", "smart-trim"] = "trim" if how == "trim" else "smart-trim"
    wanted = shrink_session.Wanted(strategy=strategy, project=here, force=True)
    return shrink_session.carried_out(shrink_session.planned_of(chosen, wanted))


def go_on(way: Way) -> int:
    """Start the agent on our terminal; its exit code."""
    if way.command is None:
        raise LeftoffError("How to start the agent on this session is not known.")
    return process.attend(way.command, folder=way.folder)


def _current(words: str, shelf: Shelf, working_folder: Path) -> tuple[LogFiles, Chosen | None]:
    """The log that is meant, and its session where that can be read; saved anew where the session went on."""
    kept = _kept(words, shelf, working_folder)
    chosen = _session(kept.session_id if kept is not None else words, working_folder)
    if chosen is None:
        if kept is None:
            raise NotFoundError("There is nothing to go on from here. leftoff sessions lists what there is.")
        return kept, None
    if kept is None or _went_on(chosen, kept):
        session_id = save_log_of(chosen, working_folder, stop_reason="manual_pause").log.session_id
        own = Path(chosen.open().project or working_folder)
        project = shelf_here(own if own.is_dir() else working_folder, shelf.settings)  # where it was saved
        kept = find_log(session_id, project, working_folder)[0]
    return kept, chosen


def _kept(words: str, shelf: Shelf, working_folder: Path) -> LogFiles | None:
    if words == LATEST:
        choice = logs_to_offer(working_folder)
        if trusted := (*choice.offered, *choice.over):  # what is over is not offered, but here somebody asks
            return find_log(trusted[0].session_id, shelf, working_folder)[0]
        if choice.waiting and _session(LATEST, working_folder) is None:
            first = choice.waiting[0].path
            raise NotTrustedError(
                f"{first}: this machine did not write it. Read it, then: leftoff trust {first}"
            )
        return None
    try:
        return find_log(words, shelf, working_folder)[0]
    except NotFoundError:
        return None


def _session(words: str, working_folder: Path) -> Chosen | None:
    try:
        return choose(words, working_folder)
    except NotFoundError:
        return None


def _went_on(chosen: Chosen, kept: LogFiles) -> bool:
    return chosen.transcript.stat().st_mtime - kept.saved_ns / 1e9 > _NEWER_SECONDS


def _welcome(
    log: ResumeLog, kept: LogFiles, chosen: Chosen | None, working_folder: Path, *, drift: str, text: str
) -> Welcome:
    named = log.metadata.get("project")
    folder = Path(named) if isinstance(named, str) and Path(named).is_dir() else working_folder
    agent = chosen.agent if chosen is not None else None
    command = None
    if agent is not None and isinstance(runner := agent_called(agent.id), CanResume):
        command = runner.resume_command(log.session_id)
    open_steps = [step for step in log.next_steps if is_open(step)]
    decided = [shown_decision(each).removeprefix("- ") for each in log.decisions[-_KEY:]]
    return Welcome(
        session_id=log.session_id,
        agent=agent.name if agent is not None else None,
        folder=folder,
        last_session=left_at(log, datetime.fromtimestamp(kept.saved_ns / 1e9, UTC)),
        mission=log.mission_summary,
        done=len(log.accomplishments),
        open=len(open_steps),
        next_step=next(iter(open_steps), None),
        recent=tuple(log.accomplishments[-_RECENT:]),
        key_context=tuple([*_texts(log, "pins"), *_texts(log, "user_rules"), *decided][:_KEY]),
        drift=drift,
        text=text,
        log_file=kept.path,
        command=command,
        session=chosen,
    )


def _texts(log: ResumeLog, key: str) -> list[str]:
    value = log.critical_context.get(key)
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
