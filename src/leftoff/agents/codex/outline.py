"""What holds the lines of a rollout together: their numbers, and the calls they make and answer.

A paginated rollout numbers its lines; a number is the line's id, and the line hangs from the one before. Read off the bytes, as Codex has
laid them out so far; what it takes amiss it takes amiss in the source too. A last line without an end may be torn, and is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from leftoff.agents.codex.parts import item_of
from leftoff.agents.copying import Outliner, objects_in
from leftoff.agents.fields import count, rows, text
from leftoff.model.copying import Outline
from leftoff.model.wire import JsonObject

ORDINAL = b'"ordinal":'
_BARE = b'{"type":"'
_USUAL = (b'{"timestamp":"', _BARE)
# An item, with its number where lines have one; what the client notes for itself may stand before the item's type.
_ITEM = re.compile(
    rb'\{"timestamp":"[^"]*",(?:"ordinal":\d+,)?"type":"response_item","payload":\{'
    rb'(?:"internal_chat_message_metadata_passthrough":\{[^{}]*\},)?"type":"(\w+)"'
)
_OTHER_ITEM = b'"response_item"'
_CALL = b'"call_id":"'
_ASKS = frozenset({b"function_call", b"custom_tool_call", b"local_shell_call", b"tool_search_call"})
_ANSWERS = frozenset({b"function_call_output", b"custom_tool_call_output", b"tool_search_output"})
HEAD_BYTES = 200


def of_same(run: bytes) -> Outline:
    """Of lines as they stand in the file."""
    lines = run.split(b"\n")
    if last := lines.pop():
        return _joined([of_same(run[: -len(last)]), of_changed(last)])
    if not all(line.startswith(_USUAL) for line in lines if line):
        return _joined(
            [of_same(line + b"\n") if line.startswith(_USUAL) else of_changed(line) for line in lines]
        )
    starts = [line.find(ORDINAL, 0, HEAD_BYTES) + len(ORDINAL) for line in lines]
    numbers = [
        line[at : line.find(b",", at)] for line, at in zip(lines, starts, strict=True) if at >= len(ORDINAL)
    ]
    return Outline(ids=numbers, parent_ids=_parents(numbers), calls=[*_calls(lines)])


def of_changed(line: bytes) -> Outline:
    """Of one line, decoded."""
    values = objects_in(line)
    numbers = [b"%d" % number for value in values if (number := count(value, "ordinal")) is not None]
    items = [*map(item_of, values)]
    return Outline(
        ids=numbers,
        parent_ids=[*_before(numbers)],
        calls=[call for item in items if (call := _call(item)) is not None],
        empty_messages=sum(text(item, "type") == "message" and not rows(item, "content") for item in items),
    )


def _parents(numbers: list[bytes]) -> list[bytes]:
    """What the lines hang from; of lines that are numbered one after the other, what the first does."""
    first = int(numbers[0]) if numbers and numbers[0].isdigit() else 0
    is_in_order = numbers == [b"%d" % number for number in range(first, first + len(numbers))]
    return [*_before(numbers[:1] if is_in_order else numbers)]


def _before(numbers: list[bytes]) -> Iterator[bytes]:
    return (b"%d" % (int(number) - 1) for number in numbers if number.isdigit() and number != b"0")


def _calls(lines: list[bytes]) -> Iterator[tuple[bytes, bool]]:
    for line in lines:
        item = _ITEM.match(line)
        if item:
            name = item[1]
        elif line.startswith(_BARE):
            name = line[len(_BARE) : line.find(b'"', len(_BARE))]
        else:
            if line.find(_OTHER_ITEM, 0, HEAD_BYTES) >= 0:
                yield from of_changed(line).calls
            continue
        begin = line.rfind(_CALL) if name in _ASKS else line.find(_CALL) if name in _ANSWERS else -1
        if begin >= 0:
            begin += len(_CALL)
            yield line[begin : line.find(b'"', begin)], name in _ANSWERS


def _call(item: JsonObject) -> tuple[bytes, bool] | None:
    name, call_id = (text(item, "type") or "").encode(), text(item, "call_id")
    if call_id is None or name not in _ASKS | _ANSWERS:
        return None
    return call_id.encode(), name in _ANSWERS


def _joined(outlines: list[Outline]) -> Outline:
    return Outline(
        ids=[name for each in outlines for name in each.ids],
        parent_ids=[name for each in outlines for name in each.parent_ids],
        calls=[call for each in outlines for call in each.calls],
        empty_messages=sum(each.empty_messages for each in outlines),
    )


OUTLINER = Outliner(of_same, of_changed)
