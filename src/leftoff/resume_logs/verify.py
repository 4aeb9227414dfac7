"""Whether a resume log says what its sources say: each item supported, contradicted, or its source gone.

Mechanical, so that nobody has to believe it. *Supported*: the record's bytes are there, their hash is the same, and what
the item says stands in them: the user's rules, pins, commands and names of files word for word, of other items at
least half of the paths and names, or a quarter of the words where there are none. *Contradicted*: the record says something else, or a later one
refutes it (the same command ended otherwise, the file was removed). *Source gone*: the record is no longer there; the
item is kept and marked. What a person wrote into the log by hand needs no source. Leaves out: whether prose draws the right conclusion from its source.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from leftoff.model import entries
from leftoff.model.claims import PASS, Claim, claims, not_held, outcomes, quotations, without
from leftoff.model.records import Place
from leftoff.model.resume_log import ResumeLog
from leftoff.model.sources import Source
from leftoff.model.values import dataclass

Outcome = Literal["supported", "contradicted", "source gone"]

_REDACTED = re.compile(r"\[REDACTED:[a-z0-9-]{1,40}\]|…")
_WORD = re.compile(r"[^\W\d_]{4,}")
_NAME_LIST = re.compile(r"`[^`\s]+(?:, [^`\s]+)+`")
_GOOD = re.compile(r"\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|exit 0)\b", re.IGNORECASE)
_BAD = re.compile(r"\b(?:fail(?:s|ed|ing|ure)?|broken|red|exit [1-9]\d*)\b", re.IGNORECASE)
_EXIT = re.compile(r"\bexit (\d+)")
_PARTS = re.compile(r"&&|\|\||[;|\n]")
_LOOKS = frozenset(
    [
        "cat",
        "cd",
        "cp",
        "echo",
        "find",
        "git",
        "grep",
        "head",
        "less",
        "ls",
        "mkdir",
        "mv",
        "nl",
        "rg",
        "rm",
        "sed",
        "tail",
        "vim",
        "wc",
    ]
)
_TEST_WORD = re.compile(
    r"(?:\S*/)?(?:py\.?test|tests?(?::\S+)?|jest|vitest|tox|nox|ctest|rspec|phpunit|unittest)"
)
_REMOVED = re.compile(r"\b(?:delet|remov|mov|renam|gone)", re.IGNORECASE)


class Item(NamedTuple):
    """One thing that a log says. ``names`` are what a source may call it."""

    names: tuple[str, ...]
    text: str
    exact: str  # what must stand in the source word for word; empty where nothing must


class Evidence(NamedTuple):
    """What stands at a place now: the hash of its bytes, and all words in them."""

    sha256: str
    words: str

    def joined_by(self, words: str) -> Evidence:
        """With what belongs to it: a request's answer, an answer's request."""
        return self._replace(words=f"{self.words}\n{words}")


class Event(NamedTuple):
    """Something that can refute an item: a command ended (``failed`` None: nobody knows), a file was removed or written."""

    place: Place
    kind: Literal["ran", "removed", "written"]
    what: str
    failed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of one item. ``place`` is that of the record which decided, None where there is none."""

    item: str
    text: str
    outcome: Outcome
    reason: str
    place: Place | None


class Finding(NamedTuple):
    """Something exact in a text, and whether anything that is known holds it."""

    claim: Claim
    known: bool


def verify(
    log: ResumeLog, evidence: Mapping[Place, Evidence], events: Sequence[Event] = ()
) -> tuple[Verdict, ...]:
    """A verdict for each item; ``evidence`` is what stands at the places of the sources, ``events`` in order of time."""
    by_item: dict[str, list[Source]] = {}
    for source in log.sources:
        # A mission has many: each of its sentences may name its own.
        name = "mission_summary" if source.item.startswith("mission_summary/") else source.item
        by_item.setdefault(name, []).append(source)
    by_hand = [edit.wrote for edit in log.edits if edit.wrote.strip()]
    verdicts = []
    for item in items(log):
        sources = [source for name in item.names for source in by_item.get(name, ())]
        verdicts.append(_verdict(item, sources, evidence, events, by_hand))
    return tuple(verdicts)


def evidence_of(raw: bytes) -> Evidence:
    """What a record's bytes say: the words in its JSON, and in the JSON that stands as text inside it."""
    return Evidence(
        hashlib.sha256(raw).hexdigest(), "\n".join(_strings(_json(raw.decode("utf-8", "replace"))))
    )


def verify_text(text: str, known: Iterable[str], *, tests_pass: bool | None = None) -> tuple[Finding, ...]:
    """Every path, command, number, name and quotation in ``text``, and whether one of the texts in ``known`` holds it.

    What it says about tests is known when the last run said the same; ``tests_pass`` is None where no run is known.
    """
    quoted = quotations(text)
    unquoted = without(text, quoted)
    exact = claims(unquoted)
    missing = {*not_held((*quoted, *exact), known)}
    found = [Finding(claim, claim not in missing) for claim in (*quoted, *exact)]
    found += [
        Finding(claim, tests_pass is not None and tests_pass == (claim.value == PASS))
        for claim in outcomes(without(unquoted, exact))
    ]
    return tuple(sorted(found, key=lambda finding: finding.claim.start))


def last_run_passed(events: Iterable[Event]) -> bool | None:
    """How the last run of tests ended; None where none is known."""
    ends = [not each.failed for each in events if each.failed is not None and runs_tests(each.what)]
    return ends[-1] if ends else None


def log_says_passed(log: ResumeLog) -> bool | None:
    """The same as far as the log's own commands tell; None where they do not say, or disagree."""
    found = log.critical_context.get("commands")
    told = [text for text in found if isinstance(text, str)] if isinstance(found, list) else []
    ends = {
        ended[1] == "0"
        for text in told
        if runs_tests(entries.command_of(text)) and (ended := _EXIT.search(text.rpartition(entries.ENDED)[2]))
    }
    return ends.pop() if len(ends) == 1 else None


def runs_tests(command: str) -> bool:
    """Whether a command line runs tests, and does not only look at them."""
    parts = (part.split() for part in _PARTS.split(command))
    return any(
        words and words[0] not in _LOOKS and any(_TEST_WORD.fullmatch(word) for word in words)
        for words in parts
    )


def struck(text: str, findings: Iterable[Finding]) -> str:
    """``text`` with what nobody knows struck through."""
    for finding in sorted(findings, key=lambda each: -each.claim.start):
        if not finding.known:
            start, end = finding.claim.start, finding.claim.end
            text = f"{text[:start]}~~{text[start:end]}~~{text[end:]}"
    return text


def words_of(log: ResumeLog) -> str:
    """All that a log says, as one text to look things up in."""
    return "\n".join(_strings(log.to_dict()))


def items(log: ResumeLog) -> Iterator[Item]:
    """Everything in the log that rests on a source."""
    if log.mission_summary.strip():
        yield Item(("mission_summary",), log.mission_summary, "")
    for section in ("accomplishments", "key_findings"):
        yield from _listed(section, getattr(log, section))
    for number, decision in enumerate(log.decisions):
        yield Item((f"decisions/{number}",), " ".join(map(str, decision.values())), "")
    yield from _listed("next_steps", log.next_steps)
    for key, value in log.critical_context.items():
        yield from _context(key, value)


def marked(log: ResumeLog, verdicts: Iterable[Verdict]) -> ResumeLog:
    """The log with contradicted items struck through, and a word at those whose source is gone."""
    told = {verdict.item: verdict for verdict in verdicts if verdict.outcome != "supported"}

    def mark(name: str, text: str) -> str:
        verdict = told.get(name)
        if verdict is None:
            return text
        if verdict.outcome == "contradicted":
            return f"~~{text}~~ (contradicted: {verdict.reason})"
        return f"{text} (source gone)"

    return dataclasses.replace(
        log,
        mission_summary=mark("mission_summary", log.mission_summary),
        accomplishments=_marked_list("accomplishments", log.accomplishments, mark),
        key_findings=_marked_list("key_findings", log.key_findings, mark),
        decisions=[
            each | {"decision": mark(f"decisions/{number}", each.get("decision", ""))}
            for number, each in enumerate(log.decisions)
        ],
        next_steps=_marked_list("next_steps", log.next_steps, mark),
        critical_context={
            key: _marked_context(f"critical_context/{key}", value, mark)
            for key, value in log.critical_context.items()
        },
    )


def _verdict(
    item: Item,
    sources: Sequence[Source],
    evidence: Mapping[Place, Evidence],
    events: Sequence[Event],
    written_by_hand: Sequence[str],
) -> Verdict:
    if not sources and any(item.text.strip() in each for each in written_by_hand):
        return _told(item, "supported", "a person wrote it", None)
    if not sources:
        return _told(item, "source gone", "no source is named", None)
    standing = [
        source
        for source in sources
        if (found := evidence.get(source.place)) is not None and found.sha256 == source.sha256
    ]
    if not standing:
        there = any(source.place in evidence for source in sources)
        reason = "another record stands there now" if there else "the record is not there any more"
        return _told(item, "source gone", reason, sources[0].place)
    words = "\n".join(evidence[source.place].words for source in standing)
    if trouble := _not_backed(item, words):
        return _told(item, "contradicted", trouble, standing[0].place)
    if refuting := _refuted(item, standing, events):
        event, reason = refuting
        return _told(item, "contradicted", reason, event.place)
    return _told(item, "supported", "", standing[0].place)


def _told(item: Item, outcome: Outcome, reason: str, place: Place | None) -> Verdict:
    return Verdict(item=item.names[0], text=item.text, outcome=outcome, reason=reason, place=place)


def _not_backed(item: Item, words: str) -> str:
    """What the item says that its sources do not; empty when they back it."""
    flat = " ".join(words.split())
    if item.exact:
        lines = (line for part in _REDACTED.split(item.exact) for line in part.splitlines())
        parts = [" ".join(line.split()) for line in lines]
        return "" if all(part in flat for part in parts) else "the source does not say this word for word"
    text = _NAME_LIST.sub(lambda found: found[0].replace(", ", "` `"), _REDACTED.sub(" ", item.text))
    telling = [claim for claim in claims(text) if claim.kind != "number"]
    if telling:
        held = len(telling) - len(not_held(telling, [words]))
        return "" if held * 2 >= len(telling) else "the source names none of this, or less than half"
    said = {word.casefold() for word in _WORD.findall(text)}
    there = {word.casefold() for word in _WORD.findall(words)}
    return "" if len(said & there) * 4 >= len(said) else "the source has next to none of these words"


def _refuted(item: Item, sources: Sequence[Source], events: Sequence[Event]) -> tuple[Event, str] | None:
    """The later event that makes the item untrue, and why."""
    places = {source.place for source in sources}
    if item.names[0].startswith("critical_context/files/"):
        return _removed_later(item, max(places, key=lambda place: place.line_idx), events)
    good, bad = bool(_GOOD.search(item.text)), bool(_BAD.search(item.text))
    if good == bad:  # it claims neither, or tells of both
        return None
    commands = {event.what for event in events if event.place in places and event.kind == "ran"}
    runs = [event for event in events if event.kind == "ran" and event.what in commands]
    last = runs[-1] if runs else None
    if last is None or last.place in places or last.failed is None or last.failed != good:
        return None
    return last, f"the same command {'failed' if last.failed else 'passed'} later"


def _removed_later(item: Item, place: Place, events: Sequence[Event]) -> tuple[Event, str] | None:
    path, _, note = item.text.partition(": ")
    told = [
        event
        for event in events
        if event.kind != "ran"
        and event.place.transcript == place.transcript
        and event.place.line_idx > place.line_idx
        and _same_file(event.what, path)
    ]
    if not told or told[-1].kind != "removed" or _REMOVED.search(note):
        return None
    return told[-1], "the file was removed later"


def _same_file(one: str, other: str) -> bool:
    """An absolute path and a relative one may name the same file."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def _listed(section: str, texts: Iterable[str]) -> Iterator[Item]:
    for number, text in enumerate(texts):
        yield Item((f"{section}/{number}",), text, "")


def _context(key: str, value: Any) -> Iterator[Item]:
    name = f"critical_context/{key}"
    match value:
        case dict():
            for number, (inner, note) in enumerate(value.items()):
                text = f"{inner}: {' '.join(_strings(note))}"
                exact = inner.rpartition("/")[2] if key == "files" else ""
                yield Item((f"{name}/{inner}", f"{name}/{number}"), text, exact)
        case list():
            for number, entry in enumerate(value):
                text = " ".join(_strings(entry))
                yield Item((f"{name}/{number}",), text, _quoted(key, text))
        case _:
            yield Item((name,), " ".join(_strings(value)), "")


def _quoted(key: str, text: str) -> str:
    """What of an entry must stand in its source word for word: it, without the words of ours around it."""
    match key:
        case "pins":
            return text
        case "user_rules":
            return entries.users_words(text)
        case "commands":
            return entries.command_of(text)
        case _:
            return ""


def _strings(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for key, inner in value.items():
                yield str(key)
                yield from _strings(inner)
        case list():
            for inner in value:
                yield from _strings(inner)
        case str() if value[:1] in {"{", "["} and (inside := _json(value)) != value:  # arguments of a call
            yield value
            yield from _strings(inside)
        case None:
            return
        case _:
            yield str(value)


def _json(text: str) -> Any:
    """The value that ``text`` holds; the text itself where it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _marked_list(section: str, texts: Sequence[str], mark: Any) -> list[str]:
    return [mark(f"{section}/{number}", text) for number, text in enumerate(texts)]


def _marked_context(name: str, value: Any, mark: Any) -> Any:
    match value:
        case dict():
            return {
                key: mark(f"{name}/{key}", inner) if isinstance(inner, str) else inner
                for key, inner in value.items()
            }
        case list():
            return [
                mark(f"{name}/{number}", inner) if isinstance(inner, str) else inner
                for number, inner in enumerate(value)
            ]
        case str():
            return mark(name, value)
        case _:
            return value
