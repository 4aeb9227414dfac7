"""Copies and new sessions that our adapters write: the real clients list and resume them."""

import re
from datetime import UTC, datetime
from pathlib import Path

from drive import Agent, Run
from sandbox import Sandbox
from scenario import (
    blocks_of_type,
    has_text,
    has_tool_result,
    require_success,
    results_by_call,
    scenario,
    shell_call,
)
from screens import RESUME_ARGUMENTS, requests_with, screen_options, submit

from leftoff.agents.claude import Claude
from leftoff.agents.codex import Codex
from leftoff.core.trim_plan import Copy, CopyOrder, Cut, FreshOrder, Piece
from leftoff.core.wire import JsonObject
from leftoff.shrink.invariants import COMMON_INVARIANTS

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "clients"
NOW = datetime(2026, 11, 16, 3, 0, tzinfo=UTC)
PLACEHOLDER = "[Results from the tool suppressed - the scenario's placeholder]"
LINEAGE = "[SESSION LINEAGE]\nmade from another\n[/SESSION LINEAGE]"


@scenario(clients=("claude", "codex"))
def trimmed_copy_resumes(agent: Agent, sandbox: Sandbox) -> None:
    """A trimmed copy is resumed with placeholders, is not compacted, and keeps its metadata when it is forked."""
    run = full_session(agent, sandbox)
    before = run.transcript.read_bytes()
    copy = write_trimmed_copy(agent, sandbox, run.transcript)
    resumed = require_success(agent.resume(sandbox, copy.transcript, "Continue.\n#say continuing"))
    assert not resumed.summary_requests, "the client compacted the copy"
    assert resumed.transcript == copy.transcript, "the client continued in another file"
    assert has_tool_result(resumed.last_messages, PLACEHOLDER)
    assert not has_tool_result(resumed.last_messages, "1789"), "an original was sent"
    assert has_text(resumed.last_messages, "user", "[SESSION LINEAGE]")
    assert has_text(resumed.last_messages, "assistant", "looked at it all")
    assert results_by_call(resumed.last_messages)
    forked = require_success(agent.fork(sandbox, copy.transcript, "On a branch.\n#say branched"))
    assert has_tool_result(forked.last_messages, PLACEHOLDER)
    assert run.transcript.read_bytes() == before, "the original was changed"
    assert not forked.summary_requests
    if agent.name == "claude":  # Codex's fork refers to the copy, which has the metadata
        assert b'"trim_metadata"' in forked.transcript.read_bytes(), "the fork has lost its origin"


@scenario(clients=("claude",))
def compacted_copy_forked(agent: Agent, sandbox: Sandbox) -> None:
    """A copy of a compacted session continues after its summary, and its fork still names the original."""
    source = agent.install_transcript(sandbox, GOLDEN / "claude-2.1.325-compaction.jsonl")
    adapter = adapter_of(agent, sandbox)
    copy = adapter.write_copy(adapter.open(source), (), copy_order(source, lineage=LINEAGE, used_tokens=900))
    forked = require_success(agent.fork(sandbox, copy.transcript, "On a branch.\n#say branched"))
    assert has_text(forked.last_messages, "user", "[SESSION LINEAGE]")
    assert b'"trim_metadata"' in forked.transcript.read_bytes(), "the fork has lost its origin"


@scenario(clients=("claude", "codex"))
def copy_with_old_usage_compacts(agent: Agent, sandbox: Sandbox) -> None:
    """A copy that keeps the old token counts is compacted at the first prompt: this is why copies get new ones."""
    run = full_session(agent, sandbox)
    adapter = adapter_of(agent, sandbox)
    copy = adapter.write_copy(adapter.open(run.transcript), (), copy_order(run.transcript))
    long_prompt = "Continue.\n" + "many words " * 3000 + "\n#say continuing"
    resumed = agent.resume(sandbox, copy.transcript, long_prompt)
    assert resumed.summary_requests, "nothing was compacted: the scenario proves nothing"


@scenario(clients=("claude",))
def copy_without_thinking(agent: Agent, sandbox: Sandbox) -> None:
    """A copy without the old thinking blocks still sends everything else in order."""
    thinking = (
        f"#think deep thoughts indeed\n{shell_call(agent, 'echo found')}\n#think more of them\n#say thought"
    )
    first = require_success(agent.prompt(sandbox, f"Think.\n{thinking}"))
    run = require_success(agent.resume(sandbox, first.transcript, "Once more.\n#say fine"))
    adapter = adapter_of(agent, sandbox)
    session = adapter.open(run.transcript)
    live = adapter.live_pieces(session, at_least_chars=1, head=9, tail=9)
    cuts = [cut(piece, "") for piece in live.pieces if piece.part == "thinking"]
    assert len(cuts) == 2, live.pieces
    copy = adapter.write_copy(session, cuts, copy_order(run.transcript, used_tokens=500))
    resumed = require_success(agent.resume(sandbox, copy.transcript, "Continue.\n#say continuing"))
    assert not blocks_of_type(resumed.last_messages, "thinking")
    assert [*results_by_call(resumed.last_messages).values()] == ["found"]
    assert has_text(resumed.last_messages, "assistant", "thought")
    assert has_text(resumed.last_messages, "user", "Once more.")


@scenario(clients=("claude", "codex"))
def written_session_resumes(agent: Agent, sandbox: Sandbox) -> None:
    """A session of one message that leftoff wrote is listed by the client's own picker and can be resumed."""
    text = "Everything that the next session must know about the blue kangaroo."
    order = FreshOrder(
        at=NOW,
        project=sandbox.path_inside(sandbox.project),
        first_message=text,
        metadata=metadata(Path("elsewhere.jsonl")),
    )
    written = adapter_of(agent, sandbox).write_fresh(order)
    with sandbox.open_screen([*RESUME_ARGUMENTS[agent.name], *screen_options(agent, sandbox)]) as screen:
        screen.wait_for("blue kangaroo")
    resumed = require_success(agent.resume(sandbox, written.transcript, "Continue.\n#say continuing"))
    assert has_text(resumed.last_messages, "user", text)
    assert resumed.transcript == written.transcript


@scenario(clients=("claude", "codex"))
def trimmed_copy_on_screen(agent: Agent, sandbox: Sandbox) -> None:
    """A trimmed copy is shown and continued on a terminal."""
    options = screen_options(agent, sandbox)
    # A session that started with another model would be compacted for that reason alone.
    run = full_session(agent, sandbox, *options[1:])
    copy = write_trimmed_copy(agent, sandbox, run.transcript)
    with sandbox.open_screen([*RESUME_ARGUMENTS[agent.name], copy.session_id, *options]) as screen:
        screen.wait_for("looked at it all")
        submit(agent, screen, "Continue here.", "continuing on the screen")
    later = sandbox.conversation(len(run.requests))
    assert "summary" not in {request.kind for request in later}, "the client compacted the copy"
    messages = requests_with(later, "Continue here.")[-1].messages
    assert has_tool_result(messages, PLACEHOLDER)
    assert not has_tool_result(messages, "1789")


def full_session(agent: Agent, sandbox: Sandbox, *options: str) -> Run:
    """Run one turn with a large tool result that ends with an almost full window."""
    calls = f"{shell_call(agent, 'seq 1 2000')}\n#usage {agent.full_tokens}\n#say looked at it all"
    return require_success(agent.prompt(sandbox, f"Look at it all.\n{calls}", *options))


def write_trimmed_copy(agent: Agent, sandbox: Sandbox, transcript: Path) -> Copy:
    """Write a copy with a placeholder for the large tool result."""
    adapter = adapter_of(agent, sandbox)
    session = adapter.open(transcript)
    live = adapter.live_pieces(session, at_least_chars=2000, head=9, tail=9)
    cuts = [cut(piece, PLACEHOLDER) for piece in live.pieces if piece.part == "result"]
    assert len(cuts) == 1, live.pieces
    copy = adapter.write_copy(session, cuts, copy_order(transcript, lineage=LINEAGE, used_tokens=5000))
    original = re.search(
        rb"1789[\\nr]+1790", copy.transcript.read_bytes()
    )  # one number alone may be part of an id
    assert original is None, "the file still holds the original elsewhere"
    assert adapter.occupancy(copy.transcript).used_tokens <= 5000
    return copy


def copy_order(parent: Path, *, lineage: str | None = None, used_tokens: int | None = None) -> CopyOrder:
    return CopyOrder(
        at=NOW,
        metadata=metadata(parent),
        block=lineage,
        used_tokens=used_tokens,
        invariants=COMMON_INVARIANTS,
    )


def cut(piece: Piece, replacement: str) -> Cut:
    return Cut(
        place=piece.place,
        part=piece.part,
        call_id=piece.call_id,
        tool=piece.tool,
        original_chars=piece.chars,
        replacement=replacement,
        rationale="the scenario wants it",
    )


def metadata(parent: Path) -> JsonObject:
    return {"trim_metadata": {"parent_file": str(parent), "parent_session_id": parent.stem}}


def adapter_of(agent: Agent, sandbox: Sandbox) -> Claude | Codex:
    home = sandbox.home / f".{agent.name}"
    return Claude(home=home) if agent.name == "claude" else Codex(home)
