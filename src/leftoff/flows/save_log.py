"""Save a resume log: what happened is extracted from the transcript, put beside gauge, pins and ground, and kept as a set.

``log_text`` makes the same log as text and writes nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leftoff.config.layers import Config
from leftoff.extract import State, is_finished, render
from leftoff.flows.agents import agent_of
from leftoff.flows.choose import Chosen, choose
from leftoff.flows.extraction import extracted, extracted_once
from leftoff.flows.inherited import MOST_RULE_TOKENS, inherit, take_over
from leftoff.flows.keep_log import Kept, keep_log, made_log, without_credentials
from leftoff.flows.polish import polish
from leftoff.flows.settings import settings_here
from leftoff.flows.shelf import shelf_here
from leftoff.flows.status import status_of
from leftoff.model.resume_log import ResumeLog
from leftoff.model.session import Session
from leftoff.model.sources import Source
from leftoff.restore.choose import CLEARED, ENDED, FINISHED, LAST_ACTIVITY
from leftoff.restore.profiles import profile_markdown
from leftoff.resume_logs import make, pins
from leftoff.system import clock, git, paths

_MOST_HASHED_FILES = 60
_SESSION_IS_OVER = frozenset({"session_end", "caught_up"})  # reasons to save after which nobody works in it


def save_log(
    words: str, working_folder: Path, *, stop_reason: str = "manual_pause", ended: str | None = None
) -> Kept:
    """Save the log of the session that ``words`` name, in the session's own project.

    ``ended`` is how the session ended, where it did: ``cleared`` and ``finished`` ones are kept and not offered.
    """
    return save_log_of(choose(words, working_folder), working_folder, stop_reason=stop_reason, ended=ended)


def save_log_of(chosen: Chosen, working_folder: Path, *, stop_reason: str, ended: str | None = None) -> Kept:
    """The same for a session that is known already: only what its transcript has new is read."""
    session = chosen.open()
    folder = _folder_of(session, working_folder)
    config = settings_here(folder)
    config.require_sound()
    shelf = shelf_here(folder, config.settings)
    state = extracted(chosen, session)
    told = _session_state(chosen, session, state, config, stand_in=folder)
    told["metadata"] |= _ending(chosen, state, stop_reason, ended)
    made = made_log(session.session_id, told, shelf, stop_reason=stop_reason)
    clean = without_credentials(made, config.settings.redaction)  # before anybody else sees it
    return keep_log(polish(clean, config.settings.summariser).log, shelf)


def _ending(chosen: Chosen, state: State, stop_reason: str, ended: str | None) -> dict[str, str]:
    """When the session last did anything, and how it ended: what was cleared stays so, what came to its end is finished."""
    active_at = datetime.fromtimestamp(chosen.transcript.stat().st_mtime, UTC)
    if ended != CLEARED and stop_reason in _SESSION_IS_OVER and is_finished(state):
        ended = FINISHED
    return {LAST_ACTIVITY: clock.rfc3339(active_at)} | ({} if ended is None else {ENDED: ended})


def log_text_of(words: str, working_folder: Path, *, max_chars: int | None = None) -> str:
    """The log of the session that ``words`` name as Markdown; nothing is written."""
    return log_text(choose(words, working_folder).transcript, max_chars=max_chars)


def log_text(transcript: Path, *, max_chars: int | None = None) -> str:
    """The log of a transcript as Markdown, whole or in the hook's profile; nothing is written."""
    config = settings_here()
    chosen = Chosen(agent=agent_of(transcript), transcript=transcript)
    session = chosen.open()
    log = log_of(chosen, session, extracted_once(chosen, session), config, max_chars=max_chars)
    if max_chars is None:
        return log.to_markdown(config.settings.resume_logs.max_tokens)
    return profile_markdown(log, max_chars=max_chars, profile="after_compaction")


def session_state_of(transcript: Path) -> dict[str, Any]:
    """The session state of a transcript, with its gauge and ground, before anything is taken out of it."""
    chosen = Chosen(agent=agent_of(transcript), transcript=transcript)
    session = chosen.open()
    return _session_state(chosen, session, extracted_once(chosen, session), settings_here())


def log_of(
    chosen: Chosen,
    session: Session,
    state: State,
    config: Config,
    *,
    stop_reason: str = "end_turn",
    max_chars: int | None = None,
    stand_in: Path | None = None,
) -> ResumeLog:
    """The log itself, without credentials; told for a text of ``max_chars`` where that is given.

    ``stand_in`` is the folder that the work goes on in where the session's own is gone.
    """
    told = _session_state(chosen, session, state, config, max_chars, stand_in=stand_in)
    log = make.from_session_state(session.session_id, told, stop_reason=stop_reason)
    return without_credentials(log, config.settings.redaction)


def _session_state(
    chosen: Chosen,
    session: Session,
    state: State,
    config: Config,
    max_chars: int | None = None,
    *,
    stand_in: Path | None = None,
) -> dict[str, Any]:
    made = render(state, max_chars)
    made["context_metrics"] = status_of(chosen, config, clock.now()).metrics
    made["metadata"]["project"] = session.project
    if session.parent is not None:
        made["metadata"]["parent"] = session.parent.session_id or session.parent.transcript
    folder = Path(session.project) if session.project else None
    if folder is not None and folder.is_dir():
        if session.parent is not None:
            shelf = shelf_here(folder, config.settings)
            if state.prompts:
                inherit(made, session, shelf, rule_tokens=_rule_tokens(max_chars))
            else:
                take_over(made, session, shelf)
        made["ground"] = git.ground(paths.project_of(folder).root, _touched(state, folder))
    else:
        folder = stand_in
    if folder is not None:
        _add_pins(made, folder)
    return made


def _rule_tokens(max_chars: int | None) -> int:
    """What rules may take of a log: of a short one, a quarter."""
    return MOST_RULE_TOKENS if max_chars is None else min(MOST_RULE_TOKENS, max_chars // 16)


def _add_pins(made: dict[str, Any], folder: Path) -> None:
    """The user's pins stand before everything else."""
    pinned = pins.read(pins.file_of(paths.project_of(folder)))
    if not pinned:
        return
    made["critical_context"] = {"pins": [pin.text for pin in pinned]} | made["critical_context"]
    made["sources"] += [
        Source(
            item=f"critical_context/pins/{number}", place=pin.place, sha256=pin.sha256, excerpt=pin.text
        ).to_dict()
        for number, pin in enumerate(pinned)
    ]


def _touched(state: State, folder: Path) -> list[str]:
    """The files whose content is remembered, relative to the project's root."""
    root = paths.project_of(folder).root
    found = []
    for file in sorted(state.files.values(), key=lambda each: -each.call)[:_MOST_HASHED_FILES]:
        path = folder / file.path
        if path.is_relative_to(root):
            found.append(str(path.relative_to(root)))
    return found


def _folder_of(session: Session, working_folder: Path) -> Path:
    """The session's own folder, or this one when that is gone."""
    folder = Path(session.project) if session.project else working_folder
    return folder if folder.is_dir() else working_folder
