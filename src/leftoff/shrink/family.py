"""The family of a session: its ancestors and everything derived from them; and the lineage block for files written by others.

Some clients fork a conversation with the ids of its records and name no parent. Two files that begin with the same record are
then the same conversation. Where they differ, the fork continues at once; its parent continues later, or not at all.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice, zip_longest
from pathlib import Path

import orjson

from leftoff.agents.registry import agent_by_id, agent_of
from leftoff.core.protocols import Agent
from leftoff.core.records import Record, RecordKind, Text
from leftoff.core.session import (
    Derivation,
    SessionEntry,
    SessionNode,
    add_lineage_block,
    name_in_lineage_block,
)
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.errors import UsageError
from leftoff.platform import clock, files
from leftoff.sessions import live_state
from leftoff.sessions.ancestry import Family, load_family, origin_of_entry, session_id_of
from leftoff.sessions.find import find_session
from leftoff.sessions.lineage import (
    LineageSources,
    Origin,
    lineage_block,
    oldest_first,
    read_origin,
    trace_ancestors,
)
from leftoff.sessions.listing import TranscriptFile, entries
from leftoff.workspace import Workspace

_FIRST_RECORDS = 50
_NEVER = datetime.max.replace(tzinfo=UTC)
_COPIES = {"trimmed", "forked"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A session and those derived from it. None means "not known", as nearly everything is when the file is gone."""

    session_id: str | None
    session_file: Path
    derivation: str | None
    missing: bool
    is_selected: bool
    strategy: str | None = None  # of a copy by leftoff: trim, smart-trim, untrim or as-is
    agent: str | None = None
    modified_at: str | None = None
    first_prompt: str | None = None
    compactions: int | None = None
    was_cleared: bool = False
    children: tuple[Member, ...] = ()

    def to_dict(self) -> JsonObject:
        """Return the JSON shape of the tree for scripts."""
        return {
            "session_id": self.session_id,
            "session_file": str(self.session_file),
            "derivation": self.derivation,
            "strategy": self.strategy,
            "missing": self.missing,
            "current": self.is_selected,
            "agent": self.agent,
            "modified_at": self.modified_at,
            "first_prompt": self.first_prompt,
            "compactions": self.compactions,
            "cleared": self.was_cleared,
            "children": [child.to_dict() for child in self.children],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyTree:
    """The oldest ancestor with all its descendants, and the direct line to the selected session."""

    root: Member
    chain: tuple[SessionNode, ...]  # oldest first

    def to_dict(self) -> JsonObject:
        """Return the JSON shape for scripts."""
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


def family_tree(selector: str, workspace: Workspace) -> FamilyTree:
    """Return the family of the selected session."""
    ref = find_session(selector, workspace)
    index = _FamilyIndex(family=load_family(), folder=ref.transcript.parent)
    node = trace_ancestors(
        ref.transcript,
        LineageSources(origin=index.origin, find=index.family.file_of, session_id=session_id_of),
    )
    chain = oldest_first(node)
    selected = os.path.realpath(ref.transcript)
    return FamilyTree(root=_member(chain[0], index, selected, frozenset()), chain=tuple(chain))


@dataclass(frozen=True)
class _FamilyIndex:
    """All sessions by their real paths, listed once; unmarked forks only in the folder of the selected session."""

    family: Family
    folder: Path

    @cached_property
    def entries(self) -> Mapping[str, SessionEntry]:
        return {os.path.realpath(entry.transcript): entry for entry in entries(self.family.transcripts)}

    @cached_property
    def forks(self) -> Mapping[str, Origin]:
        here = [each for each in self.family.transcripts if each.transcript.parent == self.folder]
        silent = [each for each in here if self.family.origin(each.transcript) is None]
        return {os.path.realpath(path): origin for path, origin in unmarked_forks(silent).items()}

    def origin(self, session_file: Path) -> Origin | None:
        """Return where a session came from, or which session was cleared before it began."""
        origin = self.family.origin(session_file) or self.forks.get(os.path.realpath(session_file))
        if origin is not None or not self.family.cleared:
            return origin
        cleared = self.family.cleared.get(session_id_of(session_file) or "")
        return origin_of_entry(cleared) if cleared else None

    @cached_property
    def children(self) -> Mapping[str, list[SessionNode]]:
        """Child sessions by the real path of their parent."""
        children: dict[str, list[SessionNode]] = defaultdict(list)
        for parent, child in (*self._existing_children(), *self._deleted_children()):
            children[os.path.realpath(parent)].append(child)
        return children

    def _existing_children(self) -> Iterator[tuple[str | Path, SessionNode]]:
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

    def _deleted_children(self) -> Iterator[tuple[str | Path, SessionNode]]:
        """Yield derived sessions whose files were deleted; they still belong to the tree."""
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


def _member(
    node: SessionNode,
    index: _FamilyIndex,
    selected: str,
    above: frozenset[str],
    parent_compactions: int = 0,
) -> Member:
    name = os.path.realpath(node.session_file)
    entry = index.entries.get(name)
    above |= {name}  # in a circle each is drawn once
    children = [
        child for child in index.children.get(name, []) if os.path.realpath(child.session_file) not in above
    ]
    compactions = _count_compactions(entry) if entry else None
    # A copy also contains the compactions that happened before it was made.
    inherited = min(parent_compactions, compactions or 0) if node.derivation_type in _COPIES else 0
    origin = (
        read_origin(node.session_file) if node.derivation_type == "trimmed" and not node.missing else None
    )
    cleared = entry is not None and live_state.load(entry.agent, entry.session_id).ended == live_state.CLEARED
    return Member(
        session_id=node.session_id,
        session_file=node.session_file,
        derivation=node.derivation_type,
        missing=node.missing,
        is_selected=name == selected,
        strategy=origin.strategy if origin else None,
        agent=entry.agent if entry else None,
        modified_at=clock.format_rfc3339(entry.modified_at) if entry else None,
        first_prompt=entry.first_prompt if entry else None,
        compactions=compactions - inherited if compactions is not None else None,
        was_cleared=cleared,
        children=tuple(_member(child, index, selected, above, compactions or 0) for child in children),
    )


def _count_compactions(entry: SessionEntry) -> int:
    """Count the compactions in a transcript; a boundary and the summary after it are one."""
    count, is_next = 0, True
    for record in agent_by_id(entry.agent).read(Path(entry.transcript)):
        if record.actor is not None:
            continue
        if record.compaction is not None and record.compaction.trigger != "micro":
            count += is_next or record.compaction.summary is None
            is_next = False
        elif record.kind is RecordKind.REPLY:
            is_next = True
    return count


def unmarked_forks(originals: Iterable[TranscriptFile]) -> Mapping[Path, Origin]:
    """Of sessions that name no parent, return those that are forks of another one among them, with that one as origin."""
    groups: dict[tuple[str, Path, str], list[TranscriptFile]] = defaultdict(list)
    for each in originals:
        first_id = _first_id(each)
        if first_id is not None:
            groups[each.agent.id, each.transcript.parent, first_id].append(each)
    forks = {}
    for group in groups.values():
        for fork in group:
            parent = _parent(fork, [other for other in group if other is not fork])
            if parent is not None:
                forks[fork.transcript] = parent
    return forks


def _first_id(session: TranscriptFile) -> str | None:
    first = islice(session.agent.read(session.transcript), _FIRST_RECORDS)
    return next((record.id for record in first if record.id is not None), None)


def _parent(fork: TranscriptFile, others: Iterable[TranscriptFile]) -> Origin | None:
    """Return the session that shares most records with the fork and continues later than it: a fork may have been forked again."""
    shared: list[tuple[int, TranscriptFile]] = []
    for other in others:
        count, other_continues, fork_continues = _compare(fork.agent, other.transcript, fork.transcript)
        if other_continues > fork_continues:
            shared.append((count, other))
    if not shared:
        return None
    parent = max(shared, key=lambda pair: pair[0])[1]
    session_id = parent.agent.open(parent.transcript).session_id
    return Origin(derivation="forked", parent_file=str(parent.transcript), parent_session_id=session_id)


def _compare(agent: Agent, first: Path, second: Path) -> tuple[int, datetime, datetime]:
    """Count the records that two files share, and return when each continues on its own (``_NEVER`` if it does not)."""
    shared = 0
    for one, other in zip_longest(_chain(agent, first), _chain(agent, second)):
        if one is None or other is None or one.id != other.id:
            return shared, _time(one), _time(other)
        shared += 1
    return shared, _NEVER, _NEVER


def _chain(agent: Agent, transcript: Path) -> Iterator[Record]:
    return (record for record in agent.read(transcript) if record.id is not None)


def _time(record: Record | None) -> datetime:
    return _NEVER if record is None else record.at or _NEVER


def inject_lineage(output: Path, source: Path, *, agent_id: str | None, derivation: Derivation) -> bool:
    """Put the lineage block into ``output``, before its first user message; False if it has none.

    ``output`` must not be ``source``, because a transcript is never edited.
    """
    if os.path.realpath(output) == os.path.realpath(source):
        raise UsageError(
            f"{output}: this is the session itself; the block goes into a copy of it.", path=output
        )
    agent = agent_by_id(agent_id) if agent_id is not None else agent_of(output)
    first = _first_message(agent, output)
    if first is None:
        return False
    record, text = first
    block = name_in_lineage_block(
        lineage_block(oldest_first(load_family().node(source)), derivation), output.name
    )
    line = orjson.loads(record.raw)
    if not _replace_text(line, text, add_lineage_block(text, block)):
        return False
    data = output.read_bytes()
    end = b"\n" if record.raw.endswith(b"\n") else b""
    files.write_file(output, data[: record.place.start] + orjson.dumps(line) + end + data[record.place.end :])
    return True


def _first_message(agent: Agent, output: Path) -> tuple[Record, str] | None:
    """Return the first prompt of the live chain and its text; reminders, subagents and summaries do not count."""
    session = agent.open(output)
    live = {*agent.live_chain(session).places}
    for record in session.records:
        if record.place in live and record.kind is RecordKind.PROMPT and record.actor is None:
            text = next((block.text for block in record.blocks if isinstance(block, Text)), None)
            if text is not None:
                return record, text
    return None


def _replace_text(value: JsonValue, old: str, new: str) -> bool:
    """Replace the first text that is exactly ``old``, at any depth; False if none exists."""
    inner: Iterator[tuple[str | int, JsonValue]]
    if isinstance(value, dict):
        inner = iter(value.items())
    elif isinstance(value, list):
        inner = iter(enumerate(value))
    else:
        return False
    for key, each in inner:
        if each == old:
            value[key] = new  # type: ignore[index]
            return True
        if _replace_text(each, old, new):
            return True
    return False
