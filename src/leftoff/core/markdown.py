"""Escapes foreign text for leftoff's Markdown, reads entries of critical context, and fences restored text.

Escaped text stays readable but cannot become structure: it adds no heading, closes no section, opens no HTML block and
leaves no code fence open. Harmless text is unchanged, and escaping twice equals escaping once.

In critical context, the user's words are quoted with “ and ”, commands are in back-ticks followed by an arrow and the result,
and an entry in brackets is a note by leftoff."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import dropwhile
from operator import itemgetter

# Characters that some readers take for the end of a line although a person does not see one.
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Control characters, and surrogates, which UTF-8 cannot encode.
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
_FENCE = re.compile(
    r"(?P<before>\s*(?:(?:[-+*]|\d{1,9}[.)])\s+)*)(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)"
)
# Quote and list marks, which can contain structure too ("- ## x"), then the structure: heading, underline, HTML, fence.
_STRUCTURE = re.compile(
    r"((?:\s*(?:>|[-+*](?=\s)|\d{1,9}[.)](?=\s)))*\s*)(?=#{1,6}(?:\s|$)|=+\s*$|-+\s*$|<[!?/a-zA-Z]|~{3}|`{3,}[^`]*$)"
)
_DEEPEST_FENCE = 3  # a fence that is indented further counts only inside a list
_MARKS = "#=<~>+*-` 0123456789"  # the first character of a line that could be structure
_MARKED = re.compile(r"[#=<~>+*` -]|\d{1,9}[.)]\s")  # the same, but a plain number is harmless
_FIRST = itemgetter(slice(1))
_PRINTABLE = bytes(range(0x20, 0x7F))
_PRINTABLE_LINES = _PRINTABLE + b"\n"
SUPERSEDED = " (superseded by: "
RESULT_ARROW = " → "
# How a next step begins that says that the work is finished, or that nobody said what is next.
AS_GIT_SAID = "as git said when this was saved"  # of what is committed, which no transcript tells
NOTHING_OPEN, NO_STEP_NAMED = "Nothing is left open", "No next step was named"
_REFUSED = "The user refused "
_OPEN, _CLOSE = "“", "”"
_BEFORE_WORDS = f": {_OPEN}"
_TAG = "leftoff-record"
# Tags that agents put around the output of hooks and clients. Text must not be able to close one from inside.
_WRAPPERS = (
    _TAG,
    "system-reminder",
    "hook_context",
    "hook_prompt",
    "user-prompt-submit-hook",
    "user_instructions",
    "environment_context",
    "command-name",
    "task-notification",
)
_OPENING = re.compile(rf"<(?=[\s/\\]*(?:{'|'.join(_WRAPPERS)})\b)", re.IGNORECASE)
_HASH_CHARS = 8
FRAME_CHARS = len(f"\n\n<{_TAG}->\n\n</{_TAG}->") + 2 * _HASH_CHARS


def clean_text(text: str) -> str:
    """Normalise line ends and replace control characters by U+FFFD."""
    if _holds_only(text, _PRINTABLE_LINES) or text.replace("\n", "").isprintable():  # most text
        return text
    return _UNSEEN.sub("\ufffd", _LINE_ENDS.sub("\n", text))


def escape_block(text: str) -> str:
    """Escape ``text`` for use as paragraphs and code blocks of a section; it cannot end the section."""
    return "\n".join(_lines(text))


def escape_item(text: str) -> str:
    """Escape ``text`` for use as one bullet; further lines are indented under it."""
    if text.isprintable() and (text[:1] not in _MARKS or not _MARKED.match(text)):  # the usual case
        return text.rstrip()
    first, *rest = _lines(text) or [""]
    return "\n".join([first.lstrip(), *(f"  {line}" if line else "" for line in rest)])


def escape_items(texts: Sequence[str]) -> Sequence[str]:
    """Escape each text for use as a bullet. Checks all texts at once, because usually none needs escaping."""
    firsts = {*map(_FIRST, texts)}
    if firsts.isdisjoint(_MARKS) and _is_printable("".join(texts)):
        return [*map(str.rstrip, texts)]
    return [escape_item(text) for text in texts]


def escape_inline(text: str) -> str:
    """Put ``text`` on one line, for use inside a line that leftoff writes."""
    if text.isprintable():
        return text.strip()
    return " ".join(filter(None, map(str.strip, clean_text(text).split("\n"))))


def close_cut(beginning: str) -> str:
    """Make a cut piece of escaped text safe again: escape its last line or close its code fence."""
    *lines, last = beginning.split("\n")
    fence, margin = _open_fence(lines)
    if fence:
        lines += [last.rstrip(f"{fence[0]} \t"), margin + fence]
    elif not _FENCE.match(last):
        lines.append(_escape_line(last))
    return "\n".join(lines)


def _is_printable(text: str) -> bool:
    """Return what ``text.isprintable()`` returns, faster for long text."""
    return _holds_only(text, _PRINTABLE) or text.isprintable()


def _holds_only(text: str, allowed: bytes) -> bool:
    """Return whether ``text`` consists of these ASCII characters; five times as fast as isprintable."""
    return text.isascii() and not text.encode().translate(None, allowed)


def _lines(text: str) -> list[str]:
    """Return the escaped lines; an open fence is closed.

    Code blocks are moved to a margin that every Markdown reader accepts, so that all agree on where they end.
    """
    out: list[str] = []
    fence = margin = ""
    indent = 0
    for line in dropwhile(lambda line: not line.strip(), clean_text(text).rstrip().split("\n")):
        if fence and _closes(line, fence, indent):
            out.append(margin + line.strip())
            fence = ""
        elif fence:
            out.append(_code(line, indent, margin))
        elif opening := _FENCE.match(line):
            fence, indent = opening["fence"], len(opening["before"])
            margin = " " * min(indent, _DEEPEST_FENCE)
            if opening["before"].strip():
                out.append(_escape_line(opening["before"].rstrip()))
            out.append(margin + fence + opening["info"].rstrip())
        else:
            out.append(_escape_line(line))
    if fence:
        out.append(margin + fence)
    return out


def _closes(line: str, fence: str, indent: int) -> bool:
    mark = line.strip()
    at = len(line) - len(line.lstrip())
    return len(mark) >= len(fence) and not mark.strip(fence[0]) and at <= indent + _DEEPEST_FENCE


def _code(line: str, indent: int, margin: str) -> str:
    line = line[:indent].lstrip() + line[indent:]
    if not line:
        return ""
    # Readers that search for "## " at the start of a line ignore fences.
    return f"{margin or ' '}{line}" if line.startswith("## ") else margin + line


def _open_fence(lines: Iterable[str]) -> tuple[str, str]:
    """Return the fence that the lines leave open and its margin; two empty strings without one."""
    fence = margin = ""
    for line in lines:
        if not fence and (opening := _FENCE.match(line)):
            fence, margin = opening["fence"], " " * len(opening["before"])
        elif fence and _closes(line, fence, len(margin)):
            fence = ""
    return fence, margin


def _escape_line(line: str) -> str:
    """Put a backslash before what would be structure in a line outside a fence."""
    marks = _STRUCTURE.match(line)
    return f"{marks[0]}\\{line[marks.end() :]}" if marks else line


def is_open_step(step: str) -> bool:
    """Return whether a next step is something to do, rather than the note that nothing is left."""
    return bool(step.strip()) and not step.startswith((NOTHING_OPEN, NO_STEP_NAMED))


def is_superseded(rule: str) -> bool:
    """Return whether a later rule replaced this one."""
    return SUPERSEDED in rule


def user_quote(rule: str) -> str:
    """Return the user's words in an entry; empty if the entry only describes what the user did."""
    text = rule.partition(SUPERSEDED)[0].strip()
    if text.startswith("(") and text.endswith(")"):
        return ""
    if not text.endswith(_CLOSE):
        return "" if text.startswith(_REFUSED) else text
    if text.startswith(_OPEN):
        return text[1:-1]
    _, marked, words = text.partition(_BEFORE_WORDS)
    return words[:-1] if marked else ""


def command_text(entry: str) -> str:
    """Return the command of an entry as it was typed."""
    text = entry.rpartition(RESULT_ARROW)[0].strip() or entry.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "`" else text


def fence(sentence: str, body: str) -> str:
    """Put ``body`` between two markers and ``sentence`` before them; the result is FRAME_CHARS longer than both.

    The marker contains a hash of the body, so that the body cannot contain its own closing marker.
    """
    from hashlib import sha256  # noqa: PLC0415 - loads OpenSSL, and most events of a session quote nothing

    inside = neutralise_markers(body)
    mark = f"{_TAG}-{sha256(inside.encode('utf-8', 'replace')).hexdigest()[:_HASH_CHARS]}"
    return f"{neutralise_markers(sentence)}\n\n<{mark}>\n{inside}\n</{mark}>"


def neutralise_markers(text: str) -> str:
    """Disarm every marker without changing the length: ``<leftoff-record`` becomes ``(leftoff-record``."""
    return _OPENING.sub("(", text)


def utf16_length(text: str) -> int:
    """Count characters as agents do, in UTF-16 code units: a character outside the basic plane counts as two."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
