"""What a compaction answered in place leaves, beside the agent's own compaction of the same real session.

Each session of the quiz is cut at one of its compactions and compacted once more by leftoff, from the transcript alone: at the target
of the settings, and at the size of the agent's own summary. Tokens are the agent's own count before, and from the characters after;
*support* is the share of the edits among the next 30 calls whose old text was visible before and still is; *quiz* counts the questions
whose key phrases are there; *requests* is how often the agent can ask before its window is full again, at the pace of the session so far;
*cache* is what the next request writes to the cache, all of what is left.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.mentions import NEXT_CALLS, strings
from bench.quiz import TRANSCRIPT_NAMES, cut_at_summary, is_answered, questions_folder
from bench.strategies import edited_texts, join_texts
from leftoff.agents.base import USUAL_IMAGE_CHARS
from leftoff.agents.registry import agent_of
from leftoff.core.live_messages import LiveMessage
from leftoff.core.protocols import Agent
from leftoff.core.records import Image, RecordKind, ToolUse
from leftoff.errors import LeftoffError
from leftoff.resume_logs.restore_text import restoration_body
from leftoff.resume_logs.save import build_log
from leftoff.sessions.status import status_of
from leftoff.shrink.cuts import TrimParameters
from leftoff.shrink.derive import copying_agent
from leftoff.shrink.in_place import rebuild
from leftoff.shrink.in_place_draft import CompactionOrder
from leftoff.shrink.live_conversation import live_messages
from leftoff.workspace import SessionRef, Workspace

OWN, DEFAULT, SMALL = "its own", "in place", "in place, as small"
_USUAL_USABLE_TOKENS = 167_000  # of a window of 200,000


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """One way to compact one session. Shares are None if there is nothing to take a share of."""

    session: str
    how: str
    tokens_before: int
    tokens_after: int
    needed: int
    kept: int
    weight_answered: int
    weight: int
    requests: int
    declined: str = ""  # why leftoff leaves it to the agent


def totals(measured: Sequence[Compacted]) -> list[Compacted]:
    """Return the sums of each way over the sessions that leftoff compacts; tokens and requests as means."""
    declined = {each.session for each in measured if each.declined}
    counted = [each for each in measured if each.session not in declined]
    return [
        _total(how, [each for each in counted if each.how == how]) for how in (OWN, DEFAULT, SMALL) if counted
    ]


def _total(how: str, some: Sequence[Compacted]) -> Compacted:
    return Compacted(
        session="all",
        how=how,
        tokens_before=sum(each.tokens_before for each in some) // len(some),
        tokens_after=sum(each.tokens_after for each in some) // len(some),
        needed=sum(each.needed for each in some),
        kept=sum(each.kept for each in some),
        weight_answered=sum(each.weight_answered for each in some),
        weight=sum(each.weight for each in some),
        requests=sum(each.requests for each in some) // len(some),
    )


def measure(questions: Path | None, numbers: Sequence[int] = ()) -> Iterator[Compacted]:
    """Yield each way to compact each session of the quiz whose summary can be read."""
    for folder, source in sessions(questions, numbers):
        with tempfile.TemporaryDirectory(prefix="leftoff-bench-") as name:
            yield from _measure_session(Case.read(folder, source, Path(name)))


def sessions(questions: Path | None, numbers: Sequence[int] = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the folder and the source of each session of the quiz whose summary can be read."""
    for folder in sorted(path.parent for path in questions_folder(questions).glob("*/questions.json")):
        source = json.loads((folder / "source.json").read_text("utf-8"))
        if source.get("agent", "claude") == "claude" and (not numbers or int(folder.name) in numbers):
            yield folder, source


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A session of the quiz up to one of its compactions, with what is asked of each way to compact it."""

    number: str
    ref: SessionRef  # of the transcript as it was before the compaction
    workspace: Workspace
    summary: str  # that the agent wrote then
    questions: Sequence[Mapping[str, Any]]
    next_edits: Sequence[str]  # the old texts of the edits that followed
    used_tokens: int
    usable_tokens: int
    tokens_per_char: float
    pace: int  # tokens per request so far

    @classmethod
    def read(cls, folder: Path, source: Mapping[str, Any], scratch: Path) -> Case:
        """Cut the session's transcript at the compaction and write that part into the scratch folder."""
        transcript = (folder.parent.parent / source["transcript"]).resolve()
        summary, lines = cut_at_summary(transcript, source["record"], "claude")
        assert summary is not None
        prefix = scratch / TRANSCRIPT_NAMES["claude"].format(int(folder.name))
        prefix.write_text("\n".join(lines) + "\n", "utf-8")
        project = scratch / "project"
        project.mkdir()
        ref, workspace = SessionRef(agent=agent_of(prefix), transcript=prefix), Workspace.open(project)
        gauge = status_of(ref, workspace).metrics
        usable = min(gauge.total_budget or _USUAL_USABLE_TOKENS, _USUAL_USABLE_TOKENS)
        used = gauge.used_tokens or usable
        replies = sum(message.role == "assistant" for message in live_messages(ref.agent, ref.session))
        live = copying_agent(ref.agent).live_pieces(ref.session, at_least_chars=1, head=0, tail=0)
        return cls(
            number=folder.name,
            ref=ref,
            workspace=workspace,
            summary=summary,
            questions=json.loads((folder / "questions.json").read_text("utf-8")),
            next_edits=_next_edits(ref.agent, transcript, source["record"]),
            used_tokens=used,
            usable_tokens=usable,
            tokens_per_char=live.tokens_per_char,
            pace=max(1, used // max(1, replies)),
        )

    def tokens_after(self, chars_before: int, chars_after: int) -> int:
        """Return how many tokens are left when so many of the characters of the conversation are."""
        return self.used_tokens - int((chars_before - chars_after) * self.tokens_per_char)

    def compacted(
        self, how: str, before: Sequence[str], after: Sequence[str], *, chars_before: int, declined: str = ""
    ) -> Compacted:
        """Return what is left, from the texts that the model was sent before and those that it is sent after."""
        was_visible, visible = join_texts(before), join_texts(after)
        old = [text for text in self.next_edits if text in was_visible]
        flat = " ".join(" ".join(after).split()).lower()
        tokens = self.tokens_after(chars_before, sum(map(len, after)))
        hits = [each["weight"] for each in self.questions if is_answered(flat, each["keys"])]
        return Compacted(
            session=self.number,
            how=how,
            tokens_before=self.used_tokens,
            tokens_after=tokens,
            needed=len(old),
            kept=sum(text in visible for text in old),
            weight_answered=sum(hits),
            weight=sum(each["weight"] for each in self.questions),
            requests=max(0, self.usable_tokens - tokens) // self.pace,
            declined=declined,
        )


def _measure_session(case: Case) -> Iterator[Compacted]:
    messages = live_messages(case.ref.agent, case.ref.session)
    texts, chars = [*_texts(messages)], _live_chars(case.ref)
    yield case.compacted(OWN, texts, [case.summary], chars_before=chars)
    log = build_log(case.ref, case.workspace)
    default = int(case.usable_tokens * case.workspace.settings.trim.in_place_target)
    small = case.tokens_after(chars, len(case.summary))
    for how, target in ((DEFAULT, default), (SMALL, small)):
        try:
            rebuilt = rebuild(
                case.ref,
                messages,
                CompactionOrder(used_tokens=case.used_tokens, target_tokens=target),
                TrimParameters(),
                log_body=lambda room, kept: restoration_body(log, room, "after_compaction", kept=kept),
            )
            yield case.compacted(how, texts, [*_texts(rebuilt.messages)], chars_before=chars)
        except LeftoffError as error:
            yield case.compacted(how, texts, texts, chars_before=chars, declined=str(error))


HEADINGS = ("session", "compaction", "before", "after", "support", "quiz", "requests", "cache")


def table_row(each: Compacted) -> tuple[str, ...]:
    """Return the cells of one line of the table."""
    if each.declined:
        return (each.session, f"{each.how}: left to the agent: {each.declined}", *[""] * 6)
    return (
        each.session,
        each.how,
        f"{each.tokens_before:,}",
        f"{each.tokens_after:,}",
        f"{each.kept} of {each.needed}",
        f"{each.weight_answered / each.weight:.0%}",
        str(each.requests),
        f"{each.tokens_after:,}",
    )


def _live_chars(ref: SessionRef) -> int:
    """Return the characters of the conversation without thinking, images at what they cost."""
    messages = live_messages(ref.agent, ref.session)
    sent = ref.agent.live_chain(ref.session).messages(ref.session.records)
    parts = [part for each in sent for block in each.blocks for part in getattr(block, "parts", (block,))]
    images = sum(isinstance(part, Image) for part in parts)
    return sum(map(len, _texts(messages))) + images * USUAL_IMAGE_CHARS


def _texts(messages: Iterable[LiveMessage]) -> Iterator[str]:
    """Yield everything that the model is sent, text by text."""
    for message in messages:
        yield from filter(None, [message.text, *(result.text for result in message.results)])
        for call in message.calls:
            yield "\0".join(strings(call.input))


def _next_edits(agent: Agent, transcript: Path, record: int) -> list[str]:
    """Return the old texts of the edits among the calls that follow a record of the main conversation."""
    main = [
        each for each in agent.read(transcript) if each.actor is None and each.kind is not RecordKind.BROKEN
    ]
    uses = [
        (each.place, block) for each in main[record:] for block in each.blocks if isinstance(block, ToolUse)
    ]
    return [*edited_texts(agent, uses[:NEXT_CALLS])]
