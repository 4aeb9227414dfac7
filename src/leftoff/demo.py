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
_LINES = 8


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
    lines: Iterator[str]


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


def _describe_session(stage: Stage) -> Iterator[str]:
    session = stage.session()
    turns = [turn for turn in session.turns() if turn.number]
    calls = sum(1 for _ in session.tool_calls())
    size = stage.transcript.stat().st_size
    yield f"{stage.agent.name}, {session.model}: {len(turns)} prompts, {calls} tool calls, {size / 1e6:.1f} MB on disk."
    first = turns[0].prompt
    yield f"It began with: {first.text.splitlines()[0] if first else ''}"


def _fill_window(stage: Stage) -> Iterator[str]:
    announced = Level.OK
    for record in stage.session().records:
        if record.actor is not None:
            continue
        if record.compaction is not None and record.compaction.after_tokens is not None:
            yield _describe_compaction(record)
            announced = Level.OK
        if record.usage is None:
            continue
        metrics = _measure(stage, record)
        crossing = check_crossing(announced, metrics, thresholds(Settings()))
        announced = crossing.announced
        if crossing.announce is not None:
            yield from (warning_text(crossing.announce, metrics, is_recording=True) or "").splitlines()


def _describe_compaction(record: Record) -> str:
    compaction = record.compaction
    assert compaction is not None
    return (
        f"— The agent compacts: {compaction.before_tokens or 0:,} tokens become {compaction.after_tokens or 0:,}. "
        "The gauge falls with it, and the warnings are armed again. —"
    )


def _count_live_messages(stage: Stage) -> Iterator[str]:
    session = stage.session()
    everything = sum(len(record.messages) for record in session.records if record.actor is None)
    live = stage.agent.live_chain(session).messages(session.records)
    yield f"Of {everything} messages in the file, {len(live)} are still sent to the model:"
    yield "the agent's own summary, and what came after it. The rest is what a resume log is for."


def _compare_with_compaction(stage: Stage) -> Iterator[str]:
    """Compare the log before the compaction with the summary that the agent wrote."""
    session = stage.session()
    before: list[Record] = []
    for record in session.records:
        if record.compaction is not None and record.compaction.summary:
            facts = render(step(State(), before, stage.agent), MAX_HOOK_CHARS)
            log = build.from_session_state(session.session_id, facts)
            restored = restoration_text(
                log,
                profile="after_compaction",
                max_chars=MAX_HOOK_CHARS,
                drift=None,
                log_path="resume-logs/",
            )
            yield f"{build_receipt(log, record.compaction.summary, restored)}."
        if record.compaction is None:
            before.append(record)


def _show_resume_log(stage: Stage) -> Iterator[str]:
    log = _build_log(stage)
    text = log.to_markdown()
    yield (
        f"Some {round(log.estimate_tokens(text), -3):,} tokens from the transcript alone, without a model; "
        f"{len({source.item for source in log.sources})} items, each with its source. Some of them:"
    )
    for rule in log.critical_context.get("user_rules", [])[-2:]:
        yield f"Rule of the user: {rule}"
    for finding in log.key_findings[-1:]:
        yield f"Found: {finding}"
    for next_step in log.next_steps[:2]:
        yield f"Next: {next_step}"


def _trim(stage: Stage) -> Iterator[str]:
    """Compare two strategies, write a copy by the first, and show one of its placeholders."""
    agent, session = copying_agent(stage.agent), stage.session()
    parameters = TrimParameters()
    plan = plan_trim(agent, session, parameters)
    smart = plan_smart_trim(agent, session, parameters)
    gauge = _gauge(stage, plan.live_tokens)
    for each in (plan, smart):
        yield f"{each.strategy}: {len(each.cuts)} cuts, {Savings.expect(gauge, each.saved_tokens)} freed."
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
        f"The copy is a session of its own, {copy.size_bytes / before:.0%} of the size; the original was not touched. "
        "One of its placeholders begins:"
    )
    yield from plan.cuts[0].replacement.splitlines()[:1]
    yield f"leftoff expand {plan.cuts[0].key} prints what stood there; leftoff untrim gives all of it back."


def _roll_over(stage: Stage) -> Iterator[str]:
    """Show the size and first lines of the message that a fresh session starts with."""
    agent, session = copying_agent(stage.agent), stage.session()
    live = agent.live_pieces(session, at_least_chars=_NO_PIECE, head=0, tail=0)
    block = _lineage_block(session, "continued")
    message = first_message(
        block, None, _restoration_text(_build_log(stage), MAX_HOOK_CHARS - len(block) - 2)
    )
    saved = int((live.live_chars - len(message)) * live.tokens_per_char)
    yield (
        f"rollover: a fresh session that begins with some {round(len(message), -2):,} characters instead of "
        f"{live.live_chars:,}: {Savings.expect(_gauge(stage, live.live_tokens), saved)} freed. It begins:"
    )
    yield from message.splitlines()[:_LINES]


def _restore(stage: Stage) -> Iterator[str]:
    """Show the first lines of the restoration text."""
    body = _restoration_text(_build_log(stage), MAX_HOOK_CHARS).splitlines()
    yield "Fenced as data, the mission first:"
    begins = next(number for number, line in enumerate(body) if line.startswith("## "))
    yield from body[begins : begins + _LINES]


def _build_log(stage: Stage) -> ResumeLog:
    session = stage.session()
    return build.from_session_state(session.session_id, render(step(State(), session.records, stage.agent)))


def _lineage_block(session: Session, derivation: Derivation) -> str:
    return lineage_block([SessionNode(Path(session.transcript), None)], derivation)


def _restoration_text(log: ResumeLog, max_chars: int) -> str:
    return restoration_text(log, profile="fresh", max_chars=max_chars, drift=None, log_path="resume-logs/")


def _redact_secrets(stage: Stage) -> Iterator[str]:
    redactor = Redactor()
    for record in stage.session().records:
        if record.kind is not RecordKind.RESULT:
            continue
        for block in record.blocks:
            text = getattr(block, "text", "")
            for finding in redactor.find(text).findings:
                line = redactor.redact(text[: finding.end + 200])
                shown = next(part for part in line.splitlines() if f"[REDACTED:{finding.kind}]" in part)
                yield f"A tool printed a credential. What leftoff would write down: {shown.strip()}"


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


_SCENES: tuple[tuple[str, Callable[[Stage], Iterator[str]]], ...] = (
    ("A session", _describe_session),
    ("Its window fills up", _fill_window),
    ("What the model is sent next", _count_live_messages),
    ("What the compaction forgot", _compare_with_compaction),
    ("The resume log", _show_resume_log),
    ("A smaller copy", _trim),
    ("A fresh start", _roll_over),
    ("What the next session is given", _restore),
    ("Nothing secret is written down", _redact_secrets),
)
