"""What cuts took out of events, which repeat for the screen what a call was given and answered; found again in the ancestors.

Such an event has no placeholder that could be expanded: whoever cuts a piece shortens every repetition of it. Copies and forks keep the
time of a line, so an event is known by that, its type and what it names; of several that are alike, by which of them it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from leftoff.agents.codex import forks, parts
from leftoff.agents.copying import dumped
from leftoff.agents.fields import table, text
from leftoff.errors import TranscriptError
from leftoff.model.copying import LeftOut, Rejoined
from leftoff.model.records import Place
from leftoff.model.session import Session
from leftoff.model.wire import JsonObject

_EVENT = b'"event_msg"'
_Name = tuple[str | int | None, ...]


class _Shown(NamedTuple):
    place: Place
    size_bytes: int


def left_out(home: Path, session: Session, ancestors: Sequence[Path]) -> LeftOut:
    """All that events of the ancestors, oldest first, still show and those of the session show no more."""
    if not ancestors:
        return LeftOut()
    here = {name: shown for name, shown, _ in _events(Path(session.transcript), home)}
    found: dict[_Name, Rejoined] = {}
    for path in ancestors:
        with suppress(TranscriptError):  # one that cannot be read has nothing to give, and the others have
            for name, then, raw in _events(path, home):
                now = here.get(name)
                if now is not None and name not in found and now.size_bytes < then.size_bytes:
                    found[name] = Rejoined(place=now.place, raw=raw)
    return LeftOut(parts=tuple(found.values()))


def _events(transcript: Path, home: Path) -> Iterator[tuple[_Name, _Shown, bytes]]:
    """What shows something, each with its line."""
    alike: Counter[_Name] = Counter()
    for piece in forks.oldest_first(forks.lineage(transcript, home)):
        if piece.value is None or _EVENT not in piece.raw:
            continue
        shown = parts.repeated(piece.value)
        if shown:
            name = _name(piece.value)
            alike[name] += 1
            yield (*name, alike[name]), _Shown(piece.place, len(dumped(shown))), piece.raw


def _name(line: JsonObject) -> _Name:
    event = table(line, "payload")
    item = table(event, "item")
    return (
        text(line, "timestamp"),
        text(event, "type"),
        text(item, "type"),
        text(event, "call_id") or text(item, "id"),
    )
