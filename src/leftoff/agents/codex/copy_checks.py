"""What must hold in a copy so that Codex can resume it, how usage is rewritten, and which events repeat what was cut.

The structure of lines is the calls that they make and answer and, in a paginated rollout, their numbers: a number is the line's id,
and its parent is the line before. It is read from the bytes, as Codex has laid them out so far. A last line without an end may be
torn, and is decoded. ``token_count`` and ``token_usage_record`` are scaled down so that none exceeds what the copy holds, because
Codex compacts by the last of them; sums over the whole session stay. Events that repeat cut content for the screen are shortened,
else the file would stay large and keep its secrets. They name the call they belong to, but not the reply, whose text is compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from leftoff.agents.codex import shrinkable
from leftoff.agents.codex.rollouts import readable
from leftoff.agents.codex.shrinkable import item_of
from leftoff.agents.codex.versions import known, version
from leftoff.agents.copy_usage import UsageTally, lowered_usage, scale_usage
from leftoff.agents.copy_writer import (
    CopyLines,
    Outliner,
    SignedThinking,
    change_some_lines,
    edit_line,
    from_json,
    join_outlines,
    name_unknown,
    parse_objects,
    parse_pieces,
    read_runs,
    to_json,
)
from leftoff.agents.cut_values import suppressed_note
from leftoff.agents.jsonl import count, rows, table, text
from leftoff.core.records import RecordKind
from leftoff.core.session import Session
from leftoff.core.trim_plan import Change, Cut, Invariant, Outline, digest_of
from leftoff.core.wire import JsonObject

ORDINAL = b'"ordinal":'
_BARE = b'{"type":"'
_USUAL = (b'{"timestamp":"', _BARE)
# An item, with its number where lines have one; the client's own notes may precede the item's type.
_ITEM = re.compile(
    rb'\{(?:"timestamp":"[^"]*",)?(?:"ordinal":\d+,)?"type":"response_item","payload":\{'
    rb'(?:"internal_chat_message_metadata_passthrough":\{[^{}]*\},)?"type":"(\w+)"'
)
_OTHER_ITEM = b'"response_item"'
_CALL = b'"call_id":"'
_REQUESTS = frozenset({b"function_call", b"custom_tool_call", b"local_shell_call", b"tool_search_call"})
_ANSWERS = frozenset({b"function_call_output", b"custom_tool_call_output", b"tool_search_output"})
HEAD_BYTES = 200
_KEYS = ("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens")
LINE_MARK = b'"token_'
SPACED = b'": "'  # as other programs lay lines out
_USAGE_LINES = (b'"type":"token_', b'"type": "token_')
_USAGE = re.compile(rb'"(?:last_token_usage|usage)": ?(\{[^{}]*\})')
_EVENT = re.compile(
    rb'"type": ?"event_msg", ?"payload": ?\{"type": ?"(agent_message|item_completed|task_complete)?'
)
_SENT = "response_item/"
_CALL_ID_BYTES = 800  # within which an event names its call
_CALL_ID = re.compile(rb'"(?:call_id|id)": ?"([^"]*)"')
INVARIANTS: tuple[Invariant, ...] = (SignedThinking(),)


def outline_unchanged(run: bytes) -> Outline:
    """Read the structure of unchanged lines."""
    lines = run.split(b"\n")
    if last := lines.pop():
        return join_outlines([outline_unchanged(run[: -len(last)]), outline_changed(last)])
    if not all(line.startswith(_USUAL) for line in lines if line):
        return join_outlines(
            [
                outline_unchanged(line + b"\n") if line.startswith(_USUAL) else outline_changed(line)
                for line in lines
            ]
        )
    starts = [line.find(ORDINAL, 0, HEAD_BYTES) + len(ORDINAL) for line in lines]
    numbers = [
        line[at : line.find(b",", at)] for line, at in zip(lines, starts, strict=True) if at >= len(ORDINAL)
    ]
    return Outline(ids=numbers, parent_ids=_parents(numbers), calls=[*_calls(lines)])


def outline_changed(line: bytes) -> Outline:
    """Read the structure of one line by decoding it."""
    values = parse_objects(line)
    numbers = [b"%d" % number for value in values if (number := count(value, "ordinal")) is not None]
    items = [*map(item_of, values)]
    return Outline(
        ids=numbers,
        parent_ids=_preceding(numbers),
        calls=[call for item in items if (call := _call(item)) is not None],
        empty_messages=sum(text(item, "type") == "message" and not rows(item, "content") for item in items),
    )


def _parents(numbers: list[bytes]) -> list[bytes]:
    """Return the parents of the lines; of consecutive lines, that of the first alone."""
    first = int(numbers[0]) if numbers and numbers[0].isdigit() else 0
    is_in_order = numbers == [b"%d" % number for number in range(first, first + len(numbers))]
    return _preceding(numbers[:1] if is_in_order else numbers)


def _preceding(numbers: list[bytes]) -> list[bytes]:
    return [b"%d" % (int(number) - 1) for number in numbers if number.isdigit() and number != b"0"]


def _calls(lines: list[bytes]) -> Iterator[tuple[bytes, bool]]:
    for line in lines:
        item = _ITEM.match(line)
        if item:
            name = item[1]
        elif line.startswith(_BARE):
            name = line[len(_BARE) : line.find(b'"', len(_BARE))]
        else:
            if line.find(_OTHER_ITEM, 0, HEAD_BYTES) >= 0:
                yield from outline_changed(line).calls
            continue
        begin = line.rfind(_CALL) if name in _REQUESTS else line.find(_CALL) if name in _ANSWERS else -1
        if begin >= 0:
            begin += len(_CALL)
            yield line[begin : line.find(b'"', begin)], name in _ANSWERS


def _call(item: JsonObject) -> tuple[bytes, bool] | None:
    name, call_id = (text(item, "type") or "").encode(), text(item, "call_id")
    if call_id is None or name not in _REQUESTS | _ANSWERS:
        return None
    return call_id.encode(), name in _ANSWERS


OUTLINER = Outliner(outline_unchanged, outline_changed)


class UsageCap:
    """Lowers every usage that exceeds the limit; ``removed_tokens`` is what the copy has fewer than the session."""

    def __init__(self, limit_tokens: int, removed_tokens: int) -> None:
        self.tally = UsageTally(_KEYS)
        self._limit = limit_tokens
        self._removed = removed_tokens
        # The last usage and its replacement: two lines repeat it for the same reply.
        self._old = self._new = b""

    def cap_lines(self, raw: bytes) -> bytes:
        """Return the lines with every usage within the limit."""
        for mark in _USAGE_LINES[: 2 if SPACED in raw else 1]:
            raw = self._cap_marked(raw, mark)
        return raw

    def _cap_marked(self, raw: bytes, mark: bytes) -> bytes:
        parts: list[bytes] = []
        done, at = 0, raw.find(mark)
        while at >= 0:
            begin = raw.rfind(b"\n", done, at) + 1 or done
            end = raw.find(b"\n", at) + 1 or len(raw)
            found = _USAGE.search(raw, at, end) if at - begin < HEAD_BYTES else None
            new = self._capped(found[1]) if found else None
            if found and new is not None:
                parts += (raw[done : found.start(1)], new)
                done = found.end(1)
            at = raw.find(mark, end)
        return b"".join((*parts, raw[done:])) if parts else raw

    def set_usage(self, item: JsonObject) -> None:
        """Scale the usage of a decoded item to exactly the limit, in place, also if it was less."""
        for holder, key in ((table(item, "info"), "last_token_usage"), (item, "usage")):
            usage = table(holder, key)
            used = count(usage, "total_tokens") or 0
            if used:
                raw = to_json(usage)
                self.tally.add(raw, usage, self._limit, used)
                holder[key] = from_json(scale_usage(raw, self._limit, used))

    def _capped(self, raw: bytes) -> bytes | None:
        """Return the usage scaled down; None if it is within the limit."""
        if raw == self._old:
            return self._new
        usage = next(iter(parse_objects(raw)), {})  # nothing where the line is damaged: it stays as it is
        used = count(usage, "total_tokens") or 0
        if used <= self._limit:
            return None
        tokens = lowered_usage(used, self._limit, self._removed)
        self.tally.add(raw, usage, tokens, used)  # the numbers identify a reply: no two have the same
        self._old, self._new = raw, scale_usage(raw, tokens, used)
        return self._new


class RepeatedContent:
    """The cuts that events may repeat: of calls by their id, of replies by the digest of their text."""

    def __init__(self, changes: Sequence[Change]) -> None:
        cuts = [change for change in changes if isinstance(change, Cut)]
        self._calls: dict[bytes, list[Cut]] = {}
        for cut in cuts:
            if cut.call_id is not None:
                self._calls.setdefault(cut.call_id.encode(), []).append(cut)
        self._replies = {digest_of(reply): cut for cut, reply in _cut_replies(cuts)}

    def shorten(self, raw: bytes) -> Iterator[CopyLines]:
        """Return the lines; an event that repeats cut content comes alone, shortened."""
        has_cuts = bool(self._calls or self._replies)
        return change_some_lines(raw, self._shorten_line) if has_cuts else iter((CopyLines(raw),))

    def _shorten_line(self, line: bytes) -> bytes | None:
        """Return the line shortened; None if it repeats nothing, or is torn."""
        event = _EVENT.search(line, 0, HEAD_BYTES)
        if event is None:
            return None
        call_id = _CALL_ID.search(line, event.start(), _CALL_ID_BYTES)
        cuts = self._calls.get(call_id[1]) if call_id else None
        if cuts and parse_objects(line):
            return edit_line(line, partial(_shorten_call, cuts))
        if self._replies and event[1] and parse_objects(line):
            short = edit_line(line, self._shorten_reply)
            return short if len(short) < len(line) else None
        return None

    def _shorten_reply(self, line: JsonObject) -> JsonObject:
        event = table(line, "payload")
        parts = [part for part in rows(table(event, "item"), "content") if isinstance(part, dict)]
        fields = [(event, "message"), (event, "last_agent_message"), *((part, "text") for part in parts)]
        for holder, key in fields:
            reply = text(holder, key)
            if reply and (cut := self._replies.get(digest_of(reply))):
                holder[key] = suppressed_note(cut)
        return line


def _shorten_call(cuts: Sequence[Cut], line: JsonObject) -> JsonObject:
    for cut in cuts:
        shrinkable.shorten_repeated(line, cut)
    return line


def _cut_replies(cuts: Sequence[Cut]) -> Iterator[tuple[Cut, str]]:
    """Yield the replies that are cut, with their present text; each rollout is read once."""
    places: dict[str, dict[int, Cut]] = {}
    for cut in cuts:
        if cut.part == "text":
            places.setdefault(cut.place.transcript, {})[cut.place.start] = cut
    for transcript, starts in places.items():
        selected = (run for run in read_runs(readable(Path(transcript)), starts) if run.is_selected)
        for piece in (piece for run in selected for piece in parse_pieces(run.start, run.raw)):
            if piece.value is not None and piece.place.start in starts:
                value = shrinkable.value_of(piece.value, "text", None)
                for reply in value if isinstance(value, list) else [value]:
                    if isinstance(reply, str):
                        yield starts[piece.place.start], reply


def refusal(session: Session) -> str | None:
    """Say why a copy might not be resumable: what it continues is missing, or a newer Codex wrote unknown lines. None if it is.

    A rollout of a known Codex is read no further than its beginning.
    """
    first = next(iter(session.records), None)
    if first is not None and first.type == "missing":
        return f"it {first.note}"
    newest = known().newest_version
    if version(session.client_version or "") <= newest:
        return None
    unknown = _unknown_items(session)
    return name_unknown(f"Codex {session.client_version}", newest, "has lines", unknown) if unknown else None


def _unknown_items(session: Session) -> list[str]:
    """Return the unknown types of items since the last compaction, in order of appearance: only items are sent."""
    unknown: dict[str, None] = {}
    for record in session.records:
        if record.kind is RecordKind.COMPACTION:
            unknown = {}
        elif record.kind is RecordKind.UNKNOWN and record.type.startswith(_SENT):
            unknown[record.type] = None
    return [*unknown]
