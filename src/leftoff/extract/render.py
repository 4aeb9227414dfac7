"""Turns a state into the session state that a resume log is made from: sections in their order, each item with its sources.

What a rewind took back drops out here. Sections are filled by worth to the shares below, so that the whole fits its budget
with the user's rules in full.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from leftoff.extract.needed import Entry, Named
from leftoff.extract.shares import within
from leftoff.extract.state import Ref, State
from leftoff.extract.view import view
from leftoff.model.records import Place
from leftoff.model.sources import Source


@dataclass(slots=True)
class Sheet:
    """The session state as it is being written, with the sources of each item."""

    state: dict[str, Any] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)

    def cite(self, item: str, refs: Iterable[Ref]) -> None:
        """The item rests on these."""
        for ref in dict.fromkeys(refs):
            place = Place(ref.transcript, ref.line_idx, ref.start, ref.end)
            self.sources.append(Source(item=item, place=place, sha256=ref.sha256, excerpt=ref.excerpt))


def render(state: State, max_chars: int | None = None) -> dict[str, Any]:
    """The session state: the sections of a resume log as plain values, ``sources`` in their wire form.

    ``max_chars``: told for a text of that size; None: for the whole log.
    """
    seen = view(state, within(max_chars))
    sheet = Sheet()
    sheet.state["mission_summary"] = seen.mission[0]
    sheet.cite("mission_summary", seen.mission[1])
    sections: dict[str, Sequence[tuple[Any, list[Ref]]]] = {
        "accomplishments": seen.accomplishments,
        "key_findings": seen.key_findings,
        "decisions": seen.decisions,
        "next_steps": seen.next_steps,
    }
    for section, items in sections.items():
        sheet.state[section] = [item for item, _ in items]
        for number, (_, refs) in enumerate(items):
            sheet.cite(f"{section}/{number}", refs)
    sheet.state["critical_context"] = {
        key: _entries(key, entries, sheet) for key, entries in seen.critical_context.items() if entries
    }
    sheet.state["metadata"] = seen.metadata
    sheet.state["sources"] = [source.to_dict() for source in sheet.sources]
    return sheet.state


def _entries(key: str, entries: Sequence[Entry | Named], sheet: Sheet) -> dict[str, str] | list[str]:
    for number, entry in enumerate(entries):
        name = entry.name if isinstance(entry, Named) else str(number)
        sheet.cite(f"critical_context/{key}/{name}", entry.refs)
    under_names = {entry.name: entry.text for entry in entries if isinstance(entry, Named)}
    return under_names or [entry.text for entry in entries]
