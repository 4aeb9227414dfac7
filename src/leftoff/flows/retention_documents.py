"""The documents that ``bench retention`` compares: three that anybody could have without us, and our two.

A document is a function of a cut; None where the cut has none, and then the cut does not count for that row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from leftoff.flows.agents import agent_of
from leftoff.flows.choose import Chosen
from leftoff.flows.extraction import extracted_once
from leftoff.flows.retention_cut import Cut
from leftoff.flows.retention_mentions import Kind, spoken_of
from leftoff.flows.save_log import log_of, log_text
from leftoff.flows.settings import settings_here
from leftoff.model.resume_log import ResumeLog

Document = Callable[[Cut], str | None]

LAST_CHARS = 40_000
LIST_CHARS = 8_800
HOOK_CHARS = 9_900
# How the room of the bare list is dealt out; what files and commands leave unused goes to the names.
_LIST_SHARES: Mapping[Kind, float] = {"files": 0.25, "commands": 0.45, "names": 1.0}


def own_summary(cut: Cut) -> str | None:
    """What the agent's model wrote of the same stretch."""
    return cut.summary


def last_characters(cut: Cut) -> str:
    """The end of the conversation, as it was."""
    return cut.context[-LAST_CHARS:]


def bare_list(cut: Cut) -> str:
    """The files, commands and names spoken of last, one after the other and nothing else."""
    text, room = "", LIST_CHARS
    for kind, share in _LIST_SHARES.items():
        part = _fitting(_recent(cut, kind), min(room, int(LIST_CHARS * share)))
        text, room = text + part, room - len(part)
    return text


def everything(cut: Cut) -> str:
    """All that was said before the cut: what no document can surpass."""
    return cut.context


def log_for_a_hook(cut: Cut) -> str:
    """Our log in the characters that a hook can hand over."""
    return log_text(cut.transcript, max_chars=HOOK_CHARS)


def whole_log(cut: Cut) -> str:
    """Our log in full."""
    return log_text(cut.transcript, max_chars=None)


def log_of_cut(cut: Cut) -> ResumeLog:
    """Our log as a value, with its sources."""
    chosen = Chosen(agent=agent_of(cut.transcript), transcript=cut.transcript)
    session = chosen.open()
    return log_of(chosen, session, extracted_once(chosen, session), settings_here())


def _recent(cut: Cut, kind: Kind) -> Iterable[str]:
    """Newest first, each once."""
    return dict.fromkeys(
        each.text
        for record in reversed(cut.records)
        for each in reversed([*spoken_of(record, cut.project)])
        if each.kind == kind
    )


def _fitting(items: Iterable[str], room_chars: int) -> str:
    """As many whole lines as fit."""
    lines: list[str] = []
    for item in items:
        room_chars -= len(item) + 1
        if room_chars < 0:
            break
        lines.append(f"{item}\n")
    return "".join(lines)
