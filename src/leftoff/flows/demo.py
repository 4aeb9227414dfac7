"""The whole story in a scratch folder, on the bundled session: every scene is the real thing, run now.

A scene is a title and a function that yields lines; the next capability adds its own to ``_SCENES``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from leftoff.config.layers import thresholds
from leftoff.config.settings import Settings
from leftoff.extract import State, render, step
from leftoff.flows import demo_shrinking
from leftoff.flows.agents import agents_here
from leftoff.flows.derive import copier
from leftoff.meter import gauge
from leftoff.meter.crossings import crossing
from leftoff.meter.warnings import warning
from leftoff.model.context_metrics import ContextMetrics, Level
from leftoff.model.occupancy import Occupancy
from leftoff.model.protocols import Agent
from leftoff.model.records import Record, RecordKind
from leftoff.model.resume_log import ResumeLog
from leftoff.model.session import Session
from leftoff.model.values import dataclass
from leftoff.restore.profiles import restoration_text
from leftoff.restore.receipt import receipt
from leftoff.resume_logs import make
from leftoff.samples.bundled import bundled_script
from leftoff.system import clock
from leftoff.system.redaction import Redactor

_HOOK_CHARS = 9_900  # what a hook can hand over


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What every scene can use."""

    agent: Agent
    transcript: Path
    window_tokens: int

    def session(self) -> Session:
        """The bundled session."""
        return self.agent.open(self.transcript)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A part of the story; its lines come as they are found out."""

    title: str
    lines: Iterator[str]


def demo() -> Iterator[Scene]:
    """Play it. Everything is written into a scratch folder, which is gone afterwards."""
    agent = agents_here()[0]
    with tempfile.TemporaryDirectory(prefix="leftoff-demo-") as folder:
        script = bundled_script()
        transcript = Path(folder) / f"{script.session_id}.jsonl"
        agent.transcribe(script, transcript)
        stage = Stage(agent=agent, transcript=transcript, window_tokens=script.window_tokens)
        for title, play in _SCENES:
            yield Scene(title=title, lines=play(stage))


def _a_session(stage: Stage) -> Iterator[str]:
    session = stage.session()
    turns = [turn for turn in session.turns() if turn.number]
    calls = sum(1 for _ in session.tool_calls())
    size = stage.transcript.stat().st_size
    yield f"{stage.agent.name}, {session.model}: {len(turns)} prompts, {calls} tool calls, {size / 1e6:.1f} MB on disk."
    first = turns[0].prompt
    yield f"It began with: {first.text.splitlines()[0] if first else ''}"


def _the_window_fills(stage: Stage) -> Iterator[str]:
    said = Level.OK
    for record in stage.session().records:
        if record.actor is not None:
            continue
        if record.compaction is not None and record.compaction.after_tokens is not None:
            yield _compacted(record)
            said = Level.OK
        if record.usage is None:
            continue
        metrics = _measured(stage, record)
        crossed = crossing(said, metrics, thresholds(Settings()))
        said = crossed.said
        if crossed.announce is not None:
            yield from (warning(crossed.announce, metrics) or "").splitlines()


def _compacted(record: Record) -> str:
    compaction = record.compaction
    assert compaction is not None
    return (
        f"— The agent compacts: {compaction.before_tokens or 0:,} tokens become {compaction.after_tokens or 0:,}. "
        "The gauge falls with it, and the warnings are armed again. —"
    )


def _what_is_sent_next(stage: Stage) -> Iterator[str]:
    session = stage.session()
    everything = sum(len(record.messages) for record in session.records if record.actor is None)
    live = stage.agent.live_chain(session).messages(session.records)
    yield f"Of {everything} messages in the file, {len(live)} are still sent to the model:"
    yield "the agent's own summary, and what came after it. The rest is what a resume log is for."


def _a_compaction_forgets(stage: Stage) -> Iterator[str]:
    """The log as it would have been saved before the compaction, beside the summary that the agent wrote."""
    session = stage.session()
    before: list[Record] = []
    for record in session.records:
        if record.compaction is not None and record.compaction.summary:
            told = render(step(State(), before, stage.agent), _HOOK_CHARS)
            log = make.from_session_state(session.session_id, told)
            put_back = restoration_text(
                log,
                profile="after_compaction",
                max_chars=_HOOK_CHARS,
                drift=None,
                path_of_whole="resume-logs/",
            )
            yield f"{receipt(log, record.compaction.summary, put_back)}."
        if record.compaction is None:
            before.append(record)


def _the_resume_log(stage: Stage) -> Iterator[str]:
    log = _log(stage)
    text = log.to_markdown()
    yield (
        f"Some {round(log.estimate_tokens(text), -3):,} tokens from the transcript alone, without a model; "
        f"{len({source.item for source in log.sources})} items, each with its source. Some of them:"
    )
    for rule in log.critical_context.get("user_rules", [])[-2:]:
        yield f"Rule of the user: {rule}"
    for found in log.key_findings[-1:]:
        yield f"Found: {found}"
    for next_step in log.next_steps[:2]:
        yield f"Next: {next_step}"


def _trimmed(stage: Stage) -> Iterator[str]:
    yield from demo_shrinking.trimmed(copier(stage.agent), stage.session())


def _rolled_over(stage: Stage) -> Iterator[str]:
    yield from demo_shrinking.rolled_over(copier(stage.agent), stage.session(), _log(stage))


def _restored(stage: Stage) -> Iterator[str]:
    yield from demo_shrinking.restored(_log(stage))


def _log(stage: Stage) -> ResumeLog:
    session = stage.session()
    return make.from_session_state(session.session_id, render(step(State(), session.records, stage.agent)))


def _nothing_secret_is_kept(stage: Stage) -> Iterator[str]:
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


def _measured(stage: Stage, record: Record) -> ContextMetrics:
    assert record.usage is not None
    occupancy = Occupancy(
        used_tokens=record.usage.occupancy_tokens,
        model=record.model,
        window_tokens=record.window_tokens or stage.window_tokens,
    )
    return gauge.measure(
        occupancy,
        stage.agent.window(occupancy, None),
        windows={},
        observed_compaction_tokens=None,
        at=record.at or clock.now(),
    )


_SCENES: tuple[tuple[str, Callable[[Stage], Iterator[str]]], ...] = (
    ("A session", _a_session),
    ("Its window fills up", _the_window_fills),
    ("What the model is sent next", _what_is_sent_next),
    ("What the compaction forgot", _a_compaction_forgets),
    ("The resume log", _the_resume_log),
    ("A smaller copy", _trimmed),
    ("A fresh start", _rolled_over),
    ("What the next session is given", _restored),
    ("Nothing secret is written down", _nothing_secret_is_kept),
)
