"""What cuts took out of a transcript without leaving a placeholder, found again in the sessions that it was made from.

That is thoughts, which go whole, with their line where they were all of it; and what the client keeps of a result for its own
screen, which is shortened with the result. Records keep their ids in copies and in the client's forks, so a record is known by its id. A
line comes back where those around it are still there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from leftoff.agents.claude.queued import record_of
from leftoff.agents.copying import objects_in
from leftoff.agents.jsonl import opened, pieces
from leftoff.model.copying import LeftOut, Regained, Rejoined
from leftoff.model.records import Place, Record, Thinking
from leftoff.model.session import Session
from leftoff.model.wire import JsonValue

_SCREEN, _KEY = "toolUseResult", b"; leftoff expand "


class _Link(NamedTuple):
    place: Place
    parent: str | None
    thought_chars: int
    is_thought: bool  # and nothing else
    may_be_shortened: bool  # what it repeats for the screen


def left_out(session: Session, ancestors: Sequence[Path]) -> LeftOut:
    """All that the ancestors, oldest first, still have. The oldest that has a record knows best what it hung from."""
    here = _links(Path(session.transcript))
    first = next(iter(here.values()), None)
    records: dict[str, Regained] = {}
    rejoined: dict[Place, Rejoined] = {}
    chars: list[int] = []  # of each thought
    for path in ancestors:
        was = _links(path)
        missing = _missing(here, was)
        following = _following(here, was, first)
        for name in [each for each in was if each in missing and each in following and each not in records]:
            records[name] = Regained(place=following[name], raw=_raw(was[name]), hanging=tuple(missing[name]))
            chars.append(was[name].thought_chars)
        for name, now in here.items():
            then = was.get(name)
            if then is None or now.place in rejoined or not _lacks(now, then):
                continue
            rejoined[now.place] = Rejoined(place=now.place, raw=_raw(then))
            chars += [then.thought_chars] if then.thought_chars else []
    return LeftOut(
        records=tuple(records.values()),
        parts=tuple(rejoined.values()),
        thoughts=len(chars),
        chars=sum(chars),
    )


def _links(transcript: Path) -> dict[str, _Link]:
    """The records that have an id, in the order of the file, without their words."""
    return dict(_each_link(transcript))


def _each_link(transcript: Path) -> Iterator[tuple[str, _Link]]:
    for piece in pieces(transcript):
        record = record_of(transcript, piece)
        if record.id is not None:
            yield record.id, _link(record)


def _link(record: Record) -> _Link:
    thoughts = [block for block in record.blocks if isinstance(block, Thinking)]
    return _Link(
        place=record.place,
        parent=record.parent_id,
        thought_chars=sum(len(block.text) for block in thoughts),
        is_thought=bool(thoughts) and len(thoughts) == len(record.blocks),
        may_be_shortened=_KEY in record.raw and _SCREEN.encode() in record.raw,
    )


def _missing(here: dict[str, _Link], was: dict[str, _Link]) -> dict[str, list[Place]]:
    """Thoughts that stood between two records that are still there, each with what hangs from it here."""
    found: dict[str, list[Place]] = {}
    for name, now in here.items():
        passed: list[str] = []
        step = was[name].parent if name in was else None
        while step is not None and step not in here and step not in passed and _is_thought(was, step):
            passed.append(step)
            step = was[step].parent
        if not passed or not (step is None or step in here):
            continue
        for each in passed:
            found.setdefault(each, [])
        found[passed[0]].append(now.place)
    return found


def _is_thought(was: dict[str, _Link], name: str) -> bool:
    return name in was and was[name].is_thought and was[name].thought_chars > 0


def _following(here: dict[str, _Link], was: dict[str, _Link], first: _Link | None) -> dict[str, Place]:
    """For what is gone, what came next in the ancestor and is still here; not what a copy puts first, which came from elsewhere."""
    found: dict[str, Place] = {}
    following: Place | None = None
    for name in reversed(was):
        if name not in here:
            found |= {name: following} if following else {}
        elif here[name] != first:
            following = here[name].place
    return found


def _lacks(now: _Link, then: _Link) -> bool:
    if then.thought_chars > 0 and now.thought_chars == 0:
        return True
    return now.may_be_shortened and _on_screen(now) != _on_screen(then)


def _on_screen(link: _Link) -> JsonValue:
    return next((line.get(_SCREEN) for line in objects_in(_raw(link))), None)


def _raw(link: _Link) -> bytes:
    with opened(Path(link.place.transcript)) as file:
        file.seek(link.place.start)
        return file.read(link.place.end - link.place.start)
