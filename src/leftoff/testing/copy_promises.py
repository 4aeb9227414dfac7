"""The promises of an agent that resumes copies (``leftoff.core.protocols.CanCopy``), one test each.

Use it beside ``AgentPromises``::

    class TestMyCopies(CopyPromises):
        def make_agent(self, home):
            return MyAgent(home=home)

        def transcript_of(self, home, session_id):
            return home / "sessions" / f"{session_id}.jsonl"

        def write(self, script, path):
            path.write_text(...)

For an agent that can predict the size of a copy (``CanRehearse``) subclass ``RehearsalPromises`` instead."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pytest

from leftoff.core.protocols import Agent, CanCopy, CanRehearse
from leftoff.core.records import Message
from leftoff.core.trim_plan import (
    Change,
    Copy,
    CopyChecker,
    CopyOrder,
    Cut,
    FreshOrder,
    Invariant,
    Outline,
    Piece,
    RestoredPiece,
    digest_of,
)
from leftoff.core.wire import JsonObject
from leftoff.errors import LeftoffError
from leftoff.testing.builders import Story, call
from leftoff.testing.script import Script

_AT = datetime(2026, 1, 7, 8, 30, tzinfo=UTC)
_BIG = "".join(f"{number}: a line of output ✓ 日本語\n" for number in range(120))
_BLOCK = (
    "[SESSION LINEAGE]\nThis session continues from previous work:\n1. {}.jsonl (trimmed)\n\n"
    "Context from parent sessions may be relevant.\n[/SESSION LINEAGE]"
)


class CopyingAgent(Agent, CanCopy, Protocol):
    """An adapter that writes copies."""


class CopyPromises:
    """Every promise of ``leftoff.core.protocols.CanCopy``."""

    def make_agent(self, home: Path) -> CopyingAgent:
        """Create the adapter for the agent's home folder ``home``."""
        raise NotImplementedError

    def transcript_of(self, home: Path, session_id: str) -> Path:
        """Return where the agent would store that session."""
        raise NotImplementedError

    def write(self, script: Script, path: Path) -> None:
        """Write an invented session in the agent's format."""
        raise NotImplementedError

    @pytest.fixture
    def agent(self, tmp_path: Path) -> CopyingAgent:
        """The adapter under test."""
        return self.make_agent(tmp_path)

    @pytest.fixture
    def transcript(self, tmp_path: Path) -> Path:
        """A session with large results and inputs, at 180,000 tokens."""
        story = Story()
        for turn in range(3):
            story.asked(f"Please do part {turn}")
            story.replied("Let me look.", call("read", {"path": f"src/{turn}.py"}, _BIG), thinking="Hm.")
            story.replied("Long words. " * 90, call("shell", {"command": f"echo {turn}"}, f"{turn}"))
            story.replied(f"Part {turn} is done", used=60_000 * (turn + 1))
        path = self.transcript_of(tmp_path, story.session_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.write(story.script(), path)
        return path

    def copied(self, agent: CopyingAgent, transcript: Path, changes: Sequence[Change] = ()) -> Copy:
        """Write a copy with these changes."""
        return agent.write_copy(agent.open(transcript), changes, _order(transcript))

    def test_the_original_is_never_touched(self, agent: CopyingAgent, transcript: Path) -> None:
        """The content and time of the source are the same after copying."""
        before = (transcript.read_bytes(), transcript.stat().st_mtime_ns)
        self.copied(agent, transcript, _cuts(agent, transcript))
        assert (transcript.read_bytes(), transcript.stat().st_mtime_ns) == before

    def test_the_copy_is_a_session_of_its_own(self, agent: CopyingAgent, transcript: Path) -> None:
        """It has a new id, is listed by the agent, and names its source."""
        copy = self.copied(agent, transcript)
        opened = agent.open(copy.transcript)
        assert opened.session_id == copy.session_id != agent.open(transcript).session_id
        assert copy.transcript in {*agent.transcripts()}
        assert opened.parent is not None
        assert opened.parent.transcript == str(transcript)
        assert opened.parent.derivation == "trimmed"
        assert copy.size_bytes == copy.transcript.stat().st_size

    def test_without_changes_the_model_is_sent_the_same(self, agent: CopyingAgent, transcript: Path) -> None:
        """The live chain of an exact copy is that of the source."""
        assert _sent(agent, self.copied(agent, transcript).transcript) == _sent(agent, transcript)

    def test_a_copy_is_private(self, agent: CopyingAgent, transcript: Path) -> None:
        """It contains the whole conversation, so only its user may read it."""
        assert stat.S_IMODE(self.copied(agent, transcript).transcript.stat().st_mode) == 0o600

    def test_cuts_are_what_the_model_is_sent(self, agent: CopyingAgent, transcript: Path) -> None:
        """The live chain has every replacement and no original, and nothing else has changed."""
        cuts = _cuts(agent, transcript)
        assert {cut.part for cut in cuts} >= {"result", "text"}
        copy = self.copied(agent, transcript, cuts)
        sent = str(_sent(agent, copy.transcript))
        assert all(cut.replacement in sent for cut in cuts)
        assert "119: a line of output" not in copy.transcript.read_text(encoding="utf-8")
        assert copy.size_bytes < transcript.stat().st_size

    def test_usage_never_says_more_than_the_copy_takes(self, agent: CopyingAgent, transcript: Path) -> None:
        """No reply reports more than the order allows; the old numbers are in the metadata."""
        assert max(_occupancies(agent, transcript)) > 100_000
        copy = self.copied(agent, transcript)
        assert 0 < max(_occupancies(agent, copy.transcript)) <= 50_000
        assert agent.occupancy(copy.transcript).used_tokens in range(49_000, 50_001)
        assert '"original"' in copy.transcript.read_text(encoding="utf-8").partition("\n")[0]

    def test_originals_are_found_and_given_back(self, agent: CopyingAgent, transcript: Path) -> None:
        """Each original matches its digest; restoring all of them restores the live chain."""
        pieces, cuts = _pieces(agent, transcript), _cuts(agent, transcript)
        records = {record.place: record for record in agent.read(transcript)}
        originals = [agent.original(records[piece.place], piece.part, piece.call_id) for piece in pieces]
        assert [digest_of(value) for value in originals] == [piece.digest for piece in pieces]
        copy = self.copied(agent, transcript, cuts)
        placed = {
            (piece.part, piece.call_id, piece.turn): piece for piece in _pieces(agent, copy.transcript, 20)
        }
        back = [
            RestoredPiece(place=now.place, part=now.part, call_id=now.call_id, value=value)
            for piece, value in zip(pieces, originals, strict=True)
            for now in [placed[piece.part, piece.call_id, piece.turn]]
        ]
        again = self.copied(agent, copy.transcript, back)
        assert _sent(agent, again.transcript) == _sent(agent, transcript)

    def test_what_is_not_there_is_no_original(self, agent: CopyingAgent, transcript: Path) -> None:
        """A call or a part that the record does not have gives None."""
        for record in agent.read(transcript):
            assert agent.original(record, "result", "no-such-call") is None
            assert agent.original(record._replace(raw=b"torn"), "text", None) is None

    def test_only_the_first_prompt_has_the_lineage_block_once(
        self, agent: CopyingAgent, transcript: Path
    ) -> None:
        """A second copy replaces the block of the first."""
        first = agent.write_copy(agent.open(transcript), (), _order(transcript, block=_BLOCK.format("one")))
        second = agent.write_copy(
            agent.open(first.transcript), (), _order(first.transcript, block=_BLOCK.format("two"))
        )
        texts = [message.text for message in _sent(agent, second.transcript)]
        blocks = [text for text in texts if "[SESSION LINEAGE]" in text]
        assert blocks == [_BLOCK.format("two") + "\n\nPlease do part 0"]

    def test_a_broken_invariant_leaves_nothing_behind(self, agent: CopyingAgent, transcript: Path) -> None:
        """A violated invariant stops the copy, and no file is left that the agent would list."""
        before = _files(agent.home)
        with pytest.raises(LeftoffError, match="never content"):
            agent.write_copy(agent.open(transcript), (), _order(transcript, invariants=(_NeverContent(),)))
        assert _files(agent.home) == before

    def test_a_stale_plan_is_refused(self, agent: CopyingAgent, transcript: Path) -> None:
        """A cut of content that the line does not have is an error, and no file is left."""
        cut = _cuts(agent, transcript)[0]
        stale = Cut(
            place=cut.place,
            part="result",
            call_id="somebody-else",
            tool=None,
            original_chars=9,
            replacement="x",
            rationale="",
        )
        before = _files(agent.home)
        with pytest.raises(LeftoffError, match="Plan again"):
            self.copied(agent, transcript, [stale])
        assert _files(agent.home) == before

    def test_thoughts_are_whole_or_gone(self, agent: CopyingAgent, transcript: Path) -> None:
        """An invariant of the agent forbids shortening signed thinking."""
        cut = _cuts(agent, transcript)[0]
        thought = Cut(
            place=cut.place,
            part="thinking",
            call_id=None,
            tool=None,
            original_chars=9,
            replacement="shorter",
            rationale="",
        )
        assert any(invariant.forbids(thought) for invariant in agent.invariants)
        assert not any(invariant.forbids(cut) for invariant in agent.invariants)

    def test_a_session_of_a_known_client_is_not_refused(self, agent: CopyingAgent, transcript: Path) -> None:
        """Only an unknown version can be refused."""
        assert agent.refusal(agent.open(transcript)) is None

    def test_a_fresh_session_says_one_thing(self, agent: CopyingAgent, tmp_path: Path) -> None:
        """It is listed, has its folder and its one message, and names its source."""
        metadata: JsonObject = {
            "continue_metadata": {"parent_file": "/p/old.jsonl", "parent_session_id": "old"}
        }
        project = tmp_path / "the project"
        project.mkdir()
        order = FreshOrder(at=_AT, project=project, first_message="All ✓ that\nmatters.", metadata=metadata)
        fresh = agent.write_fresh(order)
        session = agent.open(fresh.transcript)
        assert fresh.transcript in {*agent.transcripts()}
        assert (session.session_id, session.project) == (fresh.session_id, str(project.resolve()))
        assert [message.text for message in _sent(agent, fresh.transcript)] == ["All ✓ that\nmatters."]
        assert session.parent is not None
        assert session.parent.derivation == "continued"
        assert agent.entry(fresh.transcript).first_prompt == "All ✓ that\nmatters."

    def test_a_copy_can_be_given_another_folder(
        self, agent: CopyingAgent, transcript: Path, tmp_path: Path
    ) -> None:
        """The copy is listed with the other folder."""
        elsewhere = tmp_path / "else" / "where"
        elsewhere.mkdir(parents=True)
        copy = agent.write_copy(agent.open(transcript), (), _order(transcript, project=elsewhere))
        assert agent.open(copy.transcript).project == str(elsewhere.resolve())
        assert copy.transcript in {*agent.transcripts()}


class RehearsalPromises(CopyPromises):
    """Every promise of ``leftoff.core.protocols.CanRehearse`` as well."""

    def test_a_rehearsal_tells_the_size_and_writes_nothing(
        self, agent: CopyingAgent, transcript: Path
    ) -> None:
        """The predicted size is that of the copy, and no file is written."""
        assert isinstance(agent, CanRehearse)
        cuts, before = _cuts(agent, transcript), {*agent.home.rglob("*")}
        size = agent.copy_size(agent.open(transcript), cuts, _order(transcript, block=_BLOCK.format("one")))
        assert {*agent.home.rglob("*")} == before
        copy = agent.write_copy(agent.open(transcript), cuts, _order(transcript, block=_BLOCK.format("one")))
        assert copy.size_bytes == size

    def test_a_rehearsal_is_refused_as_the_copy_would_be(self, agent: CopyingAgent, transcript: Path) -> None:
        """A violated invariant is reported without writing too."""
        assert isinstance(agent, CanRehearse)
        order = _order(transcript, invariants=(_NeverContent(),))
        with pytest.raises(LeftoffError, match="never content"):
            agent.copy_size(agent.open(transcript), (), order)


class _NeverContent:
    name = "never content"

    def forbids(self, cut: Cut) -> str | None:
        del cut
        return None

    def watch(self) -> CopyChecker:
        return _Grumbler()


class _Grumbler:
    def __init__(self) -> None:
        self._lines = 0

    def see(self, lines: Outline) -> None:
        self._lines += len(lines.calls)

    def broken(self) -> tuple[str, ...]:
        return (f"never content with this object: {id(self)}",)


def _order(
    transcript: Path,
    *,
    block: str | None = None,
    invariants: Sequence[Invariant] = (),
    project: Path | None = None,
) -> CopyOrder:
    metadata: JsonObject = {"trim_metadata": {"parent_file": str(transcript)}}
    return CopyOrder(
        at=_AT, metadata=metadata, block=block, used_tokens=50_000, invariants=invariants, project=project
    )


def _pieces(agent: CopyingAgent, transcript: Path, at_least_chars: int = 500) -> list[Piece]:
    live = agent.live_pieces(agent.open(transcript), at_least_chars=at_least_chars, head=20, tail=20)
    return [piece for piece in live.pieces if piece.part != "thinking"]


def _cuts(agent: CopyingAgent, transcript: Path) -> list[Cut]:
    return [
        Cut(
            place=piece.place,
            part=piece.part,
            call_id=piece.call_id,
            tool=piece.tool,
            original_chars=piece.chars,
            replacement=f"[cut: {piece.chars} characters, number {number}]",
            rationale="",
        )
        for number, piece in enumerate(_pieces(agent, transcript))
    ]


def _sent(agent: CopyingAgent, transcript: Path) -> list[Message]:
    session = agent.open(transcript)
    return agent.live_chain(session).messages(session.records)


def _occupancies(agent: CopyingAgent, transcript: Path) -> list[int]:
    records = (record for record in agent.read(transcript) if record.actor is None)
    return [record.usage.occupancy_tokens for record in records if record.usage is not None]


def _files(home: Path) -> list[Path]:
    return sorted(path for path in home.rglob("*") if path.is_file())
