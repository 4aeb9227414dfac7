"""How many tokens a character of tool results takes is read from the usage before and after them."""

from itertools import pairwise
from pathlib import Path

import pytest

from leftoff.agents.registry import agent_by_id, agent_of
from leftoff.core.records import Usage
from leftoff.shrink.derive import live_pieces
from leftoff.testing.builders import Story, call
from tests.support.long_sessions import copy_into_agent_home

USUAL = {"claude": 0.374, "codex": 0.26}


def ratio_of(home, agent_id: str, tokens_per_char: float, *, results: int, overhead: int = 20_000) -> float:
    """Write a session whose results take that many tokens, and return what is read from it."""
    story = Story(project=str(Path.cwd()), model="gpt-5.5" if agent_id == "codex" else "claude-sonnet-4-5")
    story.used_tokens = overhead
    story.asked("Read them all")
    for number in range(results):
        answer = f"{number}: " + "the ledger keeps its amounts in cents\n" * 300
        story.replied(
            "", call("shell", {"command": f"cat {number}.py"}, answer), used=story.used_tokens + 100
        )
        story.used_tokens += round(len(answer) * tokens_per_char)
    path = getattr(home, agent_id)(story.replied("Read."))
    return live_pieces(agent_by_id(agent_id), agent_of(path).open(path)).tokens_per_char


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
@pytest.mark.parametrize("tokens_per_char", [0.22, 0.3, 0.45])
def test_the_ratio_of_a_session_is_its_own(home, agent_id, tokens_per_char):
    found = ratio_of(home, agent_id, tokens_per_char, results=20)
    assert found == pytest.approx(tokens_per_char, rel=0.06)


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
def test_what_is_sent_besides_the_conversation_does_not_count(home, agent_id):
    """Instructions and tools made savings look a third larger than they were."""
    assert ratio_of(home, agent_id, 0.25, results=20, overhead=90_000) == pytest.approx(0.25, rel=0.06)


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
def test_without_results_the_usual_ratio_of_the_agent_counts(home, agent_id):
    assert ratio_of(home, agent_id, 0.5, results=0) == USUAL[agent_id]


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
def test_a_single_result_proves_little(home, agent_id):
    assert USUAL[agent_id] < ratio_of(home, agent_id, 0.5, results=1) < 0.46


def test_real_sessions_have_the_ratio_of_their_own_token_counts(home, real_transcripts):
    """The median over single results, each between two counts of the agent, is an independent measure."""
    checked = 0
    for path in sorted(real_transcripts.glob("c*.jsonl")):
        try:
            agent = agent_of(path)
        except Exception:  # noqa: BLE001, S112 - a transcript of an agent that leftoff does not read
            continue
        session = agent.open(copy_into_agent_home(home, path))
        expected = _median_ratio(session)
        if expected is not None:
            checked += 1
            assert live_pieces(agent, session).tokens_per_char == pytest.approx(expected, rel=0.25), path.name
    assert checked >= 5


def _median_ratio(session) -> float | None:
    """Return the median of added tokens to characters over the turns in which one long result was added; None for few."""
    usages: list[tuple[Usage, int]] = []
    chars = 0
    for record in session.records:
        if record.actor is not None:
            continue
        if record.compaction is not None:
            usages, chars = [], 0
        if record.usage is not None and (not usages or usages[-1][0] != record.usage):
            usages.append((record.usage, chars))
            chars = 0
        chars += sum(len(getattr(block, "text", "")) for block in record.blocks if hasattr(block, "call_id"))
    ratios = sorted(
        (later.occupancy_tokens - later.output_tokens - earlier.occupancy_tokens) / between
        for (earlier, _), (later, between) in pairwise(usages)
        if between >= 4_000 and later.occupancy_tokens > earlier.occupancy_tokens + later.output_tokens
    )
    return ratios[len(ratios) // 2] if len(ratios) >= 4 else None
