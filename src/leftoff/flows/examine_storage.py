"""What ``leftoff doctor`` finds about the storage backend: whether it answers now, and what waits to be sent to it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from leftoff.config.settings import Settings
from leftoff.errors import LeftoffError, StorageError
from leftoff.flows.ask_store import ask_store
from leftoff.flows.findings import Finding
from leftoff.flows.send_outbox import send_all
from leftoff.flows.settings import settings_here
from leftoff.flows.shelf import configured_backend
from leftoff.model.protocols import CanBeChecked, StorageBackend
from leftoff.stores import outbox
from leftoff.stores.outbox import Outbox

_WHAT, _OUTBOX = "storage", "outbox"


def examine_storage(working_folder: Path) -> Iterator[Finding]:
    """Asks the backend once; where it answers, what waits is sent."""
    settings, box = settings_here(working_folder).settings, outbox.of_user()
    try:
        yield from _examined(settings, box)
    except StorageError as error:
        mend = f"chmod u+rwx {shlex.quote(str(box.folder))}"
        yield Finding(what=_OUTBOX, state="broken", words=str(error), mend=mend)


def _examined(settings: Settings, box: Outbox) -> Iterator[Finding]:
    """StorageError where nobody may look at what waits."""
    try:
        backend = configured_backend(settings)
        words = "" if backend is None else _checked(backend)
    except LeftoffError as error:
        yield Finding(
            what=_WHAT, state="broken", words=f"{settings.storage}: {error}", mend="see docs/storage.md"
        )
        yield from _waiting(len(box.waiting()), box.trouble())
        return
    if backend is None:
        yield Finding(what=_WHAT, state="ok", words="files: logs stay on this machine")
        yield from _stranded(len(box.waiting()))
        return
    yield Finding(what=_WHAT, state="ok", words=f"{settings.storage}: {words}")
    sent = send_all(backend)
    yield from _waiting(sent.waiting, sent.trouble)


def _checked(backend: StorageBackend) -> str:
    if isinstance(backend, CanBeChecked):
        return ask_store(backend, backend.check)
    return f"reached, {len(ask_store(backend, backend.list)):,} logs"


def _stranded(waiting: int) -> Iterator[Finding]:
    if waiting:
        words = f"{waiting} logs wait to be sent, and storage names nowhere to send them"
        yield Finding(
            what=_OUTBOX, state="note", words=words, mend="set storage as it was, or delete the outbox"
        )


def _waiting(count: int, trouble: str | None) -> Iterator[Finding]:
    if count:
        many = "1 log waits" if count == 1 else f"{count} logs wait"
        reason = f": {trouble}" if trouble else ""
        yield Finding(
            what=_OUTBOX, state="note", words=f"{many} to be sent{reason}", mend="leftoff doctor tries again"
        )
