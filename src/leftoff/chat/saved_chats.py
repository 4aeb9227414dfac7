"""The saved chats of a folder: list them, find one by number or id, export a chain of them as one document.

The index is a cache: the files decide.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import orjson

from leftoff.chat import chat_file, page
from leftoff.chat.chat_file import SavedChat
from leftoff.chat.conversation import ChatStore
from leftoff.chat.page import Header
from leftoff.core import markdown
from leftoff.core.wire import SCHEMAS, JsonObject, upgrade_document
from leftoff.errors import (
    AmbiguousSessionError,
    Choice,
    DocumentError,
    LeftoffError,
    NotFoundError,
    StorageError,
    describe_os_error,
)
from leftoff.platform import clock, files, paths
from leftoff.storage.store_base import is_valid_id

INDEX_FILE = "index.json"
LATEST = "latest"
_LAST_LIST_FILE = "last-chats.json"
_MAX_INDEX_BYTES = 4_000_000  # more than ten thousand chats; without an index each file is read
_MAX_LAST_LIST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatInfo:
    """What a list shows of a chat."""

    session_id: str
    path: Path
    date: datetime
    agent: str
    agent_path: str
    queries: int
    tokens: int
    estimated: bool
    has_summary: bool
    resumed_from: str | None

    def to_dict(self) -> JsonObject:
        """Return the JSON form."""
        return asdict(self) | {"path": str(self.path), "date": clock.format_rfc3339(self.date)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatList:
    """The chats that can be read, newest first, and the errors of those that cannot."""

    chats: tuple[ChatInfo, ...]
    errors: tuple[LeftoffError, ...] = ()


def list_chats(folder: Path) -> ChatList:
    """List the chats of a folder. Only files that changed since the index was written are read."""
    known = _load_index(folder)
    chats: dict[str, JsonObject] = {}
    errors: list[LeftoffError] = []
    for path in _chat_files(folder):
        try:
            stamp = _file_stamp(path)
            entry = known.get(path.name)
            if entry is None or entry.get("stamp") != stamp:
                entry = {**_describe(path).to_dict(), "stamp": stamp}
        except FileNotFoundError:  # deleted while we looked
            continue
        except LeftoffError as error:
            if path.exists():
                errors.append(error)
            continue
        chats[path.name] = entry
    if chats != known:
        _save_index(folder, chats)
    found = sorted(
        (_from_dict(folder, each) for each in chats.values()),
        key=lambda each: (each.date, each.session_id),
        reverse=True,
    )
    return ChatList(chats=tuple(found), errors=tuple(errors))


def _chat_files(folder: Path) -> list[Path]:
    """Return the files that may be chats, without links and files with other names."""
    try:
        with os.scandir(folder) as entries:
            return [
                folder / entry.name
                for entry in entries
                if entry.name.endswith(chat_file.SUFFIX)
                and entry.is_file(follow_symlinks=False)
                and is_valid_id(entry.name.removesuffix(chat_file.SUFFIX))
            ]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"{folder}: cannot be listed: {describe_os_error(error)}.", path=folder) from error


def _file_stamp(path: Path) -> str:
    """Return a text that changes whenever the file does, after finishing any interrupted change."""
    chat_file.finish_interrupted_change(path)
    status = path.stat()
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"


def _describe(path: Path) -> ChatInfo:
    saved = chat_file.load(path)
    return ChatInfo(
        session_id=path.stem,
        path=path,
        date=saved.header.date,
        agent=saved.header.agent,
        agent_path=saved.header.agent_path,
        queries=saved.totals.queries,
        tokens=saved.totals.tokens,
        estimated=saved.totals.estimated,
        has_summary=saved.summary.text is not None,
        resumed_from=saved.header.resumed_from,
    )


def _load_index(folder: Path) -> dict[str, JsonObject]:
    """Return the index by file name; empty if it is missing, broken or of another schema."""
    data = files.read_small_file(folder / INDEX_FILE, _MAX_INDEX_BYTES)
    try:
        said = upgrade_document("chat_index", orjson.loads(data or b"{}"), where=INDEX_FILE)
    except ValueError:
        return {}
    chats = said.get("chats")
    if not isinstance(chats, Mapping):
        return {}
    return {name: entry for name, entry in chats.items() if isinstance(entry, dict) and _is_complete(entry)}


def _is_complete(entry: JsonObject) -> bool:
    try:
        _from_dict(Path(), entry)
    except (KeyError, TypeError, ValueError):
        return False
    return True


def _from_dict(folder: Path, entry: JsonObject) -> ChatInfo:
    session_id, date = str(entry["session_id"]), clock.parse_rfc3339(str(entry["date"]))
    if date is None:
        raise ValueError(entry["date"])
    parent = entry["resumed_from"]
    return ChatInfo(
        session_id=session_id,
        path=folder / (session_id + chat_file.SUFFIX),
        date=date,
        agent=str(entry["agent"]),
        agent_path=str(entry["agent_path"]),
        queries=_require_int(entry["queries"]),
        tokens=_require_int(entry["tokens"]),
        estimated=bool(entry["estimated"]),
        has_summary=bool(entry["has_summary"]),
        resumed_from=None if parent is None else str(parent),
    )


def _require_int(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(value)
    return value


def _save_index(folder: Path, chats: Mapping[str, JsonObject]) -> None:
    """Write the index. Failing to is harmless: the next list reads every file."""
    try:
        files.write_file(folder / INDEX_FILE, orjson.dumps({"schema": SCHEMAS["chat_index"], "chats": chats}))
    except StorageError:
        return


def remember_list(folder: Path, chats: Sequence[ChatInfo]) -> None:
    """Remember a list, so that its numbers keep their meaning. If that fails, numbers refer to the current list."""
    shown = {
        "schema": SCHEMAS["last_chats"],
        "folder": str(folder),
        "chats": [each.session_id for each in chats],
    }
    try:
        files.write_file(paths.state_folder() / _LAST_LIST_FILE, orjson.dumps(shown))
    except StorageError:
        return


def last_list(folder: Path) -> list[str] | None:
    """Return the ids of the list last shown for this folder; None if there was none."""
    said = _read_last_list()
    chats = said.get("chats")
    if said.get("folder") == str(folder) and isinstance(chats, list):
        return [str(each) for each in chats]
    return None


def last_list_folder() -> set[str]:
    """Return the folder of the list last shown, which no setting may name; empty if there was none."""
    folder = _read_last_list().get("folder")
    return {folder} if isinstance(folder, str) and Path(folder).is_absolute() else set()


def _read_last_list() -> JsonObject:
    data = files.read_small_file(paths.state_folder() / _LAST_LIST_FILE, _MAX_LAST_LIST_BYTES)
    try:
        return upgrade_document("last_chats", orjson.loads(data or b"{}"), where=_LAST_LIST_FILE)
    except ValueError:
        return {}


def find_chat(folder: Path, selector: str, shown: Sequence[str] | None) -> ChatInfo:
    """Find the chat that ``selector`` names: a number, an id, the beginning of one, or ``latest``.

    Numbers refer to the ids in ``shown``; if that is ``None``, to the current list. A full id never matches another chat.
    """
    chats = {each.session_id: each for each in list_chats(folder).chats}
    if selector == LATEST and chats:
        return next(iter(chats.values()))
    if selector in chats:
        return chats[selector]
    if selector.isdecimal():
        numbered = [*chats] if shown is None else shown
        if not 1 <= int(selector) <= len(numbered) or numbered[int(selector) - 1] not in chats:
            raise _not_found(selector)
        return chats[numbered[int(selector) - 1]]
    return chats[_id_starting_with(clock.check_id(selector), [*chats])]


def require_full_id(selector: str, found: ChatInfo) -> None:
    """Raise NotFoundError for a shortened id, which may match another chat by now: deleting cannot be undone."""
    if selector not in {found.session_id, LATEST} and not selector.isdecimal():
        raise NotFoundError(
            f"There is no saved session {selector}. Did you mean: {found.session_id}. Type the whole id, or its number."
        )


def _id_starting_with(selector: str, session_ids: Sequence[str]) -> str:
    matching = (
        [] if page.looks_like_id(selector) else [each for each in session_ids if each.startswith(selector)]
    )
    if len(matching) > 1:
        raise AmbiguousSessionError(selector, "chats", [Choice(each, "") for each in matching])
    if not matching:
        raise _not_found(selector)
    return matching[0]


def save_markdown(store: ChatStore, session_id: str, text: str, summary: str | None) -> Path:
    """Write a page that another program rendered, with its summary. A summary already in the file is kept."""
    path = paths.safe_join(store.folder, clock.check_id(session_id) + chat_file.SUFFIX)
    store.create_project_folder()
    redact = store.workspace.redact
    chat_file.write_page(path, redact(text), summary if summary is None else redact(summary))
    store.register.note_written(path, session_id, clock.now())
    return path


def export_chain(folder: Path, info: ChatInfo) -> str:
    """Return the chat and its ancestors, oldest first, as one document; a missing ancestor is mentioned."""
    chats = {each.session_id: each for each in list_chats(folder).chats}
    chain: list[ChatInfo] = []
    missing: str | None = None
    wanted: str | None = info.session_id
    while wanted is not None and wanted not in {each.session_id for each in chain}:
        found = chats.get(wanted)
        if found is None:
            missing = wanted
            break
        chain.insert(0, found)
        wanted = found.resumed_from
    parts = [f"# {info.agent}: {len(chain)} chats in a chain\n"]
    if missing is not None:
        parts.append(f"The chat before the first, {missing}, is missing.\n")
    parts += [chat_file.read_text(each.path) for each in chain]
    return "\n".join(parts)


def write_export(text: str, target: Path) -> Path:
    """Write an export to a new file. Raise StorageError if the file exists."""
    if not files.create_file(target, text.encode("utf-8", "replace")):
        raise StorageError(f"{target}: there is such a file already; nothing was written.", path=target)
    return target


def require_summary(saved: SavedChat) -> str:
    """Return the summary to resume from. Raise DocumentError without one."""
    if saved.summary.text is not None:
        return saved.summary.text
    why = "no summary" if saved.summary.problem == "missing" else "invalid summary format"
    raise DocumentError(f"Session can't be resumed ({why})")


def trusted_part(header: Header, summary: str) -> bytes:
    """Return, as bytes, all that an agent receives of a chat when it is resumed: what this machine must have written."""
    return orjson.dumps(
        [
            header.session_id,
            clock.format_rfc3339(header.date),
            markdown.escape_inline(header.agent),  # names as the page writes them
            markdown.escape_inline(header.agent_path),
            header.resumed_from,
            page.escape_summary(summary).strip(),
        ]
    )


def _not_found(selector: str) -> NotFoundError:
    return NotFoundError(
        f"There is no saved session {selector}. leftoff chat --list, or sessions in a chat, lists them."
    )
