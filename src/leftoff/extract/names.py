"""The names in play: identifiers of the last stretch, each with the file it belongs to, worthiest first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from leftoff.extract import words
from leftoff.extract.state import Glimpse, Ref

# Measured at 140 cuts of real sessions: what the agent does next speaks of what was last spoken of, written or merely read;
# being written and being met again add to it.
_HALF_LIFE = 60  # glimpses
_WRITTEN, _SEEN, _AGAIN = 1.0, 0.5, 0.8
_LENGTH_POWER = 0.4  # a long name takes the room of two short ones
_PATH = re.compile(
    r"(?<![\w/.@~$:-])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,7}(?![\w/])"
)


_FILE_CHARS = 12  # the words around a file of its own
_DIFF_SIDE = re.compile(r"\A[ab]/")
_TICKED_COMMAND = re.compile(r"`[\w./-]+ [^`\n]{2,120}`")
_COMMAND_LINE = re.compile(r"[ \t]*\$?[ ]*[\w./-]+ [^\n]{2,120}")
_AROUND_COMMAND = " $`"

_Finder: TypeAlias = Callable[[str], list[str]]


class Name(NamedTuple):
    """An identifier or a path, the file it was last met in, what it is worth, and the record that shows it."""

    text: str
    path: str
    worth: float
    ref: Ref


def in_play(glimpses: list[Glimpse]) -> list[Name]:
    """All names of the recent calls and words, worthiest first."""
    said = [glimpse for glimpse in glimpses if glimpse.kind in ("Said", "Asked")]
    found = {name.text: name for name in _ranked(said, words.ticked_in)}
    found |= {name.text: name for name in _ranked(glimpses, words.names_in)}
    return sorted(found.values(), key=_order)


def paths_in_play(glimpses: list[Glimpse]) -> list[Name]:
    """The same for files that were only spoken of: in search results, in output, in words."""
    return _ranked(glimpses, _paths_in)


def _paths_in(text: str) -> list[str]:
    """Word by word: a path has no blank in it, and most words have no slash."""
    found = [path for word in text.split() if "/" in word for path in _PATH.findall(word)]
    return [_DIFF_SIDE.sub("", path) for path in found]


def commands_spoken_of(glimpses: list[Glimpse], programs: set[str]) -> list[Name]:
    """Commands of programs that the session uses, where they were only spoken of: in instructions, plans and words."""

    def found_in(text: str) -> list[str]:
        lines = [
            line
            for line in text.split("\n")
            # By its first word before anything else: nearly every line of a text could be a command by its form.
            if line.lstrip(_AROUND_COMMAND).partition(" ")[0] in programs and _COMMAND_LINE.fullmatch(line)
        ]
        spans = (span.strip(_AROUND_COMMAND) for span in [*_TICKED_COMMAND.findall(text), *lines])
        return [span for span in spans if span.split(" ", 1)[0] in programs]

    return _ranked(
        [each._replace(asked="" if each.kind == "Ran" else each.asked) for each in glimpses], found_in
    )


def _ranked(glimpses: list[Glimpse], found_in: _Finder) -> list[Name]:
    found: dict[str, Name] = {}
    for age, glimpse in zip(range(len(glimpses) - 1, -1, -1), glimpses, strict=True):
        fresh = 0.5 ** (age / _HALF_LIFE)
        for text, weight in _weighed(glimpse, found_in):
            known = found.get(text)
            if known is None:
                found[text] = Name(text, glimpse.path, (weight + _AGAIN) * fresh, glimpse.ref)
            else:
                worth = max(known.worth, weight * fresh) + _AGAIN * fresh
                found[text] = Name(text, glimpse.path or known.path, worth, glimpse.ref)
    return sorted(found.values(), key=_order)


def _order(name: Name) -> tuple[float, str]:
    return -name.worth / (len(name.text) + 2) ** _LENGTH_POWER, name.text


def _weighed(glimpse: Glimpse, found_in: _Finder) -> Iterator[tuple[str, float]]:
    written = dict.fromkeys(found_in(glimpse.asked))
    for text in written:
        yield text, _WRITTEN
    for text in dict.fromkeys(found_in(glimpse.answer)):
        if text not in written:
            yield text, _SEEN


def best(names: Iterable[Name], chars: int, told_files: Iterable[str]) -> list[Name]:
    """The worthiest that fit as they will be written; a file that is not told yet takes room as well."""
    kept, files = [], {*told_files}
    for name in names:
        chars -= len(name.text) + 2 + (0 if name.path in files else len(name.path) + _FILE_CHARS)
        if chars < 0:
            break
        files.add(name.path)
        kept.append(name)
    return kept


def by_file(names: Iterable[Name]) -> dict[str, list[Name]]:
    """The names by the file they belong to; the file of the worthiest name first."""
    grouped: dict[str, list[Name]] = {}
    for name in names:
        grouped.setdefault(name.path, []).append(name)
    return grouped
