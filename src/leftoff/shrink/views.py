"""What the live conversation still shows of files, line by line: which lines of an old look are gone, and which stand elsewhere.

A line is *gone* when a later edit replaced it whole, or the file was written anew. It is *shown later* when it and its neighbours
stand together in a later look, edit or writing of the same file, so that nothing is lost with the older copy.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from heapq import nlargest
from operator import itemgetter
from typing import NamedTuple

from leftoff.model.actions import Changed, Looked, Wrote
from leftoff.shrink.placeholders import parsed
from leftoff.shrink.steps import Step, Told

_NUMBERED = re.compile(r"[ ]*\d+(?:→|\t)")  # how agents show the lines of a file
_TOGETHER = 3  # lines that must stand together elsewhere
_MARGIN = 8
_SHORTEST_STRETCH = 4
_SNIPPET_LINES = 5
_GONE = "\0"

_WORD = re.compile(r"\w+")
_TELLING_WORDS = 3

Shingle = tuple[str, ...]
FileChange = tuple[int, Changed | Wrote]  # and the order of its call


class FileText(NamedTuple):
    """A stretch of a file that a call shows or writes. ``shown`` are its lines as they stand in the conversation."""

    order: int
    path: str
    lines: tuple[str, ...]
    shown: tuple[str, ...]


@dataclass(slots=True)
class Files:
    """All that a conversation shows and does of files, by the order of its calls."""

    looks: dict[int, FileText] = field(default_factory=dict)
    written: dict[int, list[FileText]] = field(default_factory=dict)  # the new text of edits and writings
    changed: dict[str, list[FileChange]] = field(default_factory=dict)  # in the order of the calls
    _inner: dict[str, frozenset[str]] = field(default_factory=dict)

    def gone(self, text: FileText) -> list[bool]:
        """Of each of its lines, whether it is no longer in the file."""
        return gone(text, self.changes_since(text.path, text.order), self._inner_words)

    def changes_since(self, path: str, order: int) -> list[FileChange]:
        """What later calls did to the file."""
        changes = self.changed.get(path, [])
        return changes[bisect_right(changes, order, key=itemgetter(0)) :]

    def _inner_words(self, text: str) -> frozenset[str]:
        """Each old text is looked for in every older look: its words are found once."""
        found = self._inner.get(text)
        if found is None:
            found = self._inner[text] = inner_words(text)
        return found

    def texts(self, order: int) -> list[FileText]:
        """What that call shows and writes."""
        look = self.looks.get(order)
        return [*([look] if look else []), *self.written.get(order, ())]


def files_of(told: Sequence[Told]) -> Files:
    """What a conversation shows of files. What was cut shows nothing, and an input that was cut has changed nothing."""
    files = Files()
    for order, step in enumerate(told):
        if not isinstance(step, Step) or not step.passed:
            continue
        for action in step.actions:
            if isinstance(action, Looked | Changed | Wrote):
                _add(files, order, action, step)
    return files


def inner_words(text: str) -> frozenset[str]:
    """The longest words of a text that something stands on both sides of: who has not all of them as words has not the text."""
    words = {word[0] for word in _WORD.finditer(text) if word.start() > 0 and word.end() < len(text)}
    return frozenset(nlargest(_TELLING_WORDS, words, key=lambda word: (len(word), word)))


def gone(
    look: FileText,
    changes: Sequence[FileChange],
    inner: Callable[[str], frozenset[str]] = inner_words,
) -> list[bool]:
    """Of each line, whether it is no longer in the file. ``inner`` gives the ``inner_words`` of an old text."""
    text = "\n".join(look.lines)
    words = {*_WORD.findall(text)} if changes else set()  # looking for every old text in it would take long
    for order, change in changes:
        if order <= look.order:
            continue
        if isinstance(change, Wrote):
            return [True] * len(look.lines)
        at = text.find(change.old) if change.old and words.issuperset(inner(change.old)) else -1
        if at >= 0:
            begins, ends = _differing(change.old, change.new)
            text = text[: at + begins] + _GONE * (ends - begins) + text[at + ends :]
    found, at = [], 0
    for line in look.lines:
        found.append(bool(line) and text[at : at + len(line)] == _GONE * len(line))
        at += len(line) + 1
    return found


def shown_in(lines: Sequence[str], later: Set[Shingle], too: Set[Shingle] = frozenset()) -> list[bool]:
    """Of each line, whether it stands in later texts together with all its neighbours; ``too`` is of one more text.

    The two are asked one after the other: of a file with many edits the first is large, and joining them would copy it for each.
    """
    known = [shingle in later or shingle in too for shingle in shingles(lines)]
    last = len(known) - 1
    return [all(known[max(0, at - _TOGETHER + 1) : min(at, last) + 1]) for at in range(len(lines))]


def without_seams(shown: Sequence[bool], gone: Sequence[bool]) -> list[bool]:
    """Which lines that are shown later can be spared: an edit to come may begin in them and end in a line that is not.

    So a stretch keeps a margin on each side where the text goes on, and a short one is left as it is.
    """
    spare = [False] * len(shown)
    at = 0
    while at < len(shown):
        begin = at
        while at < len(shown) and (shown[at] or gone[at]):
            at += 1
        first = begin if begin == 0 else begin + _MARGIN
        behind = at if at == len(shown) else at - _MARGIN
        if behind - first >= _SHORTEST_STRETCH or (begin == 0 and at == len(shown)):
            spare[first:behind] = [True] * (behind - first)
        at += at == begin
    return spare


def shingles(lines: Sequence[str]) -> list[Shingle]:
    """Every stretch of lines that stand together; a shorter text is one stretch."""
    return [tuple(lines[at : at + _TOGETHER]) for at in range(max(1, len(lines) - _TOGETHER + 1))]


def plain(line: str) -> str:
    """A line without the number that agents put before it."""
    return _NUMBERED.sub("", line, count=1) if _NUMBERED.match(line) else line


def _differing(old: str, new: str) -> tuple[int, int]:
    """Where in ``old`` the lines lie that ``new`` does not begin or end with too."""
    was, now = old.split("\n"), new.split("\n")
    most = min(len(was), len(now))
    same = next((at for at in range(most) if was[at] != now[at]), most)
    same_end = next((at for at in range(most - same) if was[-1 - at] != now[-1 - at]), most - same)
    begins = min(len("\n".join(was[:same])) + bool(same), len(old))
    ends = len(old) - len("\n".join(was[len(was) - same_end :])) - bool(same_end)
    return begins, max(begins, ends)


def _add(files: Files, order: int, action: Looked | Changed | Wrote, step: Step) -> None:
    path = _key(action.path)
    answer = step.answer.text if step.answer else ""
    shows = (
        isinstance(action, Looked) or answer.count("\n") >= _SNIPPET_LINES
    )  # of an edit, what is there now
    if shows:
        shown = tuple(answer.split("\n"))
        files.looks[order] = FileText(order, path, tuple(plain(line) for line in shown), shown)
    if isinstance(action, Looked):
        return
    new = action.new if isinstance(action, Changed) else action.text
    if parsed(new) is not None:
        return
    files.changed.setdefault(path, []).append((order, action))
    lines = tuple(new.split("\n"))
    files.written.setdefault(order, []).append(FileText(order, path, lines, lines))


def _key(path: str) -> str:
    return path.removeprefix("./")
