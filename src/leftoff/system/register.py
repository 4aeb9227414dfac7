"""The register of documents that this machine wrote, and whether a document found may be used.

A repository can be cloned from anywhere, and so can the documents in it. Only what this machine wrote, unchanged since, is
used by itself; anything else, and whatever git tracks, waits for ``leftoff trust``, which remembers the very content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from leftoff.errors import NotTrustedError, StorageError
from leftoff.model.values import dataclass
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

    def note_part(self, path: Path, part: bytes, document_id: str, at: datetime) -> None:
        """This machine writes this part of the document, and nothing else of it is ever used: the rest may grow."""
        self._add([_entry_of("written", path, part, document_id, at)])

    def trust(self, path: Path, at: datetime) -> None:
        """The user says that the document as it stands now may be used."""
        self._add([_entry("trusted", path, path.stem, at)])

    def standing(self, path: Path) -> Standing:
        """What the document at ``path`` is to this machine."""
        return _standing(path, self._lines())

    def standings(self, documents: Iterable[Path]) -> dict[Path, Standing]:
        """The same of several, with one look into the register; what cannot be read is left out."""
        lines = self._lines()
        found: dict[Path, Standing] = {}
        for path in documents:
            with suppress(StorageError):
                found[path] = _standing(path, lines)
        return found

    def noted_paths(self) -> frozenset[str]:
        """Where documents were when this machine wrote them or the user trusted them. They may be others by now."""
        told = (_read(line) for line in self._lines())
        return frozenset(str(entry["path"]) for entry in told if entry is not None and "path" in entry)

    def written_paths(self) -> frozenset[str]:
        """Where documents were when this machine wrote them; what the user trusted is somebody else's."""
        told = (_read(line) for line in self._lines())
        written = (entry for entry in told if entry is not None and entry.get("standing") == "written")
        return frozenset(str(entry["path"]) for entry in written if "path" in entry)

    def require(self, path: Path) -> None:
        """Pass for a document that may be used; NotTrustedError, with what to type, for any other."""
        if self.standing(path) == "foreign":
            raise NotTrustedError(
                f"{path}: this machine did not write it. Read it, then: leftoff trust {path}", path=path
            )

    def standing_of_part(self, path: Path, part: bytes) -> Standing:
        """What a document is to this machine of which only ``part`` is used: as that, or as the whole."""
        lines = self._lines()
        of_part = _standing_of(path, hashlib.sha256(part).hexdigest(), lines)
        return of_part if of_part != "foreign" else _standing(path, lines)

    def require_part(self, path: Path, part: bytes) -> None:
        """Pass where such a document may be used; NotTrustedError, with what to type, where not."""
        if self.standing_of_part(path, part) == "foreign":
            self.require(path)

    def _add(self, entries: list[dict[str, str | int]]) -> None:
        files.make_folder(self.folder)
        lines = "".join(json.dumps(entry) + "\n" for entry in entries)
        files.append_lines(self.folder / _NAME, lines.encode(), sync=True)

    def _lines(self) -> list[bytes]:
        try:
            return (self.folder / _NAME).read_bytes().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _unreadable(self.folder / _NAME, error) from error


def _standing(path: Path, lines: Iterable[bytes]) -> Standing:
    return _standing_of(path, _digest(path), lines)


def _standing_of(path: Path, digest: str, lines: Iterable[bytes]) -> Standing:
    """What the register says of the content. The digest is looked for before anything is decoded."""
    needle = digest.encode()
    entries = {_standing_in(line, digest) for line in lines if needle in line}
    if "trusted" in entries:
        return "trusted"
    return "written" if "written" in entries and not git.tracks(path) else "foreign"


def _entry(standing: Standing, path: Path, document_id: str, at: datetime) -> dict[str, str | int]:
    return _entry_of(standing, path, _content(path), document_id, at)


def _entry_of(
    standing: Standing, path: Path, content: bytes, document_id: str, at: datetime
) -> dict[str, str | int]:
    return {
        "schema": SCHEMAS["register"],
        "standing": standing,
        "id": document_id,
        "sha256": hashlib.sha256(content).hexdigest(),
        "path": str(path),
        "at": clock.rfc3339(at),
    }


def _standing_in(line: bytes, digest: str) -> str | None:
    match _read(line):
        case {"sha256": str(found), "standing": "written" | "trusted" as standing} if found == digest:
            return str(standing)
        case _:
            return None


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _digest(path: Path) -> str:
    return hashlib.sha256(_content(path)).hexdigest()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: cannot be read: {reasons.words(error)}.", path=path)
