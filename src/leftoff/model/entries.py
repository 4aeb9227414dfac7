"""How rules and commands stand in a resume log's critical context, and what of such an entry is quoted.

The user's own words stand between “ and ”, behind words of ours where those are needed (`The user refused …: “no”`); an
entry without such marks is the user's words as a whole, one in brackets is a note of ours. A command stands in
back-ticks, before an arrow and how it ended.
"""

from __future__ import annotations

SUPERSEDED = " (superseded by: "
ENDED = " → "
REASON = " — "  # behind it stands why names matter, in prose
ELSEWHERE = "elsewhere"  # under it stand names of no known file
NOTHING_OPEN = "Nothing is left open"  # a next step that begins so is none
_REFUSED = "The user refused "
_OPEN, _CLOSE = "“", "”"
_BEFORE_WORDS = f": {_OPEN}"


def is_open(step: str) -> bool:
    """Whether a next step is one: a log also says that there is none."""
    return bool(step.strip()) and not step.startswith(NOTHING_OPEN)


def is_superseded(rule: str) -> bool:
    """Whether a later rule took its place."""
    return SUPERSEDED in rule


def users_words(rule: str) -> str:
    """What the user said, word for word; empty where the entry only tells what the user did."""
    text = rule.partition(SUPERSEDED)[0].strip()
    if text.startswith("(") and text.endswith(")"):
        return ""
    if not text.endswith(_CLOSE):
        return "" if text.startswith(_REFUSED) else text
    if text.startswith(_OPEN):
        return text[1:-1]
    _, marked, words = text.partition(_BEFORE_WORDS)
    return words[:-1] if marked else ""


def command_of(entry: str) -> str:
    """The command as it was typed."""
    text = entry.rpartition(ENDED)[0].strip() or entry.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "`" else text
