"""Copies of real transcripts: identical but for id, metadata and usage where nothing changed, valid, never larger, and back again."""

import json
import random
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.agents.claude import Claude
from leftoff.agents.claude import chain as claude_chain
from leftoff.agents.codex import Codex
from leftoff.agents.codex import chain as codex_chain
from leftoff.agents.collector import find_block_place
from leftoff.core.trim_plan import CopyOrder, Cut, RestoredPiece, digest_of
from leftoff.shrink.invariants import COMMON_INVARIANTS
from tests.support.transcripts import occupancies

AT = datetime(2026, 1, 7, 8, 30, tzinfo=UTC)
SMALL_BYTES = 1_000_000  # a dozen of the real files, of both agents, with and without compactions
METADATA_BYTES = 1024  # what the metadata of these tests takes, with the space for usage
GOLDEN = (
    "claude-2.1.325-parallel-tools",
    "claude-2.1.325-compaction",
    "claude-2.1.325-too-long",
    "codex-0.166.0-exec-basic",
)


@pytest.fixture(scope="module", params=["golden", "real", pytest.param("all real", marks=pytest.mark.stress)])
def sources(request):
    if request.param == "golden":
        folder = Path(__file__).parents[1] / "golden" / "clients"
        return [folder / f"{name}.jsonl" for name in GOLDEN]
    folder = request.getfixturevalue("real_transcripts")
    found = sorted([*folder.rglob("claude-*.jsonl"), *folder.rglob("codex-*.jsonl")])
    if request.param == "real":
        found = [path for path in found if path.stat().st_size < SMALL_BYTES]
    assert {path.name.partition("-")[0] for path in found} == {"claude", "codex"}
    return found


@pytest.fixture
def placed(tmp_path):
    """The adapter of a transcript and the transcript where that agent would keep it."""

    def place(path):
        if path.name.startswith("claude"):
            agent, target = Claude(home=tmp_path), tmp_path / "projects" / "p" / path.name
        else:
            agent = Codex(tmp_path)
            name = f"rollout-2026-01-06T12-00-00-{agent.open(path).session_id}.jsonl"
            target = tmp_path / "sessions" / "2026" / "01" / "06" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        return agent, target

    return place


def test_an_unchanged_copy_is_identical_but_for_id_metadata_and_usage(sources, placed):
    """Line by line, with the new id put back: the same bytes, but for the line with the metadata, which may come first now."""
    for path in sources:
        agent, source = placed(path)
        session = agent.open(source)
        copy = agent.write_copy(session, (), order(source, used_tokens=None))
        was = source.read_bytes().splitlines()
        now = (
            copy.transcript.read_bytes()
            .replace(copy.session_id.encode(), session.session_id.encode())
            .splitlines()
        )
        assert len(now) == len(was), path.name
        carrier = next(number for number, line in enumerate(now) if b'"trim_metadata"' in line)
        rest = now[:carrier] + now[carrier + 1 :]
        moved = [number for number, line in enumerate(was) if line not in set(rest)]
        assert len(moved) == 1, (path.name, moved)
        assert [line for number, line in enumerate(was) if number != moved[0]] == rest, path.name
        assert carrier in {0, moved[0]}, path.name
        assert without_metadata(now[carrier], was[moved[0]]) == {}, path.name


def test_a_plan_and_a_copy_find_the_same_opening_and_live_part(sources, placed):
    """The lineage block and the start of the chain are at the same place in both."""
    for path in sources:
        agent, source = placed(path)
        session = agent.open(source)
        places = agent.live_chain(session).places
        live_part = agent.live_pieces(session, at_least_chars=1, head=9, tail=9)
        chain = claude_chain if agent.id == "claude" else codex_chain
        with_block = CopyOrder(at=AT, metadata={}, block="lineage")
        found = find_block_place(session, with_block, chain.live_chain, chain.opens)
        assert live_part.first_prompt == found, path.name
        assert live_part.live_from == min(places, key=lambda place: place.start, default=None), path.name


def test_usage_is_all_that_changes_besides(sources, placed):
    """Apart from usage numbers, a copy with rewritten usage equals one without."""
    for path in sources:
        agent, source = placed(path)
        plain = agent.write_copy(agent.open(source), (), order(source, used_tokens=None))
        capped = agent.write_copy(agent.open(source), (), order(source, used_tokens=7000))
        assert max(occupancies(agent, capped.transcript), default=0) <= 7000, path.name
        one, other = (without_numbers(copy) for copy in (plain, capped))
        assert one == other, path.name


def test_every_cut_copy_is_valid_smaller_and_can_be_given_back(sources, placed):
    """All pieces are cut, then all are restored: every original value is in its line again, and the same is sent."""
    for path in sources:
        agent, source = placed(path)
        session = agent.open(source)
        pieces = [piece for piece in live(agent, source, 300) if piece.part != "thinking"]
        cuts = [cut(piece, f"[cut {number}]") for number, piece in enumerate(pieces)]
        copy = agent.write_copy(session, cuts, order(source))
        assert copy.size_bytes <= source.stat().st_size + METADATA_BYTES, path.name
        assert agent.refusal(agent.open(copy.transcript)) is None or agent.refusal(session), path.name
        assert agent.recognises(copy.transcript.read_bytes()[:4096])
        backs = [*given_back(agent, source, pieces, copy.transcript)]
        assert len(backs) == len(pieces), path.name
        again = agent.write_copy(agent.open(copy.transcript), backs, order(copy.transcript))
        assert sent(agent, again.transcript) == sent(agent, source), path.name
        assert again.size_bytes <= source.stat().st_size + METADATA_BYTES, path.name


def test_removed_thinking_leaves_an_unbroken_chain(sources, placed):
    """Every thought taken out: all other messages are sent as before, in the same order."""
    for path in sources:
        agent, source = placed(path)
        cuts = [cut(piece, "") for piece in live(agent, source, 1) if piece.part == "thinking"]
        if not cuts:
            continue
        copy = agent.write_copy(agent.open(source), cuts, order(source))
        assert spoken(agent, copy.transcript) == spoken(agent, source), path.name


def test_fifty_random_strategies_in_a_row_and_back(sources, placed):
    """Whatever is cut and restored in any order, all originals are there at the end."""
    dice = random.Random(7)
    path = min(sources, key=lambda path: abs(path.stat().st_size - 40_000))
    agent, source = placed(path)
    before, now, away = sent(agent, source), source, {}
    for step in range(50):
        pieces = {key(piece): piece for piece in live(agent, now, 1) if piece.part != "thinking"}
        records = {record.place: record for record in agent.read(now)}
        chosen = dice.sample(sorted(pieces, key=str), k=min(len(pieces), dice.randint(1, 4)))
        changes = []
        for each in chosen:
            if each in away:
                piece = pieces[each]
                changes.append(
                    RestoredPiece(
                        place=piece.place, part=piece.part, call_id=piece.call_id, value=away.pop(each)
                    )
                )
            else:
                piece = pieces[each]
                away[each] = agent.original(records[piece.place], piece.part, piece.call_id)
                changes.append(cut(piece, f"[cut in step {step}]"))
        now = agent.write_copy(agent.open(now), changes, order(now)).transcript
    pieces = {key(piece): piece for piece in live(agent, now, 1)}
    back = [
        RestoredPiece(
            place=pieces[each].place, part=pieces[each].part, call_id=pieces[each].call_id, value=value
        )
        for each, value in away.items()
    ]
    assert back
    now = agent.write_copy(agent.open(now), back, order(now)).transcript
    assert sent(agent, now) == before


def order(source, used_tokens=9000):
    return CopyOrder(
        at=AT,
        metadata={"trim_metadata": {"parent_file": str(source)}},
        used_tokens=used_tokens,
        invariants=COMMON_INVARIANTS,
    )


def live(agent, transcript, at_least_chars):
    found = agent.live_pieces(agent.open(transcript), at_least_chars=at_least_chars, head=9, tail=9)
    return found.pieces


def cut(piece, replacement):
    return Cut(
        place=piece.place,
        part=piece.part,
        call_id=piece.call_id,
        tool=piece.tool,
        original_chars=piece.chars,
        replacement=replacement,
        rationale="",
        key="KEY",
    )


def key(piece):
    return piece.part, piece.call_id, piece.turn if piece.call_id is None else 0, piece.tool


def given_back(agent, source, pieces, copied):
    """Each original, to be restored where its piece is now: the copy has the same records, but the first one moved."""
    was, now = ([(record.id, record.place) for record in agent.read(path)] for path in (source, copied))
    if agent.id == "claude":  # the same order in both, also for duplicates
        was, now = (sorted(each, key=lambda found: found[0] or "") for each in (was, now))
    moved = {old[1]: new[1] for old, new in zip(was, now, strict=True)}
    records = {record.place: record for record in agent.read(source)}
    for piece in pieces:
        value = agent.original(records[piece.place], piece.part, piece.call_id)
        assert digest_of(value) == piece.digest
        yield RestoredPiece(place=moved[piece.place], part=piece.part, call_id=piece.call_id, value=value)


def sent(agent, transcript):
    session = agent.open(transcript)
    return agent.live_chain(session).messages(session.records)


def spoken(agent, transcript):
    blocks = [(message.role, block) for message in sent(agent, transcript) for block in message.blocks]
    return [each for each in blocks if type(each[1]).__name__ != "Thinking"]


def without_metadata(first, was):
    """What is new on the first line or has gone from it, besides what must."""
    now, before = json.loads(first), json.loads(was)
    for line in (now, before):
        for holder in (line, line.get("payload", {})):
            for name in (
                "trim_metadata",
                "forked_from_id",
                "history_base",
                "timestamp",
                "forked_from_ordinal_exclusive",
                "model_provider",
            ):
                holder.pop(name, None)
    return {name: value for name, value in now.items() if before.get(name) != value}


def without_numbers(copy):
    """All lines but the one with the metadata, without ids and tokens."""
    lines = copy.transcript.read_bytes().replace(copy.session_id.encode(), b"").split(b"\n")
    rest = b"\n".join(line for line in lines if b'"trim_metadata"' not in line)
    return re.sub(rb'(_tokens": ?)\d+', rb"\1", rest)
