"""Which files are documents of ours in a folder that the user chose: never one that merely stands there.

A saved chat says so at its beginning, a resume log by its name and its form, its other half by the first; what the register says
that this machine wrote is ours too. In ``.leftoff`` and in the user's folders of ours everything is.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Collection
from pathlib import Path

from leftoff.conversations.chat_file import SUFFIX
from leftoff.conversations.index import NAME as INDEX
from leftoff.conversations.names import looks_like_id
from leftoff.flows.pause_homes import SESSIONS
from leftoff.stores.log_files import PARTS, session_of
from leftoff.system import ids, paths

_HEADER_BYTES = 4096
# The top of a chat as we write it: whoever renames one has one still, and whoever quotes one further below has none.
_CHAT_TOP = re.compile(rb"# .* Conversation\n\n\*\*Session ID:\*\* \S+\n\*\*Date:\*\* ")
_LOG_TITLE = b"# Session Resume Log: "
_LOG_KEYS = {"session_id", "context_metrics"}
_INDEX_KEYS = {"schema", "chats"}


def is_chosen(folder: Path) -> bool:
    """Whether files of others may stand there: it is in no folder that is ours alone."""
    own = (paths.data_folder(), paths.state_folder())
    return paths.PROJECT_FOLDER not in folder.parts and not any(folder.is_relative_to(each) for each in own)


def is_ours(path: Path, written: Collection[str]) -> bool:
    """Whether it is a document of ours; ``written`` are the paths that the register says this machine wrote."""
    return str(path) in written or is_chat(path) or is_log(path) or _is_index(path)


def is_called_as_ours(name: str) -> bool:
    """Whether a document of this name would be ours, as nobody else would call one: by an id that a program drew."""
    if (named := session_of(name)) is not None:
        return ids.is_uuid(named[0]) or looks_like_id(named[0])
    return name.endswith(SUFFIX) and looks_like_id(name.removesuffix(SUFFIX))


def is_chat(path: Path) -> bool:
    """Whether it is a saved chat: it says at its beginning what it is called by, or begins as one."""
    top = _beginning(path) if path.suffix == SUFFIX else b""
    return (
        f"**Session ID:** {path.stem}\n".encode("utf-8", "surrogateescape") in top
        or _CHAT_TOP.match(top) is not None
    )


def is_log(path: Path) -> bool:
    """Whether it is a resume log, whole or half: the other half may be torn."""
    named = session_of(path.name)
    if named is None:
        return False
    beside = (path.with_name(path.name.removesuffix(named[1]) + part) for part in PARTS)
    return any(_has_form(each) for each in (path, *beside))


def is_pause(path: Path) -> bool:
    """Whether it stands among the pauses of a project; a folder that the user calls so is none of these."""
    return path.parent.name == SESSIONS and not is_chosen(path.parent)


def _has_form(path: Path) -> bool:
    plain = path.name.removesuffix(".gz")
    if plain.endswith(".md"):
        return _beginning(path).startswith(_LOG_TITLE)
    return _has_keys(path, _LOG_KEYS)


def _is_index(path: Path) -> bool:
    """The list of chats that is kept beside them."""
    return path.name == INDEX and _has_keys(path, _INDEX_KEYS)


def _has_keys(path: Path, keys: set[str]) -> bool:
    try:
        said = json.loads(_content(path))
    except (ValueError, RecursionError):
        return False
    return isinstance(said, dict) and keys <= said.keys()


def _content(path: Path, size_bytes: int = -1) -> bytes:
    """Nothing of what cannot be read, or is a link."""
    try:
        if path.is_symlink():
            return b""
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            return file.read(size_bytes)
    except (OSError, EOFError, zlib.error):
        return b""


def _beginning(path: Path) -> bytes:
    return _content(path, _HEADER_BYTES)
