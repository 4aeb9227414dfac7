"""How text from transcripts is handed to an agent: without credentials and forgotten texts, fenced as data, within a budget."""

from __future__ import annotations

import re
from collections.abc import Sequence

from leftoff.catalogue.database import library_folder
from leftoff.catalogue.forgotten import Forgotten
from leftoff.core import markdown
from leftoff.core.budget import estimate_tokens, prefix_within
from leftoff.workspace import Workspace

# Terminal escape sequences, and characters that change the order in which text is shown.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])|[\u202a-\u202e\u2066-\u2069]"
)
_LEFT_OUT = "… (more was left out to stay within budget_tokens)"


class Cleaner:
    """Removes from a text what must not be handed on: credentials, forgotten texts, control characters."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._forgotten = Forgotten(str(library_folder()))

    @property
    def excluded_tools(self) -> frozenset[str]:
        """The tools of which nothing may be handed on."""
        return self._workspace.capture.exclude_tools

    def clean(self, text: str) -> str:
        """Return the text as it may be handed on, with its lines."""
        return markdown.clean_text(self._forgotten.mask(self._workspace.redact(_ESCAPES.sub("", text))))

    def one_line(self, text: str, max_chars: int) -> str:
        """Return the text on one line of at most ``max_chars``."""
        # Credentials are recognised by what is around them, so more is cleaned than is shown; and all where little is left of it,
        # because what was cut at its end is not recognised.
        line = " ".join(self.clean(text[: max_chars * 20]).split())
        if len(line) < max_chars * 10 and len(text) > max_chars * 20:
            line = " ".join(self.clean(text).split())
        return line if len(line) <= max_chars else f"{line[: max_chars - 1]}…"

    def is_forgotten_session(self, session_id: str | None) -> bool:
        """Return whether the user had the session forgotten."""
        return self._forgotten.includes_session(session_id)


def fenced_lines(sentence: str, lines: Sequence[str], budget_tokens: int) -> str:
    """Return as many of the lines as fit, fenced as data; the sentence alone where not even one does."""
    kept = [*lines]
    while kept:
        more = [] if len(kept) == len(lines) else [_LEFT_OUT]
        text = markdown.fence(sentence, "\n".join([*kept, *more]))
        excess = estimate_tokens(text) - budget_tokens
        if excess <= 0:
            return text
        del kept[max(0, len(kept) - max(1, excess // 200)) :]  # a line has fewer tokens than that
    return prefix_within(sentence, budget_tokens)


def fenced_text(sentence: str, text: str, budget_tokens: int) -> tuple[str, int]:
    """Return the beginning of a text that fits, fenced as data, and how many characters of it these are."""
    room = budget_tokens - estimate_tokens(markdown.fence(sentence, ""))
    while room > 0:
        beginning = prefix_within(text, room)
        answer = markdown.fence(sentence, beginning)
        if (excess := estimate_tokens(answer) - budget_tokens) <= 0:
            return answer, len(beginning)
        room -= excess
    return prefix_within(sentence, budget_tokens), 0
