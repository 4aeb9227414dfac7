"""The receipt of a compaction: what the agent's summary lost against the log, and what leftoff put back.

A rule or pin counts as kept when its words are in the summary in their order, or three quarters of its longer words in one
paragraph; a command when it is there as typed; a file by its path, or by its name where no other file has it; a name as a whole word.
This is generous to the summary, so what is called lost is lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from leftoff.core import markdown
from leftoff.core.quantities import count
from leftoff.core.resume_log import ResumeLog
from leftoff.resume_logs.claims import Claim, contains

Kind = Literal["rules", "pins", "commands", "files", "names"]
_Contains = Callable[[str, str], bool]  # text, item

_WORD = re.compile(r"\w[\w./-]*\w|\w")
_MIN_WORD_CHARS = 4
_MIN_SHARE = 0.75


class Line(NamedTuple):
    """One kind of item in the log: how many there are, which the summary lost, and which of those were put back."""

    kind: Kind
    total: int
    lost: tuple[str, ...]
    put_back: tuple[str, ...]

    @property
    def kept(self) -> int:
        """How many the summary still contains."""
        return self.total - len(self.lost)


class Receipt(NamedTuple):
    """What a compaction lost. ``is_opaque`` means that the summary cannot be read, so everything counts as lost."""

    lines: tuple[Line, ...]
    is_opaque: bool

    @property
    def still_missing(self) -> Mapping[Kind, tuple[str, ...]]:
        """What was lost and not put back, to be given to the agent at the next event."""
        return {
            line.kind: left
            for line in self.lines
            if (left := tuple(item for item in line.lost if item not in line.put_back))
        }

    def __str__(self) -> str:
        put_back = _join(f"{len(line.put_back)}" for line in self.lines if line.lost)
        if self.is_opaque:
            restored = _join(
                count_items(len(line.put_back), line.kind) for line in self.lines if line.put_back
            )
            return f"The summary of this compaction cannot be read; leftoff put back {restored or 'nothing'}"
        lost = _join(
            f"{len(line.lost)} of {count_items(line.total, line.kind)}" for line in self.lines if line.lost
        )
        if lost:
            return f"Compaction lost {lost}; leftoff put back {put_back}"
        kept = _join(count_items(line.total, line.kind) for line in self.lines)
        return (
            f"Compaction kept all of the log: {kept}" if kept else "Compaction had nothing of the log to lose"
        )


def count_items(number: int, kind: Kind) -> str:
    """Return ``1 rule`` or ``3 rules``."""
    return count(number, kind.removesuffix("s"))


def build_receipt(log: ResumeLog, summary: str | None, restored: str = "") -> Receipt:
    """Return what ``summary`` lost against the log, and what of that ``restored`` has; None if the summary cannot be read."""
    return Receipt(
        lines=tuple(_lines(log, summary or "", restored)),
        is_opaque=summary is None,
    )


def _lines(log: ResumeLog, summary: str, restored: str) -> Iterator[Line]:
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
        ("names", _names(context.get("names")), _contains_name),
    ):
        unique = [*dict.fromkeys(items)]
        lost = tuple(item for item in unique if not is_in(summary, item))
        put_back = tuple(item for item in lost if is_in(restored, item))
        if unique:
            yield Line(kind=kind, total=len(unique), lost=lost, put_back=put_back)  # type: ignore[arg-type]


def _rules(value: Any) -> list[str]:
    """Return the rules in force; losing a superseded one does not matter."""
    quotes = [markdown.user_quote(text) for text in _texts(value) if not markdown.is_superseded(text)]
    return [quote for quote in quotes if quote]


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _keys(value: Any) -> list[str]:
    return [*value] if isinstance(value, dict) else _texts(value)


def _names(value: Any) -> list[str]:
    """Return the names in ``{file: "name, name — reason"}`` or in a list of such texts."""
    texts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    named = (text.partition(markdown.REASON)[0].split(",") for text in texts if isinstance(text, str))
    return [name.strip(" `") for names in named for name in names if name.strip(" `")]


def _states(text: str, rule: str) -> bool:
    words = _words(rule)
    if " ".join(words) in " ".join(_words(text)):
        return True
    long_words = {word for word in words if len(word) >= _MIN_WORD_CHARS} or {*words}
    return any(
        len(long_words & {*_words(paragraph)}) >= len(long_words) * _MIN_SHARE
        for paragraph in text.split("\n\n")
    )


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _contains_command(text: str, command: str) -> bool:
    return " ".join(command.split()) in " ".join(text.split())


def _contains_name(text: str, name: str) -> bool:
    return contains(text, Claim("name", name, 0, 0))


def _file_matcher(files: Iterable[str]) -> _Contains:
    """Return a test by path, or by file name where only one file of the log has that name."""
    counts = Counter(path.rpartition("/")[2] for path in files)

    def test(text: str, path: str) -> bool:
        name = path.rpartition("/")[2]
        return _contains_name(text, path) or (counts[name] == 1 and bool(name) and _contains_name(text, name))

    return test


def _join(parts: Iterable[str]) -> str:
    """Return ``a``, ``a and b``, or ``a, b and c``."""
    *first, last = [*parts] or [""]
    return f"{', '.join(first)} and {last}" if first else last
