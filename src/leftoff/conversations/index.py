"""The chats of a folder, newest first. The index is a cache: whatever it says is thrown away when a file says otherwise."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import orjson

from leftoff.conversations import chat_file, reading
from leftoff.errors import LeftoffError, StorageError
from leftoff.model.values import dataclass
from leftoff.model.wire import SCHEMAS, JsonObject, upgraded
from leftoff.system import clock, files, ids, reasons

NAME = "index.json"
_LARGEST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
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
        """The wire form."""
        return {
            "session_id": self.session_id,
            "path": str(self.path),
            "date": clock.rfc3339(self.date),
            "agent": self.agent,
            "agent_path": self.agent_path,
            "queries": self.queries,
            "tokens": self.tokens,
            "estimated": self.estimated,
            "has_summary": self.has_summary,
            "resumed_from": self.resumed_from,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The chats that can be read, newest first, and what could not be."""

    chats: tuple[Listed, ...]
    troubles: tuple[LeftoffError, ...] = ()


def listed(folder: Path) -> Shelf:
    """Every chat of the folder; only files that have changed since the index was written are read."""
    known = _index(folder)
    chats: dict[str, JsonObject] = {}
    troubles: list[LeftoffError] = []
    for path in _files(folder):
        try:
            stamp = _stamp(path)
            entry = known.get(path.name)
            if entry is None or entry.get("stamp") != stamp:
                entry = {**_described(path).to_dict(), "stamp": stamp}
        except FileNotFoundError:  # deleted while we looked
            continue
        except LeftoffError as error:
            if path.exists():
                troubles.append(error)
            continue
        chats[path.name] = entry
    if chats != known:
        _keep(folder, chats)
    found = sorted(
        (_from_dict(folder, each) for each in chats.values()),
        key=lambda each: (each.date, each.session_id),
        reverse=True,
    )
    return Shelf(chats=tuple(found), troubles=tuple(troubles))


def _files(folder: Path) -> list[Path]:
    """The files that can be chats; links and foreign names are passed over."""
    try:
        with os.scandir(folder) as entries:
            return [
                folder / entry.name
                for entry in entries
                if entry.name.endswith(chat_file.SUFFIX)
                and entry.is_file(follow_symlinks=False)
                and _is_id(entry.name.removesuffix(chat_file.SUFFIX))
            ]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"{folder}: cannot be listed: {reasons.words(error)}.", path=folder) from error


def _stamp(path: Path) -> str:
    """Changes whenever the file does; a change that was begun is finished first."""
    chat_file.settle(path)
    status = path.stat()
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"


def _is_id(stem: str) -> bool:
    try:
        ids.checked(stem)
    except LeftoffError:
        return False
    return True


def _described(path: Path) -> Listed:
    saved = reading.read(chat_file.read_text(path), path.stem, where=str(path))
    return Listed(
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


def _index(folder: Path) -> dict[str, JsonObject]:
    """What the index knows by file name; nothing where it is missing, broken or of another schema."""
    told = files.read_plain(folder / NAME, _LARGEST_BYTES)
    try:
        said = upgraded("chat_index", orjson.loads(told or b"{}"), where=NAME)
    except ValueError:
        return {}
    chats = said.get("chats")
    if not isinstance(chats, Mapping):
        return {}
    return {name: entry for name, entry in chats.items() if isinstance(entry, dict) and _is_whole(entry)}


def _is_whole(entry: JsonObject) -> bool:
    try:
        _from_dict(Path(), entry)
    except (KeyError, TypeError, ValueError):
        return False
    return True


def _from_dict(folder: Path, entry: JsonObject) -> Listed:
    session_id, date = str(entry["session_id"]), clock.from_rfc3339(str(entry["date"]))
    if date is None:
        raise ValueError(entry["date"])
    parent = entry["resumed_from"]
    return Listed(
        session_id=session_id,
        path=folder / (session_id + chat_file.SUFFIX),
        date=date,
        agent=str(entry["agent"]),
        agent_path=str(entry["agent_path"]),
        queries=_number(entry["queries"]),
        tokens=_number(entry["tokens"]),
        estimated=bool(entry["estimated"]),
        has_summary=bool(entry["has_summary"]),
        resumed_from=None if parent is None else str(parent),
    )


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(value)
    return value


def _keep(folder: Path, chats: Mapping[str, JsonObject]) -> None:
    """Where it cannot be written, every list reads every file: slow, and right."""
    try:
        files.write_file(folder / NAME, orjson.dumps({"schema": SCHEMAS["chat_index"], "chats": chats}))
    except StorageError:
        return
