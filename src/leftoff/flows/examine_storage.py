"""What ``leftoff doctor`` finds about the storage backend: whether it answers now, and what waits to be sent to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from leftoff.errors import LeftoffError
from leftoff.flows.ask_store import ask_store
from leftoff.flows.findings import Finding
from leftoff.flows.send_outbox import send_all
from leftoff.flows.settings import settings_here
from leftoff.flows.shelf import configured_backend
from leftoff.model.protocols import CanBeChecked, StorageBackend
from leftoff.stores import outbox

_WHAT = "storage"


def examine_storage(working_folder: Path) -> Iterator[Finding]:
    """Asks the backend once; where it answers, what waits is sent."""
    settings = settings_here(working_folder).settings
    box = outbox.of_user()
    try:
        backend = configured_backend(settings)
        if backend is None:
            yield from _only_files(len(box.waiting()))
            return
        words = _checked(backend)
    except LeftoffError as error:
        yield Finding(
            what=_WHAT, state="broken", words=f"{settings.storage}: {error}", mend="see docs/storage.md"
        )
        yield from _waiting(len(box.waiting()), box.trouble())
        return
    yield Finding(what=_WHAT, state="ok", words=f"{settings.storage}: {words}")
    sent = send_all(backend)
    yield from _waiting(sent.waiting, sent.trouble)


def _checked(backend: StorageBackend) -> str:
    if isinstance(backend, CanBeChecked):
        return ask_store(backend, backend.check)
    return f"reached, {len(ask_store(backend, backend.list)):,} logs"


def _only_files(waiting: int) -> Iterator[Finding]:
    yield Finding(what=_WHAT, state="ok", words="files: logs stay on this machine")
    if waiting:
        words = f"{waiting} logs wait to be sent, and storage names nowhere to send them"
        yield Finding(
            what="outbox", state="note", words=words, mend="set storage as it was, or delete the outbox"
        )


def _waiting(count: int, trouble: str | None) -> Iterator[Finding]:
    if count:
        many = "1 log waits" if count == 1 else f"{count} logs wait"
        reason = f": {trouble}" if trouble else ""
        yield Finding(
            what="outbox", state="note", words=f"{many} to be sent{reason}", mend="leftoff doctor tries again"
        )
