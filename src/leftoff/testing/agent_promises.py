"""The promises of an adapter, one test each.

Subclass ``AgentPromises`` in your tests, and say how the adapter is created and where its transcripts are::

    class TestMyAgent(AgentPromises):
        def make_agent(self, home):
            return MyAgent(home=home)

        def transcript_of(self, home, session_id):
            return home / "sessions" / f"{session_id}.jsonl"

        def golden_files(self):
            return [GoldenFile(GOLDEN / "short.jsonl", GOLDEN / "short.expected.json")]

        def write(self, script, path):
            path.write_text(...)

Give golden files (transcripts that the agent wrote, see ``golden_files``), a writer of invented sessions, or both. Tests that
need an invented session are skipped without a writer."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from leftoff.core.protocols import Agent, HasFastPath
from leftoff.core.records import Record, RecordKind, ToolResult, ToolUse
from leftoff.core.session import Session
from leftoff.errors import TranscriptError
from leftoff.live.fast import look
from leftoff.testing.action_promises import ActionPromises
from leftoff.testing.builders import Story, a_story, call
from leftoff.testing.golden_files import GoldenFile, facts
from leftoff.testing.script import Asked, Compacted, Replied, Script

_BIG_RESULT = "line of output\n" * 400


class AgentPromises(ActionPromises):
    """Every promise of ``leftoff.core.protocols.Agent``."""

    def make_agent(self, home: Path) -> Agent:
        """Create the adapter for the agent's home folder ``home``."""
        raise NotImplementedError

    def transcript_of(self, home: Path, session_id: str) -> Path:
        """Return where the agent would store that session."""
        raise NotImplementedError

    @pytest.fixture
    def agent(self, tmp_path: Path) -> Agent:
        """The adapter under test."""
        return self.make_agent(tmp_path)

    def write(self, script: Script, path: Path) -> None:
        """Optional: write an invented session in the agent's format."""
        pytest.skip("no invented sessions without a writer: override `write` to check this promise")

    def golden_files(self) -> Sequence[GoldenFile]:
        """Optional: transcripts that the agent wrote, with what reading them must give."""
        return ()

    def written(self, home: Path, script: Script) -> Path:
        """Write the script as a transcript where the agent looks for it, and return its path."""
        path = self.transcript_of(home, script.session_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.write(script, path)
        return path

    def samples(self, home: Path) -> list[Path]:
        """Return copies of all golden files, and one invented session if there is a writer."""
        paths = [self.written(home, a_story().script())] if _has_writer(self) else []
        for number, golden in enumerate(self.golden_files()):
            (folder := home / "golden" / str(number)).mkdir(parents=True)
            paths.append(Path(shutil.copy(golden.transcript, folder)))
        return paths

    # Reading

    def test_there_is_something_to_read(self) -> None:
        """Without golden files and without a writer, most tests would pass or be skipped and prove nothing."""
        assert _has_writer(self) or self.golden_files(), "Override `golden_files`, `write` or both."

    def test_golden_files_give_the_expected_facts(self, agent: Agent) -> None:
        """Transcripts that the agent wrote are understood."""
        for golden in self.golden_files():
            expected = json.loads(golden.expected.read_text(encoding="utf-8"))
            assert facts(agent, golden.transcript) == expected, golden.transcript.name

    def test_the_records_tile_the_file(self, agent: Agent, tmp_path: Path) -> None:
        """The places cover the file without gaps, and each record has the bytes at its place."""
        for path in self.samples(tmp_path):
            data, end = path.read_bytes(), 0
            for record in agent.read(path):
                assert record.place.start == end
                assert record.raw == data[record.place.start : record.place.end]
                end = record.place.end
            assert end == len(data)

    def test_reading_can_go_on_after_any_record(self, agent: Agent, tmp_path: Path) -> None:
        """Reading after a place gives the records that followed it when the whole file was read."""
        for path in self.samples(tmp_path):
            records = [*agent.read(path)]
            for number, record in enumerate(records[:50]):
                assert [*agent.read(path, record.place)] == records[number + 1 :]

    def test_nothing_it_does_changes_the_transcript(self, agent: Agent, tmp_path: Path) -> None:
        """The content and time of the file are the same after every call."""
        for path in self.samples(tmp_path):
            before = (path.read_bytes(), path.stat().st_mtime_ns)
            agent.live_chain(agent.open(path))
            agent.entry(path)
            agent.occupancy(path)
            assert (path.read_bytes(), path.stat().st_mtime_ns) == before

    def test_broken_lines_are_kept_and_cost_no_good_record(self, agent: Agent, tmp_path: Path) -> None:
        """Garbage between the lines gives broken records; the others stay the same."""
        path = self.written(tmp_path, a_story().script())
        lines = path.read_bytes().splitlines(keepends=True)
        good = [(record.kind, record.messages) for record in agent.read(path)]
        garbage = [b'{"torn": \n', b"\xff\xfe\n", b"[1, 2]\n", b"\0\0\0\0\n"]
        dirty = [piece for number, line in enumerate(lines) for piece in (line, garbage[number % 4])]
        path.write_bytes(b"".join(dirty))
        read = [*agent.read(path)]
        assert sum(record.kind is RecordKind.BROKEN for record in read) == len(lines)
        assert [
            (record.kind, record.messages) for record in read if record.kind is not RecordKind.BROKEN
        ] == good

    def test_an_unknown_record_is_kept_as_unknown(self, agent: Agent, tmp_path: Path) -> None:
        """A record of an unknown type is passed through with its bytes."""
        path = self.written(tmp_path, a_story(1).script())
        line = json.dumps(
            {"type": "invented-tomorrow", "timestamp": "2026-01-06T12:00:00Z", "payload": {"a": 1}}
        )
        with path.open("ab") as file:
            file.write(line.encode() + b"\n")
        last = [*agent.read(path)][-1]
        assert last.kind is RecordKind.UNKNOWN
        assert last.raw == line.encode() + b"\n"

    def test_a_line_still_being_written_is_no_record_yet(self, agent: Agent, tmp_path: Path) -> None:
        """An incomplete line is broken, and a record once the rest has arrived."""
        path = self.written(tmp_path, a_story(1).script())
        records, data = [*agent.read(path)], path.read_bytes()
        cut = records[-1].place.start + 10
        path.write_bytes(data[:cut])
        assert [*agent.read(path)][-1].kind is RecordKind.BROKEN
        path.write_bytes(data)
        assert [*agent.read(path, records[-2].place)] == records[-1:]

    @pytest.mark.parametrize(
        "content", [b"", b"\n\n", b"\x89PNG\r\n\x1a\n\0\0", b"{}\n", b"null\n", b'{"a": 1}']
    )
    def test_no_content_raises(self, agent: Agent, tmp_path: Path, content: bytes) -> None:
        """Every method returns something for any content."""
        path = tmp_path / "odd.jsonl"
        path.write_bytes(content)
        session = agent.open(path)
        assert b"".join(record.raw for record in session.records) == content
        assert agent.live_chain(session).messages(session.records) == []
        assert agent.occupancy(path).used_tokens is None
        assert agent.entry(path).size_bytes == len(content)

    def test_a_file_that_cannot_be_opened_is_a_transcript_error(self, agent: Agent, tmp_path: Path) -> None:
        """The message for a missing file and for a folder names the path."""
        for path in (tmp_path / "missing.jsonl", tmp_path):
            with pytest.raises(TranscriptError) as caught:
                [*agent.read(path)]
            assert str(path) in caught.value.message

    def test_memory_stays_flat(self, agent: Agent, tmp_path: Path) -> None:
        """Reading holds one record at a time, however long the file is."""
        story = Story()
        for _ in range(400):
            story.asked("Go on").replied("", call("shell", {"command": "make"}, _BIG_RESULT))
        path = self.written(tmp_path, story.script())
        for _ in agent.read(path):
            pass  # loads what is loaded on first use
        tracemalloc.start()
        for _ in agent.read(path):
            pass
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1_000_000 < path.stat().st_size

    # What happened

    def test_the_users_prompts_read_back(self, agent: Agent, tmp_path: Path) -> None:
        """The prompts are those of the story, without text that the agent added."""
        script = a_story().script()
        read = _main(agent.read(self.written(tmp_path, script)))
        prompts = [record.text for record in read if record.kind is RecordKind.PROMPT]
        assert prompts == [event.text for event in script.events if isinstance(event, Asked)]

    def test_the_models_words_read_back(self, agent: Agent, tmp_path: Path) -> None:
        """The replies are those of the story."""
        script = a_story().script()
        read = _main(agent.read(self.written(tmp_path, script)))
        words = [record.text for record in read if record.kind is RecordKind.REPLY and record.text]
        assert words == [event.text for event in script.events if isinstance(event, Replied) and event.text]

    def test_every_call_is_joined_with_its_answer(self, agent: Agent, tmp_path: Path) -> None:
        """Every call of the story has its own result, and failures are marked."""
        script = a_story().script()
        calls = [*agent.open(self.written(tmp_path, script)).tool_calls()]
        expected = [each for event in script.events if isinstance(event, Replied) for each in event.calls]
        assert len(calls) == len({each.call_id for each in calls}) == len(expected)
        for read, meant in zip(calls, expected, strict=True):
            assert read.result is not None
            assert (meant.answer or "").strip() in read.result.text
        assert sum(bool(each.failed) for each in calls) == sum(each.failed for each in expected)

    def test_an_interrupted_call_has_no_answer(self, agent: Agent, tmp_path: Path) -> None:
        """A call that was never answered has no result."""
        story = Story().asked("Go").replied("", call("shell", {"command": "sleep 100"}, None))
        (read,) = agent.open(self.written(tmp_path, story.script())).tool_calls()
        assert read.result is None

    def test_a_turn_begins_at_each_prompt(self, agent: Agent, tmp_path: Path) -> None:
        """Turns are numbered from one and begin with the prompt."""
        script = a_story(4).script()
        turns = [turn for turn in agent.open(self.written(tmp_path, script)).turns() if turn.number]
        assert [turn.number for turn in turns] == [1, 2, 3, 4]
        assert all(turn.prompt is turn.records[0] for turn in turns)

    def test_a_subagents_work_is_not_the_main_conversation(self, agent: Agent, tmp_path: Path) -> None:
        """Records of a subagent, if the transcript has them, name their actor and are not sent to the main model."""
        story = a_story(1).delegated(
            "Count the files", "There are 7.", call("shell", {"command": "ls"}, "SUBOUTPUT")
        )
        session = agent.open(self.written(tmp_path, story.script()))
        inner = [record for record in session.records if b"SUBOUTPUT" in record.raw]
        assert all(record.actor is not None for record in inner)
        assert "SUBOUTPUT" not in _sent_text(agent, session)
        assert "There are 7." in _sent_text(agent, session)

    # The live chain

    def test_the_live_chain_is_the_whole_story_before_any_compaction(
        self, agent: Agent, tmp_path: Path
    ) -> None:
        """Prompts, replies, calls and results are all sent, in order."""
        script = a_story().script()
        session = agent.open(self.written(tmp_path, script))
        text = _sent_text(agent, session)
        position = 0
        for event in script.events:
            words = event.text if isinstance(event, Asked | Replied) else ""
            position = text.index(words, position)

    def test_after_a_compaction_only_the_summary_and_what_followed_is_sent(
        self, agent: Agent, tmp_path: Path
    ) -> None:
        """The live chain has the summary and the new turns, and nothing of the old conversation."""
        story = Story().asked("OLDPROMPT").replied("OLDREPLY", call("shell", {"command": "x"}, "OLDRESULT"))
        story.compacted("THESUMMARY").asked("NEWPROMPT").replied("NEWREPLY")
        session = agent.open(self.written(tmp_path, story.script()))
        text = _sent_text(agent, session)
        assert "OLDREPLY" not in text
        assert "OLDRESULT" not in text
        assert text.index("THESUMMARY") < text.index("NEWPROMPT") < text.index("NEWREPLY")

    def test_every_answer_in_the_live_chain_follows_its_call(self, agent: Agent, tmp_path: Path) -> None:
        """There is no result without its call, which the API would reject."""
        story = (
            a_story()
            .compacted("so far so good")
            .asked("more")
            .replied("", call("shell", {"command": "ls"}, "x"))
        )
        session = agent.open(self.written(tmp_path, story.script()))
        asked: set[str] = set()
        for message in agent.live_chain(session).messages(session.records):
            asked |= {block.call_id for block in message.blocks if isinstance(block, ToolUse)}
            assert {block.call_id for block in message.blocks if isinstance(block, ToolResult)} <= asked

    # The gauge

    def test_occupancy_is_the_last_replys(self, agent: Agent, tmp_path: Path) -> None:
        """The used tokens are those after the last reply, neither a sum nor a subagent's."""
        story = a_story().replied("Almost there", used=123_456)
        path = self.written(tmp_path, story.script())
        assert agent.occupancy(path).used_tokens == 123_456
        assert agent.occupancy(path).tail_chars == 0

    def test_what_came_after_the_last_reply_is_counted_as_tail(self, agent: Agent, tmp_path: Path) -> None:
        """Results and prompts after the last reply add characters, not tokens."""
        story = a_story().replied("", call("shell", {"command": "ls"}, "x" * 5_000), used=50_000)
        occupancy = agent.occupancy(self.written(tmp_path, story.script()))
        assert occupancy.used_tokens == 50_000
        assert 5_000 <= occupancy.tail_chars < 6_000

    def test_after_a_compaction_the_old_number_is_gone(self, agent: Agent, tmp_path: Path) -> None:
        """The usage is what the agent says is left, or unknown; never the number from before."""
        story = a_story().replied("full", used=167_000).compacted("short", after=12_000)
        used = agent.occupancy(self.written(tmp_path, story.script())).used_tokens
        assert used is None or used < 30_000

    def test_list_and_gauge_read_no_more_of_a_large_file(self, agent: Agent, tmp_path: Path) -> None:
        """Only the head and some megabytes of the tail are read, so the bytes read do not grow with the file."""
        if not Path("/proc/self/io").exists():
            pytest.skip("this system does not count the bytes a process reads")
        read = []
        for number, turns in enumerate((300, 900)):
            story = Story(session_id=f"0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b1{number}")
            for _ in range(turns):
                story.asked("Go on").replied("Done", call("shell", {"command": "make"}, _BIG_RESULT))
            path = self.written(tmp_path, story.script())
            agent.entry(path)
            before = _bytes_read()
            agent.entry(path)
            agent.occupancy(path)
            read.append(_bytes_read() - before)
        assert read[1] < read[0] * 1.5

    def test_the_fast_path_sees_the_same_tokens(self, agent: Agent, tmp_path: Path) -> None:
        """The fast-path rules give the same as ``occupancy`` after every record."""
        if not isinstance(agent, HasFastPath):
            pytest.skip("this agent has no rules for the fast path")
        rules: Any = json.loads(json.dumps(agent.fast_path))
        for path in self.samples(tmp_path):
            data, cut = path.read_bytes(), path.with_name(f"cut-{path.name}")
            for record in [*agent.read(path)][-50:]:
                cut.write_bytes(data[: record.place.end])
                seen = look(rules, str(cut))
                assert seen is not None
                assert seen[0] == agent.occupancy(cut).used_tokens

    # The list

    def test_a_session_is_found_and_listed(self, agent: Agent, tmp_path: Path) -> None:
        """The entry has the id, folder, first prompt, size and usage of the story."""
        script = a_story().script()
        path = self.written(tmp_path, script)
        (listed,) = agent.transcripts()
        entry = agent.entry(listed)
        assert listed == path
        assert (entry.agent, entry.session_id, entry.project) == (agent.id, script.session_id, script.project)
        assert entry.first_prompt == "Please do part 0 日本語"
        assert entry.size_bytes == path.stat().st_size
        assert entry.occupancy.used_tokens == agent.occupancy(path).used_tokens

    def test_its_own_transcripts_are_recognised(self, agent: Agent, tmp_path: Path) -> None:
        """The first kilobytes are enough; text, other JSON and an empty file are not recognised."""
        for path in self.samples(tmp_path):
            assert agent.recognises(path.read_bytes()[:4096])
        for other in (b"", b"hello\n", b'{"a": 1}\n', b"\x89PNG", b"[]"):
            assert not agent.recognises(other)

    def test_compactions_read_back_with_their_numbers(self, agent: Agent, tmp_path: Path) -> None:
        """The summary, and the tokens before it if the agent records them, are those of the story."""
        story = a_story(1).replied("full", used=160_000).compacted("THESUMMARY", after=9_000)
        compactions = [
            record.compaction
            for record in agent.read(self.written(tmp_path, story.script()))
            if record.compaction is not None
        ]
        assert any("THESUMMARY" in (each.summary or "") for each in compactions)
        (expected,) = (event for event in story.events if isinstance(event, Compacted))
        assert {each.before_tokens for each in compactions} <= {expected.before_tokens, None}

    def test_no_known_record_is_called_unknown(self, agent: Agent, tmp_path: Path) -> None:
        """The adapter understands everything that the writer writes."""
        story = a_story().delegated("Look", "Seen.").compacted("short").asked("more").replied("ok")
        kinds = Counter(record.kind for record in agent.read(self.written(tmp_path, story.script())))
        assert kinds[RecordKind.UNKNOWN] == kinds[RecordKind.BROKEN] == 0


def _has_writer(promises: AgentPromises) -> bool:
    return type(promises).write is not AgentPromises.write


def _main(records: Iterable[Record]) -> list[Record]:
    return [record for record in records if record.actor is None]


def _sent_text(agent: Agent, session: Session) -> str:
    messages = agent.live_chain(session).messages(session.records)
    return "\n".join(str(getattr(block, "text", "")) for message in messages for block in message.blocks)


def _bytes_read() -> int:
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return int(lines[0].split()[1])
