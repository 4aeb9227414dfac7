"""What in our documents is form and no content: keys, headings, labels, markers. Whoever masks words leaves it, and does not count it.

A key of our formats is a plain name; one that is none (a path, a name with capitals) is somebody's words, and so is every key
below what a person or an agent fills. Words that are read back from Markdown are named one by one: a label of somebody else's
looks the same. Where words reach over a label, what stands outside of it is masked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain, count
from typing import Any

from leftoff.conversations.summary import END, START
from leftoff.library.normal import places, without
from leftoff.model.values import dataclass
from leftoff.projects.body import CRITICAL, FILES, LISTS, NOTES
from leftoff.projects.facts import TO_DO

_Span = tuple[int, int]
_Find = Callable[[str], list[_Span]]
_Change = Callable[[str], str]
_KEY = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_FREE = {"critical_context", "args", "hashes"}  # whose keys are words
_CLOSED = {
    "standing",
    "type",
    "derivation",
    "basis",
    "window_basis",
    "threshold_reached",
}  # whose values are ours
_CHAT_LABELS = (
    *("Session ID", "Date", "Agent", "Agent Path", "Total Queries", "Resumed From", "Previous Session"),
    *("Context", "You"),
    *("Background Context", "Current Session Summary", "Topics Discussed", "Decisions Made", "Pending"),
)
_LABELS = sorted({*_CHAT_LABELS, *(label for _, label in LISTS.values())})
_HEADINGS = (CRITICAL, FILES, *NOTES)
_MARKDOWN = re.compile(
    "^(?:"
    + "|".join(
        (
            r"# Session Resume Log: ",
            rf"\*\*(?:{'|'.join(map(re.escape, _LABELS))}):?\*\*:?",
            rf"## +(?:{'|'.join(map(re.escape, _HEADINGS))})[ \t#]*$",
            r"## (?:Session Restored|Query \d+) ",
            r"### Session \d+",
            *map(re.escape, (START, END, TO_DO)),
            r"<!-- leftoff: chat, schema \d{1,3} -->",
        )
    )
    + ")",
    re.MULTILINE,
)
_NAMES = ("leftoff", "resumelogs", "sessions", "chats")  # by their letters
_PATH = re.compile(
    r"/\.leftoff/(?:(?:resume-logs|sessions|chats)/)?(?:session-)?|/session-(?=[^/\s]+\.(?:md|json)\b)"
)
_FRONT = re.compile(r"\A---\r?\n(?P<body>.*?)^---\r?$", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(
    r"(?P<key>[ \t]*(?:- )?(?:[a-z][a-z0-9_]*:(?=\s|$))?[ \t]*)(?P<value>.*?)(?P<rest>\s+#.*|\s*)\Z",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Masking:
    """A change that puts a mask in each place that ``find`` finds: [start, end), one behind the other."""

    find: _Find
    mask: str

    def __call__(self, text: str) -> str:
        """The text with the mask in them."""
        return without(text, self.find(text), self.mask)


def changed(value: Any, change: _Change) -> Any:
    """A value of JSON or YAML with each string in it changed, but for what is form."""
    return _changed(value, change, lambda key: key if _KEY.fullmatch(key) else change(key))


def changed_markdown(text: str, change: Masking, changed_front: _Change) -> str:
    """The same of Markdown; the front matter, whose values ``changed_front`` changes as YAML, stays valid."""
    front = _FRONT.match(text)
    if front is None:
        return _changed_around(_MARKDOWN, text, change)
    lines = changed_front(front["body"]).splitlines(keepends=True)
    head = "".join(changed_line(line, change) for line in lines)
    body = _changed_around(_MARKDOWN, text[front.end("body") + 3 :], change)
    return text[: front.start("body")] + head + "---" + body


def sparing_names(words: str, change: Masking) -> Masking:
    """What leaves the names that we give to folders and files ourselves, where ``words`` are such a name."""
    if any(words in each for each in _NAMES):
        return Masking(find=partial(_around, _PATH, change.find), mask=change.mask)
    return change


def merged(found: Iterable[_Span]) -> list[_Span]:
    """The same places in order; of those that overlap one."""
    done: list[_Span] = []
    for start, end in sorted(found):
        if done and start < done[-1][1]:
            done[-1] = done[-1][0], max(end, done[-1][1])
        else:
            done.append((start, end))
    return done


def _changed(value: Any, change: _Change, name: _Change) -> Any:
    match value:
        case str():
            return change(value)
        case list():
            return [_changed(each, change, name) for each in value]
        case dict():
            return _changed_entries(value, change, name)
        case int() | float() if name is change and not isinstance(value, bool):  # others are ours
            written = str(value)
            after = change(written)
            return value if after == written else after
        case _:
            return value


def _changed_entries(entries: dict[Any, Any], change: _Change, name: _Change) -> dict[Any, Any]:
    done: dict[Any, Any] = {}
    for key, each in entries.items():
        is_ours = key in _CLOSED and name is not change and isinstance(each, str)
        after = each if is_ours else _changed(each, change, change if key in _FREE else name)
        done[_untaken(name(key) if isinstance(key, str) else key, done)] = after
    return done


def _untaken(key: Any, taken: dict[Any, Any]) -> Any:
    """The key, with a number where another came to the same mask: each keeps its value."""
    numbered = (f"{key} ({number})" for number in count(2))
    return next(each for each in chain([key], numbered) if each not in taken)


def _changed_around(form: re.Pattern[str], text: str, change: Masking) -> str:
    return without(text, _around(form, change.find, text), change.mask)


def _around(form: re.Pattern[str], find: _Find, text: str) -> list[_Span]:
    """What is found between our words, and what stands there of that which reaches over them."""
    own, whole = [each.span() for each in form.finditer(text)], find(text)
    starts, ends = [0, *(end for _, end in own)], [*(start for start, _ in own), len(text)]
    return [
        (start + at, end + at)
        for at, past in zip(starts, ends, strict=True)
        for start, end in _between(text, at, past, whole, find)
    ]


def _between(text: str, at: int, past: int, whole: Iterable[_Span], find: _Find) -> list[_Span]:
    """The places in a piece of a text: found in it alone, and its part of those found in the whole, from letter to letter."""
    parts = [(max(start, at), min(end, past)) for start, end in whole if start < past and end > at]
    letters = [(start - at, places(text[start:end])) for start, end in parts]
    reaching = [(start + each[0], start + each[-1] + 1) for start, each in letters if each]
    return merged([*find(text[at:past]), *reaching])


def changed_line(line: str, change: Masking) -> str:
    """A line of a front matter: a value that would no longer be a text is quoted."""
    found, whole = _ENTRY.match(line), change.find(line)
    if found is None or not whole:
        return line
    value, rest = (
        without(found[part], _between(line, *found.span(part), whole, change.find), change.mask)
        for part in ("value", "rest")
    )
    if value != found["value"] and value.startswith("["):
        value = json.dumps(value, ensure_ascii=False)
    return found["key"] + value + rest
