"""Foreign text inside our Markdown: it stays readable and cannot become structure (L19).

Promises: escaped text adds no heading, closes no section, opens no HTML block or comment that would swallow what
follows, and leaves no code fence open. What is harmless comes out as it went in; escaping twice is escaping once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import dropwhile
from operator import itemgetter

# Everything that some reader takes for the end of a line, but that a person would not see as one.
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Control characters, and halves of characters, which UTF-8 cannot hold.
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
_FENCE = re.compile(
    r"(?P<before>\s*(?:(?:[-+*]|\d{1,9}[.)])\s+)*)(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)"
)
# Quote and list marks, in which structure can stand too ("- ## x"), then the structure: heading, underline, HTML, fence.
_STRUCTURE = re.compile(
    r"((?:\s*(?:>|[-+*](?=\s)|\d{1,9}[.)](?=\s)))*\s*)(?=#{1,6}(?:\s|$)|=+\s*$|-+\s*$|<[!?/a-zA-Z]|~{3}|`{3,}[^`]*$)"
)
_DEEPEST_FENCE = 3  # a fence indented by more is one only inside a list
_MARKS = "#=<~>+*-` 0123456789"  # what the line of a structure begins with
_MARKED = re.compile(r"[#=<~>+*` -]|\d{1,9}[.)]\s")  # ... and of those what a number alone is not
_FIRST = itemgetter(slice(1))
_PRINTABLE = bytes(range(0x20, 0x7F))
_PRINTABLE_LINES = _PRINTABLE + b"\n"


def plain(text: str) -> str:
    """``text`` with one kind of line end and no control characters (shown as U+FFFD)."""
    if _holds_only(text, _PRINTABLE_LINES) or text.replace("\n", "").isprintable():  # as most text is
        return text
    return _UNSEEN.sub("\ufffd", _LINE_ENDS.sub("\n", text))


def block(text: str) -> str:
    """``text`` as paragraphs and code blocks of a section; it cannot end the section."""
    return "\n".join(_lines(text))


def item(text: str) -> str:
    """``text`` as the body of one bullet: further lines are indented under it."""
    if text.isprintable() and (text[:1] not in _MARKS or not _MARKED.match(text)):  # the usual line, as it is
        return text.rstrip()
    first, *rest = _lines(text) or [""]
    return "\n".join([first.lstrip(), *(f"  {line}" if line else "" for line in rest)])


def items(texts: Sequence[str]) -> Sequence[str]:
    """Each text as the body of a bullet; where all are usual lines, that is seen at one look."""
    firsts = {*map(_FIRST, texts)}
    if firsts.isdisjoint(_MARKS) and _is_printable("".join(texts)):
        return [*map(str.rstrip, texts)]
    return [item(text) for text in texts]


def inline(text: str) -> str:
    """``text`` on one line, to stand in the middle of a line of ours, where nothing is structure."""
    if text.isprintable():
        return text.strip()
    return " ".join(filter(None, map(str.strip, plain(text).split("\n"))))


def mended(beginning: str) -> str:
    """The beginning of escaped text, cut anywhere, made safe again: its last line escaped or its code fence closed."""
    *lines, last = beginning.split("\n")
    fence, margin = _open_fence(lines)
    if fence:
        lines += [last.rstrip(f"{fence[0]} \t"), margin + fence]
    elif not _FENCE.match(last):
        lines.append(_safe(last))
    return "\n".join(lines)


def _is_printable(text: str) -> bool:
    """The same as isprintable, worth its call for a long text."""
    return _holds_only(text, _PRINTABLE) or text.isprintable()


def _holds_only(text: str, allowed: bytes) -> bool:
    """Whether ``text`` is made of these ASCII characters; in bytes that is seen five times as fast as by isprintable."""
    return text.isascii() and not text.encode().translate(None, allowed)


def _lines(text: str) -> list[str]:
    """The lines, made safe; a fence left open is closed.

    A code block is moved to the margin it may have anywhere, so that no reader sees it end elsewhere than we do.
    """
    out: list[str] = []
    fence = margin = ""
    indent = 0
    for line in _from_first_word(text):
        if fence and _closes(line, fence, indent):
            out.append(margin + line.strip())
            fence = ""
        elif fence:
            out.append(_code(line, indent, margin))
        elif found := _FENCE.match(line):
            fence, indent = found["fence"], len(found["before"])
            margin = " " * min(indent, _DEEPEST_FENCE)
            if found["before"].strip():
                out.append(_safe(found["before"].rstrip()))
            out.append(margin + fence + found["info"].rstrip())
        else:
            out.append(_safe(line))
    if fence:
        out.append(margin + fence)
    return out


def _from_first_word(text: str) -> Iterable[str]:
    return dropwhile(lambda line: not line.strip(), plain(text).rstrip().split("\n"))


def _closes(line: str, fence: str, indent: int) -> bool:
    mark = line.strip()
    at = len(line) - len(line.lstrip())
    return len(mark) >= len(fence) and not mark.strip(fence[0]) and at <= indent + _DEEPEST_FENCE


def _code(line: str, indent: int, margin: str) -> str:
    line = line[:indent].lstrip() + line[indent:]
    if not line:
        return ""
    # A reader that looks for "## " at the start of a line knows nothing of fences.
    return f"{margin or ' '}{line}" if line.startswith("## ") else margin + line


def _open_fence(lines: Iterable[str]) -> tuple[str, str]:
    """The fence that escaped lines open and do not close, with its margin; nothing where there is none."""
    fence = margin = ""
    for line in lines:
        if not fence and (found := _FENCE.match(line)):
            fence, margin = found["fence"], " " * len(found["before"])
        elif fence and _closes(line, fence, len(margin)):
            fence = ""
    return fence, margin


def _safe(line: str) -> str:
    """One line outside a fence, with a backslash before what would be structure."""
    found = _STRUCTURE.match(line)
    return f"{found[0]}\\{line[found.end() :]}" if found else line
