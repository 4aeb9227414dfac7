"""The receipt of a compaction: what it dropped against the log, and what leftoff restored.

What replaces the conversation is a summary, or messages that a plugin of the agent chose or rewrote. A rule or pin counts as kept when its words are in the summary in their order, or three quarters of its longer words in one
paragraph; a command when it is there as typed; a file by its path, or by its name where no other file has it.
This is generous to the compaction, so what is called dropped is dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from leftoff.agents.jsonl import all_texts
from leftoff.core import markdown
from leftoff.core.quantities import count
from leftoff.core.records import Record, RecordKind, Text, ToolResult, ToolUse
from leftoff.core.resume_log import ResumeLog
from leftoff.resume_logs.claims import Claim, contains

Kind = Literal["rules", "pins", "commands", "files"]
_Contains = Callable[["_Searched", str], bool]  # the text, and an item that may be in it
_YOURS = ("rules", "pins")

_WORD = re.compile(r"\w[\w./-]*\w|\w")
_MIN_WORD_CHARS = 4
_MIN_SHARE = 0.75


class Line(NamedTuple):
    """One kind of item in the log: how many there are, which the compaction dropped, and which of those were restored."""

    kind: Kind
    total: int
    lost: tuple[str, ...]
    put_back: tuple[str, ...]

    @property
    def kept(self) -> int:
        """How many the agent still has."""
        return self.total - len(self.lost)

    def __str__(self) -> str:
        if self.kind not in _YOURS:
            return count_items(len(self.lost), self.kind)
        if self.total == 1:
            return f"your {self.kind.removesuffix('s')}"
        return f"{len(self.lost)} of your {self.total} {self.kind}"


class Receipt(NamedTuple):
    """What a compaction dropped. ``is_opaque``: what it left cannot be read, so everything counts as dropped."""

    lines: tuple[Line, ...]
    is_opaque: bool
    has_summary: bool = True

    def __str__(self) -> str:
        lines = self.lines
        if self.is_opaque:
            restored = _join(count_items(len(line.put_back), line.kind) for line in lines if line.put_back)
            return f"The summary of this compaction cannot be read; leftoff restored {restored or 'nothing'}"
        who = "The summary" if self.has_summary else "The compaction"
        dropped = [line for line in lines if line.lost]
        if dropped:
            return f"{who} dropped {_join(map(str, dropped))}; leftoff restored {_describe_restored(dropped)}"
        kept = _join(count_items(line.total, line.kind) for line in lines)
        return f"{who} kept {kept}" if kept else f"{who} had nothing of the log to drop"


def _describe_restored(dropped: Sequence[Line]) -> str:
    """Return words where all or nothing was restored; else numbers, in the order of what was dropped."""
    lost, back = sum(len(line.lost) for line in dropped), sum(len(line.put_back) for line in dropped)
    if back == lost:
        return "it" if lost == 1 else "all of it"
    return _join(str(len(line.put_back)) for line in dropped) if back else "none of it"


def count_items(number: int, kind: Kind) -> str:
    """Return ``1 rule`` or ``3 rules``."""
    return count(number, kind.removesuffix("s"))


class Replacement(NamedTuple):
    """What a compaction put in place of the conversation; ``text`` is ``None`` if it cannot be read."""

    text: str | None
    has_summary: bool


def find_replacement(records: Iterable[Record]) -> Replacement | None:
    """Return what the first compaction among the records left, up to the next reply; None if it is missing or incomplete."""
    summary: str | None = None
    texts: list[str] = []
    is_compacted = is_whole = False
    for record in records:
        if record.actor is not None:
            continue
        compaction = record.compaction
        if compaction is not None and compaction.trigger != "micro":
            if is_compacted and compaction.summary is None:
                break  # the next one
            is_compacted, summary = True, summary or compaction.summary
            is_whole = is_whole or bool(record.messages)  # without them, its summary is on a line of its own
        elif is_compacted and record.kind is RecordKind.REPEATED:
            texts += _texts_of(record)
        elif is_compacted and record.kind is RecordKind.REPLY:
            break
    if not (is_whole or summary or texts):
        return None
    return Replacement(text=summary or "\n\n".join(texts) or None, has_summary=not texts)


def _texts_of(record: Record) -> Iterator[str]:
    for block in record.blocks:
        if isinstance(block, Text | ToolResult):
            yield block.text
        elif isinstance(block, ToolUse):
            yield from all_texts(block.input)


def build_receipt(
    log: ResumeLog, left: str | None, restored: str = "", *, has_summary: bool = True
) -> Receipt:
    """Return what a compaction dropped that left this text, and what of that ``restored`` has; None cannot be read."""
    return Receipt(
        lines=tuple(_lines(log, _Searched(left or "", is_summary=has_summary), _Searched(restored))),
        is_opaque=left is None,
        has_summary=has_summary,
    )


def _lines(log: ResumeLog, left: _Searched, restored: _Searched) -> Iterator[Line]:
    context = log.critical_context
    for kind, items, is_in in (
        ("rules", _rules(context.get("user_rules")), _states),
        ("pins", _texts(context.get("pins")), _states),
        (
            "commands",
            [markdown.command_text(text) for text in _texts(context.get("commands"))],
            _contains_command,
        ),
        ("files", _keys(context.get("files")), _file_matcher(_keys(context.get("files")))),
    ):
        unique = [*dict.fromkeys(items)]
        lost = tuple(item for item in unique if not is_in(left, item))
        put_back = tuple(item for item in lost if is_in(restored, item))
        if unique:
            yield Line(kind=kind, total=len(unique), lost=lost, put_back=put_back)  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Searched:
    """A text in which many items are looked for: it may be a whole conversation, so it is split up once."""

    text: str
    is_summary: bool = True  # otherwise what is kept is there word for word

    @cached_property
    def flat(self) -> str:
        return " ".join(self.text.split())

    @cached_property
    def words(self) -> str:
        return " ".join(_words(self.text))

    @cached_property
    def paragraphs(self) -> Mapping[str, frozenset[int]]:
        """The numbers of the paragraphs in which each word is."""
        found: dict[str, set[int]] = {}
        for number, paragraph in enumerate(self.text.split("\n\n")):
            for word in {*_words(paragraph)}:
                found.setdefault(word, set()).add(number)
        return {word: frozenset(numbers) for word, numbers in found.items()}


def _rules(value: Any) -> list[str]:
    """Return the rules in force; losing a superseded one does not matter."""
    quotes = [markdown.user_quote(text) for text in _texts(value) if not markdown.is_superseded(text)]
    return [quote for quote in quotes if quote]


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _keys(value: Any) -> list[str]:
    return [*value] if isinstance(value, dict) else _texts(value)


def _states(searched: _Searched, rule: str) -> bool:
    words = " ".join(_words(rule))
    return words in searched.words or (searched.is_summary and _mentions(searched, rule))


def _mentions(searched: _Searched, item: str) -> bool:
    words = _words(item)
    long_words = {word for word in words if len(word) >= _MIN_WORD_CHARS} or {*words}
    found = Counter(number for word in long_words for number in searched.paragraphs.get(word, ()))
    return any(number >= len(long_words) * _MIN_SHARE for number in found.values())


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _contains_command(searched: _Searched, command: str) -> bool:
    return " ".join(command.split()) in searched.flat


def _contains_name(searched: _Searched, name: str) -> bool:
    return contains(searched.text, Claim("name", name, 0, 0))


def _file_matcher(files: Iterable[str]) -> _Contains:
    """Return a test by path, or by file name where only one file of the log has that name."""
    counts = Counter(path.rpartition("/")[2] for path in files)

    def test(searched: _Searched, path: str) -> bool:
        name = path.rpartition("/")[2]
        return _contains_name(searched, path) or (
            counts[name] == 1 and bool(name) and _contains_name(searched, name)
        )

    return test


def _join(parts: Iterable[str]) -> str:
    """Return ``a``, ``a and b``, or ``a, b and c``."""
    *first, last = [*parts] or [""]
    return f"{', '.join(first)} and {last}" if first else last
