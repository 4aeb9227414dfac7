"""A guard: what the agent has after a compaction, its summary and our text, must hold the files and commands that it uses next.

Only files and commands of the next 30 calls count that were known before: a file that an earlier call was given, a command that occurs
anywhere in the conversation. The text is made from a copy of what existed at the compaction. Shares are of counts added up over
all compactions. Where the summary cannot be read, our text stands alone, and no goal is set.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bench.mentions import NEXT_CALLS, PATH, Files, Kind, Mention, contains, mentions, relative, strings
from leftoff.agents.registry import agent_of
from leftoff.config.settings import MAX_HOOK_CHARS
from leftoff.core.records import Block, Record, RecordKind, Text, Thinking, ToolResult, ToolUse
from leftoff.demo import bundled_transcript
from leftoff.diagnose.report import Cut, compaction_starts, cut_session
from leftoff.errors import NothingToDoError
from leftoff.resume_logs.save import log_text
from leftoff.workspace import SessionRef, Workspace

GOALS: Mapping[Kind, float] = {"files": 0.80, "commands": 0.70}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionResult:
    """What was used after one compaction although it was known before, and what of it the agent did not have."""

    source: Path
    line: int  # 1-based, of the compaction
    has_summary: bool
    needed: tuple[Mention, ...]
    missed: tuple[Mention, ...]


def share(measured: Iterable[CompactionResult], kind: Kind) -> tuple[int, int]:
    """Return how many files or commands the agent had, of how many."""
    needed = [each for one in measured for each in one.needed if each.kind == kind]
    missed = [each for one in measured for each in one.missed if each.kind == kind]
    return len(needed) - len(missed), len(needed)


def goals_missed(measured: Sequence[CompactionResult]) -> Iterator[str]:
    """Yield where the guard fails, as text; compactions whose summary cannot be read do not count."""
    readable = [each for each in measured if each.has_summary]
    for kind, goal in GOALS.items():
        held, of = share(readable, kind)
        if of and held / of < goal:
            yield f"{kind}: {held / of:.1%}, goal ≥ {goal:.0%}"


def measure(transcripts: Sequence[Path]) -> Iterator[CompactionResult]:
    """Yield the result of every compaction of every transcript; of the bundled session if none is given."""
    with tempfile.TemporaryDirectory(prefix="leftoff-bench-") as name:
        folder = Path(name)
        found = 0
        for number, transcript in enumerate(transcripts or [bundled_transcript(folder)]):
            for cut, before, after in cut_session(transcript, folder / str(number), compaction_starts):
                found += 1
                yield measure_cut(cut, before, after)
    if not found:
        raise NothingToDoError(
            "No compaction in these transcripts. Name others: python -m bench retention FILE…"
        )


def measure_cut(cut: Cut, before: Iterable[Record], after: Iterable[Record]) -> CompactionResult:
    """Compare what the agent has after a compaction with the calls that follow it."""
    files, needed = needed_after(cut, before, [each for each, _ in next_calls(after)])
    has = flatten(f"{cut.summary or ''}\n{_our_text(cut)}")
    return CompactionResult(
        source=cut.source,
        line=cut.line,
        has_summary=cut.summary is not None,
        needed=needed,
        missed=tuple(each for each in needed if not contains(has, each, files)),
    )


def needed_after(
    cut: Cut, before: Iterable[Record], calls: Iterable[ToolUse]
) -> tuple[Files, tuple[Mention, ...]]:
    """Return the files of the session, and what the next calls mention that was known before the compaction."""
    spoken = [record for record in before if record.actor is None]
    context = "\n".join(_text(block) for record in spoken for block in record.blocks)
    given = {
        each
        for record in spoken
        for call in _calls(record)
        for each in mentions(call, cut.project)
        if each.kind == "files"
    }
    files = Files(
        [*(each.text for each in given), *(relative(each, cut.project) for each in PATH.findall(context))]
    )
    flat = flatten(context)
    used = dict.fromkeys(each for call in calls for each in mentions(call, cut.project))
    needed = [
        each for each in used if each in given or (each.kind == "commands" and contains(flat, each, files))
    ]
    return files, tuple(needed)


def next_calls(after: Iterable[Record]) -> Iterator[tuple[ToolUse, str]]:
    """Yield the next calls of the main conversation, each with what was said last before it, by user or agent."""
    said, left = "", NEXT_CALLS
    for record in after:
        if record.actor is None and record.kind in {RecordKind.PROMPT, RecordKind.REPLY}:
            said = "\n".join(each.text for each in record.blocks if isinstance(each, Text)) or said
        for call in islice(_calls(record), left):
            yield call, said
            left -= 1
        if not left:
            return


def _our_text(cut: Cut) -> str:
    ref = SessionRef(agent=agent_of(cut.transcript), transcript=cut.transcript)
    return log_text(
        ref, Workspace.open(), profile="after_compaction", max_chars=MAX_HOOK_CHARS, summary=cut.summary
    )


def _calls(record: Record) -> Iterator[ToolUse]:
    """Yield the tool calls of the main conversation; a compaction that replaces the history only repeats calls."""
    if record.actor is None and record.kind is not RecordKind.COMPACTION:
        yield from (block for block in record.blocks if isinstance(block, ToolUse))


def flatten(text: str) -> str:
    """Return the text with single blanks for white space."""
    return " ".join(text.split())


def _text(block: Block) -> str:
    match block:
        case Text(text=text) | Thinking(text=text):
            return text
        case ToolUse(input=given):
            return "\n".join(strings(given))
        case ToolResult():
            return block.text
        case _:
            return ""
