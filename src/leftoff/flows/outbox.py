"""Logs for the storage backend of the settings: put into the outbox at once, sent by a process that nobody waits for.

What leaves the machine holds no credential, whatever the settings say of local files. A hook pays for one small file and one
process; the backend's driver is loaded by that process only.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from leftoff.errors import LeftoffError
from leftoff.stores import outbox
from leftoff.stores.outbox import Entry
from leftoff.system import clock, process

if TYPE_CHECKING:
    from leftoff.config.settings import Settings
    from leftoff.flows.shelf import Shelf
    from leftoff.model.resume_log import ResumeLog

# -P: a project's own folder called leftoff must never be what runs.
_SENDER = ("-P", "-m", "leftoff.flows.send_outbox")


def post_quietly(log: ResumeLog, shelf: Shelf) -> None:
    """Let the log wait, and have it sent; what goes wrong is among the shelf's troubles, for the local copy is kept."""
    try:
        post(log, shelf)
        _start_sender()
    except LeftoffError as error:
        shelf.troubles.append(error)


def post(log: ResumeLog, shelf: Shelf) -> None:
    """Let the log wait."""
    saved_ns = int(clock.now().timestamp() * 1_000_000) * 1_000
    clean = _without_credentials(log, shelf.settings)
    outbox.of_user().put(Entry(log=clean, root=str(shelf.project.root), saved_ns=saved_ns))


def start_sending(settings: Settings) -> int | None:
    """Have it sent if something waits and there is somewhere to send it; the process that does it."""
    if settings.storage == "files" or not outbox.of_user().waiting():
        return None
    return _start_sender()


def _start_sender() -> int | None:
    """One at a time: whoever sends goes on until nothing waits."""
    return process.detach([sys.executable, *_SENDER]) if outbox.of_user().needs_sender() else None


def _without_credentials(log: ResumeLog, settings: Settings) -> ResumeLog:
    """Who keeps credentials in local files has not said that they may travel."""
    wanted = settings.redaction
    if wanted.enabled:
        return log  # as every log is before it is kept
    from leftoff.resume_logs.redacted import redacted  # noqa: PLC0415
    from leftoff.system.redaction import Redactor  # noqa: PLC0415 - loaded by those who write

    return redacted(log, Redactor(allow=wanted.allow, deny=wanted.deny))
