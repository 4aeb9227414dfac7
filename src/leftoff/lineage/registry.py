"""The registry of derived sessions in the user's data folder: who was made from whom, also after the files have moved.

Entries are only ever added, one line each, under the folder's lock; a line that is broken, or of a newer leftoff, is passed over.
What stands in a session itself wins; the registry tells where its parent is, which of several copies of the same words is the
first, what a session came from whose own note was lost, and which one was cleared before it began.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import orjson

from leftoff.errors import DocumentError
from leftoff.model.session import Derivation
from leftoff.model.values import dataclass
from leftoff.model.wire import SCHEMAS, JsonValue, upgraded
from leftoff.system import files

NAME = "lineage.jsonl"
CLEARED: Derivation = "cleared-from"  # it has nothing of its parent but the place
_ALL: tuple[Derivation, ...] = ("trimmed", "continued", "forked", CLEARED)
_DERIVATIONS: Mapping[str, Derivation] = {each: each for each in _ALL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """One derived session as it was when it was made; ``at`` is RFC 3339, the same as in the session's own note."""

    session_id: str
    transcript: str
    agent: str
    parent_id: str
    parent_transcript: str
    parent_fingerprint: str | None
    derivation: Derivation
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The registry in a user's data folder."""

    folder: Path

    def add(self, entry: Derived) -> None:
        """Note a session that was just made."""
        files.make_folder(self.folder)
        line = orjson.dumps({"schema": SCHEMAS["lineage"], **asdict(entry)}) + b"\n"
        files.append_lines(self.folder / NAME, line, sync=True)

    def entries(self) -> list[Derived]:
        """All that can be read, oldest first."""
        try:
            lines = (self.folder / NAME).read_bytes().splitlines()
        except OSError:
            return []
        return [*self._read(lines)]

    def of(self, session_id: str) -> Derived | None:
        """What is known of that session; the newest entry, should there be several."""
        return next((each for each in reversed(self.entries()) if each.session_id == session_id), None)

    def transcripts(self, id_prefix: str) -> list[Path]:
        """Where sessions whose id begins so were last known to be, as derived ones or as parents; newest first."""
        found: dict[Path, None] = {}
        for each in reversed(self.entries()):
            if each.session_id.startswith(id_prefix):
                found[Path(each.transcript)] = None
            if each.parent_id.startswith(id_prefix):
                found[Path(each.parent_transcript)] = None
        return [*found]

    def _read(self, lines: list[bytes]) -> Iterator[Derived]:
        for line in lines:
            try:
                yield _entry(orjson.loads(line), where=str(self.folder / NAME))
            except (orjson.JSONDecodeError, DocumentError):
                continue


def _entry(data: JsonValue, *, where: str) -> Derived:
    known = upgraded("lineage", data, where=where)
    texts = {name: value for name, value in known.items() if isinstance(value, str) and value}
    try:
        return Derived(
            session_id=texts["session_id"],
            transcript=texts["transcript"],
            agent=texts["agent"],
            parent_id=texts["parent_id"],
            parent_transcript=texts["parent_transcript"],
            parent_fingerprint=texts.get("parent_fingerprint"),
            derivation=_DERIVATIONS[texts["derivation"]],
            at=texts["at"],
        )
    except KeyError as error:
        raise DocumentError(f"{where}: an entry without {error}.", path=where) from error
