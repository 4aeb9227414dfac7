"""What holds the lines of a transcript together: ids, parents, the calls they make and answer.

Of lines that are passed through it is read off the bytes, as every client has laid them out so far; a line of another layout
is decoded. Of a changed line it is read off the value. A last line without an end may be torn: then nothing is read off it.
"""

from __future__ import annotations

from leftoff.agents.claude.parts import is_empty
from leftoff.agents.copying import Outliner, objects_in
from leftoff.agents.fields import table, text
from leftoff.model.copying import Outline
from leftoff.model.wire import JsonObject, JsonValue

PARENT = b'{"parentUuid":"'
_USUAL = (PARENT, b'{"parentUuid":null')
_ID = b'"uuid":"'
_ANSWER, _ASK, _ASK_ID = b'"tool_use_id":"', b'"type":"tool_use"', b',"id":"'
_HEAD_BYTES = 1500


def of_same(run: bytes) -> Outline:
    """Of lines as they stand in the file; none of them is copied out of it."""
    ids: list[bytes] = []
    parents: list[bytes] = []
    calls: list[tuple[bytes, bool]] = []
    others: list[Outline] = []
    find, size, at, ask, answer = run.find, len(run), 0, -1, -1
    while at < size:
        end = find(b"\n", at)
        end = size if end < 0 else end
        if run.startswith(_USUAL, at) and end < size:
            if run.startswith(PARENT, at) and (close := find(b'"', at + 15, end)) >= 0:
                parents.append(run[at + 15 : close])
            name = run.rfind(_ID, at, end) + 8
            if name >= 8 and (close := find(b'"', name, end)) >= 0:
                ids.append(run[name:close])
            ask = ask if ask >= at else _next(run, _ASK, at)
            answer = answer if answer >= at else _next(run, _ANSWER, at)
            if (
                answer < end and answer - at < _HEAD_BYTES
            ):  # a line asks or answers, and says soon if it answers
                calls += _answered(run, answer, end)
            elif ask < end:
                calls += _asked(run, at, ask, end)
        elif find(b'"uuid"', at, end) >= 0:
            others.append(of_changed(run[at:end]))
            calls += others[-1].calls
        at = end + 1
    same = Outline(ids=ids, parent_ids=parents)
    return _joined([same, *others])._replace(calls=calls)


def of_changed(line: bytes) -> Outline:
    """Of one line, decoded; nothing of one that has no id."""
    return _joined([_of_value(value) for value in objects_in(line) if text(value, "uuid")])


def _of_value(line: JsonObject) -> Outline:
    content = table(line, "message").get("content")
    blocks = content if isinstance(content, list) else []
    calls = [call for block in blocks if (call := _call(block)) is not None]
    answers = [call_id for call_id, is_answer in calls if is_answer]
    first = [call for block in blocks[: len(answers)] if (call := _call(block)) is not None and call[1]]
    parent = text(line, "parentUuid")
    return Outline(
        ids=[(text(line, "uuid") or "").encode()],
        parent_ids=[parent.encode()] if parent else [],
        calls=calls,
        misplaced=answers if len(first) < len(answers) else [],
        empty_messages=int(line.get("type") in {"user", "assistant"} and is_empty(line)),
    )


def _call(block: JsonValue) -> tuple[bytes, bool] | None:
    match block:
        case {"type": "tool_use", "id": str(call_id)}:
            return call_id.encode(), False
        case {"type": "tool_result", "tool_use_id": str(call_id)}:
            return call_id.encode(), True
        case _:
            return None


def _next(run: bytes, word: bytes, begin: int) -> int:
    """Where it stands next, on this line or a later one, so that one search passes over many lines; the end where it does not."""
    at = run.find(word, begin)
    return len(run) if at < 0 else at


def _answered(run: bytes, answer: int, end: int) -> list[tuple[bytes, bool]]:
    """The calls that a line answers, the first of them there."""
    found: list[tuple[bytes, bool]] = []
    while answer >= 0:
        begin = answer + len(_ANSWER)
        if (close := run.find(b'"', begin, end)) >= 0:
            found.append((run[begin:close], True))
        answer = run.find(_ANSWER, begin, end)
    return found


def _asked(run: bytes, at: int, ask: int, end: int) -> list[tuple[bytes, bool]]:
    """The calls that a line makes, the first of them there."""
    found: list[tuple[bytes, bool]] = []
    while ask >= 0:
        begin = ask + len(_ASK)
        if not run.startswith(_ASK_ID, begin):  # of another layout
            return [*of_changed(run[at:end]).calls]
        begin += len(_ASK_ID)
        if (close := run.find(b'"', begin, end)) >= 0:
            found.append((run[begin:close], False))
        ask = run.find(_ASK, begin, end)
    return found


def _joined(outlines: list[Outline]) -> Outline:
    return Outline(
        ids=[name for each in outlines for name in each.ids],
        parent_ids=[name for each in outlines for name in each.parent_ids],
        calls=[call for each in outlines for call in each.calls],
        misplaced=[call for each in outlines for call in each.misplaced],
        empty_messages=sum(each.empty_messages for each in outlines),
    )


OUTLINER = Outliner(of_same, of_changed)
