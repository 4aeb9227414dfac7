"""Check the items of a resume log against their sources: each is supported, contradicted, or its source is gone.

*Supported*: the record's bytes are unchanged and contain what the item says: rules, pins, commands and file names word for word,
of other items at least half of the paths and names, or a quarter of the words where there are none. *Contradicted*: the record says
something else, or a later one refutes it (the same command ended otherwise, the file was removed). *Source gone*: the record is no
longer there. What a person wrote by hand needs no source. Whether prose draws the right conclusion is not judged.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from leftoff.core import markdown
from leftoff.core.provenance import Source
from leftoff.core.records import Place
from leftoff.core.resume_log import ResumeLog
from leftoff.extraction.checks import COMMAND_SEPARATOR
from leftoff.resume_logs.claims import (
    PASS,
    Claim,
    blank_out,
    find_claims,
    find_missing,
    find_quotations,
    find_test_outcomes,
)

Outcome = Literal["supported", "contradicted", "source gone"]

_REDACTED = re.compile(r"\[REDACTED:[a-z0-9-]{1,40}\]|…")
_WORD = re.compile(r"[^\W\d_]{4,}")
_NAME_LIST = re.compile(r"`[^`\s]+(?:, [^`\s]+)+`")
_SAYS_PASSED = re.compile(r"\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|exit 0)\b", re.IGNORECASE)
_SAYS_FAILED = re.compile(r"\b(?:fail(?:s|ed|ing|ure)?|broken|red|exit [1-9]\d*)\b", re.IGNORECASE)
_LAST_RUN = re.compile(
    r"\d runs, \d+ failed, the last (worked|passed|failed)"
)  # of several, the last one counts
_DIFF = re.compile(r"```diff\n(.*?)```", re.DOTALL)
_CHANGED = re.compile(r"^[ \t]*[-+](.*\w.*)$", re.MULTILINE)
_EXIT_CODE = re.compile(r"\bexit (\d+)")
_LOOK_AROUND = re.compile(r"cat|cd|cp|echo|find|git|grep|head|less|ls|mkdir|mv|nl|rg|rm|sed|tail|vim|wc")
_TEST_PROGRAM = re.compile(
    r"(?:\S*/)?(?:py\.?test|tests?(?::\S+)?|jest|vitest|tox|nox|ctest|rspec|phpunit|unittest)"
)
_REMOVED = re.compile(r"\b(?:delet|remov|mov|renam|gone)", re.IGNORECASE)


class Item(NamedTuple):
    """An item of a log. ``names`` are the names that its sources may use for it."""

    names: tuple[str, ...]
    text: str
    exact: str  # what its source must contain word for word; empty for nothing


class Evidence(NamedTuple):
    """What is at a place now: the hash of its bytes, and all text in them."""

    sha256: str
    text: str

    def with_text(self, text: str) -> Evidence:
        """Return the evidence with more text that belongs to it: the answer of a request, or the request of an answer."""
        return self._replace(text=f"{self.text}\n{text}")


class Event(NamedTuple):
    """Something that can refute an item: a command ended (``failed`` is ``None`` where not known), a file was removed or written."""

    place: Place
    kind: Literal["ran", "removed", "written"]
    what: str
    failed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome for one item. ``place`` is that of the record that decided it; None without one."""

    item: str
    text: str
    outcome: Outcome
    reason: str
    place: Place | None


class Finding(NamedTuple):
    """A claim of a text, and whether a known text contains it."""

    claim: Claim
    known: bool


def verify_items(
    log: ResumeLog, evidence: Mapping[Place, Evidence], events: Sequence[Event] = ()
) -> tuple[Verdict, ...]:
    """Return a verdict for each item; ``evidence`` is what is at the places of its sources, ``events`` are oldest first."""
    by_item: dict[str, list[Source]] = {}
    for source in log.sources:
        # Each sentence of a mission may have its own source.
        name = "mission_summary" if source.item.startswith("mission_summary/") else source.item
        by_item.setdefault(name, []).append(source)
    written_by_hand = [edit.wrote for edit in log.edits if edit.wrote.strip()]
    verdicts = []
    for item in list_items(log):
        sources = [source for name in item.names for source in by_item.get(name, ())]
        verdicts.append(_check_item(item, sources, evidence, events, written_by_hand))
    return tuple(verdicts)


def evidence_of(raw: bytes) -> Evidence:
    """Return what a record says: the text in its JSON, and in JSON that is text inside it."""
    return Evidence(
        hashlib.sha256(raw).hexdigest(), "\n".join(_texts_in(_parse_json(raw.decode("utf-8", "replace"))))
    )


def verify_text(text: str, known: Iterable[str], *, tests_pass: bool | None = None) -> tuple[Finding, ...]:
    """Return every claim and quotation in ``text``, and whether one of the texts in ``known`` contains it.

    What it says about tests is known when the last run ended so; ``tests_pass`` is ``None`` where no run is known.
    """
    quoted = find_quotations(text)
    unquoted = blank_out(text, quoted)
    exact = find_claims(unquoted)
    missing = {*find_missing((*quoted, *exact), known)}
    found = [Finding(claim, claim not in missing) for claim in (*quoted, *exact)]
    found += [
        Finding(claim, tests_pass is not None and tests_pass == (claim.value == PASS))
        for claim in find_test_outcomes(blank_out(unquoted, exact))
    ]
    return tuple(sorted(found, key=lambda finding: finding.claim.start))


def last_run_passed(events: Iterable[Event]) -> bool | None:
    """Return whether the last run of tests passed; None where no run is known."""
    ends = [not each.failed for each in events if each.failed is not None and runs_tests(each.what)]
    return ends[-1] if ends else None


def log_says_passed(log: ResumeLog) -> bool | None:
    """Return whether tests passed by the log's own commands; None where they do not say, or disagree."""
    commands = log.critical_context.get("commands")
    texts = [text for text in commands if isinstance(text, str)] if isinstance(commands, list) else []
    ends = {
        ended[1] == "0"
        for text in texts
        if runs_tests(markdown.command_text(text))
        and (ended := _EXIT_CODE.search(text.rpartition(markdown.RESULT_ARROW)[2]))
    }
    return ends.pop() if len(ends) == 1 else None


def runs_tests(command: str) -> bool:
    """Return whether a command line runs tests rather than looking at them."""
    parts = (part.split() for part in COMMAND_SEPARATOR.split(command))
    return any(
        words
        and not _LOOK_AROUND.fullmatch(words[0])
        and any(_TEST_PROGRAM.fullmatch(word) for word in words)
        for words in parts
    )


def strike_unknown(text: str, findings: Iterable[Finding]) -> str:
    """Return ``text`` with unknown claims struck through."""
    for finding in sorted(findings, key=lambda each: -each.claim.start):
        if not finding.known:
            start, end = finding.claim.start, finding.claim.end
            text = f"{text[:start]}~~{text[start:end]}~~{text[end:]}"
    return text


def text_of(log: ResumeLog) -> str:
    """Return all that a log says as one text."""
    return "\n".join(_texts_in(log.to_dict()))


def list_items(log: ResumeLog) -> Iterator[Item]:
    """Yield everything in the log that should have a source."""
    if log.mission_summary.strip():
        yield Item(("mission_summary",), log.mission_summary, "")
    for section in ("accomplishments", "key_findings"):
        yield from _list_section(section, getattr(log, section))
    for number, decision in enumerate(log.decisions):
        yield Item((f"decisions/{number}",), " ".join(map(str, decision.values())), "")
    yield from _list_section("next_steps", log.next_steps)
    for key, value in log.critical_context.items():
        yield from _list_context(key, value)


def mark_items(log: ResumeLog, verdicts: Iterable[Verdict]) -> ResumeLog:
    """Return the log with contradicted items struck through, and a note at those whose source is gone."""
    unsupported = {verdict.item: verdict for verdict in verdicts if verdict.outcome != "supported"}

    def mark(name: str, text: str) -> str:
        verdict = unsupported.get(name)
        if verdict is None:
            return text
        if verdict.outcome == "contradicted":
            return f"~~{text}~~ (contradicted: {verdict.reason})"
        return f"{text} (source gone)"

    return dataclasses.replace(
        log,
        mission_summary=mark("mission_summary", log.mission_summary),
        accomplishments=_mark_list("accomplishments", log.accomplishments, mark),
        key_findings=_mark_list("key_findings", log.key_findings, mark),
        decisions=[
            each | {"decision": mark(f"decisions/{number}", each.get("decision", ""))}
            for number, each in enumerate(log.decisions)
        ],
        next_steps=_mark_list("next_steps", log.next_steps, mark),
        critical_context={
            key: _mark_context(f"critical_context/{key}", value, mark)
            for key, value in log.critical_context.items()
        },
    )


def _check_item(
    item: Item,
    sources: Sequence[Source],
    evidence: Mapping[Place, Evidence],
    events: Sequence[Event],
    written_by_hand: Sequence[str],
) -> Verdict:
    is_by_hand = not sources and any(item.text.strip() in each for each in written_by_hand)
    if is_by_hand or markdown.AS_GIT_SAID in item.text:
        return _verdict(item, "supported", "a person wrote it" if is_by_hand else "git said so", None)
    if not sources:
        return _verdict(item, "source gone", "no source is named", None)
    unchanged = [
        source
        for source in sources
        if (found := evidence.get(source.place)) is not None and found.sha256 == source.sha256
    ]
    if not unchanged:
        is_replaced = any(source.place in evidence for source in sources)
        reason = "another record is there now" if is_replaced else "the record is not there any more"
        return _verdict(item, "source gone", reason, sources[0].place)
    text = "\n".join(evidence[source.place].text for source in unchanged)
    if reason := _why_unsupported(item, text):
        return _verdict(item, "contradicted", reason, unchanged[0].place)
    if refutation := _find_refutation(item, unchanged, events):
        event, reason = refutation
        return _verdict(item, "contradicted", reason, event.place)
    return _verdict(item, "supported", "", unchanged[0].place)


def _verdict(item: Item, outcome: Outcome, reason: str, place: Place | None) -> Verdict:
    return Verdict(item=item.names[0], text=item.text, outcome=outcome, reason=reason, place=place)


def _why_unsupported(item: Item, source_text: str) -> str:
    """Return why the sources do not support the item; empty when they do."""
    flat = " ".join(source_text.split())
    if item.exact:
        lines = (line for part in _REDACTED.split(item.exact) for line in part.splitlines())
        parts = [" ".join(line.split()) for line in lines]
        return "" if all(part in flat for part in parts) else "the source does not say this word for word"
    text = _NAME_LIST.sub(lambda found: found[0].replace(", ", "` `"), _REDACTED.sub(" ", item.text))
    claims = [claim for claim in find_claims(_DIFF.sub(" ", text)) if claim.kind != "number"]
    changed = [" ".join(line.split()) for block in _DIFF.findall(text) for line in _CHANGED.findall(block)]
    if said := len(claims) + len(changed):
        missing = len(find_missing(claims, [source_text])) + sum(line not in flat for line in changed)
        return "" if missing * 2 <= said else "the source names none of this, or less than half"
    words = {word.casefold() for word in _WORD.findall(text)}
    source_words = {word.casefold() for word in _WORD.findall(source_text)}
    return "" if len(words & source_words) * 4 >= len(words) else "the source has next to none of these words"


def _find_refutation(
    item: Item, sources: Sequence[Source], events: Sequence[Event]
) -> tuple[Event, str] | None:
    """Return the later event that makes the item untrue, and the reason; None without one."""
    places = {source.place for source in sources}
    if item.names[0].startswith("critical_context/files/"):
        return _find_removal(item, max(places, key=lambda place: place.line_idx), events)
    good, bad = bool(_SAYS_PASSED.search(item.text)), bool(_SAYS_FAILED.search(item.text))
    if last_run := _LAST_RUN.search(item.text):
        bad = last_run[1] == "failed"
        good = not bad
    if good == bad:  # it claims neither, or both
        return None
    commands = {event.what for event in events if event.place in places and event.kind == "ran"}
    runs = [event for event in events if event.kind == "ran" and event.what in commands]
    last = runs[-1] if runs else None
    if last is None or last.place in places or last.failed is None or last.failed != good:
        return None
    return last, f"the same command {'failed' if last.failed else 'passed'} later"


def _find_removal(item: Item, place: Place, events: Sequence[Event]) -> tuple[Event, str] | None:
    path, _, note = item.text.partition(": ")
    later = [
        event
        for event in events
        if event.kind != "ran"
        and event.place.transcript == place.transcript
        and event.place.line_idx > place.line_idx
        and _same_file(event.what, path)
    ]
    if not later or later[-1].kind != "removed" or _REMOVED.search(note):
        return None
    return later[-1], "the file was removed later"


def _same_file(one: str, other: str) -> bool:
    """Return whether two paths, absolute or relative, may name the same file."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def _list_section(section: str, texts: Iterable[str]) -> Iterator[Item]:
    for number, text in enumerate(texts):
        yield Item((f"{section}/{number}",), text, "")


def _list_context(key: str, value: Any) -> Iterator[Item]:
    name = f"critical_context/{key}"
    match value:
        case dict():
            for number, (inner, note) in enumerate(value.items()):
                text = f"{inner}: {' '.join(_texts_in(note))}"
                exact = inner.rpartition("/")[2] if key == "files" else ""
                yield Item((f"{name}/{inner}", f"{name}/{number}"), text, exact)
        case list():
            for number, entry in enumerate(value):
                text = " ".join(_texts_in(entry))
                yield Item((f"{name}/{number}",), text, _exact_part(key, text))
        case _:
            yield Item((name,), " ".join(_texts_in(value)), "")


def _exact_part(key: str, text: str) -> str:
    """Return what of an entry must be in its source word for word: without leftoff's own words around it."""
    match key:
        case "pins":
            return text
        case "user_rules":
            return markdown.user_quote(text)
        case "commands":
            return markdown.command_text(text)
        case _:
            return ""


def _texts_in(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for key, inner in value.items():
                yield str(key)
                yield from _texts_in(inner)
        case list():
            for inner in value:
                yield from _texts_in(inner)
        case str() if value[:1] in {"{", "["} and (inside := _parse_json(value)) != value:
            # Arguments of a call.
            yield value
            yield from _texts_in(inside)
        case None:
            return
        case _:
            yield str(value)


def _parse_json(text: str) -> Any:
    """Return the JSON value of ``text``; the text itself where it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _mark_list(section: str, texts: Sequence[str], mark: Any) -> list[str]:
    return [mark(f"{section}/{number}", text) for number, text in enumerate(texts)]


def _mark_context(name: str, value: Any, mark: Any) -> Any:
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
