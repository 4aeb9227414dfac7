"""The summary block at the end of a saved chat: found, read from an agent's answer, and made harmless.

Only a pair of markers that stands alone at the very end of a chat counts, so that markers quoted in what was said are just
words (L19). What is put between them cannot close them.
"""

from __future__ import annotations

import re
from typing import Literal

from leftoff.model import markdown
from leftoff.model.values import dataclass

START = "<!-- SESSION_SUMMARY_START -->"
END = "<!-- SESSION_SUMMARY_END -->"
PLACEHOLDER = "[your summary here]"
_HEADINGS = ("**Current Session Summary:**", "**Topics Discussed:**")
_FENCED = re.compile(r"```\w*\n(.*?)\n?```\s*\Z", re.DOTALL)
_MARKER_LINE = re.compile(r"^(?=<!-- SESSION_SUMMARY_)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The summary of a chat, or why there is none."""

    text: str | None
    trouble: Literal["missing", "invalid"] | None = None


def find(chat: str) -> Found:
    """The block at the end of a saved chat, without its markers."""
    lines = chat.rstrip().split("\n")
    if START not in lines and END not in lines:
        return Found(text=None, trouble="missing")
    begin = start_line(lines)
    text = "\n".join(lines[begin + 1 : -1]).strip() if begin is not None else ""
    return Found(text=text) if text else Found(text=None, trouble="invalid")


def start_line(lines: list[str]) -> int | None:
    """Where the block begins that ends with the last of ``lines``; None when they do not end with one."""
    if lines[-1] != END or START not in lines:
        return None
    return len(lines) - 1 - lines[::-1].index(START)


def block(text: str) -> str:
    """The summary between its markers, as it stands at the end of a chat."""
    return f"{START}\n{harmless(text)}\n{END}\n"


def harmless(text: str) -> str:
    """Foreign text in which no line is a marker, a heading or an open fence."""
    return _MARKER_LINE.sub(" ", markdown.block(text))


def from_answer(answer: str) -> str | None:
    """What an agent wrote as its summary: the last pair of markers, or an answer of the right form that forgot them.

    A marker stands alone on its line; quoted anywhere else it is a word of the summary.
    """
    lines = answer.strip().split("\n")
    marks = [line.strip() for line in lines]
    pair = _last_pair(marks)
    if pair is not None:
        text = "\n".join(lines[pair[0] + 1 : pair[1]]).strip()
    elif any(heading in answer for heading in _HEADINGS) and START not in marks and END not in marks:
        fenced = _FENCED.search(answer)
        text = (fenced[1] if fenced else answer).strip()
    else:
        return None
    return text if text and text != PLACEHOLDER else None


def bare(text: str) -> str:
    """A summary that somebody gives with its markers, without them."""
    lines = text.strip().split("\n")
    is_marked = len(lines) > 1 and (lines[0].strip(), lines[-1].strip()) == (START, END)
    return "\n".join(lines[1:-1]).strip() if is_marked else text


def _last_pair(marks: list[str]) -> tuple[int, int] | None:
    """Where the last pair begins and ends; a pair that is quoted inside of it belongs to what it holds."""
    if END not in marks:
        return None
    end = len(marks) - 1 - marks[::-1].index(END)
    open_pairs = 0
    for at in range(end, -1, -1):
        open_pairs += (marks[at] == END) - (marks[at] == START)
        if open_pairs == 0:
            return at, end
    return None
