"""The register of documents that this machine wrote or the user trusts; it decides whether a document may be used.

A cloned repository can contain documents by anyone. leftoff uses a document without asking only if this machine wrote it or the user
trusted it, also after edits and commits that were made here. Content from elsewhere needs ``leftoff trust``. What a changed document
was judged to be is recorded too, so that git is asked once, and an edit on top of content from elsewhere does not hide it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from leftoff.core.wire import SCHEMAS, JsonObject
from leftoff.errors import NotTrustedError, StorageError
from leftoff.platform import clock, files, origin

# ``edited``: written here or trusted, and edited here since. ``foreign``: it waits for the user's trust.
Standing = Literal["written", "trusted", "edited", "foreign"]
NOT_WRITTEN_HERE = "this machine did not write it"
_USABLE: tuple[Standing, ...] = ("trusted", "written", "edited")
_NAME = "register.jsonl"
_BEFORE_ANYTHING = datetime.fromtimestamp(0, UTC)
_ON_TOP = "it was edited, but it held content from elsewhere before: "


class Judgement(NamedTuple):
    """Whether a document may be used. ``why`` says why it waits for the user's trust; empty if it does not."""

    standing: Standing
    why: str = ""

    def mark(self, path: Path) -> str:
        """Return the line that marks a document where a person is shown it; empty if it may be used."""
        if self.standing != "foreign":
            return ""
        return f"NOT TRUSTED: {self.why}. Agents do not get it. Read it, then: leftoff trust {path}"

    def to_dict(self) -> JsonObject:
        """Return the fields that mark it for scripts."""
        return {"trusted": self.standing != "foreign", "waits_because": self.why or None}


WRITTEN = Judgement("written")


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
        self.note_contents({path: part}, document_id, at)

    def note_contents(self, written: Mapping[Path, bytes], document_id: str, at: datetime) -> None:
        """Record that this machine wrote these contents, in one write, whatever the files hold by now."""
        self._add([_entry_of("written", path, content, document_id, at) for path, content in written.items()])

    def trust(self, path: Path, at: datetime) -> None:
        """Record that the user trusts the current content of the document."""
        self._add([_entry("trusted", path, path.stem, at)])

    def standing(self, path: Path) -> Standing:
        """Return whether the document was written here, is trusted, or is foreign."""
        return self.judge(path).standing

    def judge(self, path: Path) -> Judgement:
        """Return the same with the reason why a foreign document waits."""
        return self._judge({path: _Content(_content(path))})[path]

    def judge_own(self, path: Path) -> Judgement:
        """Judge a document that users write themselves: one that the register does not know may be used if it was made here."""
        judgement = self.judge(path)
        if judgement.why != NOT_WRITTEN_HERE:
            return judgement
        lines, new = self._lines(), origin.Change(path, _content(path), _BEFORE_ANYTHING)
        why = origin.reasons_to_wait([new], lambda blob: _knows_blob(blob, lines)).get(path)
        return Judgement("foreign", why) if why else Judgement("edited")

    def judge_all(self, documents: Iterable[Path]) -> dict[Path, Judgement]:
        """Return the same for several documents, reading the register once; unreadable documents are left out."""
        contents = {}
        for path in documents:
            with suppress(StorageError):
                contents[path] = _Content(_content(path))
        return self._judge(contents)

    def judge_part(self, path: Path, part: bytes) -> Judgement:
        """Judge a document of which only ``part`` is used, by that part, else by the whole."""
        return self._judge({path: _Content(_content(path), part)})[path]

    def noted_paths(self, folder: Path | None = None) -> frozenset[str]:
        """Return the paths of all documents that were written here or trusted, or of those in a folder; they may have changed."""
        lines = self._lines() if folder is None else _lines_about([folder], self._lines())
        return frozenset(str(entry["path"]) for entry in map(_parse, lines) if "path" in entry)

    def written_paths(self) -> frozenset[str]:
        """Return the paths of all documents that this machine wrote."""
        written = (entry for entry in map(_parse, self._lines()) if entry.get("standing") == "written")
        return frozenset(str(entry["path"]) for entry in written if "path" in entry)

    def require(self, path: Path) -> None:
        """Raise NotTrustedError, with the reason and the command to type, unless the document may be used."""
        _require(path, self.judge(path))

    def require_part(self, path: Path, part: bytes) -> None:
        """Do the same for a document of which only ``part`` is used."""
        _require(path, self.judge_part(path, part))

    def _judge(self, contents: Mapping[Path, _Content]) -> dict[Path, Judgement]:
        """Judge documents, and record those that have changed since their last entry."""
        lines = self._lines()
        judged: dict[Path, Judgement] = {}
        recorded = _last_entries(contents, lines)
        unknown: list[origin.Change] = []
        for path, content in contents.items():
            last = recorded.get(path)
            known = _known_standing(content, last, lines)
            if known is not None:
                judged[path] = Judgement(known)
            elif last is None:
                judged[path] = Judgement("foreign", NOT_WRITTEN_HERE)
            elif last["standing"] == "foreign":
                judged[path] = Judgement("foreign", _reason_after(last, content))
            else:
                unknown.append(origin.Change(path, content.whole, _moment(last), last.get("folder")))
        reasons = origin.reasons_to_wait(unknown, lambda blob: _knows_blob(blob, lines))
        for path in (change.path for change in unknown):
            why = reasons.get(path)
            judged[path] = Judgement("foreign", why) if why else Judgement("edited")
        self._record_changes(judged, contents, recorded)
        return {path: judged[path] for path in contents}

    def _record_changes(
        self,
        judged: Mapping[Path, Judgement],
        contents: Mapping[Path, _Content],
        recorded: Mapping[Path, dict[str, Any]],
    ) -> None:
        now = clock.now()
        entries = []
        for path, judgement in judged.items():
            last, content = recorded.get(path), contents[path]
            is_changed = last is not None and (
                last["sha256"] not in content.digests
                # Such as after a branch switch: what is edited in the new folder is an edit.
                or (judgement.standing != "foreign" and last.get("folder") != origin.folder_number(path))
            )
            if last is not None and is_changed and judgement.why not in origin.TEMPORARY:
                entry = _entry_of(
                    judgement.standing, path, content.used, str(last.get("id") or path.stem), now
                )
                entries.append(entry | ({"why": judgement.why} if judgement.why else {}))
        if entries:
            with suppress(StorageError):  # then it is judged again the next time
                self._add(entries)

    def _add(self, entries: list[dict[str, str | int]]) -> None:
        files.make_folder(self.folder)
        lines = "".join(json.dumps(entry) + "\n" for entry in entries)
        files.append_lines(self.folder / _NAME, lines.encode(), sync=True)

    def _lines(self) -> list[bytes]:
        return (files.read_if_exists(self.folder / _NAME) or b"").splitlines()


class _Content(NamedTuple):
    """The content of a document, and the part of it that is used; None if that is all of it."""

    whole: bytes
    part: bytes | None = None

    @property
    def used(self) -> bytes:
        return self.whole if self.part is None else self.part

    @property
    def digests(self) -> tuple[str, ...]:
        """The SHA-256 of the used part and of the whole."""
        return tuple(hashlib.sha256(each).hexdigest() for each in (self.used, self.whole))


def _content(path: Path) -> bytes:
    return files.read_file(path, files.MAX_DOCUMENT_BYTES)


def _require(path: Path, judgement: Judgement) -> None:
    if judgement.standing == "foreign":
        raise NotTrustedError(f"{path}: {judgement.why}. Read it, then: leftoff trust {path}", path=path)


def _last_entries(documents: Iterable[Path], lines: Iterable[bytes]) -> dict[Path, dict[str, Any]]:
    """Return the newest entry about each document that has one: what it held when leftoff last knew it."""
    wanted = {str(path): path for path in documents}
    entries = map(_parse, _lines_about({path.parent for path in wanted.values()}, lines))
    return {
        wanted[path]: entry
        for entry in entries
        if (path := str(entry.get("path"))) in wanted
        and entry.get("standing") in (*_USABLE, "foreign")
        and isinstance(entry.get("sha256"), str)
    }


def _lines_about(folders: Iterable[Path], lines: Iterable[bytes]) -> Iterator[bytes]:
    """Return the entries about documents in these folders, and perhaps others: a register has many of other projects."""
    beginnings = [f'"path": {json.dumps(str(folder))[:-1]}'.encode() for folder in folders]
    return (line for line in lines if any(beginning in line for beginning in beginnings))


def _known_standing(
    content: _Content, last: Mapping[str, Any] | None, lines: Iterable[bytes]
) -> Standing | None:
    """Return what the register says about a content, wherever it is; None if it knows none such. Most often the last entry does."""
    digests = content.digests
    if last is not None and last["sha256"] == digests[0] and last["standing"] in ("trusted", "written"):
        standing: Standing = last["standing"]
        return standing
    needles = [digest.encode() for digest in digests]
    entries = [_parse(line) for line in lines if any(needle in line for needle in needles)]
    found = {entry.get("standing") for entry in entries if entry.get("sha256") in digests}
    return next((each for each in _USABLE if each in found), None)


def _knows_blob(blob: str, lines: Iterable[bytes]) -> bool:
    entries = (_parse(line) for line in lines if blob.encode() in line)
    return any(entry.get("blob") == blob and entry.get("standing") in _USABLE for entry in entries)


def _reason_after(last: Mapping[str, Any], content: _Content) -> str:
    """Return why a document waits whose last known content came from elsewhere."""
    why = str(last.get("why") or NOT_WRITTEN_HERE)
    if last["sha256"] in content.digests or why.startswith(_ON_TOP):
        return why
    return f"{_ON_TOP}{why}"


def _moment(entry: Mapping[str, Any]) -> datetime:
    return clock.parse_rfc3339(str(entry.get("at"))) or _BEFORE_ANYTHING


def _entry(standing: Standing, path: Path, document_id: str, at: datetime) -> dict[str, str | int]:
    return _entry_of(standing, path, _content(path), document_id, at)


def _entry_of(
    standing: Standing, path: Path, content: bytes, document_id: str, at: datetime
) -> dict[str, str | int]:
    folder = origin.folder_number(path)
    return {
        "schema": SCHEMAS["register"],
        "standing": standing,
        "id": document_id,
        "sha256": hashlib.sha256(content).hexdigest(),
        "blob": origin.blob_id(content),
        "path": str(path),
        "at": clock.format_rfc3339(at),
        **({} if folder is None else {"folder": folder}),
    }


def _parse(line: bytes) -> dict[str, Any]:
    """Return the entry of a line; empty if the line is broken."""
    try:
        entry = orjson.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}
