"""The resume logs of a project that the remote holds, whichever machine wrote them, newest first."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from leftoff.errors import LeftoffError
from leftoff.flows.remote_store import remote_here
from leftoff.flows.send_outbox import ROOT_KEY, Sent
from leftoff.model.resume_log import ResumeLog
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject

MOST_SHOWN = 20  # each is read for its mission, over the network


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteLog:
    """One log. ``root`` is where its project stood; ``trouble`` says why it cannot be read, and then the rest is None."""

    session_id: str
    written_at: str | None = None
    mission: str | None = None
    next_step: str | None = None
    root: str | None = None
    is_local: bool = False
    trouble: str | None = None

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "session_id": self.session_id,
            "written_at": self.written_at,
            "mission": self.mission,
            "next_step": self.next_step,
            "root": self.root,
            "local": self.is_local,
            "trouble": self.trouble,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteLogs:
    """The newest logs, whether there are more, and what came of sending what waited here."""

    logs: tuple[RemoteLog, ...]
    more: bool
    sent: Sent


def list_remote(working_folder: Path) -> RemoteLogs:
    """The newest logs of this project in the remote."""
    remote = remote_here(working_folder)
    local = {*remote.shelf.local.list()}
    found = [*islice(remote.logs(), MOST_SHOWN + 1)]
    logs = tuple(_listed(session_id, log, local) for session_id, log in found[:MOST_SHOWN])
    return RemoteLogs(logs=logs, more=len(found) > MOST_SHOWN, sent=remote.sent)


def _listed(identifier: str, log: ResumeLog | LeftoffError, local: set[str]) -> RemoteLog:
    if isinstance(log, LeftoffError):
        return RemoteLog(session_id=identifier, trouble=str(log))
    root = log.metadata.get(ROOT_KEY)
    return RemoteLog(
        session_id=log.session_id,
        written_at=log.context_metrics.timestamp,
        mission=log.mission_summary.strip() or None,
        next_step=next((step for step in log.next_steps if step.strip()), None),
        root=root if isinstance(root, str) else None,
        is_local=log.session_id in local,
    )
