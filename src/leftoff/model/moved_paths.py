"""Paths of a project that stands elsewhere here: what lay under the old root lies under the new one.

Only whole path parts count: ``/home/a/shop`` is no part of ``/home/a/shop-old`` nor of ``/mnt/home/a/shop``. Paths outside the
root stay as they are, and so do places in transcripts, which are of the other machine.
"""

from __future__ import annotations

import re

from leftoff.model.resume_log import ResumeLog
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonValue

# The parts of a log that speak to the next session; sources name records of the other machine, ground is relative.
_WORDS = (
    *("mission_summary", "accomplishments", "key_findings", "decisions", "next_steps"),
    *("critical_context", "metadata", "custom_sections", "edits"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A log as it reads here, and how many paths were rewritten."""

    log: ResumeLog
    paths: int


def moved(log: ResumeLog, old_root: str, new_root: str) -> Moved:
    """The log with every path under ``old_root`` brought under ``new_root``."""
    old, new = old_root.rstrip("/"), new_root.rstrip("/")
    if not old or old == new:
        return Moved(log=log, paths=0)
    rewriter = _Rewriter(old, new)
    wire = log.to_dict()
    here = {name: rewriter.value(wire[name]) for name in _WORDS if name in wire}
    return Moved(log=ResumeLog.from_dict(wire | here), paths=rewriter.count)


class _Rewriter:
    def __init__(self, old: str, new: str) -> None:
        self._pattern = re.compile(
            rf"(?<![A-Za-z0-9_.~-])(?<![A-Za-z0-9_.~-]/){re.escape(old)}(?![\w-])(?!\.\w)"
        )
        self._new = new
        self.count = 0

    def value(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return self._text(value)
            case list():
                return [self.value(each) for each in value]
            case dict():
                return {self._text(name): self.value(each) for name, each in value.items()}
            case _:
                return value

    def _text(self, text: str) -> str:
        changed, count = self._pattern.subn(lambda _: self._new, text)
        self.count += count
        return changed
