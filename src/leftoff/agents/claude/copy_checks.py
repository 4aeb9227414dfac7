"""What must hold in a copy so that the client can resume it, and how usage is rewritten.

The structure of lines (ids, parents, calls and answers) is read from the bytes of lines that are passed through, as every client
has laid them out so far; a line of another layout and a changed line are decoded. A last line without an end may be torn: nothing
is read from it. The usage of replies is scaled down so that none exceeds what the copy holds, because the client compacts by the
last number. It is found by its bytes, and nothing else changes; all numbers of a reply are scaled by the same factor.
"""

from __future__ import annotations

import re
from pathlib import Path

import orjson

from leftoff.agents.claude.chain import CHAINED_TYPES, live_chain
from leftoff.agents.claude.shrinkable import is_empty
from leftoff.agents.claude.usage import USAGE_KEYS
from leftoff.agents.claude.versions import known, version
from leftoff.agents.copy_usage import UsageTally, lowered_usage, scale_usage
from leftoff.agents.copy_writer import (
    Outliner,
    SignedThinking,
    edit_line,
    from_json,
    join_outlines,
    name_unknown,
    parse_objects,
    to_json,
)
from leftoff.agents.jsonl import pieces, table, text
from leftoff.core.session import Session
from leftoff.core.trim_plan import Invariant, Outline
from leftoff.core.wire import JsonObject, JsonValue

PARENT = b'{"parentUuid":"'
_USUAL = (PARENT, b'{"parentUuid":null')
_ID = b'"uuid":"'
_ANSWER, _REQUEST, _REQUEST_ID = b'"tool_use_id":"', b'"type":"tool_use"', b',"id":"'
_HEAD_BYTES = 1500
_USAGE, _MESSAGE, _ROLE, _NESTED = b'"usage":', b'"message":{', b'"role":"', b'"data":{'
_INNER = rb"\{[^{}]*\}"
_MIDDLE = rb"\{[^{}]*(?:" + _INNER + rb"[^{}]*)*\}"
_OBJECT = re.compile(rb"\{[^{}]*(?:" + _MIDDLE + rb"[^{}]*)*\}")  # a usage nests no deeper
# The layout of clients since 1.0: enough to see that a reply does not exceed the limit.
_FOUR = re.compile(
    rb'\{"input_tokens":(\d+),"cache_creation_input_tokens":(\d+),"cache_read_input_tokens":(\d+),'
    rb'(?:"cache_creation":\{[^{}]*\},)?"output_tokens":(\d+)'
)
_REPLY_ID = re.compile(rb'"id":"([^"]*)"')
INVARIANTS: tuple[Invariant, ...] = (SignedThinking(),)


def outline_unchanged(run: bytes) -> Outline:
    """Read the structure of unchanged lines, without copying any of them."""
    ids: list[bytes] = []
    parents: list[bytes] = []
    calls: list[tuple[bytes, bool]] = []
    others: list[Outline] = []
    find, size, at, request, answer = run.find, len(run), 0, -1, -1
    while at < size:
        end = find(b"\n", at)
        end = size if end < 0 else end
        if run.startswith(_USUAL, at) and end < size:
            if run.startswith(PARENT, at) and (close := find(b'"', at + 15, end)) >= 0:
                parents.append(run[at + 15 : close])
            name = run.rfind(_ID, at, end) + 8
            if name >= 8 and (close := find(b'"', name, end)) >= 0:
                ids.append(run[name:close])
            request = request if request >= at else _find_or_end(run, _REQUEST, at)
            answer = answer if answer >= at else _find_or_end(run, _ANSWER, at)
            # A line has requests or answers, and an answer names its call near the beginning.
            if answer < end and answer - at < _HEAD_BYTES:
                calls += _answers(run, answer, end)
            elif request < end:
                calls += _requests(run, at, request, end)
        elif find(b'"uuid"', at, end) >= 0:
            others.append(outline_changed(run[at:end]))
            calls += others[-1].calls
        at = end + 1
    same = Outline(ids=ids, parent_ids=parents)
    return join_outlines([same, *others])._replace(calls=calls)


def outline_changed(line: bytes) -> Outline:
    """Read the structure of one line by decoding it; nothing if it has no id."""
    return join_outlines([_outline(value) for value in parse_objects(line) if text(value, "uuid")])


def _outline(line: JsonObject) -> Outline:
    content = table(line, "message").get("content")
    blocks = content if isinstance(content, list) else []
    calls = [call for block in blocks if (call := _call(block)) is not None]
    answers = [call_id for call_id, is_answer in calls if is_answer]
    leading = [call for block in blocks[: len(answers)] if (call := _call(block)) is not None and call[1]]
    parent = text(line, "parentUuid")
    return Outline(
        ids=[(text(line, "uuid") or "").encode()],
        parent_ids=[parent.encode()] if parent else [],
        calls=calls,
        misplaced=answers if len(leading) < len(answers) else [],
        empty_messages=int(text(line, "type") in {"user", "assistant"} and is_empty(line)),
    )


def _call(block: JsonValue) -> tuple[bytes, bool] | None:
    match block:
        case {"type": "tool_use", "id": str(call_id)}:
            return call_id.encode(), False
        case {"type": "tool_result", "tool_use_id": str(call_id)}:
            return call_id.encode(), True
        case _:
            return None


def _find_or_end(run: bytes, mark: bytes, begin: int) -> int:
    """Return where the mark is next, on this line or a later one; the end if it is nowhere. One search can skip many lines."""
    at = run.find(mark, begin)
    return len(run) if at < 0 else at


def _answers(run: bytes, answer: int, end: int) -> list[tuple[bytes, bool]]:
    """Return the calls that a line answers; ``answer`` is where the first is."""
    found: list[tuple[bytes, bool]] = []
    while answer >= 0:
        begin = answer + len(_ANSWER)
        if (close := run.find(b'"', begin, end)) >= 0:
            found.append((run[begin:close], True))
        answer = run.find(_ANSWER, begin, end)
    return found


def _requests(run: bytes, at: int, request: int, end: int) -> list[tuple[bytes, bool]]:
    """Return the calls that a line makes; ``request`` is where the first is."""
    found: list[tuple[bytes, bool]] = []
    while request >= 0:
        begin = request + len(_REQUEST)
        if not run.startswith(_REQUEST_ID, begin):  # another layout
            return [*outline_changed(run[at:end]).calls]
        begin += len(_REQUEST_ID)
        if (close := run.find(b'"', begin, end)) >= 0:
            found.append((run[begin:close], False))
        request = run.find(_REQUEST, begin, end)
    return found


OUTLINER = Outliner(outline_unchanged, outline_changed)


class UsageCap:
    """Lowers every usage that exceeds the limit; ``removed_tokens`` is what the copy has fewer than the session."""

    def __init__(self, limit_tokens: int, removed_tokens: int) -> None:
        self.tally = UsageTally(USAGE_KEYS)
        self._limit = limit_tokens
        self._removed = removed_tokens
        # The last usage and its replacement: the lines of one reply repeat it.
        self._old = self._new = b"-"

    def cap_lines(self, raw: bytes) -> bytes:
        """Return the lines with every usage within the limit."""
        parts: list[bytes] = []
        done, at = 0, raw.find(_USAGE)
        while at >= 0:
            begin = raw.rfind(b"\n", done, at) + 1 or done
            end = raw.find(b"\n", at) + 1 or len(raw)
            at = raw.rfind(_USAGE, at, end) + len(_USAGE)  # the last one on the line is that of the reply
            four = _FOUR.match(raw, at)
            if four is None or sum(map(int, four.groups())) > self._limit:
                start, stop, new = self._replacement(raw, begin, at, end)
                if new is not None:
                    parts += (raw[done:start], new)
                    done = stop
            at = raw.find(_USAGE, end)
        return b"".join((*parts, raw[done:])) if parts else raw

    def cap_line(self, line: JsonObject) -> JsonObject:
        """Cap the usage of a decoded line in place."""
        used = _used_tokens(table(table(line, "message"), "usage"))
        if used <= self._limit:
            return line
        return self._set_usage(line, lowered_usage(used, self._limit, self._removed))

    def set_usage(self, line: JsonObject) -> JsonObject:
        """Scale the usage of a decoded line to exactly the limit, in place, also if it was less."""
        return self._set_usage(line, self._limit)

    def _set_usage(self, line: JsonObject, tokens: int) -> JsonObject:
        message = table(line, "message")
        usage = table(message, "usage")
        used = _used_tokens(usage)
        if line.get("type") == "assistant" and used:
            reply_id = text(message, "id")
            self.tally.add(to_json(reply_id) if reply_id else None, usage, tokens, used)
            message["usage"] = from_json(scale_usage(to_json(usage), tokens, used))
        return line

    def _replacement(self, raw: bytes, begin: int, at: int, end: int) -> tuple[int, int, bytes | None]:
        """Return which bytes of a line to replace by what; None to replace nothing."""
        head_end = min(begin + _HEAD_BYTES, end)  # the next line may have another layout
        message = raw.find(_MESSAGE, begin, head_end)
        role = raw.find(_ROLE, message, head_end) + len(_ROLE)
        if message < 0 or role <= message or raw.find(_NESTED, begin, message) >= 0:
            return begin, end, self._cap_decoded(raw[begin:end])
        if not raw.startswith(b"assistant", role):
            return at, at, None
        if not raw.startswith(self._old, at):
            found = _OBJECT.match(raw, at, end)
            usage = parse_objects(found[0]) if found else []
            if found is None or len(usage) != 1:  # another layout
                return begin, end, self._cap_decoded(raw[begin:end])
            used = _used_tokens(usage[0])
            if used <= self._limit:
                return at, at, None
            reply_id = _REPLY_ID.search(raw, message, at)
            tokens = lowered_usage(used, self._limit, self._removed)
            self.tally.add(reply_id[1] if reply_id else None, usage[0], tokens, used)
            self._old, self._new = found[0], scale_usage(found[0], tokens, used)
        return at, at + len(self._old), self._new

    def _cap_decoded(self, raw: bytes) -> bytes | None:
        """Cap a line of another layout. A damaged line stays, because no client could read it as a reply."""
        try:
            value = orjson.loads(raw)
        except orjson.JSONDecodeError:
            return None
        if not isinstance(value, dict) or value.get("type") != "assistant":
            return None
        usage = table(table(value, "message"), "usage")
        return edit_line(raw, self.cap_line) if _used_tokens(usage) > self._limit else None


def _used_tokens(usage: JsonObject) -> int:
    return sum([tokens for key in USAGE_KEYS if type(tokens := usage.get(key)) is int])  # noqa: C419 - twice as fast


def refusal(session: Session) -> str | None:
    """Say why a copy might not be resumable: a newer client wrote it, with unknown fields on the chain. None if it is.

    The file is read only if its client is newer than the known ones.
    """
    newest = known().newest_version
    if version(session.client_version or "") <= newest:
        return None
    unknown = _unknown_fields(session)
    if not unknown:
        return None
    return name_unknown(f"Claude Code {session.client_version}", newest, "its lines have fields", unknown)


def _unknown_fields(session: Session) -> list[str]:
    """Return the unknown fields of lines that are sent, and the unknown types of lines between those, in order of appearance.

    All other lines are passed through: what they hold cannot change what the model is sent.
    """
    live = {*live_chain(session.records).places}
    unknown: dict[str, None] = {}
    unknown_types: dict[JsonValue, str] = {}  # by the id of the line
    for piece in pieces(Path(session.transcript)):
        line = piece.value
        if line is None or "uuid" not in line or "parentUuid" not in line:
            continue
        line_type = text(line, "type")
        if piece.place in live:
            unknown.update(dict.fromkeys(key for key in line if key not in known().chain_fields))
            if parent_type := unknown_types.get(text(line, "parentUuid")):
                unknown[f"lines of type {parent_type}"] = None
        elif line_type not in (*CHAINED_TYPES, *known().records):
            unknown_types[text(line, "uuid")] = str(line_type)
    return [*unknown]
