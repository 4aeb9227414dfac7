"""The words that leftoff itself puts into a user's message, known again: the ``[SESSION LINEAGE]`` block and what follows it.

A derived session begins with them. They are nobody's prompt: lists, logs and rules must not take them for the user's own. They are
known by each of their lines, so that no word of a user who quotes the marks is ever taken for ours.
"""

from __future__ import annotations

import re

BEGIN, END = "[SESSION LINEAGE]", "[/SESSION LINEAGE]"
INTRODUCTION = "This session continues from previous work:"
CONCLUSION = "Context from parent sessions may be relevant."
UNNAMED = "this session"  # until it has a file
_LONGEST_NAME = 120
_ODD = re.compile(r"[\[\]\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_BLOCK = re.compile(
    rf"\A{re.escape(BEGIN)}\n{re.escape(INTRODUCTION)}\n"
    r"(?:(?:\d+\. [^\n\[\]]+ \([a-z, ]+\)|… \d+ more)\n)+"
    rf"\n{re.escape(CONCLUSION)}\n{re.escape(END)}(?:\n\n?|\Z)"
)
# A sentence of ours, and between markers that nothing inside can close (restore.fence) a record or a summary.
_RECORD = re.compile(r"\A[^\n]*\n\n<(?P<mark>leftoff-record-[0-9a-f]{8})>\n.*?\n</(?P=mark)>\n*", re.DOTALL)


def with_block(message: str, block: str) -> str:
    """The message with the block before it; an older block is replaced, never stacked (L29)."""
    older = _BLOCK.match(message)
    return f"{block}\n\n{message[older.end() :] if older else message}"


def with_name(message: str, file_name: str) -> str:
    """The message whose block calls the new session by the name of its file."""
    block = _BLOCK.match(message)
    if block is None:
        return message
    named = block[0].replace(f". {UNNAMED} (current)\n", f". {shown_name(file_name)} (current)\n")
    return named + message[block.end() :]


def shown_name(file_name: str) -> str:
    """A file's name on one line, in which nothing can end the block: it comes from anywhere."""
    name = _ODD.sub(" ", file_name).strip() or "?"
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def without_own_words(message: str) -> str:
    """What of a message is the user's: all of it, unless it begins with our block; empty where it is all ours."""
    block = _BLOCK.match(message)
    if block is None:
        return message
    rest = message[block.end() :]
    while record := _RECORD.match(rest):
        rest = rest[record.end() :]
    return rest
