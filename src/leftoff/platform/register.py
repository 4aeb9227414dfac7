"""The register of documents that this machine wrote or the user trusts; it decides whether a document may be used.

A cloned repository can contain documents by anyone. leftoff uses a document without asking only if this machine wrote it, it is
unchanged and git does not track it. Anything else needs ``leftoff trust``, which records the exact content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from leftoff.core.wire import SCHEMAS
from leftoff.errors import NotTrustedError, StorageError
from leftoff.platform import clock, files, git

Standing = Literal["written", "trusted", "foreign"]
_NAME = "register.jsonl"


class Register(NamedTuple):
    """The register in a user's data folder. Entries are only appended; broken lines are ignored."""

    folder: Path

    def note_written(self, path: Path, document_id: str, at: datetime) -> None:
        """Record that this machine wrote the document with its current content."""
        self._add([_entry("written", path, document_id, at)])

    def note_set(self, paths: Iterable[Path], document_id: str, at: datetime) -> None:
        """Record several documents that belong together, in one write."""
        self._add([_entry("written", path, document_id, at) for path in paths])

    def note_part(self, path: Path, part: bytes, document_id: str, at: datetime) -> None:
        """Record that this machine wrote this part of a growing document, of which only this part is used."""
        self._add([_entry_of("written", path, part, document_id, at)])

    def trust(self, path: Path, at: datetime) -> None:
        """Record that the user trusts the current content of the document."""
        self._add([_entry("trusted", path, path.stem, at)])

    def standing(self, path: Path) -> Standing:
        """Return whether the document was written here, is trusted, or is foreign."""
        return _standing(path, self._lines())

    def standings(self, documents: Iterable[Path]) -> dict[Path, Standing]:
        """Return the same for several documents, reading the register once; unreadable documents are left out."""
        lines = self._lines()
        standings: dict[Path, Standing] = {}
        for path in documents:
            with suppress(StorageError):
                standings[path] = _standing(path, lines)
        return standings

    def noted_paths(self) -> frozenset[str]:
        """Return the paths of all documents that were written here or trusted; their content may have changed."""
        entries = map(_parse, self._lines())
        return frozenset(str(entry["path"]) for entry in entries if "path" in entry)

    def written_paths(self) -> frozenset[str]:
        """Return the paths of all documents that this machine wrote."""
        written = (entry for entry in map(_parse, self._lines()) if entry.get("standing") == "written")
        return frozenset(str(entry["path"]) for entry in written if "path" in entry)

    def require(self, path: Path) -> None:
        """Raise NotTrustedError, with the command to type, unless the document may be used."""
        if self.standing(path) == "foreign":
            raise NotTrustedError(
                f"{path}: this machine did not write it. Read it, then: leftoff trust {path}", path=path
            )

    def standing_of_part(self, path: Path, part: bytes) -> Standing:
        """Return the standing of a document of which only ``part`` is used: that of the part, else of the whole."""
        lines = self._lines()
        of_part = _standing_of_digest(path, hashlib.sha256(part).hexdigest(), lines)
        return of_part if of_part != "foreign" else _standing(path, lines)

    def require_part(self, path: Path, part: bytes) -> None:
        """Raise NotTrustedError unless such a document may be used."""
        if self.standing_of_part(path, part) == "foreign":
            self.require(path)

    def _add(self, entries: list[dict[str, str | int]]) -> None:
        files.make_folder(self.folder)
        lines = "".join(json.dumps(entry) + "\n" for entry in entries)
        files.append_lines(self.folder / _NAME, lines.encode(), sync=True)

    def _lines(self) -> list[bytes]:
        return (files.read_if_exists(self.folder / _NAME) or b"").splitlines()


def _standing(path: Path, lines: Iterable[bytes]) -> Standing:
    return _standing_of_digest(path, hashlib.sha256(_content(path)).hexdigest(), lines)


def _content(path: Path) -> bytes:
    return files.read_file(path, files.MAX_DOCUMENT_BYTES)


def _standing_of_digest(path: Path, digest: str, lines: Iterable[bytes]) -> Standing:
    """Return what the register says about a content. Only lines with its digest are parsed."""
    needle = digest.encode()
    entries = [_parse(line) for line in lines if needle in line]
    recorded = {entry.get("standing") for entry in entries if entry.get("sha256") == digest}
    if "trusted" in recorded:
        return "trusted"
    return "written" if "written" in recorded and not git.tracks(path) else "foreign"


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
        "at": clock.format_rfc3339(at),
    }


def _parse(line: bytes) -> dict[str, Any]:
    """Return the entry of a line; empty if the line is broken."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}
