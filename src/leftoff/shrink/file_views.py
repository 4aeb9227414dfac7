"""What the live conversation still shows of files, line by line.

A line of an old look is *gone* when a later edit replaced all of it, or when the file was written again. It is *shown later* when it and
its neighbours appear together in a later look, edit or write of the same file; then nothing is lost with the older copy.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from heapq import nlargest
from operator import itemgetter
from typing import NamedTuple

from leftoff.core.actions import Changed, Looked, Wrote
from leftoff.shrink.placeholder import parse_placeholder
from leftoff.shrink.steps import ConversationItem, Step

_NUMBERED = re.compile(r"[ ]*\d+(?:→|\t)")  # how agents number the lines of a file
_TOGETHER = 3  # lines that must appear together elsewhere
_MARGIN = 8
_SHORTEST_STRETCH = 4
_SNIPPET_LINES = 5
_GONE = "\0"
_WORD = re.compile(r"\w+")
_DISTINCTIVE_WORDS = 3
Shingle = tuple[str, ...]
FileChange = tuple[int, Changed | Wrote]  # with the index of its call


class FileText(NamedTuple):
    """A stretch of a file that a call shows or writes. ``shown`` holds its lines as they appear in the conversation."""

    call_index: int
    path: str
    lines: tuple[str, ...]
    shown: tuple[str, ...]


@dataclass(slots=True)
class FileHistory:
    """Everything a conversation shows of files and does to them, by the index of its calls."""

    looks: dict[int, FileText] = field(default_factory=dict)
    written: dict[int, list[FileText]] = field(default_factory=dict)  # the new text of edits and writes
    changed: dict[str, list[FileChange]] = field(default_factory=dict)  # in the order of the calls
    _inner: dict[str, frozenset[str]] = field(default_factory=dict)

    def gone(self, text: FileText) -> list[bool]:
        """Say of each line whether it is no longer in the file."""
        return lines_gone(text, self.changes_since(text.path, text.call_index), self._inner_words)

    def changes_since(self, path: str, index: int) -> list[FileChange]:
        """Return what later calls did to the file."""
        changes = self.changed.get(path, [])
        return changes[bisect_right(changes, index, key=itemgetter(0)) :]

    def _inner_words(self, text: str) -> frozenset[str]:
        """Cache ``inner_words``: each old text is searched for in every older look."""
        words = self._inner.get(text)
        if words is None:
            words = self._inner[text] = inner_words(text)
        return words

    def texts(self, index: int) -> list[FileText]:
        """Return what that call shows and writes."""
        look = self.looks.get(index)
        return [*([look] if look else []), *self.written.get(index, ())]


class LastView(NamedTuple):
    """A call that shows or changes files: when they were last worked on, and whether they are still as it shows them."""

    last_work: int
    is_current: bool


def last_views(conversation: Sequence[ConversationItem]) -> dict[str, LastView]:
    """Return the calls that show or change a file, by id."""
    worked: dict[str, int] = {}
    changed: dict[str, int] = {}
    paths: dict[str, tuple[int, set[str]]] = {}
    for index, step in enumerate(conversation):
        if not isinstance(step, Step):
            continue
        found = {each.path for each in step.actions if isinstance(each, Looked | Changed | Wrote)}
        if found:
            paths[step.call_id] = index, found
            worked |= dict.fromkeys(found, index)
            changed |= {each.path: index for each in step.actions if isinstance(each, Changed | Wrote)}
    return {
        call_id: LastView(
            last_work=max(worked[path] for path in found),
            is_current=all(changed.get(path, -1) < index for path in found),
        )
        for call_id, (index, found) in paths.items()
    }


def file_history(conversation: Sequence[ConversationItem]) -> FileHistory:
    """Collect what a conversation shows of files. A result that was cut shows nothing; an input that was cut changes nothing."""
    history = FileHistory()
    for index, step in enumerate(conversation):
        if not isinstance(step, Step) or not step.succeeded:
            continue
        for action in step.actions:
            if isinstance(action, Looked | Changed | Wrote):
                _add(history, index, action, step)
    return history


def _add(history: FileHistory, index: int, action: Looked | Changed | Wrote, step: Step) -> None:
    path = action.path.removeprefix("./")
    answer = step.answer.text if step.answer else ""
    # Some agents answer an edit with the lines as they are now.
    if isinstance(action, Looked) or answer.count("\n") >= _SNIPPET_LINES:
        shown = tuple(answer.split("\n"))
        lines = tuple(without_line_number(line) for line in shown)
        history.looks[index] = FileText(index, path, lines, shown)
    if isinstance(action, Looked):
        return
    new = action.new if isinstance(action, Changed) else action.text
    if parse_placeholder(new) is not None:
        return
    history.changed.setdefault(path, []).append((index, action))
    lines = tuple(new.split("\n"))
    history.written.setdefault(index, []).append(FileText(index, path, lines, lines))


def without_line_number(line: str) -> str:
    """Remove the number that agents put before a line."""
    return _NUMBERED.sub("", line, count=1) if _NUMBERED.match(line) else line


def inner_words(text: str) -> frozenset[str]:
    """Return the longest words inside a text, not at its edges: a text that lacks one of these words cannot contain it."""
    words = {word[0] for word in _WORD.finditer(text) if word.start() > 0 and word.end() < len(text)}
    return frozenset(nlargest(_DISTINCTIVE_WORDS, words, key=lambda word: (len(word), word)))


def lines_gone(
    look: FileText,
    changes: Sequence[FileChange],
    inner: Callable[[str], frozenset[str]] = inner_words,
) -> list[bool]:
    """Say of each line whether it is no longer in the file. ``inner`` returns the ``inner_words`` of an old text."""
    text = "\n".join(look.lines)
    words = {*_WORD.findall(text)} if changes else set()  # searching for every old text would take too long
    for index, change in changes:
        if index <= look.call_index:
            continue
        if isinstance(change, Wrote):
            return [True] * len(look.lines)
        at = text.find(change.old) if change.old and words.issuperset(inner(change.old)) else -1
        if at >= 0:
            begins, ends = _differing(change.old, change.new)
            text = text[: at + begins] + _GONE * (ends - begins) + text[at + ends :]
    gone, at = [], 0
    for line in look.lines:
        gone.append(bool(line) and text[at : at + len(line)] == _GONE * len(line))
        at += len(line) + 1
    return gone


def _differing(old: str, new: str) -> tuple[int, int]:
    """Return where the lines of ``old`` begin and end that are not also at the beginning or end of ``new``."""
    was, now = old.split("\n"), new.split("\n")
    most = min(len(was), len(now))
    same = next((at for at in range(most) if was[at] != now[at]), most)
    same_end = next((at for at in range(most - same) if was[-1 - at] != now[-1 - at]), most - same)
    begins = min(len("\n".join(was[:same])) + bool(same), len(old))
    ends = len(old) - len("\n".join(was[len(was) - same_end :])) - bool(same_end)
    return begins, max(begins, ends)


def lines_shown_in(lines: Sequence[str], later: Set[Shingle], too: Set[Shingle] = frozenset()) -> list[bool]:
    """Say of each line whether it appears in later texts together with all its neighbours; ``too`` holds one more text.

    The two sets are not joined: the first is large for a file with many edits, and joining would copy it each time.
    """
    known = [shingle in later or shingle in too for shingle in shingles(lines)]
    last = len(known) - 1
    return [all(known[max(0, at - _TOGETHER + 1) : min(at, last) + 1]) for at in range(len(lines))]


def shingles(lines: Sequence[str]) -> list[Shingle]:
    """Return every run of neighbouring lines; a shorter text is one run."""
    return [tuple(lines[at : at + _TOGETHER]) for at in range(max(1, len(lines) - _TOGETHER + 1))]


def droppable_lines(shown: Sequence[bool], gone: Sequence[bool]) -> list[bool]:
    """Say which of the lines shown later can be dropped.

    A future edit may begin in such a line and end in one that is shown only here. So a stretch keeps a margin on each side where the
    text continues, and a short stretch stays as it is.
    """
    droppable = [False] * len(shown)
    at = 0
    while at < len(shown):
        begin = at
        while at < len(shown) and (shown[at] or gone[at]):
            at += 1
        first = begin if begin == 0 else begin + _MARGIN
        behind = at if at == len(shown) else at - _MARGIN
        if behind - first >= _SHORTEST_STRETCH or (begin == 0 and at == len(shown)):
            droppable[first:behind] = [True] * (behind - first)
        at += at == begin
    return droppable
