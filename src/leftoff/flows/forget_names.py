"""What our own files are called by, as far as somebody else chose it: the id of a session or of a chat; and deleting them for it.

A document of a session that is to be forgotten goes with the files that belong to it. The rest of a name is ours (a prefix, the
agent, a moment, an ending) and holds nobody's words. A text in an id cannot be masked: the file goes whole. Of an id that a program
drew (a UUID) a part is an accident, so the file stays and is named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from leftoff.conversations.chat_file import SUFFIX
from leftoff.flows.archive_sessions import NAME as ARCHIVE
from leftoff.flows.forget_pauses import own_pauses, point_again
from leftoff.flows.forget_places import document_of
from leftoff.flows.own_documents import is_chat, is_pause
from leftoff.flows.seen_window import FOLDER as WINDOWS
from leftoff.flows.track_usage import FOLDER as USAGE
from leftoff.flows.watch_states import FOLDER as STATES
from leftoff.library.erasing import masking
from leftoff.library.forgotten import MASK
from leftoff.library.normal import normal
from leftoff.stores.log_files import PREFIX
from leftoff.system import ids, paths

_OF_AGENT = re.compile(r"[^-]+-(?P<id>.+?)(?:\.[a-z]+)+")
_OF_PROGRAM = re.compile(r"(?P<id>.+?)(?:\.[a-z]+)+")
_COPY = re.compile(r"[^-]+-(?P<id>[^~]+?)(?:~[0-9A-Z-]+)?\.(?:json|tar\.zst(?:\.[0-9]+\.tmp)?)")
_SENT = re.compile(r"[0-9a-f]{12}\.(?P<id>.+?)(?:\.[0-9]{20}\.json|\.last)")
# How a file of each folder is named.
_FORMS: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys((STATES, WINDOWS, "extractions", "pauses"), _OF_AGENT),
    ARCHIVE: _COPY,
    "outbox": _SENT,
    USAGE: _OF_PROGRAM,
}
_LOG = re.compile(rf"{PREFIX}(?P<id>.+?)(?:\.(?:md|json|gz))+")
_CHAT = re.compile(rf"(?P<id>.+?)(?:_session_[0-9_]+)?{re.escape(SUFFIX)}")


def is_named(kept: Path, session_id: str) -> bool:
    """Whether a file is called by this id. A UUID is in a name by no accident; any other id may be a word of ours, and counts only
    where the form of the name, or what the file says, tells that a session is meant.
    """
    return session_id in kept.name if ids.is_uuid(session_id) else _session_in(kept) == session_id


def delete_documents(holders: Sequence[Path], session_id: str) -> list[Path]:
    """Those that are the session's own: called by its id, or its pauses. All files of a pause go together."""
    pauses = own_pauses(holders, session_id)
    unique = [*dict.fromkeys([*(kept for kept in holders if is_named(kept, session_id)), *pauses])]
    for kept in unique:
        kept.unlink(missing_ok=True)
    for folder in {kept.parent for kept in pauses}:
        point_again(folder)
    return unique


def is_called_by(kept: Path, text: str) -> bool:
    """Whether the text stands in what the file is called by."""
    called = _id_in(kept)
    return called is not None and masking(text)(called) != called


def goes_whole(kept: Path, text: str) -> bool:
    """Whether the file has to go for it: a part of an id that a program drew is no reason."""
    called = _id_in(kept)
    if called is None or (left := masking(text)(called)) == called:
        return False
    return not ids.is_uuid(called) or not normal(left.replace(MASK, ""))


def _id_in(kept: Path) -> str | None:
    """What somebody else chose in a file's name; None where the whole name is ours."""
    form, document = _form_of(kept), document_of(kept)
    found = form and form.fullmatch(_bare(document))
    return found["id"] if found else None


def _session_in(kept: Path) -> str | None:
    """The whole id of the session or chat that a file is of; None where its name tells none."""
    return document_of(kept).stem if _form_of(kept) is _CHAT else _id_in(kept)


def _form_of(kept: Path) -> re.Pattern[str] | None:
    """How such a file is named; None where the whole name is ours. Pauses are called by their moment."""
    document = document_of(kept)
    if is_pause(kept):
        return None
    if kept.parent.parent in {paths.data_folder(), paths.state_folder()} and kept.parent.name in _FORMS:
        return _FORMS[kept.parent.name]
    if document.name.startswith(PREFIX):
        return _LOG
    return _CHAT if document.suffix == SUFFIX and _is_of_chat(kept, document) else None


def _bare(document: Path) -> str:
    return document.name.removeprefix(".").removesuffix(".lock")


def _is_of_chat(kept: Path, document: Path) -> bool:
    """Whether it is a chat, or stands beside one; beside one that is gone, too."""
    return is_chat(document) or (document != kept and not document.exists())
