"""The session state of a session that is known by its transcript or its id."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from leftoff.errors import AmbiguousSessionError, NotFoundError, TranscriptError
from leftoff.flows.choose import choose


def known_state(
    session_id: str | None, transcript: Path | None, working_folder: Path
) -> dict[str, Any] | None:
    """What the transcript tells; None where none is known. ``session_id`` is looked for among all agents' sessions."""
    if transcript is None and session_id is not None:
        transcript = _transcript_of(session_id, working_folder)
    if transcript is None:
        return None
    from leftoff.flows.save_log import session_state_of  # noqa: PLC0415 - loads extraction and all agents

    return session_state_of(transcript)


def _transcript_of(session_id: str, working_folder: Path) -> Path | None:
    """Of the session of exactly that id: a number or the beginning of an id names another's."""
    try:
        session = choose(session_id, working_folder).open()
    except (NotFoundError, AmbiguousSessionError, TranscriptError):
        return None
    return Path(session.transcript) if session.session_id == session_id else None
