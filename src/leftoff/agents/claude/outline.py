"""What holds the lines of a transcript together: ids, parents, the calls they make and answer.

Of lines that are passed through it is read off the bytes, as every client has laid them out so far; a line of another layout
is decoded. Of a changed line it is read off the value.
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
_ANSWER, _USE, _ASK = b'"tool_use_id":"', b'"tool_use"', b'"tool_use","id":"'
_HEAD_BYTES = 1500


def of_same(run: bytes) -> Outline:
    """Of lines as they stand in the file; none of them is copied out of it."""
    ids: list[bytes] = []
    parents: list[bytes] = []
    calls: list[tuple[bytes, bool]] = []
    others: list[Outline] = []
    at = 0
    while at < len(run):
        end = run.find(b"\n", at)
        end = len(run) if end < 0 else end
        if run.startswith(_USUAL, at):
            if run.startswith(PARENT, at):
                parents.append(run[at + 15 : run.find(b'"', at + 15)])
            name = run.rfind(_ID, at, end) + 8
            if name >= 8:
                ids.append(run[name : run.find(b'"', name)])
            calls += _calls(run, at, end)
        elif run.find(b'"uuid"', at, end) >= 0:
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


def _calls(run: bytes, at: int, end: int) -> list[tuple[bytes, bool]]:
    """The calls that a line makes and answers; it does one or the other, and says soon if it answers."""
    found: list[tuple[bytes, bool]] = []
    hit = run.find(_ANSWER, at, min(end, at + _HEAD_BYTES))
    while hit >= 0:
        begin = hit + len(_ANSWER)
        found.append((run[begin : run.find(b'"', begin)], True))
        hit = run.find(_ANSWER, begin, end)
    hit = -1 if found else run.find(_USE, at, end)
    while hit >= 0:
        if run.startswith(_ASK, hit):
            begin = hit + len(_ASK)
            found.append((run[begin : run.find(b'"', begin)], False))
        elif run.endswith(b'"type":', at, hit):  # of another layout
            return [*of_changed(run[at:end]).calls]
        hit = run.find(_USE, hit + len(_USE), end)
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
