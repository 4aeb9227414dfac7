"""The live chain: which records the client sends when it resumes a transcript.

The records of a file hang together by their parents; the client follows one leaf up to a root, which is the first prompt
or the last compaction. This is the way that 2.1.325 goes, checked against what the API then received. Held in memory is
a light index of the file (ids, parents, places), never the records themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import orjson

from leftoff.agents.claude.sending import Link, in_sending_order, orphaned_answers
from leftoff.agents.fields import rows, table, text
from leftoff.model.records import Record, RecordKind, Role, Text, Thinking, ToolResult, ToolUse
from leftoff.model.session import LiveChain
from leftoff.model.wire import JsonObject

_CHAINED = ("user", "assistant", "attachment", "system", "tool_result")
_OPENING = {RecordKind.PROMPT: 0, RecordKind.COMPACTION: 1}


def live_chain(records: Iterable[Record]) -> LiveChain:
    """What the model is sent next, from one pass over the records."""
    return _chained(_index(records))


def _chained(index: _Index) -> LiveChain:
    chain = _with_siblings(index, list(_followed(index))) if index.links else index.unlinked
    sent = list(in_sending_order(chain))
    return LiveChain(
        places=tuple(link.place for link in sent),
        cleared_calls=frozenset(index.cleared_calls | set(orphaned_answers(sent))),
    )


def live_chain_since(records: Iterable[Record]) -> tuple[LiveChain, bool] | None:
    """The same from the records since the last compaction alone, and whether the client named its leaf among them.

    None where they do not stand alone: something hangs from what was before, or was kept of it.
    """
    index = _index(records)
    if index.named_leaf is not None and index.named_leaf not in index.links:
        return None
    parents = {link.parent for link in index.links.values()} - {None}
    if not index.links or index.kept or not index.links.keys() >= parents:
        return None
    return _chained(index), index.named_leaf is not None


@dataclass(slots=True)
class _Segment:
    """Messages that a compaction keeps word for word: they stand before it and are sent after its summary."""

    head: str
    tail: str
    anchor: str


@dataclass(slots=True)
class _Index:
    """The main conversation of a file without its words."""

    links: dict[str, Link] = field(default_factory=dict)
    bridges: dict[str, str | None] = field(
        default_factory=dict
    )  # progress lines, which old clients put between
    unlinked: list[Link] = field(default_factory=list)  # the simple lines of 002, which have no ids
    cleared_calls: set[str] = field(default_factory=set)
    named_leaf: str | None = None
    kept: _Segment | None = None  # by the last compaction
    last: str | None = None  # in the file


def _index(records: Iterable[Record]) -> _Index:
    index = _Index()
    for record in records:
        kind = record.type.partition("/")[0]
        if record.actor is not None:
            continue
        if kind in _CHAINED:
            _add(index, record)
        elif kind == "progress" and record.id:
            index.bridges[record.id] = _bridged(index, record.parent_id)
        elif kind == "last-prompt":
            index.named_leaf = named_leaf(record)
    return index


def opens(record: Record) -> int | None:
    """How well the record can open what is sent: a real prompt best, else the summary before all; None: not at all."""
    return _OPENING.get(record.kind) if record.type == "user" else None


def named_leaf(record: Record) -> str | None:
    """The id of the record that the client will go on from, where this record says so."""
    return text(_line(record), "leafUuid") if record.type == "last-prompt" else None


def _add(index: _Index, record: Record) -> None:
    parent = _bridged(index, record.parent_id)
    link = _link(record, parent, None if parent in index.links else index.last)
    if record.id is None:
        index.unlinked.append(link)
        return
    index.links[record.id] = link
    index.last = record.id
    if record.type == "system/compact_boundary":
        index.kept = _segment(_line(record))
    elif record.type == "system/microcompact_boundary":
        cleared = rows(table(_line(record), "microcompactMetadata"), "compactedToolIds")
        index.cleared_calls.update(call for call in cleared if isinstance(call, str))


def _bridged(index: _Index, parent: str | None) -> str | None:
    return index.bridges.get(parent, parent) if parent else None


def _link(record: Record, parent: str | None, previous: str | None) -> Link:
    blocks = record.blocks
    return Link(
        place=record.place,
        parent=parent,
        previous=previous,
        at=record.at.timestamp() if record.at else 0.0,
        role=_role(record),
        is_attachment=record.type.startswith("attachment/"),
        reply_id=record.reply_id,
        model=record.model,
        is_thought=bool(blocks) and all(isinstance(block, Thinking) for block in blocks),
        asks=tuple([block.call_id for block in blocks if isinstance(block, ToolUse)]),
        answers=tuple([block.call_id for block in blocks if isinstance(block, ToolResult)]),
    )


def _role(record: Record) -> Role | None:
    """Whose words are sent; None for nothing, which a reply of white space counts as."""
    if not record.messages:
        return None
    message = record.messages[0]
    blank = all(isinstance(block, Text) and not block.text.strip() for block in message.blocks)
    return None if blank and message.role == "assistant" else message.role


def _segment(boundary: JsonObject) -> _Segment | None:
    said = table(table(boundary, "compactMetadata"), "preservedSegment")
    head, tail, anchor = text(said, "headUuid"), text(said, "tailUuid"), text(said, "anchorUuid")
    return _Segment(head=head, tail=tail, anchor=anchor) if head and tail and anchor else None


def _line(record: Record) -> JsonObject:
    try:
        line: JsonObject = orjson.loads(record.raw)
    except orjson.JSONDecodeError:
        return {}  # read in spite of some damage; its pointers are not to be trusted
    return line


def _followed(index: _Index) -> Iterator[str]:
    """From the root to the leaf."""
    upwards: dict[str, None] = {}
    step: str | None = _leaf(index)
    while step is not None and step not in upwards:  # a circle ends the chain
        upwards[step] = None
        step = _above(index, step)
    return reversed(upwards)


def _leaf(index: _Index) -> str | None:
    """The newest below the one that the client named last; the newest of all where it named none that is here."""
    parents = {link.parent for link in index.links.values()}
    leaves = [name for name in index.links if name not in parents] or list(index.links)
    oldest_first = sorted(
        leaves, key=lambda name: index.links[name].at
    )  # of the same time, the last in the file wins
    named = index.named_leaf
    if named not in index.links:
        return oldest_first[-1]
    elsewhere: set[str] = set()
    below = (name for name in reversed(oldest_first) if _is_below(index, name, named, elsewhere))
    return next(below, named)


def _is_below(index: _Index, name: str, named: str, elsewhere: set[str]) -> bool:
    """Whether ``name`` hangs from ``named``; remembers all that do not, so that each link is passed once."""
    step: str | None = name
    passed: list[str] = []
    while step is not None and step != named and step not in elsewhere:
        passed.append(step)
        elsewhere.add(step)
        step = _above(index, step)
    if step == named:
        elsewhere.difference_update(passed)
    return step == named


def _above(index: _Index, name: str) -> str | None:
    """What a link hangs from, kept messages of a compaction put in their place, missing parents healed by file order."""
    parent = index.links[name].parent
    kept = index.kept
    if kept and kept.head in index.links and kept.tail in index.links:
        if name == kept.head:
            parent = kept.anchor
        elif parent == kept.anchor:
            parent = kept.tail
    if parent is None or parent in index.links:
        return parent
    return index.links[name].previous


def _with_siblings(index: _Index, names: list[str]) -> list[Link]:
    """The chain with what hangs beside it: tools that ran side by side make branches, each request and answer of which is
    sent. They follow the last line of their reply, requests first, each in the order of time.
    """
    on_chain = set(names)
    anchors = {index.links[name].reply_id: name for name in names if index.links[name].reply_id}
    reply_of = {name: link.reply_id for name, link in index.links.items() if link.reply_id in anchors}
    beside: dict[str, list[Link]] = {}
    for name, link in index.links.items():
        reply = reply_of.get(name) or (reply_of.get(link.parent or "") if link.answers else None)
        if reply and name not in on_chain:
            beside.setdefault(anchors[reply], []).append(link)
    chain: list[Link] = []
    for name in names:
        chain.append(index.links[name])
        chain += sorted(beside.get(name, ()), key=lambda link: (bool(link.answers), link.at))
    return chain
