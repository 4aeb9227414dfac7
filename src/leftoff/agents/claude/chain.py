"""Finds the live chain: which records the client sends when it resumes a transcript, and in which order.

Records refer to their parents. The client follows one leaf up to a root, which is the first prompt or the last compaction, as
2.1.325 does; this was checked against what the API received. Only a light index of the file is held in memory.

The client joins the lines of one reply. Between two replies it sends results first, then what it adds itself, then the user's
text, then system messages. It leaves out thinking of another model than the last, a reply of nothing but thinking, a call that was
sent already, and a request without an answer, unless that belongs to the last reply: there the client answers in place of the tool. To a model that accepts
no system messages it sends those as the user's, before the user's text; the order follows that, the records keep their role.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import orjson

from leftoff.agents.claude.versions import known
from leftoff.agents.jsonl import rows, table, text
from leftoff.core.records import Place, Record, RecordKind, Role, Text, Thinking, ToolResult, ToolUse
from leftoff.core.session import LiveChain
from leftoff.core.wire import JsonObject

CHAINED_TYPES = ("user", "assistant", "attachment", "system", "tool_result")
_OPENING = {RecordKind.PROMPT: 0, RecordKind.COMPACTION: 1, RecordKind.REPEATED: 1}


def live_chain(records: Iterable[Record]) -> LiveChain:
    """Return what the model is sent next, in one pass over the records."""
    return _chain(_build_index(records))


def _chain(index: _Index) -> LiveChain:
    chain = _with_siblings(index, _path_to_leaf(index)) if index.links else index.unlinked
    sent = list(in_sending_order(chain))
    return LiveChain(
        places=tuple(link.place for link in sent),
        cleared_calls=frozenset(index.cleared_calls | set(orphaned_answers(sent))),
    )


def live_chain_since(records: Iterable[Record]) -> tuple[LiveChain, bool] | None:
    """Return the chain from the records since the last compaction, and whether the client named its leaf among them.

    None where these records are not enough: one has an earlier parent, or the compaction preserved earlier messages.
    """
    index = _build_index(records)
    if index.named_leaf is not None and index.named_leaf not in index.links:
        return None
    parents = {link.parent for link in index.links.values()} - {None}
    if not index.links or index.preserved or not index.links.keys() >= parents:
        return None
    return _chain(index), index.named_leaf is not None


@dataclass(slots=True)
class _Segment:
    """Messages that a compaction keeps unchanged: they precede it in the file and are sent after its summary."""

    head: str
    tail: str
    anchor: str


@dataclass(slots=True)
class _Index:
    """The main conversation of a file without its text."""

    links: dict[str, Link] = field(default_factory=dict)
    # Progress lines of old clients, between records.
    bridges: dict[str, str | None] = field(default_factory=dict)
    unlinked: list[Link] = field(default_factory=list)  # simple lines, which have no ids
    cleared_calls: set[str] = field(default_factory=set)
    named_leaf: str | None = None
    preserved: _Segment | None = None  # by the last compaction
    last: str | None = None  # in the file


def _build_index(records: Iterable[Record]) -> _Index:
    index = _Index()
    for record in records:
        kind = record.type.partition("/")[0]
        if record.actor is not None:
            continue
        if kind in CHAINED_TYPES:
            _add(index, record)
        elif kind == "progress" and record.id:
            index.bridges[record.id] = _bridged(index, record.parent_id)
        elif kind == "last-prompt":
            index.named_leaf = named_leaf(record)
    return index


def opens(record: Record) -> int | None:
    """Rank a record as the first message for the lineage block: 0 for a real prompt, 1 for a summary, None for all others."""
    return _OPENING.get(record.kind) if record.type == "user" else None


def named_leaf(record: Record) -> str | None:
    """Return the id of the record that the client will continue from, as a ``last-prompt`` line says it."""
    return text(_line(record), "leafUuid")


def _add(index: _Index, record: Record) -> None:
    parent = _bridged(index, record.parent_id)
    link = _link(record, parent, None if parent in index.links else index.last)
    if record.id is None:
        index.unlinked.append(link)
        return
    index.links[record.id] = link
    index.last = record.id
    if record.type == "system/compact_boundary":
        index.preserved = _segment(_line(record))
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
        is_thinking=bool(blocks) and all(isinstance(block, Thinking) for block in blocks),
        requests=tuple([block.call_id for block in blocks if isinstance(block, ToolUse)]),
        answers=tuple([block.call_id for block in blocks if isinstance(block, ToolResult)]),
    )


def _role(record: Record) -> Role | None:
    """Return the role that is sent; None if nothing is sent, as for a reply of white space."""
    if not record.messages:
        return None
    message = record.messages[0]
    blank = all(isinstance(block, Text) and not block.text.strip() for block in message.blocks)
    return None if blank and message.role == "assistant" else message.role


def _segment(boundary: JsonObject) -> _Segment | None:
    segment = table(table(boundary, "compactMetadata"), "preservedSegment")
    head, tail, anchor = text(segment, "headUuid"), text(segment, "tailUuid"), text(segment, "anchorUuid")
    return _Segment(head=head, tail=tail, anchor=anchor) if head and tail and anchor else None


def _line(record: Record) -> JsonObject:
    try:
        line: JsonObject = orjson.loads(record.raw)
    except orjson.JSONDecodeError:
        return {}  # a damaged line, whose pointers cannot be trusted
    return line


def _path_to_leaf(index: _Index) -> list[str]:
    """Return the ids from the root to the leaf."""
    upwards: dict[str, None] = {}
    step: str | None = _leaf(index)
    while step is not None and step not in upwards:  # a circle ends the chain
        upwards[step] = None
        step = _above(index, step)
    return [*reversed(upwards)]


def _leaf(index: _Index) -> str | None:
    """Return the newest leaf below the one that the client named last; the newest of all where it named none in this file."""
    parents = {link.parent for link in index.links.values()}
    leaves = [name for name in index.links if name not in parents] or list(index.links)
    oldest_first = sorted(leaves, key=lambda name: index.links[name].at)  # of the same time, in file order
    named = index.named_leaf
    if named not in index.links:
        return oldest_first[-1]
    elsewhere: set[str] = set()
    below = (name for name in reversed(oldest_first) if _is_below(index, name, named, elsewhere))
    return next(below, named)


def _is_below(index: _Index, name: str, named: str, elsewhere: set[str]) -> bool:
    """Say whether ``name`` descends from ``named``; remember all that do not in ``elsewhere``, so that each link is visited once."""
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
    """Return a link's parent: with the preserved messages of a compaction in their place, and by file order if it is missing."""
    parent = index.links[name].parent
    preserved = index.preserved
    if preserved and preserved.head in index.links and preserved.tail in index.links:
        if name == preserved.head:
            parent = preserved.anchor
        elif parent == preserved.anchor:
            parent = preserved.tail
    if parent is None or parent in index.links:
        return parent
    return index.links[name].previous


def _with_siblings(index: _Index, names: list[str]) -> list[Link]:
    """Return the chain with the branches that parallel tool calls make: all their requests and answers are sent.

    They follow the last line of their reply, requests first, each in order of time.
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


@dataclass(slots=True)
class Link:
    """One record of the main conversation without its text. ``role`` is ``None`` where nothing of it is sent."""

    place: Place
    parent: str | None
    previous: str | None  # the one before it in the file, where the parent is not in the file before it
    at: float  # seconds; 0 where the line has no time
    role: Role | None
    is_attachment: bool
    reply_id: str | None
    model: str | None
    is_thinking: bool  # and nothing else
    requests: tuple[str, ...]
    answers: tuple[str, ...]


def in_sending_order(chain: Iterable[Link]) -> Iterator[Link]:
    """Yield the links that are sent, in their order."""
    sent = _without_unanswered(chain)
    last_model = next((link.model for link in reversed(sent) if link.model), None)
    rank = _rank if _accepts_system_messages(last_model) else _rank_without_system
    between: list[Link] = []
    reply: list[Link] = []
    for link in _without_unusable_thinking(sent, last_model):
        if link.role != "assistant":
            between.append(link)
        elif reply and reply[0].reply_id == link.reply_id and _continues_reply(link, between):
            reply.append(link)
        else:
            yield from (*reply, *sorted(between, key=rank))
            reply, between = [link], []
    yield from (*reply, *sorted(between, key=rank))


def orphaned_answers(chain: Iterable[Link]) -> Iterator[str]:
    """Yield the calls that are answered in the chain without a request: such answers are not sent."""
    requested: set[str] = set()
    for link in chain:
        requested.update(link.requests)
        yield from (call for call in link.answers if call not in requested)


def _continues_reply(link: Link, between: list[Link]) -> bool:
    """Say whether a line belongs to the reply before it: only results may come between, as tools answer while it is written."""
    return link.reply_id is not None and all(each.answers for each in between)


def _accepts_system_messages(model: str | None) -> bool:
    family = known().model(model) if model else None
    return family is None or family.system_messages


def _rank(link: Link) -> int:
    if link.answers:
        return 0
    if link.role == "system":
        return 3
    return 1 if link.is_attachment else 2


def _rank_without_system(link: Link) -> int:
    return min(_rank(link), 2) if not link.is_attachment else 1


def _without_unanswered(chain: Iterable[Link]) -> list[Link]:
    """Return the links that have content, without requests that were not answered."""
    links = [*_without_repeated_calls(link for link in chain if link.role)]
    answered = {call for link in links for call in link.answers}
    last = next((link.reply_id for link in reversed(links) if link.role == "assistant"), None)
    return [
        link
        for link in links
        if not link.requests or link.reply_id == last or any(call in answered for call in link.requests)
    ]


def _without_repeated_calls(chain: Iterable[Link]) -> Iterator[Link]:
    """Leave out requests and answers that come once more: lines that a mod kept in a compaction keep their call ids."""
    seen: set[tuple[bool, str]] = set()
    for link in chain:
        calls = {*((True, call) for call in link.requests), *((False, call) for call in link.answers)}
        if not calls or not calls <= seen:
            yield link
        seen |= calls


def _without_unusable_thinking(chain: list[Link], model: str | None) -> Iterator[Link]:
    """Leave out thinking that another model has signed, and thinking that no reply followed."""
    with_text = {link.reply_id for link in chain if link.role == "assistant" and not link.is_thinking}
    for link in chain:
        if not link.is_thinking or (link.reply_id in with_text and link.model == model):
            yield link
