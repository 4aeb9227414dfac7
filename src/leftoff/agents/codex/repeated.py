"""Finds the events that repeat for the screen what was cut, and shortens them: else the file stays large and its secrets stay in it.

An event names the call it belongs to. The words of a reply are repeated without its name, so they are known by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from leftoff.agents.codex import parts
from leftoff.agents.codex.compressed import readable
from leftoff.agents.copying import Written, changed, note_of, objects_in, pieces_of, runs
from leftoff.agents.fields import rows, table, text
from leftoff.model.copying import Change, digest_of
from leftoff.model.trim_plan import Cut
from leftoff.model.wire import JsonObject

_EVENT = b'"type":"event_msg","payload":{"type":"'
_WORDS = (b"agent_message", b"item_completed", b"task_complete")
_HEAD_BYTES = 200
_NAMED_BYTES = 800  # in which an event says whose it is
_CALL = re.compile(rb'"(?:call_id|id)":"([^"]*)"')


class Repeated:
    """The cuts that events may repeat."""

    def __init__(self, changes: Sequence[Change]) -> None:
        cuts = [change for change in changes if isinstance(change, Cut)]
        self._calls: dict[bytes, list[Cut]] = {}
        for cut in cuts:
            if cut.call_id is not None:
                self._calls.setdefault(cut.call_id.encode(), []).append(cut)
        self._words = {digest_of(words): cut for cut, words in _words_in(cuts)}

    def shortened(self, raw: bytes) -> Iterator[Written]:
        """The lines; an event that repeats what was cut stands alone, shortened."""
        if not (self._calls or self._words):
            yield Written(raw)
            return
        begin = at = 0
        for line in raw.split(b"\n"):
            end = min(at + len(line) + 1, len(raw))
            short = self._short(raw[at:end])
            if short is not None:
                yield from (Written(raw[begin:at]), Written(short))
                begin = end
            at = end
        yield Written(raw[begin:])

    def _short(self, line: bytes) -> bytes | None:
        at = line.find(_EVENT, 0, _HEAD_BYTES)
        if at < 0:
            return None
        named = _CALL.search(line, at, _NAMED_BYTES)
        cuts = self._calls.get(named[1]) if named else None
        if cuts and objects_in(line):  # a torn one stays as it is
            return changed(line, lambda value: _without_call(value, cuts))
        if self._words and line.startswith(_WORDS, at + len(_EVENT)) and objects_in(line):
            short = changed(line, self._without_words)
            return short if len(short) < len(line) else None
        return None

    def _without_words(self, line: JsonObject) -> JsonObject:
        event = table(line, "payload")
        for key in ("message", "last_agent_message"):
            if (words := text(event, key)) and (cut := self._words.get(digest_of(words))):
                event[key] = note_of(cut)
        for part in rows(table(event, "item"), "content"):
            if (
                isinstance(part, dict)
                and (words := text(part, "text"))
                and (cut := self._words.get(digest_of(words)))
            ):
                part["text"] = note_of(cut)
        return line


def _without_call(line: JsonObject, cuts: Sequence[Cut]) -> JsonObject:
    for cut in cuts:
        parts.shorten_repeated(line, cut)
    return line


def _words_in(cuts: Sequence[Cut]) -> Iterator[tuple[Cut, str]]:
    """The words of replies that are cut, as they stand: each rollout is read once for all of them."""
    places: dict[str, dict[int, Cut]] = {}
    for cut in cuts:
        if cut.part == "text":
            places.setdefault(cut.place.transcript, {})[cut.place.start] = cut
    for transcript, starts in places.items():
        due = (run for run in runs(readable(Path(transcript)), starts) if run.is_due)
        for piece in (each for run in due for each in pieces_of(run.start, run.raw)):
            if piece.value is not None and piece.place.start in starts:
                value = parts.value_of(piece.value, "text", None)
                for words in value if isinstance(value, list) else [value]:
                    if isinstance(words, str):
                        yield starts[piece.place.start], words
