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
from leftoff.extraction.passages import Entry
from leftoff.extraction.story import OPENINGS

# What an item is worth by where it is from, which the words at its beginning tell.
_ORIGINS = {
    **dict.fromkeys(("outcome", "request", "approved", "rejected", "proposed"), 1.3),
    **dict.fromkeys(("summary", "reply", "edit"), 0.9),
    **dict.fromkeys(("report", "note", "output"), 0.4),
}
_LABEL = re.compile(
    "|".join(
        f"(?P<{origin}>{re.escape(OPENINGS[origin]).replace(re.escape('{}'), '[^”`]*')}):[ \\n]"
        for origin in _ORIGINS
    )
)
_OLDEST = 0.3  # what the first item is worth beside the last one
_FIRST_REQUEST_CHARS = 1_000  # where others followed it
_SHORT_CHARS = 200  # told whole or not at all
_PROGRESS, _PROGRESS_CHARS = 0.5, 100  # of a text that is too short to say more than how far things are
_FIRST_REQUEST, _REQUEST, _DECISION, _OTHER = 2.5, 1.0, 1.6, 0.7
_HOW_WEIGHTS = {"commands": 1.4, "files": 0.4}
_MAX_ENTRY_CHARS = 1_400  # half a command is worse than none
_SAYS_LITTLE = 0.35  # of a file without a reason, a command that checks nothing, a mere "yes"
_SAYS_NO_REASON = (" time", " times", " edit", " edits", ": created", ": searched")
_SAYS_NO_RESULT = ("→ worked", "→ outcome not shown")
_ANSWER = re.compile(r"the user answered “([^”]*)”\Z")
_TOLD_ELSEWHERE = ("pins", "user_rules", "state", "where")
_OVERHEAD = 6  # a bullet, and some of the marks where paragraphs were left out
_GAPS_CHARS = 100  # for the other marks
_LATER_COUNTS = "Oldest first: where entries disagree, the later one holds."
_HOW, _ASKED, _DECIDED, _HAPPENED = "How and Where", "What the User Asked", "Decisions", "What Happened"


class _Told(NamedTuple):
    """Something that may be told under a heading."""

    heading: str
    entry: Entry


def tell(log: ResumeLog, room: int, *, known: str, known_words: Set[str], novelty: float = 0.0) -> list[str]:
    """Return the sections with the paragraphs that add most to what is known, each entry in its order.

    ``known`` is in one line. Where a share of the paragraphs must be new (``novelty``), commands and files that are known are left out.
    """
    offered = [*_requests(log), *_decisions(log), *_happened(log), *_how_and_where(log)]
    for own in log.custom_sections:
        entry = Entry("", passages.split(own.content), _OTHER)
        offered.append(_Told(markdown.escape_inline(own.name)[:100], entry))
    offered = [each for each in offered if each.heading != _HOW or _name(each.entry.parts[0]) not in known]
    headings = dict.fromkeys([_DECIDED, _ASKED, _HAPPENED, _HOW, *(each.heading for each in offered)])
    room -= sum(len(heading) + 10 for heading in headings) + len(_LATER_COUNTS) + _GAPS_CHARS
    entries = [
        each.entry if each.heading == _HOW else each.entry._replace(novelty=novelty) for each in offered
    ]
    told = passages.tell(entries, room, known=known, known_words=known_words, cost=_cost, overhead=_OVERHEAD)
    sections: dict[str, list[str]] = {heading: [] for heading in headings}
    for number, text in sorted(told):
        heading, entry = offered[number]
        label = f"{entry.label.rstrip()}\n" if entry.label and text.startswith("```") else entry.label
        if heading == _HAPPENED:  # its label may have a request that is listed too
            asked = f"“{label.partition('“')[2].rpartition('”')[0]}"
            sections[_ASKED] = [
                line
                for line in sections[_ASKED]
                if line.removeprefix("- ")[: len(asked)] != asked or asked == "“"
            ]
        sections[heading].append(f"- {markdown.escape_item((label + text).removeprefix('- '))}")
    if sections[_HAPPENED]:
        sections[_HAPPENED].insert(0, f"{_LATER_COUNTS}\n")
    return [section(heading, lines) for heading, lines in sections.items() if lines]


def _name(text: str) -> str:
    """Return the command or file that an entry is about."""
    return markdown.command_text(text) if text.startswith("`") else text.rpartition(": ")[0] or text


def _cost(text: str) -> int:
    return utf16_length(text) + 3 * text.count("\n")


def _requests(log: ResumeLog) -> Iterator[_Told]:
    """Yield the first request, and those between it and the last one, which belongs to the current state."""
    for text in log.mission_summary.split("\n\n"):
        opening = next((each for each in (FIRST_ASKED, TEAM_ASKED) if text.startswith(each)), "")
        between = [] if opening else text.split("\n- “")[1:]
        if not between and text.strip() and not text.startswith(LATEST):
            label = f"{opening} " if opening else ""
            asked = text.removeprefix(opening).strip()
            if opening and LATEST in log.mission_summary:
                asked = passages.fit(asked, _FIRST_REQUEST_CHARS)
            parts = passages.split(asked)
            yield _Told(_ASKED, Entry(label, parts, _FIRST_REQUEST))
        for number, request in enumerate(between, 1):
            if not request.rstrip("” ").endswith(":"):  # that introduces what was pasted
                parts = [f"“{request.rstrip('”')}”"]
                yield _Told(_ASKED, Entry("", parts, _REQUEST * number / len(between)))


def _decisions(log: ResumeLog) -> Iterator[_Told]:
    for decision in log.decisions:
        reason = str(decision.get("rationale") or "")
        text = str(decision.get("decision") or "") + (f": {reason}" if reason else "")
        answer = _ANSWER.search(text)
        is_mere_yes = answer is not None and wording.GO_AHEAD.match(answer[1])
        yield _Told(_DECIDED, Entry("", [text], _DECISION * (_SAYS_LITTLE if is_mere_yes else 1.0)))


def _happened(log: ResumeLog) -> Iterator[_Told]:
    """Yield accomplishments and findings as one story, oldest first; the newest are worth most."""
    places: dict[str, int] = {}  # the line of the last source of each item
    for source in log.sources:
        places[source.item] = max(places.get(source.item, 0), source.place.line_idx)
    items = [
        (places.get(f"{name}/{number}", 0), text)
        for name in ("accomplishments", "key_findings")
        for number, text in enumerate(getattr(log, name))
    ]
    texts = [text for _, text in sorted(items, key=lambda each: each[0])]
    labels = [_LABEL.match(text) for text in texts]
    origins = [label.lastgroup if label and label.lastgroup else "reply" for label in labels]
    answered = max((at for at, origin in enumerate(origins) if origin == "outcome"), default=-1)
    for at, (text, label, origin) in enumerate(zip(texts, labels, origins, strict=True)):
        if origin == "edit" and at < answered:
            continue  # the answer after it says what was changed
        weight = _ORIGINS[origin] * (_OLDEST + (1 - _OLDEST) * at / len(items))
        weight *= _PROGRESS if len(text) < _PROGRESS_CHARS else 1.0
        rest = text[label.end() :] if label else text
        parts = [rest] if len(rest) < _SHORT_CHARS else passages.split(rest)
        yield _Told(_HAPPENED, Entry(label[0] if label else "", parts, weight))


def _how_and_where(log: ResumeLog) -> Iterator[_Told]:
    """Yield the entries of critical context that appear nowhere else: commands and files first."""
    others = [key for key in log.critical_context if key not in (*_TOLD_ELSEWHERE, *_HOW_WEIGHTS)]
    for key in (*_HOW_WEIGHTS, *others):
        for text in texts_of(log.critical_context.get(key)):
            says_little = text.endswith(_SAYS_NO_REASON if key == "files" else _SAYS_NO_RESULT)
            named = text if key in _HOW_WEIGHTS else f"{key.replace('_', ' ')}: {text}"
            weight = _HOW_WEIGHTS.get(key, _OTHER) * (_SAYS_LITTLE if says_little else 1.0)
            if len(named) <= _MAX_ENTRY_CHARS:
                yield _Told(_HOW, Entry("", [named], weight))


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
