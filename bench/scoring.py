"""How much of what was needed a document contains, as counts, so that cuts of any size can be added up.

Coverage: of the files, commands and names that the next calls mention and that occur before the cut, the share in the document.
Agreement: of the paths and back-ticked names in the agent's own summary, the share in the document; a summary may mention
what never occurred, so not even the whole context reaches 100 %. Outside: the share of characters under headings other than
Critical Context and Session Metadata. Stale: the share of bullets that show as current what was over.
Staleness is decided from the transcript alone, in three cases. Deleted file: removed by ``rm``, ``git rm`` or a patch, not written
again, and named by an item that does not say so. Fixed error: text of a failed command that passed later, in an item that does
not say so. Finished work: a todo that is done or cancelled, under Next Steps. Superseded values are not counted.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal

from bench.mentions import (
    KINDS,
    Files,
    Kind,
    Mention,
    SearchableText,
    command_of,
    expected_mentions,
    files_before,
    mentions_in_summary,
    relative,
)
from bench.session_cuts import MeasuredCut, strings
from leftoff.core.records import ToolUse
from leftoff.core.session import ToolCall, join_tool_calls
from leftoff.core.wire import JsonValue

Measure = Literal["coverage", "files", "commands", "names", "agreement", "outside", "stale"]
MEASURES: tuple[Measure, ...] = ("coverage", "files", "commands", "names", "agreement", "outside", "stale")

_ANY_HEADING = re.compile(r"^## (.+?)\s*$", re.MULTILINE)
_LISTS = frozenset({"Critical Context", "Session Metadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some of all. The share is None if there was nothing to contain."""

    held: int = 0
    of: int = 0

    @property
    def share(self) -> float | None:
        """A number between 0 and 1."""
        return self.held / self.of if self.of else None

    def __add__(self, other: Part) -> Part:
        return Part(held=self.held + other.held, of=self.of + other.of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One document at one cut, or the sum of several."""

    cuts: int = 0
    characters: int = 0
    outside_characters: int = 0
    files: Part = field(default_factory=Part)
    commands: Part = field(default_factory=Part)
    names: Part = field(default_factory=Part)
    agreement: Part = field(default_factory=Part)
    missed: tuple[Mention, ...] = ()
    not_agreed: tuple[Mention, ...] = ()
    items: int = 0
    stale_items: tuple[Stale, ...] = ()

    @property
    def coverage(self) -> Part:
        """Files, commands and names together."""
        return self.files + self.commands + self.names

    @property
    def outside(self) -> Part:
        """The characters that are more than lists."""
        return Part(held=self.outside_characters, of=self.characters)

    def parts(self) -> Mapping[Measure, Part]:
        """Return every measure by its name."""
        return {
            "coverage": self.coverage,
            "files": self.files,
            "commands": self.commands,
            "names": self.names,
            "agreement": self.agreement,
            "outside": self.outside,
            "stale": Part(held=len(self.stale_items), of=self.items),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: shares as fractions, null if there was nothing to contain."""
        return {
            "cuts": self.cuts,
            "characters": self.characters // self.cuts,
            **{f"{name}_fraction": part.share for name, part in self.parts().items()},
            "counts": {name: asdict(part) for name, part in self.parts().items()},
            "missed": [asdict(each) for each in self.missed],
            "not_agreed": [asdict(each) for each in self.not_agreed],
            "stale": [asdict(each) for each in self.stale_items],
        }

    def __add__(self, other: Score) -> Score:
        return Score(
            cuts=self.cuts + other.cuts,
            characters=self.characters + other.characters,
            outside_characters=self.outside_characters + other.outside_characters,
            files=self.files + other.files,
            commands=self.commands + other.commands,
            names=self.names + other.names,
            agreement=self.agreement + other.agreement,
            missed=self.missed + other.missed,
            not_agreed=self.not_agreed + other.not_agreed,
            items=self.items + other.items,
            stale_items=self.stale_items + other.stale_items,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """What a document of the cut should contain, computed once for all documents."""

    known: Files
    next_calls: tuple[Mention, ...]
    summary: tuple[Mention, ...]
    outdated: Outdated


def find_expectations(cut: MeasuredCut) -> Expectations:
    """Return what the next calls and the agent's summary mention of what came before."""
    known = files_before(cut)
    named = mentions_in_summary(cut.summary, cut) if cut.summary else []
    return Expectations(
        known=known,
        next_calls=tuple(expected_mentions(cut, known)),
        summary=tuple(named),
        outdated=find_outdated(cut),
    )


def score(document: str, wanted: Expectations) -> Score:
    """Return the counts of one document."""
    text = SearchableText(document)
    missed = [each for each in wanted.next_calls if not text.contains(each, wanted.known)]
    lacking = [each for each in wanted.summary if not text.contains(each, wanted.known)]
    listed = items(document)
    parts = {kind: _part(wanted.next_calls, missed, kind) for kind in KINDS}
    return Score(
        cuts=1,
        characters=len(document),
        outside_characters=outside_characters(document),
        files=parts["files"],
        commands=parts["commands"],
        names=parts["names"],
        agreement=Part(held=len(wanted.summary) - len(lacking), of=len(wanted.summary)),
        missed=tuple(missed),
        not_agreed=tuple(lacking),
        items=len(listed),
        stale_items=tuple(stale(listed, wanted.outdated, wanted.known)),
    )


def outside_characters(document: str) -> int:
    """Return the characters under headings other than Critical Context and Session Metadata."""
    heads = [(head.start(), head[1]) for head in _ANY_HEADING.finditer(document)]
    ends = [start for start, _ in heads[1:]] + [len(document)]
    lists = sum(end - start for (start, title), end in zip(heads, ends, strict=False) if title in _LISTS)
    return len(document) - lists


def _part(wanted: Iterable[Mention], missed: Iterable[Mention], kind: Kind) -> Part:
    of = sum(each.kind == kind for each in wanted)
    return Part(held=of - sum(each.kind == kind for each in missed), of=of)


NEXT_STEPS = "Next Steps"

_HEADING = re.compile(r"## (.+?)\s*$")
_BULLET = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+(.*)")
_SAYS_GONE = re.compile(
    r"\b(?:delet|remov|gone|rm\b|no longer|dropped|replaced|renamed|moved)", re.IGNORECASE
)
_SAYS_FIXED = re.compile(
    r"\b(?:cured|fix(?:ed|es)|mended|solved|resolved|pass(?:es|ed)\b|succeed|no longer|went away|then ok)",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"&&|\|\||;|\|")
_DELETED_BY_PATCH = re.compile(r"^\*\*\* Delete File: (.+?)\s*$", re.MULTILINE)
_WRITTEN_BY_PATCH = re.compile(r"^\*\*\* (?:Add File|Update File|Move to): (.+?)\s*$", re.MULTILINE)
_WRITTEN_BY_SHELL = re.compile(
    r"(?:>>?|\btouch|\btee(?: -a)?|\bcheckout [^;&|]*?--|\brestore)\s+([\w./~@+-]+)"
)
_SHAPED = re.compile(r"\s*(?:\d?>&\d|\d?>\s*/dev/null|\|\s*(?:head|tail)\b[^|&;]*)")
_MIN_ERROR_CHARS = 24
_QUOTED_CHARS = 60
_MIN_SPACES = 2
_PLACE = re.compile(r"^\s*\S*?[\w)]:\d+(?::\d+)?:?\s*")
_TROUBLE = re.compile(r"error|fail|panic|exception|undefined|cannot|not found|denied", re.IGNORECASE)
_USERS_WORDS = re.compile(r"“[^”]*”")  # quoted as they were said; they claim nothing about now
_MAX_LABEL_CHARS = 20  # "In progress: "
_CREATED_ID = re.compile(r"#(\d+)")
_OVER = frozenset({"completed", "cancelled", "canceled", "deleted", "done"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One bullet of a document, with all of its lines and the heading above it."""

    section: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """An item that no longer applies, and why."""

    why: str
    item: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outdated:
    """What was over before the cut."""

    deleted_files: frozenset[str]
    fixed_errors: frozenset[str]
    finished_work: frozenset[str]


def items(document: str) -> list[Item]:
    """Return the bullets of a document."""
    found: list[Item] = []
    section, held = "", False
    for line in document.splitlines():
        if heading := _HEADING.match(line):
            section, held = heading[1], False
        elif bullet := _BULLET.match(line):
            found.append(Item(section=section, text=bullet[1]))
            held = True
        elif held and line.startswith(" "):
            found[-1] = Item(section=section, text=f"{found[-1].text} {line.strip()}")
        else:
            held = False
    return found


def find_outdated(cut: MeasuredCut) -> Outdated:
    """Return what the transcript shows to be over, from the calls of the main conversation in order."""
    calls = sorted(join_tool_calls(cut.records), key=lambda call: call.asked.start)
    return Outdated(
        deleted_files=frozenset(_deleted_files(calls, cut.project)),
        fixed_errors=frozenset(_fixed_errors(calls)),
        finished_work=frozenset(_finished_work(calls)),
    )


def stale(document: Iterable[Item], outdated: Outdated, known: Files) -> list[Stale]:
    """Return the items that show as current what is over."""
    return [
        Stale(why=why, item=item.text) for item in document if (why := _stale_reason(item, outdated, known))
    ]


def _stale_reason(item: Item, outdated: Outdated, known: Files) -> str | None:
    if item.section == NEXT_STEPS and _names_work(item.text, outdated.finished_work):
        return "finished work as next step"
    if not _SAYS_FIXED.search(item.text) and any(words in item.text for words in outdated.fixed_errors):
        return "mended error"
    if not _SAYS_GONE.search(item.text) and outdated.deleted_files:
        text = SearchableText(_USERS_WORDS.sub("", item.text))
        if any(text.contains(Mention(kind="files", text=path), known) for path in outdated.deleted_files):
            return "deleted file"
    return None


def _deleted_files(calls: Iterable[ToolCall], project: str | None) -> set[str]:
    gone: set[str] = set()
    for call in calls:
        if call.failed:
            continue
        written = {relative(path, project) for path in _written(call)}
        gone = {path for path in gone if path not in written}
        gone |= {relative(path, project) for path in _removed(call)}
    return gone


def _removed(call: ToolCall) -> Iterator[str]:
    for text in _input_strings(call):
        yield from _DELETED_BY_PATCH.findall(text)
    for part in _SEPARATORS.split(_command(call) or ""):
        yield from _removed_by(part)


def _removed_by(part: str) -> Iterator[str]:
    try:
        words = shlex.split(part)
    except ValueError:  # a quote that ends in another part
        return
    words = words[1:] if words[:1] == ["git"] else words
    if words[:1] != ["rm"] or "--cached" in words:
        return
    for word in words[1:]:
        if not word.startswith("-") and PurePosixPath(word).suffix and not set(word) & set("*?$`{"):
            yield word


def _written(call: ToolCall) -> Iterator[str]:
    for text in _input_strings(call):
        yield from _WRITTEN_BY_PATCH.findall(text)
    yield from _WRITTEN_BY_SHELL.findall(_command(call) or "")
    if isinstance(call.input, dict) and isinstance(path := call.input.get("file_path"), str):
        yield path  # reading it shows as well that it is there


def _fixed_errors(calls: Iterable[ToolCall]) -> Iterator[str]:
    """Yield significant lines of failures whose command passed later, unless a later failure repeats them."""
    failing: dict[str, set[str]] = {}
    mended: set[str] = set()
    for call in calls:
        command = _SHAPED.sub("", _command(call) or "")
        if not command or call.result is None:
            continue
        if call.failed:
            failing[command] = {*_error_lines(call.result.text)}
            mended -= failing[command]
        else:
            mended |= failing.pop(command, set())
    return iter(mended - {line for lines in failing.values() for line in lines})


def _error_lines(answer: str) -> Iterator[str]:
    """Yield the significant lines of a failure, without the file and line at their beginning."""
    for line in answer.splitlines():
        words = " ".join(_PLACE.sub("", line).split())[:_QUOTED_CHARS]
        if len(words) >= _MIN_ERROR_CHARS and words.count(" ") >= _MIN_SPACES and _TROUBLE.search(words):
            yield words


def _finished_work(calls: Iterable[ToolCall]) -> Iterator[str]:
    """Yield the texts of todos that are over and not open under another entry."""
    lists: dict[str, str] = {}  # words → status
    subjects: dict[str, str] = {}  # id → words
    for call in calls:
        tool_input = call.input if isinstance(call.input, dict) else {}
        for entry in _entries(tool_input.get("todos")) | _entries(tool_input.get("plan")):
            lists[entry[0]] = entry[1]
        if isinstance(subject := tool_input.get("subject"), str) and "taskId" not in tool_input:
            created = _CREATED_ID.search(call.result.text) if call.result else None
            subjects[created[1] if created else ""] = subject
            lists[_plain(subject)] = "pending"
        if isinstance(status := tool_input.get("status"), str) and str(tool_input.get("taskId")) in subjects:
            lists[_plain(subjects[str(tool_input["taskId"])])] = status
    return (words for words, status in lists.items() if status in _OVER and words)


def _entries(value: JsonValue) -> set[tuple[str, str]]:
    rows = value if isinstance(value, list) else []
    found = set()
    for row in rows:
        match row:
            case {"content": str(words), "status": str(status)} | {"step": str(words), "status": str(status)}:
                found.add((_plain(words), status))
            case _:
                pass
    return found


def _names_work(text: str, finished: frozenset[str]) -> bool:
    """Return whether a step is that work: the same text, with at most a short label before it."""
    words = _plain(text)
    return any(words.endswith(work) and len(words) - len(work) <= _MAX_LABEL_CHARS for work in finished)


def _plain(words: str) -> str:
    return " ".join(words.split()).rstrip(".").lower()


def _command(call: ToolCall) -> str | None:
    return command_of(ToolUse(call_id=call.call_id, tool=call.tool, input=call.input))


def _input_strings(call: ToolCall) -> Iterator[str]:
    return strings(call.input)
