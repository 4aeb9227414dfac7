"""The receipt of a compaction: what the agent's summary lost against the log, and what leftoff put back.

A rule or pin counts as kept when its words stand in the summary, in their order or (three quarters of those that tell) in
one paragraph; a command when it stands there as it was typed; a file by its path, or by its name where no other file is
called so; a name as a whole word. That is generous to the summary, so what is called lost is lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

from leftoff.model import entries
from leftoff.model.claims import Claim, holds
from leftoff.model.resume_log import ResumeLog
from leftoff.model.values import dataclass

Kind = Literal["rules", "pins", "commands", "files", "names"]
Holds = Callable[[str, str], bool]  # text, item

_WORD = re.compile(r"\w[\w./-]*\w|\w")
_TELLING_CHARS = 4
_KEPT_SHARE = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One kind of thing in the log: how many there are, which the summary lost, which of those were put back."""

    kind: Kind
    total: int
    lost: tuple[str, ...]
    put_back: tuple[str, ...]

    @property
    def kept(self) -> int:
        """How many the summary still holds."""
        return self.total - len(self.lost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a compaction lost. ``is_opaque``: nobody can read the summary, so everything counts as lost."""

    lines: tuple[Line, ...]
    is_opaque: bool

    @property
    def still_missing(self) -> Mapping[Kind, tuple[str, ...]]:
        """What was lost and not put back; to be told at the next event."""
        return {
            line.kind: left
            for line in self.lines
            if (left := tuple(item for item in line.lost if item not in line.put_back))
        }

    def __str__(self) -> str:
        put_back = _and(f"{len(line.put_back)}" for line in self.lines if line.lost)
        if self.is_opaque:
            told = _and(f"{len(line.put_back)} {line.kind}" for line in self.lines if line.put_back)
            return f"The summary of this compaction cannot be read; leftoff put back {told or 'nothing'}"
        lost = _and(f"{len(line.lost)} of {line.total} {line.kind}" for line in self.lines if line.lost)
        if lost:
            return f"Compaction lost {lost}; leftoff put back {put_back}"
        kept = _and(f"{line.total} {line.kind}" for line in self.lines)
        return (
            f"Compaction kept all {kept} of the log" if kept else "Compaction had nothing of the log to lose"
        )


def receipt(log: ResumeLog, summary: str | None, restored: str = "") -> Receipt:
    """What ``summary`` lost against the log, and what of that ``restored`` holds; None: the summary cannot be read."""
    return Receipt(
        lines=tuple(_lines(log, summary or "", restored)),
        is_opaque=summary is None,
    )


def _lines(log: ResumeLog, summary: str, restored: str) -> Iterator[Line]:
    context = log.critical_context
    for kind, items, held in (
        ("rules", _rules(context.get("user_rules")), _says),
        ("pins", _texts(context.get("pins")), _says),
        (
            "commands",
            [entries.command_of(text) for text in _texts(context.get("commands"))],
            _quotes,
        ),
        ("files", _keys(context.get("files")), _file_test(_keys(context.get("files")))),
        ("names", _names(context.get("names")), _names_it),
    ):
        unique = [*dict.fromkeys(items)]
        lost = tuple(item for item in unique if not held(summary, item))
        put_back = tuple(item for item in lost if held(restored, item))
        if unique:
            yield Line(kind=kind, total=len(unique), lost=lost, put_back=put_back)  # type: ignore[arg-type]


def _rules(value: Any) -> list[str]:
    """Rules in force; a superseded one is no loss."""
    said = [entries.users_words(text) for text in _texts(value) if not entries.is_superseded(text)]
    return [words for words in said if words]


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _keys(value: Any) -> list[str]:
    return [*value] if isinstance(value, dict) else _texts(value)


def _names(value: Any) -> list[str]:
    """The names themselves: ``{file: "name, name — reason"}`` or a list of such texts."""
    texts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    named = (text.partition(entries.REASON)[0].split(",") for text in texts if isinstance(text, str))
    return [name.strip(" `") for names in named for name in names if name.strip(" `")]


def _says(text: str, rule: str) -> bool:
    wanted = _words(rule)
    if " ".join(wanted) in " ".join(_words(text)):
        return True
    telling = {word for word in wanted if len(word) >= _TELLING_CHARS} or {*wanted}
    return any(
        len(telling & {*_words(paragraph)}) >= len(telling) * _KEPT_SHARE for paragraph in text.split("\n\n")
    )


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _quotes(text: str, command: str) -> bool:
    return " ".join(command.split()) in " ".join(text.split())


def _names_it(text: str, name: str) -> bool:
    return holds(text, Claim("name", name, 0, 0))


def _file_test(files: Iterable[str]) -> Holds:
    """By path, or by the last part of it where only one file of the log is called so."""
    called = Counter(path.rpartition("/")[2] for path in files)

    def test(text: str, path: str) -> bool:
        name = path.rpartition("/")[2]
        return _names_it(text, path) or (called[name] == 1 and bool(name) and _names_it(text, name))

    return test


def _and(parts: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *first, last = [*parts] or [""]
    return f"{', '.join(first)} and {last}" if first else last
