"""Choose what a session is given of a resume log: the paragraphs that add most to what it knows, in the order in which they happened."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from typing import Any, NamedTuple

from leftoff.core import markdown
from leftoff.core.markdown import utf16_length
from leftoff.core.resume_log import ResumeLog
from leftoff.extraction import passages, wording
from leftoff.extraction.next_steps import FIRST_ASKED, LATEST, TEAM_ASKED
from leftoff.extraction.passages import Paragraph
from leftoff.extraction.story import OPENINGS

# What an item is worth by where it is from, which the words at its beginning tell; they stay with any paragraph of it.
_ORIGINS = {
    **dict.fromkeys(("outcome", "request", "approved", "rejected", "proposed"), 1.3),
    "summary": 1.0,
    **dict.fromkeys(("objected", "report", "note", "document", "template", "output", "edit"), 0.4),
}


def _opening_pattern(origin: str) -> str:
    """Return a pattern of the words that an item of this origin begins with."""
    return f"(?P<{origin}>{re.escape(OPENINGS[origin]).replace(re.escape('{}'), '[^”`]*')}):[ \\n]"


_LABEL = re.compile("|".join(map(_opening_pattern, (*_ORIGINS, "reply"))))
_PROGRESS, _PROGRESS_CHARS = 0.5, 100  # of a text that is too short to say more than how far things are
# Of a reply on the way, with such words or none: most outcomes repeat it. A summary has the outcomes, and leaves out what was found.
_FOUND, _FOUND_BESIDE_SUMMARY = 0.8, 1.1
_OLDEST = 0.15  # what the first item is worth beside the last one
_GROUP_SHARE = 0.3  # of the room, for one item
_SHORT_ITEM_CHARS = 200  # told whole or not at all
_MAX_PARAGRAPH_CHARS = 1_400
_WEIGHTS = {
    "mission": 1.0,
    "decisions": 1.6,
    "commands": 1.4,
    "files": 0.8,
    "custom": 0.9,
    "other": 0.6,
}
_GAPS_CHARS = 120  # set aside for the marks of gaps at the ends of what is told
_FIRST_REQUEST = 2.5
_FIRST_REQUEST_CHARS = 900  # where others followed it
_READ, _SAYS_NO_RESULT = ": read ", ("→ worked", "→ outcome not shown")
_SAYS_LITTLE = 0.35  # of a file that was only read, a command that checks nothing, a mere "yes"
_ANSWER = re.compile(r"the user answered “([^”]*)”\Z")
_COURTESY_BYTES = 100  # in Japanese, fewer characters say as much
_NAMES_SOMETHING = re.compile(r"[\d`/_]")
_TOLD_ELSEWHERE = ("pins", "user_rules", "state", "where")
_LATER_COUNTS = "Oldest first: where entries disagree, the later one holds."


class _Entry(NamedTuple):
    """Something that may be included: its section, our words before it, its paragraphs, and their weight."""

    section: str
    label: str
    parts: tuple[str, ...]
    weight: float

    @property
    def name(self) -> str:
        """The command or file that it is about."""
        text = self.parts[0]
        return markdown.command_text(text) if text.startswith("`") else text.rpartition(": ")[0] or text

    def weight_of(self, number: int) -> float:
        """Return the weight of one paragraph."""
        return self.weight * passages.worth(self.parts[number])


_HOW, _ASKED, _DECIDED, _HAPPENED = "How and Where", "What the User Asked", "Decisions", "What Happened"


def tell(log: ResumeLog, room: int, *, known: str, known_words: Set[str], novelty: float = 0.0) -> list[str]:
    """Return the sections with the paragraphs that add most to what is known, each entry in its order.

    ``known`` is in one line. Where a share of the paragraphs must be new (``novelty``), commands and files that are known are left out.
    """
    entries = [*_entries(log, _FOUND_BESIDE_SUMMARY if novelty else _FOUND)]
    if novelty:
        entries = [entry for entry in entries if entry.section != _HOW or entry.name not in known]
    headings = dict.fromkeys([_DECIDED, _ASKED, _HAPPENED, _HOW, *(entry.section for entry in entries)])
    room -= sum(len(heading) + 7 for heading in headings) + len(_LATER_COUNTS) + _GAPS_CHARS
    units = [
        Paragraph(
            group,
            number,
            passages.shorten_paragraph(part, _MAX_PARAGRAPH_CHARS),
            entry.weight_of(number),
            novelty if entry.section != _HOW else 0.0,
        )
        for group, entry in enumerate(entries)
        for number, part in enumerate(entry.parts)
        if part.strip() and (entry.section == _HOW or " ".join(part.split()) not in known)
    ]
    chosen = passages.choose(
        units,
        room,
        known=known_words,
        cost=_cost,
        overhead=6,
        labels={group: entry.label for group, entry in enumerate(entries) if entry.label},
        group_share=_GROUP_SHARE,
        with_leads=not novelty,
    )
    sections: dict[str, list[str]] = {heading: [] for heading in headings}
    for group, entry in enumerate(entries):
        parts = [
            (unit.number, unit.text)
            for unit in units
            if unit.group == group and (group, unit.number) in chosen
        ]
        body = passages.join(parts, len(entry.parts))
        if parts and not _is_courtesy(entry, body):
            label = entry.label.rstrip() + "\n" if entry.label and body.startswith("```") else entry.label
            sections[entry.section].append(f"- {markdown.escape_item((label + body).removeprefix('- '))}")
    if sections[_HAPPENED]:
        sections[_HAPPENED].insert(0, f"{_LATER_COUNTS}\n")
    return [section(heading, lines) for heading, lines in sections.items() if lines]


def _is_courtesy(entry: _Entry, body: str) -> bool:
    """Return whether all that is told of an answer is a short line that names nothing, such as "Great callout!"."""
    said = body.replace(passages.GAP, "").strip()
    return (
        passages.GAP in body
        and entry.label.startswith(OPENINGS["outcome"].partition("{}")[0])
        and len(said.encode()) < _COURTESY_BYTES
        and _NAMES_SOMETHING.search(said) is None
    )


def _cost(text: str) -> int:
    return utf16_length(text) + 3 * text.count("\n")


def _entries(log: ResumeLog, found: float) -> Iterator[_Entry]:
    """Yield everything that may be included: requests, decisions, what happened in order of time, how and where."""
    yield from _requests(log)
    for decision in log.decisions:
        reason = str(decision.get("rationale") or "")
        text = str(decision.get("decision") or "") + (f": {reason}" if reason else "")
        answer = _ANSWER.search(text)
        says_little = answer is not None and wording.GO_AHEAD.match(
            answer[1]
        )  # "yes" to an offer is a request like others
        yield _Entry(_DECIDED, "", (text,), _WEIGHTS["decisions"] * (_SAYS_LITTLE if says_little else 1.0))
    yield from _happened(log, found)
    yield from _how_and_where(log)
    for own in log.custom_sections:
        heading = markdown.escape_inline(own.name)[:100]
        yield _Entry(heading, "", tuple(passages.split(own.content)), _WEIGHTS["custom"])


def _requests(log: ResumeLog) -> Iterator[_Entry]:
    """Yield the first request, and those between it and the last one, which belongs to the current state."""
    for text in log.mission_summary.split("\n\n"):
        opening = next((each for each in (FIRST_ASKED, TEAM_ASKED) if text.startswith(each)), None)
        requests = text.split("\n- “")[1:] if opening is None else []
        weight = _WEIGHTS["mission"]
        if opening is not None:
            label = f"{opening} "
            asked = text.removeprefix(label)
            if LATEST in log.mission_summary:
                asked = passages.fit_paragraphs(asked, _FIRST_REQUEST_CHARS)
            parts = tuple(passages.split(asked))
            yield _Entry(_ASKED, label, parts, weight * _FIRST_REQUEST)
        elif not requests and text.strip() and not text.startswith(LATEST):  # in somebody's own words
            yield _Entry(_ASKED, "", tuple(passages.split(text)), weight * _FIRST_REQUEST)
        for number, request in enumerate(requests, 1):
            if not request.rstrip("” ").endswith(":"):  # that introduces what was pasted
                yield _Entry(_ASKED, "", (f"“{request.rstrip('”')}”",), weight * number / len(requests))


def _happened(log: ResumeLog, found: float) -> Iterator[_Entry]:
    """Yield accomplishments and findings as one story, oldest first; the newest are worth most."""
    places = _places(log)
    items = [
        (places.get(f"{section}/{number}", 0), text)
        for section in ("accomplishments", "key_findings")
        for number, text in enumerate(getattr(log, section))
    ]
    for at, (_, text) in enumerate(sorted(items, key=lambda each: each[0])):
        label = _LABEL.match(text)
        weight = _ORIGINS.get(label.lastgroup or "", found) if label else found
        weight *= _OLDEST + (1 - _OLDEST) * at / len(items)
        weight *= _PROGRESS if len(text) < _PROGRESS_CHARS else 1.0
        rest = text[label.end() :] if label else text
        parts = (rest,) if len(rest) <= _SHORT_ITEM_CHARS else tuple(passages.split(rest))
        yield _Entry(_HAPPENED, label[0] if label else "", parts, weight)


def _how_and_where(log: ResumeLog) -> Iterator[_Entry]:
    """Yield the entries of critical context that appear nowhere else: commands and files first."""
    others = [key for key in log.critical_context if key not in (*_TOLD_ELSEWHERE, "commands", "files")]
    for key in ("commands", "files", *others):
        for text in texts_of(log.critical_context.get(key)):
            says_little = _READ in text if key == "files" else text.endswith(_SAYS_NO_RESULT)
            named = text if key in ("commands", "files") else f"{key.replace('_', ' ')}: {text}"
            weight = _WEIGHTS.get(key, _WEIGHTS["other"]) * (_SAYS_LITTLE if says_little else 1.0)
            yield _Entry(_HOW, "", (named,), weight)


def _places(log: ResumeLog) -> dict[str, int]:
    """Return the line of the last source of each item, which puts items of different sections in order."""
    places: dict[str, int] = {}
    for source in log.sources:
        places[source.item] = max(places.get(source.item, 0), source.place.line_idx)
    return places


def section(heading: str, lines: Iterable[str]) -> str:
    """Return a section with its heading; empty without lines."""
    body = "\n".join(lines).strip("\n")
    return f"## {heading}\n\n{body}" if body else ""


def texts_of(value: Any) -> list[str]:
    """Return the entries of a value of critical context as texts."""
    match value:
        case None:
            return []
        case dict():
            return [f"{key}: {_words(inner)}" for key, inner in value.items()]
        case list():
            return [inner if isinstance(inner, str) else _words(inner) for inner in value]
        case _:
            return [_words(value)]


def _words(value: Any) -> str:
    match value:
        case dict():
            return ", ".join(f"{key}: {_words(inner)}" for key, inner in value.items())
        case list():
            return ", ".join(_words(inner) for inner in value)
        case None:
            return "unknown"
        case _:
            return markdown.escape_inline(str(value))
