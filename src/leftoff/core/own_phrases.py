"""The phrases and triggers that a user types for leftoff and not for the agent: "continue project 1", "save progress", ``>pin``.

They reach the transcript like any prompt, and say nothing about the work: a log must not take one for a request.
"""

from __future__ import annotations

import re

SAVE_PROGRESS, DONE_FOR_TODAY = "save progress", "done for today"
TRIGGERS = ("resume", "continue", "handoff", "pickup", "pin", "pins", "unpin", "trim")
CONTINUE_PREFIX = "continue project "
CONTINUE_PROJECT = re.compile(
    r"continue[ \t]+project[ \t]+#?(?P<quote>[\"'\u201c\u2018]?)(?P<words>\w[^\n\"\u201c\u201d]{0,120}?)[\"'\u201d\u2019]?[.!?]*",
    re.IGNORECASE,
)
# The beginning of the text that answers "continue project N". Where it follows such a prompt, a project was meant.
HANDED_OVER = "leftoff: the resume state of the project that the user wants to continue."
_SAVES = re.compile(rf"(?:{SAVE_PROGRESS}|{DONE_FOR_TODAY})[.!]*", re.IGNORECASE)
_TRIGGER = re.compile(rf">(?:{'|'.join(TRIGGERS)})(?: \S+){{0,3}}", re.IGNORECASE)


def continued_project(prompt: str) -> str | None:
    """Return the number or name of the project that the prompt continues; None for any other prompt.

    Of an unquoted name only leftoff's answer tells that it names a project: "continue project planning" may mean anything.
    """
    match = CONTINUE_PROJECT.fullmatch(prompt.strip())
    if match is None or not (match["quote"] or match["words"].isdecimal()):
        return None
    return match["words"]


def only_saves(prompt: str) -> bool:
    """Return whether the prompt only has leftoff save or look up something."""
    return bool(_SAVES.fullmatch(prompt.strip()) or _TRIGGER.fullmatch(prompt.strip()))
