"""Rank what the recent calls and texts name: identifiers with the file they belong to, paths, commands.

The weights were measured at 140 cuts of real sessions: what the agent does next names what was last mentioned, whether it was
written or only read; being written and being seen again add to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from leftoff.extraction import wording
from leftoff.extraction.state import RecentText, Ref

_HALF_LIFE = 60  # recent texts
_WRITTEN, _READ, _AGAIN = 1.0, 0.5, 0.8
_LENGTH_POWER = 0.4  # a long name takes the space of two short ones
_PATH = re.compile(
    r"(?<![\w/.@~$:-])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,7}(?![\w/])"
)
_FILE_CHARS = 12  # what stands around the path of a file that is listed for its names only
_DIFF_SIDE = re.compile(r"\A[ab]/")
_TICKED_COMMAND = re.compile(r"`[\w./-]+ [^`\n]{2,120}`")
_COMMAND_LINE = re.compile(r"[ \t]*\$?[ ]*[\w./-]+ [^\n]{2,120}")
_AROUND_COMMAND = " $`"
_Finder: TypeAlias = Callable[[str], list[str]]


class Name(NamedTuple):
    """An identifier, path or command, the file it was last seen in, its score, and the record that shows it."""

    text: str
    path: str
    score: float
    ref: Ref


def rank_names(recent: list[RecentText]) -> list[Name]:
    """Return the identifiers of the recent calls and texts, best first."""
    conversation = [each for each in recent if each.kind in ("Said", "Asked")]
    found = {name.text: name for name in _rank(conversation, wording.find_code_spans)}
    found |= {name.text: name for name in _rank(recent, wording.find_identifiers)}
    return sorted(found.values(), key=_sort_key)


def rank_paths(recent: list[RecentText]) -> list[Name]:
    """Return the paths that search results, output and texts name, best first."""
    return _rank(recent, _find_paths)


def _find_paths(text: str) -> list[str]:
    """Find paths word by word: a path has no blank in it, and most words have no slash."""
    found = [path for word in text.split() if "/" in word for path in _PATH.findall(word)]
    return [_DIFF_SIDE.sub("", path) for path in found]


def rank_mentioned_commands(recent: list[RecentText], programs: set[str]) -> list[Name]:
    """Return the commands of programs that the session uses, where a text names them without running them."""

    def find(text: str) -> list[str]:
        lines = [
            line
            for line in text.split("\n")
            # The first word is compared first: nearly every line of a text has the form of a command.
            if line.lstrip(_AROUND_COMMAND).partition(" ")[0] in programs and _COMMAND_LINE.fullmatch(line)
        ]
        spans = (span.strip(_AROUND_COMMAND) for span in [*_TICKED_COMMAND.findall(text), *lines])
        return [span for span in spans if span.split(" ", 1)[0] in programs]

    return _rank([each._replace(asked="" if each.kind == "Ran" else each.asked) for each in recent], find)


def _rank(recent: list[RecentText], find: _Finder) -> list[Name]:
    found: dict[str, Name] = {}
    for age, source in zip(range(len(recent) - 1, -1, -1), recent, strict=True):
        fresh = 0.5 ** (age / _HALF_LIFE)
        for text, weight in _weigh(source, find):
            known = found.get(text)
            if known is None:
                found[text] = Name(text, source.path, (weight + _AGAIN) * fresh, source.ref)
            else:
                score = max(known.score, weight * fresh) + _AGAIN * fresh
                found[text] = Name(text, source.path or known.path, score, source.ref)
    return sorted(found.values(), key=_sort_key)


def _sort_key(name: Name) -> tuple[float, str]:
    return -name.score / (len(name.text) + 2) ** _LENGTH_POWER, name.text


def _weigh(source: RecentText, find: _Finder) -> Iterator[tuple[str, float]]:
    written = dict.fromkeys(find(source.asked))
    for text in written:
        yield text, _WRITTEN
    for text in dict.fromkeys(find(source.answer)):
        if text not in written:
            yield text, _READ


def select_names(names: Iterable[Name], chars: int, listed_files: Iterable[str]) -> list[Name]:
    """Return the first names that fit into ``chars`` as they will be written; a file not yet listed takes space too."""
    kept, files = [], {*listed_files}
    for name in names:
        chars -= len(name.text) + 2 + (0 if name.path in files else len(name.path) + _FILE_CHARS)
        if chars < 0:
            break
        files.add(name.path)
        kept.append(name)
    return kept


def group_by_file(names: Iterable[Name]) -> dict[str, list[Name]]:
    """Group names by the file they belong to; the file of the best name comes first."""
    grouped: dict[str, list[Name]] = {}
    for name in names:
        grouped.setdefault(name.path, []).append(name)
    return grouped
