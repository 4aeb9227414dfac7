"""The measures of making a session smaller, run as a process of its own, so that its memory can be told.

``python -m leftoff.flows.bench_shrink TRANSCRIPT AGENT ROUNDS`` prints one JSON object. A whole trim is the plan, the copy and
the look through it before it takes its name; the write pass is the copy alone.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from leftoff.errors import ProcessError
from leftoff.flows.agents import agents_here
from leftoff.flows.plan_shrink import CopyingAgent, plan_trim
from leftoff.lineage.block import lineage_block
from leftoff.model.copying import CopyOrder
from leftoff.model.protocols import CanCopy
from leftoff.model.session import Session
from leftoff.model.session_node import SessionNode
from leftoff.model.trim_plan import TrimPlan
from leftoff.shrink.invariants import EVERYWHERE
from leftoff.shrink.trim import TrimParameters
from leftoff.system import clock, memory, process


class Measured(TypedDict):
    """Seconds of each round, ours and those of ``cp``; and the most memory that all of it took."""

    write: list[tuple[float, float]]
    trim: list[tuple[float, float]]
    megabytes: float
    rss_megabytes: float


def measured(agent: CopyingAgent, transcript: Path, rounds: int) -> Measured:
    """All rounds; each takes both sides in turn, so that a busy machine slows both."""
    session = agent.open(transcript)
    plan = plan_trim(agent, session, TrimParameters())
    order = CopyOrder(
        at=clock.now(),
        metadata={"trim_metadata": {"parent_file": str(transcript)}},
        block=lineage_block([SessionNode(transcript, None)], "trimmed"),
        first_prompt=plan.first_prompt,
        live_from=plan.live_from,
        used_tokens=max(1, plan.live_tokens - plan.saved_tokens),
        invariants=EVERYWHERE,
    )

    def cp() -> None:
        process.run(["cp", str(transcript), str(transcript.with_name("copied"))], timeout_seconds=600)

    write = [
        (_timed(lambda: _write(agent, session, plan, replace(order, invariants=()))), _timed(cp))
        for _ in range(rounds)
    ]
    trim = [(_timed(lambda: _trim(agent, transcript, order)), _timed(cp)) for _ in range(rounds)]
    return {
        "write": write,
        "trim": trim,
        "megabytes": transcript.stat().st_size / 1e6,
        "rss_megabytes": memory.peak_bytes() / 1e6,
    }


def _trim(agent: CopyingAgent, transcript: Path, order: CopyOrder) -> None:
    session = agent.open(transcript)
    plan = plan_trim(agent, session, TrimParameters())
    _write(agent, session, plan, replace(order, first_prompt=plan.first_prompt, live_from=plan.live_from))


def _write(agent: CopyingAgent, session: Session, plan: TrimPlan, order: CopyOrder) -> None:
    agent.write_copy(session, plan.cuts, order).transcript.unlink()


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main(arguments: list[str]) -> None:
    """What the child does: the transcript stands there already, so that making it up counts for nobody's memory."""
    transcript, agent_id, rounds = Path(arguments[0]), arguments[1], int(arguments[2])
    agent = next(each for each in agents_here() if each.id == agent_id)
    if not isinstance(agent, CanCopy):
        raise ProcessError(f"{agent.name} has no copies to measure.")
    sys.stdout.write(json.dumps(measured(agent, transcript, rounds)))


if __name__ == "__main__":
    main(sys.argv[1:])
