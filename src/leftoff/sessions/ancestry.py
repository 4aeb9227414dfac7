"""Which session was derived from which: joined from the sessions' own metadata, their agents, and the registry.

The metadata in a transcript wins. The registry, one JSON line per derived session in the user's data folder, adds where a
parent's file is now, which parent a session had whose metadata was lost, which session was cleared before another began, and
which session's work another one took over because the user said "continue".
It also tells a client's fork, which copies the metadata of the session it forked, from the session they were written for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from leftoff.agents.registry import agent_of
from leftoff.catalogue.database import library_folder
from leftoff.catalogue.forgotten import Forgotten
from leftoff.core.session import Derivation, Parent, Session, SessionNode
from leftoff.core.wire import SCHEMAS, JsonValue, encode_json, upgrade_document
from leftoff.errors import DocumentError, LeftoffError, StorageError
from leftoff.platform import clock, files, paths
from leftoff.sessions import lineage
from leftoff.sessions.lineage import LineageSources, Origin, still_matches, trace_ancestors
from leftoff.sessions.listing import TranscriptFile, entries_from_index, list_transcripts

REGISTRY_NAME = "lineage.jsonl"
CLEARED: Derivation = "cleared-from"  # it only took its parent's place and has none of its content
_ALL: tuple[Derivation, ...] = ("trimmed", "continued", "forked", CLEARED)
_DERIVATIONS: Mapping[str, Derivation] = {each: each for each in _ALL}


@dataclass(frozen=True)
class Family:
    """Everything that is known about the ancestry of sessions, looked up once."""

    registry: Registry

    @cached_property
    def derived(self) -> list[DerivedEntry]:
        """The sessions in the registry that were made from others."""
        return [each for each in self._entries if each.derivation != CLEARED]

    @cached_property
    def cleared(self) -> Mapping[str, DerivedEntry]:
        """Sessions that began empty after another was cleared, by id: they replace their parents and do not continue them."""
        return {each.session_id: each for each in self._entries if each.derivation == CLEARED}

    @cached_property
    def _entries(self) -> list[DerivedEntry]:
        return self.registry.entries()

    @cached_property
    def transcripts(self) -> list[TranscriptFile]:
        """Every transcript of every agent, newest first."""
        return list_transcripts()

    def node(self, session_file: Path) -> SessionNode:
        """Return a session with its ancestors."""
        return trace_ancestors(
            session_file,
            LineageSources(origin=self.origin, find=self.file_of, session_id=session_id_of),
        )

    def ancestor_ids(self, session_file: Path) -> frozenset[str]:
        """Return the ids of all ancestors of a session, including deleted ones that only the registry knows."""
        node = self.node(session_file).parent
        found: set[str] = set()
        while node is not None:
            found |= {node.session_id} if node.session_id else set()
            node = node.parent
        parents: dict[str, set[str]] = {}
        for each in self.derived:
            parents.setdefault(each.session_id, set()).add(each.parent_id)
        waiting = [*found]
        while waiting:
            new = parents.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return frozenset(found)

    def origin(self, session_file: Path) -> Origin | None:
        """Return where a session came from; None for an original and for what cannot be read."""
        metadata = lineage.read_origin(session_file)
        session_id = session_id_of(session_file)
        parent = _parent_in_transcript(session_file)
        if parent is not None and (metadata is None or parent.derivation == "forked"):
            return Origin(
                derivation=parent.derivation,
                parent_file=parent.transcript,
                parent_session_id=parent.session_id,
            )
        if metadata is None:
            return self._origin_in_registry(session_file, session_id)
        first = self._metadata_owner(metadata)
        if first is not None and session_id not in {None, first.session_id}:
            return Origin(
                derivation="forked", parent_file=first.transcript, parent_session_id=first.session_id
            )
        return metadata

    def file_of(self, origin: Origin) -> Path | None:
        """Return the parent's file: the one named, if that is still the same transcript, else any with the parent's id."""
        mark = origin.parent_fingerprint
        if origin.parent_file and _is_file(Path(origin.parent_file)):
            here = Path(origin.parent_file)
            if still_matches(here, mark) if mark is not None else session_id_of(here) is not None:
                return here
        found = self.files_of(origin.parent_session_id) if origin.parent_session_id else ()
        return next((path for path in found if mark is None or still_matches(path, mark)), None)

    def files_of(self, id_prefix: str) -> Iterator[Path]:
        """Yield the transcripts of sessions whose id has this prefix: by registry, then file name, then content."""
        known = [path for path in self.registry.transcripts(id_prefix) if _is_file(path)]
        named = [each for each in self.transcripts if id_prefix in each.transcript.name]
        passed = {os.path.realpath(path) for path in known}
        yield from known
        for found in (named, self.transcripts):
            for entry in entries_from_index(found):
                path = Path(entry.transcript)
                if entry.session_id.startswith(id_prefix) and os.path.realpath(path) not in passed:
                    passed.add(os.path.realpath(path))
                    yield path

    def _metadata_owner(self, metadata: Origin) -> DerivedEntry | None:
        """Return the session that metadata were written for."""
        same = (
            each
            for each in self.derived
            if (each.at, each.parent_id) == (metadata.at, metadata.parent_session_id)
        )
        return next(same, None)

    def _origin_in_registry(self, session_file: Path, session_id: str | None) -> Origin | None:
        for each in reversed(self.derived):
            if each.session_id == session_id or each.transcript == str(session_file):
                return origin_of_entry(each)
        return None


def load_family() -> Family:
    """Return what this user's registry and agents know."""
    return Family(registry=Registry(folder=paths.data_folder()))


class Link(NamedTuple):
    """A session that another one continues. ``at`` is RFC 3339; None where it is not known."""

    session_id: str
    derivation: Derivation
    at: str | None


def links_of(session: Session) -> list[Link]:
    """Return the sessions that a session continues, the latest last: its own parent, and those whose logs it was given."""
    registered = [
        each
        for each in Registry(folder=paths.data_folder()).entries()
        if each.session_id == session.session_id and each.derivation != CLEARED
    ]
    parent = session.parent
    found = {}
    if parent is not None and parent.session_id is not None and parent.derivation != CLEARED:
        found[parent.session_id] = Link(parent.session_id, parent.derivation, None)
    found |= {each.parent_id: Link(each.parent_id, each.derivation, each.at) for each in registered}
    return [
        link
        for link in found.values()
        if link.session_id != session.session_id and not is_forgotten(link.session_id)
    ]


def is_forgotten(session_id: str) -> bool:
    """Return whether the user had the session forgotten; also if that cannot be read, because then it may have been."""
    try:
        return Forgotten(library_folder()).includes_session(session_id)
    except StorageError:
        return True


class Heir(NamedTuple):
    """A session that was given the log of another one. ``transcript`` is ``None`` while it has none."""

    agent: str
    session_id: str
    transcript: str | None


def note_continued(heir: Heir, parent_id: str, parent_transcript: str | None, at: datetime) -> None:
    """Record that a session continues the work of another one, because it was given that one's log; once for each pair."""
    registry = Registry(folder=paths.data_folder())
    pair = (heir.session_id, parent_id)
    known = ((each.session_id, each.parent_id) for each in registry.entries() if each.derivation != CLEARED)
    if heir.session_id == parent_id or pair in known:
        return
    file = parent_transcript or f"{parent_id}.jsonl"
    registry.add(
        DerivedEntry(
            session_id=heir.session_id,
            transcript=heir.transcript or f"{heir.session_id}.jsonl",
            agent=heir.agent,
            parent_id=parent_id,
            parent_transcript=file,
            parent_fingerprint=lineage.fingerprint(Path(file)),
            derivation="continued",
            at=clock.format_rfc3339(at),
        )
    )


def origin_of_entry(entry: DerivedEntry) -> Origin:
    """Return where a session came from according to its registry entry."""
    return Origin(
        derivation=entry.derivation,
        parent_file=entry.parent_transcript,
        parent_session_id=entry.parent_id,
        parent_fingerprint=entry.parent_fingerprint,
        at=entry.at,
    )


def session_id_of(session_file: Path) -> str | None:
    """Return the id of the session in a file; None if it is not a transcript."""
    try:
        return agent_of(session_file).open(session_file).session_id
    except LeftoffError:
        return None


def _parent_in_transcript(session_file: Path) -> Parent | None:
    try:
        return agent_of(session_file).open(session_file).parent
    except LeftoffError:
        return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


class DerivedEntry(NamedTuple):
    """One derived session when it was created; ``at`` is RFC 3339 and the same as in the session's own metadata.

    ``recipe`` identifies what the copy was made from and how, and ``size_bytes`` its size; None in entries of rollovers and
    of older versions.
    """

    session_id: str
    transcript: str
    agent: str
    parent_id: str
    parent_transcript: str
    parent_fingerprint: str | None
    derivation: Derivation
    at: str
    recipe: str | None = None
    size_bytes: int | None = None


class Registry(NamedTuple):
    """The registry of derived sessions: lines are only appended, and lines that cannot be read are skipped."""

    folder: Path

    def add(self, entry: DerivedEntry) -> None:
        """Add a session that was just derived."""
        files.make_folder(self.folder)
        fields = {key: value for key, value in entry._asdict().items() if value is not None}
        line = encode_json({"schema": SCHEMAS["lineage"], **fields}) + b"\n"
        files.append_lines(self.folder / REGISTRY_NAME, line, sync=True)

    def entries(self) -> list[DerivedEntry]:
        """Return all entries that can be read, oldest first."""
        try:
            lines = (self.folder / REGISTRY_NAME).read_bytes().splitlines()
        except OSError:
            return []
        return [*self._read(lines)]

    def of(self, session_id: str) -> DerivedEntry | None:
        """Return the newest entry of a session, or None."""
        return next((each for each in reversed(self.entries()) if each.session_id == session_id), None)

    def transcripts(self, id_prefix: str) -> list[Path]:
        """Return where sessions with this id prefix, derived or parents, were last known to be; newest first."""
        found: dict[Path, None] = {}
        for each in reversed(self.entries()):
            if each.session_id.startswith(id_prefix):
                found[Path(each.transcript)] = None
            if each.parent_id.startswith(id_prefix):
                found[Path(each.parent_transcript)] = None
        return [*found]

    def _read(self, lines: list[bytes]) -> Iterator[DerivedEntry]:
        for line in lines:
            try:
                yield _entry(json.loads(line), where=str(self.folder / REGISTRY_NAME))
            except (ValueError, RecursionError, DocumentError):
                continue


def _entry(data: JsonValue, *, where: str) -> DerivedEntry:
    known = upgrade_document("lineage", data, where=where)
    texts = {name: value for name, value in known.items() if isinstance(value, str) and value}
    try:
        return DerivedEntry(
            session_id=texts["session_id"],
            transcript=texts["transcript"],
            agent=texts["agent"],
            parent_id=texts["parent_id"],
            parent_transcript=texts["parent_transcript"],
            parent_fingerprint=texts.get("parent_fingerprint"),
            derivation=_DERIVATIONS[texts["derivation"]],
            at=texts["at"],
            recipe=texts.get("recipe"),
            size_bytes=size if isinstance(size := known.get("size_bytes"), int) else None,
        )
    except KeyError as error:
        raise DocumentError(f"{where}: an entry without {error}.", path=where) from error
