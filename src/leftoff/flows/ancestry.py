"""Where sessions came from, joined from all who know: their own notes, their agents, and the registry.

A client's fork copies the note of the session that it forked: the registry knows which session the note was written for, so the
fork is told from the first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from leftoff.errors import LeftoffError
from leftoff.flows.agents import agent_of
from leftoff.flows.sessions import Found, found_sessions, glimpsed
from leftoff.lineage import metadata
from leftoff.lineage.chain import Sources, ancestry
from leftoff.lineage.fingerprint import is_still
from leftoff.lineage.metadata import Origin
from leftoff.lineage.registry import CLEARED, Derived, Registry
from leftoff.model.session import Parent
from leftoff.model.session_node import SessionNode
from leftoff.system import paths


@dataclass(frozen=True)
class Family:
    """Everything that is known of who came from whom, looked up once."""

    registry: Registry

    @cached_property
    def derived(self) -> list[Derived]:
        """The sessions that were made from others, as the registry holds them."""
        return [each for each in self._entries if each.derivation != CLEARED]

    @cached_property
    def cleared(self) -> Mapping[str, Derived]:
        """Sessions that began with nothing where another was cleared, by their ids: in place of their parents, not made from them."""
        return {each.session_id: each for each in self._entries if each.derivation == CLEARED}

    @cached_property
    def _entries(self) -> list[Derived]:
        return self.registry.entries()

    @cached_property
    def found(self) -> list[Found]:
        """Every transcript of every agent."""
        return found_sessions()

    def node(self, session_file: Path) -> SessionNode:
        """A session with its ancestors."""
        return ancestry(
            session_file,
            Sources(origin=self.origin, find=self.file_of, session_id=session_id_of),
        )

    def ancestor_ids(self, session_file: Path) -> frozenset[str]:
        """The ids of all that a session was made from, those too that are gone and that only the registry remembers."""
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
        """Where a session came from; None for an original, and for what cannot be read."""
        noted = metadata.origin_of(session_file)
        session_id = session_id_of(session_file)
        told = _told(session_file)
        if told is not None and (noted is None or told.derivation == "forked"):
            return Origin(
                derivation=told.derivation, parent_file=told.transcript, parent_session_id=told.session_id
            )
        if noted is None:
            return self._registered(session_file, session_id)
        first = self._written_for(noted)
        if first is not None and session_id not in {None, first.session_id}:
            return Origin(
                derivation="forked", parent_file=first.transcript, parent_session_id=first.session_id
            )
        return noted

    def file_of(self, origin: Origin) -> Path | None:
        """The parent's file: where it is said to be, as long as that is a transcript and still the same, else wherever its id is."""
        mark = origin.parent_fingerprint
        if origin.parent_file and _is_file(Path(origin.parent_file)):
            here = Path(origin.parent_file)
            if is_still(here, mark) if mark is not None else session_id_of(here) is not None:
                return here
        found = self.files_called(origin.parent_session_id) if origin.parent_session_id else ()
        return next((path for path in found if mark is None or is_still(path, mark)), None)

    def files_called(self, id_prefix: str) -> Iterator[Path]:
        """The transcripts of sessions whose id begins so: by the registry, by file name, at last by what the files say."""
        known = [path for path in self.registry.transcripts(id_prefix) if _is_file(path)]
        named = [each for each in self.found if id_prefix in each.transcript.name]
        passed = {os.path.realpath(path) for path in known}
        yield from known
        for found in (named, self.found):
            for entry in glimpsed(found):
                path = Path(entry.transcript)
                if entry.session_id.startswith(id_prefix) and os.path.realpath(path) not in passed:
                    passed.add(os.path.realpath(path))
                    yield path

    def _written_for(self, noted: Origin) -> Derived | None:
        """The session that a note was written for."""
        same = (
            each for each in self.derived if (each.at, each.parent_id) == (noted.at, noted.parent_session_id)
        )
        return next(same, None)

    def _registered(self, session_file: Path, session_id: str | None) -> Origin | None:
        for each in reversed(self.derived):
            if each.session_id == session_id or each.transcript == str(session_file):
                return noted_origin(each)
        return None


def family_here() -> Family:
    """What this user's registry and agents know."""
    return Family(registry=Registry(folder=paths.data_folder()))


def noted_origin(entry: Derived) -> Origin:
    """Where a session came from, by what the registry holds of it."""
    return Origin(
        derivation=entry.derivation,
        parent_file=entry.parent_transcript,
        parent_session_id=entry.parent_id,
        parent_fingerprint=entry.parent_fingerprint,
        at=entry.at,
    )


def session_id_of(session_file: Path) -> str | None:
    """What the session in a file is called; None for what is no transcript."""
    try:
        return agent_of(session_file).open(session_file).session_id
    except LeftoffError:
        return None


def _told(session_file: Path) -> Parent | None:
    try:
        return agent_of(session_file).open(session_file).parent
    except LeftoffError:
        return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False
