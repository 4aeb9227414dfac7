"""An exact copy of a session for another folder, so that its agent finds it there."""

from __future__ import annotations

from pathlib import Path

from leftoff.flows.choose import Chosen
from leftoff.flows.derive import Made, resume_command, written_copy
from leftoff.lineage.metadata import moved_metadata
from leftoff.model.copying import CopyOrder
from leftoff.system import clock


def re_homed(chosen: Chosen, folder: Path) -> Made:
    """Write the copy; nothing is cut, and the numbers of usage stay. Whether it may be copied is for the caller to ask."""
    session = chosen.open()
    at = clock.now()
    order = CopyOrder(at=at, metadata=moved_metadata(session, at), project=folder)
    copy = written_copy(chosen, session, (), order)
    return Made(
        session_id=copy.session_id,
        output_file=copy.transcript,
        parent_file=chosen.transcript,
        tools_trimmed=0,
        tokens_saved=0,
        context_saved_percent=0.0,
        resume_command=resume_command(chosen.agent, copy.session_id),
        folder=folder,
        left_behind=copy.left_behind,
    )
