"""Copies and fresh sessions that our adapters write, in the real clients: what they are then sent, and where they list them."""

from datetime import UTC, datetime
from pathlib import Path

from drive import Agent, Run
from sandbox import Sandbox
from scenario import blocks, command, pairs, resulted, said, scenario, succeeded
from scenarios.left_off import ANSWER, on_screen_trusted

from leftoff.agents.claude import Claude
from leftoff.agents.codex import Codex
from leftoff.model.copying import Copy, CopyOrder, FreshOrder, Piece
from leftoff.model.trim_plan import Cut
from leftoff.model.wire import JsonObject
from leftoff.shrink.invariants import EVERYWHERE

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "clients"
NOW = datetime(2026, 11, 16, 3, 0, tzinfo=UTC)
FULL = {"claude": 968_000, "codex": 95_000}  # the next prompt makes the client compact
RESUME = {"claude": ["--resume"], "codex": ["resume"]}
PLACEHOLDER = "[Results from the tool suppressed - the scenario's placeholder]"
BLOCK = "[SESSION LINEAGE]\nmade from another\n[/SESSION LINEAGE]"


@scenario(clients=("claude", "codex"))
def cut_copy_resumes(agent: Agent, sandbox: Sandbox) -> None:
    """A copy with cuts is sent with placeholders and without originals, is not compacted, and keeps its metadata through a fork."""
    run = full_session(agent, sandbox)
    before = run.transcript.read_bytes()
    copy = cut_copy(agent, sandbox, run.transcript)
    resumed = succeeded(agent.resume(sandbox, copy.transcript, "Go on.\n#say going on"))
    assert not resumed.summaries, "the client compacted the copy"
    assert resumed.transcript == copy.transcript, "the client went on in another file"
    assert resulted(resumed.last, PLACEHOLDER)
    assert not resulted(resumed.last, "1789"), "an original was sent"
    assert said(resumed.last, "user", "[SESSION LINEAGE]")
    assert said(resumed.last, "assistant", "looked at it all")
    assert pairs(resumed.last)
    forked = succeeded(agent.fork(sandbox, copy.transcript, "On a branch.\n#say branched"))
    assert resulted(forked.last, PLACEHOLDER)
    assert run.transcript.read_bytes() == before, "the original was changed"
    assert not forked.summaries
    if agent.name == "claude":  # Codex' fork names the copy, which says the rest
        assert b'"trim_metadata"' in forked.transcript.read_bytes(), "the fork knows nothing of its origin"


@scenario(clients=("claude",))
def compacted_copy_forked(agent: Agent, sandbox: Sandbox) -> None:
    """A copy of a compacted session goes on after its summary, and its fork still says what it was made from."""
    source = agent.place(sandbox, GOLDEN / "claude-2.1.325-compaction.jsonl")
    adapter = adapter_of(agent, sandbox)
    order = CopyOrder(at=NOW, metadata=metadata(source), block=BLOCK, used_tokens=900, invariants=EVERYWHERE)
    copy = adapter.write_copy(adapter.open(source), (), order)
    forked = succeeded(agent.fork(sandbox, copy.transcript, "On a branch.\n#say branched"))
    assert said(forked.last, "user", "[SESSION LINEAGE]")
    assert b'"trim_metadata"' in forked.transcript.read_bytes(), "the fork knows nothing of its origin"


@scenario(clients=("claude", "codex"))
def uncut_source_is_compacted(agent: Agent, sandbox: Sandbox) -> None:
    """The same session copied with its old numbers is compacted at the first prompt: rewriting them is what keeps it."""
    run = full_session(agent, sandbox)
    adapter = adapter_of(agent, sandbox)
    order = CopyOrder(at=NOW, metadata=metadata(run.transcript), invariants=EVERYWHERE)
    copy = adapter.write_copy(adapter.open(run.transcript), (), order)
    resumed = agent.resume(sandbox, copy.transcript, "Go on.\n" + "many words " * 3000 + "\n#say going on")
    assert resumed.summaries, "nothing was compacted: the scenario proves nothing"


@scenario(clients=("claude",))
def thoughts_taken_out(agent: Agent, sandbox: Sandbox) -> None:
    """Old thoughts are taken out with their lines, and everything else is still sent in its order."""
    first = succeeded(
        agent.prompt(
            sandbox,
            f"Think.\n#think deep thoughts indeed\n{command(agent, 'echo found')}\n#think more of them\n#say thought",
        )
    )
    run = succeeded(agent.resume(sandbox, first.transcript, "Once more.\n#say fine"))
    adapter = adapter_of(agent, sandbox)
    session = adapter.open(run.transcript)
    live = adapter.live_pieces(session, at_least_chars=1, head=9, tail=9)
    cuts = [cut(piece, "") for piece in live.pieces if piece.part == "thinking"]
    assert len(cuts) == 2, live.pieces
    order = CopyOrder(at=NOW, metadata=metadata(run.transcript), used_tokens=500, invariants=EVERYWHERE)
    copy = adapter.write_copy(session, cuts, order)
    resumed = succeeded(agent.resume(sandbox, copy.transcript, "Go on.\n#say going on"))
    assert not blocks(resumed.last, "thinking")
    assert [*pairs(resumed.last).values()] == ["found"]
    assert said(resumed.last, "assistant", "thought")
    assert said(resumed.last, "user", "Once more.")


@scenario(clients=("claude", "codex"))
def fresh_session_resumes(agent: Agent, sandbox: Sandbox) -> None:
    """A session of one message that we wrote is listed by the client's own picker, and gone on with."""
    folder = sandbox.inside(sandbox.project)
    words = "Everything that the next session must know about the blue kangaroo."
    order = FreshOrder(
        at=NOW, project=folder, first_message=words, metadata=metadata(Path("elsewhere.jsonl"))
    )
    fresh = adapter_of(agent, sandbox).write_fresh(order)
    with sandbox.screen([*RESUME[agent.name], *on_screen_trusted(agent, sandbox)]) as screen:
        screen.wait_for("blue kangaroo")
    resumed = succeeded(agent.resume(sandbox, fresh.transcript, "Go on.\n#say going on"))
    assert said(resumed.last, "user", words)
    assert resumed.transcript == fresh.transcript


@scenario(clients=("claude", "codex"))
def cut_copy_on_screen(agent: Agent, sandbox: Sandbox) -> None:
    """A copy with cuts is drawn and gone on with on a terminal."""
    flags = on_screen_trusted(agent, sandbox)
    # A session that began with another model would be compacted for that alone.
    run = full_session(agent, sandbox, *flags[1:])
    copy = cut_copy(agent, sandbox, run.transcript)
    with sandbox.screen([*RESUME[agent.name], copy.session_id, *flags]) as screen:
        screen.wait_for("looked at it all")
        screen.type("Go on here.\n#say going on on the screen")
        screen.wait_for(f"{ANSWER[agent.name]} going on on the screen")
    later = sandbox.conversation(len(run.requests))
    assert not [request for request in later if request.kind == "summary"], "the client compacted the copy"
    sent = [request.messages for request in later if said(request.messages, "user", "Go on here.")]
    assert resulted(sent[-1], PLACEHOLDER)
    assert not resulted(sent[-1], "1789")


def full_session(agent: Agent, sandbox: Sandbox, *options: str) -> Run:
    """One turn with a large result, after which the window is all but full."""
    prompt = (
        f"Look at it all.\n{command(agent, 'seq 1 2000')}\n#usage {FULL[agent.name]}\n#say looked at it all"
    )
    return succeeded(agent.prompt(sandbox, prompt, *options))


def cut_copy(agent: Agent, sandbox: Sandbox, transcript: Path) -> Copy:
    adapter = adapter_of(agent, sandbox)
    session = adapter.open(transcript)
    live = adapter.live_pieces(session, at_least_chars=2000, head=9, tail=9)
    cuts = [cut(piece, PLACEHOLDER) for piece in live.pieces if piece.part == "result"]
    assert len(cuts) == 1, live.pieces
    order = CopyOrder(
        at=NOW, metadata=metadata(transcript), block=BLOCK, used_tokens=5000, invariants=EVERYWHERE
    )
    copy = adapter.write_copy(session, cuts, order)
    assert b"1789" not in copy.transcript.read_bytes(), "a repeated original is left in the file"
    assert adapter.occupancy(copy.transcript).used_tokens <= 5000
    return copy


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
