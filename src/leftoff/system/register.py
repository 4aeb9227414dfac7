"""The register of documents that this machine wrote, and whether a document found may be used.

A repository can be cloned from anywhere, and so can the documents in it. Only what this machine wrote, unchanged since, is
used by itself; anything else, and whatever git tracks, waits for ``leftoff trust``, which remembers the very content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from leftoff.errors import NotTrustedError, StorageError
from leftoff.model.wire import SCHEMAS
from leftoff.system import clock, files, git, reasons

Standing = Literal["written", "trusted", "foreign"]
_NAME = "register.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """The register in a user's data folder. Entries are only ever added; broken lines are passed over."""

    folder: Path

    def note_written(self, path: Path, document_id: str, at: datetime) -> None:
        """This machine wrote the document as it stands now."""
        self._add([_entry("written", path, document_id, at)])

    def note_set(self, paths: Iterable[Path], document_id: str, at: datetime) -> None:
        """The same of several documents that belong together, in one write."""
        self._add([_entry("written", path, document_id, at) for path in paths])

    def trust(self, path: Path, at: datetime) -> None:
        """The user says that the document as it stands now may be used."""
        self._add([_entry("trusted", path, path.stem, at)])

    def standing(self, path: Path) -> Standing:
        """What the document at ``path`` is to this machine."""
        entries = self._entries(_digest(path))
        if "trusted" in entries:
            return "trusted"
        if "written" in entries and not git.tracks(path):
            return "written"
        return "foreign"

    def require(self, path: Path) -> None:
        """Pass for a document that may be used; NotTrustedError, with what to type, for any other."""
        if self.standing(path) == "foreign":
            raise NotTrustedError(
                f"{path}: this machine did not write it. Read it, then: leftoff trust {path}", path=path
            )

    def _add(self, entries: list[dict[str, str | int]]) -> None:
        files.make_folder(self.folder)
        lines = "".join(json.dumps(entry) + "\n" for entry in entries)
        files.append_lines(self.folder / _NAME, lines.encode(), sync=True)

    def _entries(self, digest: str) -> set[str]:
        """What the register says of that content. The digest is looked for before anything is decoded."""
        try:
            lines = (self.folder / _NAME).read_bytes().splitlines()
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise _unreadable(self.folder / _NAME, error) from error
        needle = digest.encode()
        return {standing for line in lines if needle in line and (standing := _standing_in(line, digest))}


def _entry(standing: Standing, path: Path, document_id: str, at: datetime) -> dict[str, str | int]:
    return {
        "schema": SCHEMAS["register"],
        "standing": standing,
        "id": document_id,
        "sha256": _digest(path),
        "path": str(path),
        "at": clock.rfc3339(at),
    }


def _standing_in(line: bytes, digest: str) -> str | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match entry:
        case {"sha256": str(found), "standing": "written" | "trusted" as standing} if found == digest:
            return str(standing)
        case _:
            return None


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: cannot be read: {reasons.words(error)}.", path=path)
