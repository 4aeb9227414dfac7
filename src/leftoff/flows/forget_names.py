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
from leftoff.flows.forget_known import is_chat
from leftoff.flows.forget_places import document_of
from leftoff.flows.pause_homes import SESSIONS
from leftoff.flows.seen_window import FOLDER as WINDOWS
from leftoff.flows.watch_states import FOLDER as STATES
from leftoff.library.erasing import masking
from leftoff.library.forgotten import MASK
from leftoff.library.normal import normal
from leftoff.stores.log_files import PREFIX
from leftoff.system import ids

_OF_AGENT = re.compile(r"[^-]+-(?P<id>.+?)(?:\.[a-z]+)+")
_SENT = re.compile(r"[0-9a-f]{12}\.(?P<id>.+?)(?:\.[0-9]{20}\.json|\.last)")
# How a file of each folder is named.
_FORMS: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys((STATES, WINDOWS, ARCHIVE, "extractions", "pauses"), _OF_AGENT),
    "outbox": _SENT,
}
_LOG = re.compile(rf"{PREFIX}(?P<id>.+?)(?:\.(?:md|json|gz))+")
_CHAT = re.compile(rf"(?P<id>.+?)(?:_session_[0-9_]+)?{re.escape(SUFFIX)}")


def is_named(kept: Path, session_id: str) -> bool:
    """Whether a file is called by this id: within a name it stands alone, behind the prefix or between dots."""
    document = document_of(kept).name
    if ids.is_uuid(session_id):
        return session_id in kept.name
    whole = re.compile(
        rf"(?:[0-9a-f]{{12}}\.)?{re.escape(session_id)}(?:-incremental)?(?:\.[0-9]{{20}})?(?:\.[a-z]+)*"
    )
    names = (document, document.removeprefix(PREFIX), kept.name)
    return _id_in(kept) == session_id or any(whole.fullmatch(each) is not None for each in names)


def delete_documents(holders: Sequence[Path], session_id: str) -> list[Path]:
    """Those that are the session's own: called by its id, or pauses that name it. All files of a pause go together."""
    gone = []
    for kept in holders:
        if is_named(kept, session_id):
            gone.append(kept)
        elif kept.parent.name == SESSIONS:
            stem = kept.name.partition(".")[0].removesuffix("-incremental")
            ends = re.compile(rf"{re.escape(stem)}(?:-incremental)?(?:\..+)?")
            gone += [each for each in kept.parent.iterdir() if ends.fullmatch(each.name) and each.is_file()]
    unique = [*dict.fromkeys(gone)]
    for kept in unique:
        kept.unlink(missing_ok=True)
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
    """The id in a file's name; None where the whole name is ours."""
    if kept.parent.name == SESSIONS:
        return None  # pauses are called by their moment
    document = document_of(kept)
    form = _FORMS.get(kept.parent.name) or (_LOG if document.name.startswith(PREFIX) else _CHAT)
    if form is _CHAT and not _is_of_chat(kept, document):
        return None
    found = form.fullmatch(document.name.removeprefix(".").removesuffix(".lock"))
    return None if found is None else found["id"]


def _is_of_chat(kept: Path, document: Path) -> bool:
    """Whether it is a chat, or stands beside one; beside one that is gone, too."""
    return is_chat(document) or (document != kept and not document.exists())
