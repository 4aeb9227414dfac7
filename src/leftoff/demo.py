"""``leftoff demo``: runs leftoff's features on a bundled session in a temporary folder.

The session is a transcript in ``demo_data`` that we invented and recorded (``tests/support/record_demo.py``). A scene is a title and
a function that yields lines; ``_SCENES`` lists them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from pathlib import Path

from leftoff.agents.registry import agent_of
from leftoff.config.load import thresholds
from leftoff.config.settings import MAX_HOOK_CHARS, Settings
from leftoff.core.levels import check_crossing, warning_text
from leftoff.core.metrics import ContextMetrics, Level, Occupancy, measure
from leftoff.core.protocols import Agent
from leftoff.core.records import Record, RecordKind
from leftoff.core.resume_log import ResumeLog
from leftoff.core.session import Derivation, Session, SessionNode
from leftoff.core.trim_plan import CopyOrder, Savings
from leftoff.extraction import State, render, step
from leftoff.extraction.wording import shorten
from leftoff.platform import clock
from leftoff.platform.redaction import Redactor
from leftoff.resume_logs import build
from leftoff.resume_logs.receipt import build_receipt
from leftoff.resume_logs.restore_text import restoration_text
from leftoff.sessions.lineage import lineage_block, trim_metadata
from leftoff.shrink.cuts import TrimParameters
from leftoff.shrink.derive import copying_agent
from leftoff.shrink.invariants import COMMON_INVARIANTS
from leftoff.shrink.planners import plan_smart_trim, plan_trim
from leftoff.shrink.rollover import first_message

_SESSION = "5b0e6f0a-3c1d-4e7f-9a55-0d2f7c1b8e46.jsonl"
_WINDOW_TOKENS = 200_000
_NO_PIECE = 1 << 62
_ITEM_CHARS = 240
_QUOTE_CHARS = 120
_RULES = 2
_STEPS = 2

Line = str | ContextMetrics  # a text, quoted after "> " or listed after "- ", or what the gauge shows now


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The agent and transcript that every scene uses."""

    agent: Agent
    transcript: Path

    def session(self) -> Session:
        """Open the bundled session."""
        return self.agent.open(self.transcript)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A part of the demo; its lines are computed as they are read."""

    title: str
    lines: Iterator[Line]


def demo() -> Iterator[Scene]:
    """Run all scenes in a temporary folder, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="leftoff-demo-") as folder:
        transcript = bundled_transcript(Path(folder))
        stage = Stage(agent=agent_of(transcript), transcript=transcript)
        for title, play in _SCENES:
            yield Scene(title=title, lines=play(stage))


def bundled_transcript(folder: Path) -> Path:
    """Copy the bundled transcript into a folder and return its path."""
    transcript = folder / _SESSION
    transcript.write_bytes(resources.files("leftoff").joinpath("demo_data", _SESSION).read_bytes())
    return transcript


def _fill_window(stage: Stage) -> Iterator[Line]:
    """Follow the gauge up to the compaction."""
    turns = [turn for turn in stage.session().turns() if turn.number]
    calls = sum(1 for _ in stage.session().tool_calls())
    yield f"An invented session of {stage.agent.name}: {len(turns)} prompts, {calls} tool calls. It begins:"
    yield from _quote(turns[0].prompt, lines=1)
    announced = Level.OK
    for record in stage.session().records:
        if record.actor is not None:
            continue
        if record.compaction is not None and record.compaction.after_tokens is not None:
            yield _gauge(stage, record.compaction.after_tokens)
            yield (
                f"The agent compacts: of {record.compaction.before_tokens or 0:,} tokens, "
                f"{record.compaction.after_tokens:,} are left."
            )
            return
        if record.usage is None:
            continue
        metrics = _measure(stage, record)
        yield metrics
        crossing = check_crossing(announced, metrics, thresholds(Settings()))
        announced = crossing.announced
        if crossing.announce is not None:
            yield from (warning_text(crossing.announce, metrics, is_recording=True) or "").splitlines()


def _compare_with_compaction(stage: Stage) -> Iterator[Line]:
    """Compare the log before the compaction with the summary that the agent wrote."""
    session = stage.session()
    before: list[Record] = []
    records = iter(session.records)
    for record in records:
        if record.compaction is not None and record.compaction.summary:
            summary = record.compaction.summary
            break
        before.append(record)
    else:
        return
    yield "In the story, the agent has only its summary. The next prompt begins:"
    yield from _quote(next(record for record in records if record.kind is RecordKind.PROMPT), lines=3)
    log = build.from_session_state(session.session_id, render(step(State(), before, stage.agent)))
    restored = restoration_text(
        log,
        profile="after_compaction",
        max_chars=MAX_HOOK_CHARS,
        drift=None,
        log_path="resume-logs/",
        summary=summary,
    )
    receipt = build_receipt(log, summary, restored)
    yield "With leftoff, the agent gets back what was lost, and you see:"
    yield f"> {receipt}."
    yield "Among them, word for word:"
    rules = next(line for line in receipt.lines if line.kind == "rules")
    yield from (f"- {rule}" for rule in rules.put_back[:_RULES])


def _show_resume_log(stage: Stage) -> Iterator[Line]:
    log = _build_log(stage)
    yield (
        f"For the next day: {len({source.item for source in log.sources})} items from the transcript, each with its source, "
        "written without a model. Some of what is left to do:"
    )
    for next_step in log.next_steps[1 : 1 + _STEPS]:  # the first is the agent's last reply, which is long
        yield f"- {shorten(next_step, _ITEM_CHARS)}"


def _make_room(stage: Stage) -> Iterator[Line]:
    """Compare the ways to make room, and write a copy by the first."""
    agent, session = copying_agent(stage.agent), stage.session()
    parameters = TrimParameters()
    plan = plan_trim(agent, session, parameters)
    smart = plan_smart_trim(agent, session, parameters)
    gauge = _gauge(stage, plan.live_tokens)
    ways = {
        "trim shortens long tool results": plan.saved_tokens,
        "smart-trim drops outdated content": smart.saved_tokens,
        "rollover restarts from the resume log": _count_rollover_savings(stage),
    }
    for words, saved_tokens in ways.items():
        yield f"- {words}: {Savings.expect(gauge, saved_tokens)} freed"
    at = clock.now()
    order = CopyOrder(
        at=at,
        metadata=trim_metadata(session, plan, at),
        block=_lineage_block(session, "trimmed"),
        used_tokens=plan.usage_after,
        removed_tokens=plan.removed_tokens,
        invariants=COMMON_INVARIANTS,
    )
    copy = agent.write_copy(session, plan.cuts, order)
    before = Path(session.transcript).stat().st_size
    yield (
        f"Each writes a new session and leaves the old one as it is. The trimmed copy has {copy.size_bytes / before:.0%} of the "
        "size; leftoff untrim puts everything back."
    )


def _count_rollover_savings(stage: Stage) -> int:
    agent, session = copying_agent(stage.agent), stage.session()
    live = agent.live_pieces(session, at_least_chars=_NO_PIECE, head=0, tail=0)
    block = _lineage_block(session, "continued")
    message = first_message(
        block, None, _restoration_text(_build_log(stage), MAX_HOOK_CHARS - len(block) - 2)
    )
    return int((live.live_chars - len(message)) * live.tokens_per_char)


def _quote(prompt: Record | None, *, lines: int) -> list[str]:
    """Return the first lines of a prompt that are not empty, each marked as a quotation."""
    text = prompt.text if prompt else ""
    return [f"> {shorten(line, _QUOTE_CHARS)}" for line in text.splitlines() if line.strip()][:lines]


def _build_log(stage: Stage) -> ResumeLog:
    session = stage.session()
    return build.from_session_state(session.session_id, render(step(State(), session.records, stage.agent)))


def _lineage_block(session: Session, derivation: Derivation) -> str:
    return lineage_block([SessionNode(Path(session.transcript), None)], derivation)


def _restoration_text(log: ResumeLog, max_chars: int) -> str:
    return restoration_text(log, profile="fresh", max_chars=max_chars, drift=None, log_path="resume-logs/")


def _redact_secrets(stage: Stage) -> Iterator[Line]:
    yield "Tools of this session printed credentials. What leftoff writes instead:"
    redactor = Redactor()
    for record in stage.session().records:
        if record.kind is not RecordKind.RESULT:
            continue
        for block in record.blocks:
            text = getattr(block, "text", "")
            for finding in redactor.find(text).findings:
                line = redactor.redact(text[: finding.end + 200])
                shown = next(part for part in line.splitlines() if f"[REDACTED:{finding.kind}]" in part)
                yield f"- {shown.strip()}"


def _measure(stage: Stage, record: Record) -> ContextMetrics:
    assert record.usage is not None
    return _gauge(stage, record.usage.occupancy_tokens, record.model, record.window_tokens, record.at)


def _gauge(
    stage: Stage,
    used_tokens: int,
    model: str | None = None,
    window_tokens: int | None = None,
    at: datetime | None = None,
) -> ContextMetrics:
    occupancy = Occupancy(used_tokens=used_tokens, model=model, window_tokens=window_tokens or _WINDOW_TOKENS)
    return measure(
        occupancy,
        stage.agent.window(occupancy, None),
        windows={},
        observed_compaction_tokens=None,
        at=at or clock.now(),
    )


_SCENES: tuple[tuple[str, Callable[[Stage], Iterator[Line]]], ...] = (
    ("1. The context window fills up", _fill_window),
    ("2. What the summary lost", _compare_with_compaction),
    ("3. The resume log", _show_resume_log),
    ("4. Making room instead", _make_room),
    ("5. Credentials are not written down", _redact_secrets),
)
