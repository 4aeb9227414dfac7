"""The whole family of a session: its ancestors, and everything that was made from any of them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from leftoff.flows import watch_states
from leftoff.flows.ancestry import Family, family_here, noted_origin, session_id_of
from leftoff.flows.choose import choose
from leftoff.flows.native_forks import silent_forks
from leftoff.flows.sessions import entries
from leftoff.lineage.chain import Sources, ancestry, oldest_first
from leftoff.lineage.metadata import Origin
from leftoff.lineage.registry import CLEARED
from leftoff.model.session import SessionEntry
from leftoff.model.session_node import SessionNode
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.system import clock

__all__ = ["CLEARED", "FamilyTree", "Member", "lineage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One session of a family with those made from it. None: not known, as nearly all is where the file is gone."""

    session_id: str | None
    session_file: Path
    derivation: str | None
    missing: bool
    is_asked_for: bool
    agent: str | None = None
    modified_at: str | None = None
    first_prompt: str | None = None
    compactions: int | None = None
    was_cleared: bool = False
    children: tuple[Member, ...] = ()

    def to_dict(self) -> JsonObject:
        """The tree as scripts see it."""
        return {
            "session_id": self.session_id,
            "session_file": str(self.session_file),
            "derivation": self.derivation,
            "missing": self.missing,
            "current": self.is_asked_for,
            "agent": self.agent,
            "modified_at": self.modified_at,
            "first_prompt": self.first_prompt,
            "compactions": self.compactions,
            "cleared": self.was_cleared,
            "children": [child.to_dict() for child in self.children],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyTree:
    """The oldest ancestor with all its descendants, and the straight line to the session that was asked for."""

    root: Member
    chain: tuple[SessionNode, ...]  # oldest first

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "chain": [
                {
                    "session_id": node.session_id,
                    "session_file": str(node.session_file),
                    "derivation": node.derivation_type,
                    "missing": node.missing,
                }
                for node in self.chain
            ],
            "tree": self.root.to_dict(),
        }


def lineage(words: str, working_folder: Path) -> FamilyTree:
    """The family of the session that ``words`` name."""
    chosen = choose(words, working_folder)
    album = _Album(family=family_here(), folder=chosen.transcript.parent)
    node = ancestry(
        chosen.transcript,
        Sources(origin=album.origin, find=album.family.file_of, session_id=session_id_of),
    )
    chain = oldest_first(node)
    asked = os.path.realpath(chosen.transcript)
    return FamilyTree(root=_member(chain[0], album, asked, frozenset()), chain=tuple(chain))


@dataclass(frozen=True)
class _Album:
    """Every session by its real path, from one look at all of them; silent forks only in the folder that is asked about."""

    family: Family
    folder: Path

    @cached_property
    def entries(self) -> Mapping[str, SessionEntry]:
        return {os.path.realpath(entry.transcript): entry for entry in entries(self.family.found)}

    @cached_property
    def forks(self) -> Mapping[str, Origin]:
        here = [each for each in self.family.found if each.transcript.parent == self.folder]
        silent = [each for each in here if self.family.origin(each.transcript) is None]
        return {os.path.realpath(path): origin for path, origin in silent_forks(silent).items()}

    def origin(self, session_file: Path) -> Origin | None:
        """Where a session came from, or what was cleared before it began."""
        made = self.family.origin(session_file) or self.forks.get(os.path.realpath(session_file))
        if made is not None or not self.family.cleared:
            return made
        cleared = self.family.cleared.get(session_id_of(session_file) or "")
        return noted_origin(cleared) if cleared else None

    @cached_property
    def children(self) -> Mapping[str, list[SessionNode]]:
        """By the real path of the parent."""
        found: dict[str, list[SessionNode]] = defaultdict(list)
        for parent, child in (*self._standing(), *self._gone()):
            found[os.path.realpath(parent)].append(child)
        return found

    def _standing(self) -> Iterator[tuple[str | Path, SessionNode]]:
        derived = {*self.family.cleared, *(each.session_id for each in self.family.derived)}
        for name, entry in self.entries.items():
            if entry.parent is None and entry.session_id not in derived and name not in self.forks:
                continue
            origin = self.origin(Path(entry.transcript))
            if origin is not None:
                parent = (
                    self.family.file_of(origin) or origin.parent_file or f"{origin.parent_session_id}.jsonl"
                )
                yield (
                    parent,
                    SessionNode(
                        session_file=Path(entry.transcript),
                        derivation_type=origin.derivation,
                        session_id=entry.session_id,
                    ),
                )

    def _gone(self) -> Iterator[tuple[str | Path, SessionNode]]:
        """Derived sessions whose files were deleted are still somebody's children."""
        for each in self.family.derived:
            if not Path(each.transcript).is_file():
                yield (
                    each.parent_transcript,
                    SessionNode(
                        session_file=Path(each.transcript),
                        derivation_type=each.derivation,
                        session_id=each.session_id,
                        missing=True,
                    ),
                )


def _member(node: SessionNode, album: _Album, asked: str, above: frozenset[str]) -> Member:
    name = os.path.realpath(node.session_file)
    entry = album.entries.get(name)
    above |= {name}  # in a circle each is drawn once
    children = [
        child for child in album.children.get(name, []) if os.path.realpath(child.session_file) not in above
    ]
    cleared = (
        entry is not None
        and watch_states.state_of(entry.agent, entry.session_id).ended == watch_states.CLEARED
    )
    return Member(
        session_id=node.session_id,
        session_file=node.session_file,
        derivation=node.derivation_type,
        missing=node.missing,
        is_asked_for=name == asked,
        agent=entry.agent if entry else None,
        modified_at=clock.rfc3339(entry.modified_at) if entry else None,
        first_prompt=entry.first_prompt if entry else None,
        compactions=entry.compactions if entry else None,
        was_cleared=cleared,
        children=tuple(_member(child, album, asked, above) for child in children),
    )
