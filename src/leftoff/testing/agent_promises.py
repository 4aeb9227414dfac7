"""The promises of an adapter, one test each.

Subclass ``AgentPromises`` in your tests and say how the adapter is made and where its transcripts lie; pytest does the
rest. A story is written down with the adapter's own ``transcribe`` and must read back as the same facts::

    class TestMyAgent(AgentPromises):
        def make_agent(self, home):
            return MyAgent(home=home)

        def transcript_of(self, home, session_id):
            return home / "sessions" / f"{session_id}.jsonl"
"""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from leftoff.errors import LeftoffError, TranscriptError
from leftoff.model.protocols import Agent
from leftoff.model.records import Record, RecordKind, ToolResult, ToolUse
from leftoff.model.script import Asked, Compacted, Delegated, Replied, Script
from leftoff.testing.action_promises import ActionPromises
from leftoff.testing.builders import Story, call

_BIG_RESULT = "line of output\n" * 400


def a_story(turns: int = 3) -> Story:
    """Some turns with words, thoughts, calls side by side, a failure, an interrupted call and CJK text."""
    story = Story()
    for turn in range(turns):
        story.asked(f"Please do part {turn} 日本語")
        story.replied(
            "Let me look.", call("read", {"path": f"src/a{turn}.py"}, "def a(): ...\n"), thinking="Hm."
        )
        story.replied(
            "",
            call("shell", {"command": "ls"}, "a.py"),
            call("shell", {"command": "false"}, "no", failed=True),
        )
        story.replied(f"Part {turn} is done ✓")
    return story


class AgentPromises(ActionPromises):
    """Every promise of ``leftoff.model.protocols.Agent``."""

    def make_agent(self, home: Path) -> Agent:
        """The adapter, looking at ``home``."""
        raise NotImplementedError

    def transcript_of(self, home: Path, session_id: str) -> Path:
        """Where the agent would keep that session."""
        raise NotImplementedError

    @pytest.fixture
    def agent(self, tmp_path: Path) -> Agent:
        """The adapter under test."""
        return self.make_agent(tmp_path)

    def write(self, agent: Agent, tmp_path: Path, script: Script) -> Path:
        """The script as a transcript."""
        path = self.transcript_of(tmp_path, script.session_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        agent.transcribe(script, path)
        return path

    # Reading

    def test_the_records_tile_the_file(self, agent: Agent, tmp_path: Path) -> None:
        """Laid end to end, the places are the file, and each record's raw bytes are those at its place."""
        path = self.write(agent, tmp_path, a_story().script())
        data, end = path.read_bytes(), 0
        for record in agent.read(path):
            assert record.place.start == end
            assert record.raw == data[record.place.start : record.place.end]
            end = record.place.end
        assert end == len(data)

    def test_reading_can_go_on_after_any_record(self, agent: Agent, tmp_path: Path) -> None:
        """What follows a place is what followed it when the whole file was read."""
        path = self.write(agent, tmp_path, a_story(2).script())
        records = [*agent.read(path)]
        for number, record in enumerate(records):
            assert [*agent.read(path, record.place)] == records[number + 1 :]

    def test_nothing_it_does_changes_the_transcript(self, agent: Agent, tmp_path: Path) -> None:
        """Bytes and time of the file are the same after every call."""
        path = self.write(agent, tmp_path, a_story().script())
        before = (path.read_bytes(), path.stat().st_mtime_ns)
        agent.live_chain(agent.open(path))
        agent.entry(path)
        agent.occupancy(path)
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before

    def test_broken_lines_are_kept_and_cost_no_good_record(self, agent: Agent, tmp_path: Path) -> None:
        """Garbage between the lines comes back as broken records; the others are what they were."""
        path = self.write(agent, tmp_path, a_story().script())
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
        """A type that no data file knows is passed through with its bytes."""
        path = self.write(agent, tmp_path, a_story(1).script())
        line = json.dumps(
            {"type": "invented-tomorrow", "timestamp": "2026-01-06T12:00:00Z", "payload": {"a": 1}}
        )
        with path.open("ab") as file:
            file.write(line.encode() + b"\n")
        last = [*agent.read(path)][-1]
        assert last.kind is RecordKind.UNKNOWN
        assert last.raw == line.encode() + b"\n"

    def test_a_line_still_being_written_is_no_record_yet(self, agent: Agent, tmp_path: Path) -> None:
        """Half a line is broken now, and a whole record once the rest has arrived."""
        path = self.write(agent, tmp_path, a_story(1).script())
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
        """Whatever a file holds, every call gives an answer."""
        path = tmp_path / "odd.jsonl"
        path.write_bytes(content)
        session = agent.open(path)
        assert b"".join(record.raw for record in session.records) == content
        assert agent.live_chain(session).messages(session.records) == []
        assert agent.occupancy(path).used_tokens is None
        assert agent.entry(path).size_bytes == len(content)

    def test_a_file_that_cannot_be_opened_is_a_transcript_error(self, agent: Agent, tmp_path: Path) -> None:
        """A missing file and a folder get one sentence that names them."""
        for path in (tmp_path / "missing.jsonl", tmp_path):
            with pytest.raises(TranscriptError) as caught:
                [*agent.read(path)]
            assert str(path) in caught.value.message

    def test_memory_stays_flat(self, agent: Agent, tmp_path: Path) -> None:
        """Reading holds one record at a time, however long the file is."""
        story = Story()
        for _ in range(400):
            story.asked("Go on").replied("", call("shell", {"command": "make"}, _BIG_RESULT))
        path = self.write(agent, tmp_path, story.script())
        for _ in agent.read(path):
            pass  # what is loaded on first use is loaded now
        tracemalloc.start()
        for _ in agent.read(path):
            pass
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1_000_000 < path.stat().st_size

    # What happened

    def test_the_users_prompts_read_back(self, agent: Agent, tmp_path: Path) -> None:
        """The prompts of the story, word for word, and no other text of the agent's own making."""
        script = a_story().script()
        read = _main(agent.read(self.write(agent, tmp_path, script)))
        prompts = [record.text for record in read if record.kind is RecordKind.PROMPT]
        assert prompts == [event.text for event in script.events if isinstance(event, Asked)]

    def test_the_models_words_read_back(self, agent: Agent, tmp_path: Path) -> None:
        """Every reply of the story, word for word."""
        script = a_story().script()
        read = _main(agent.read(self.write(agent, tmp_path, script)))
        words = [record.text for record in read if record.kind is RecordKind.REPLY and record.text]
        assert words == [event.text for event in script.events if isinstance(event, Replied) and event.text]

    def test_every_call_is_joined_with_its_answer(self, agent: Agent, tmp_path: Path) -> None:
        """As many calls as the story has, each with its own answer, failures marked."""
        script = a_story().script()
        calls = [*agent.open(self.write(agent, tmp_path, script)).tool_calls()]
        told = [each for event in script.events if isinstance(event, Replied) for each in event.calls]
        assert len(calls) == len({each.call_id for each in calls}) == len(told)
        for read, meant in zip(calls, told, strict=True):
            assert read.result is not None
            assert (meant.answer or "").strip() in read.result.text
        assert sum(bool(each.failed) for each in calls) == sum(each.failed for each in told)

    def test_an_interrupted_call_has_no_answer(self, agent: Agent, tmp_path: Path) -> None:
        """A call that was never answered is there, without a result."""
        story = Story().asked("Go").replied("", call("shell", {"command": "sleep 100"}, None))
        (read,) = agent.open(self.write(agent, tmp_path, story.script())).tool_calls()
        assert read.result is None

    def test_a_turn_begins_at_each_prompt(self, agent: Agent, tmp_path: Path) -> None:
        """Turns are numbered from one and begin with the prompt."""
        script = a_story(4).script()
        turns = [turn for turn in agent.open(self.write(agent, tmp_path, script)).turns() if turn.number]
        assert [turn.number for turn in turns] == [1, 2, 3, 4]
        assert all(turn.prompt is turn.records[0] for turn in turns)

    def test_a_subagents_work_is_not_the_main_conversation(self, agent: Agent, tmp_path: Path) -> None:
        """What a subagent did, where the transcript holds it, names its actor and is not sent to the main model."""
        story = a_story(1).delegated(
            "Count the files", "There are 7.", call("shell", {"command": "ls"}, "SUBOUTPUT")
        )
        session = agent.open(self.write(agent, tmp_path, story.script()))
        inner = [record for record in session.records if b"SUBOUTPUT" in record.raw]
        assert all(record.actor is not None for record in inner)
        sent = agent.live_chain(session).messages(session.records)
        assert not any("SUBOUTPUT" in _all_text(message.blocks) for message in sent)
        assert any("There are 7." in _all_text(message.blocks) for message in sent)

    # The live chain

    def test_the_live_chain_is_the_whole_story_before_any_compaction(
        self, agent: Agent, tmp_path: Path
    ) -> None:
        """Prompts, replies, calls and answers are all sent, in order."""
        script = a_story().script()
        session = agent.open(self.write(agent, tmp_path, script))
        text = "\n".join(
            _all_text(message.blocks) for message in agent.live_chain(session).messages(session.records)
        )
        position = 0
        for event in script.events:
            words = event.text if isinstance(event, Asked | Replied) else ""
            position = text.index(words, position)

    def test_after_a_compaction_only_the_summary_and_what_followed_is_sent(
        self, agent: Agent, tmp_path: Path
    ) -> None:
        """Nothing of the old conversation is in the live chain; the summary and the new turns are."""
        story = Story().asked("OLDPROMPT").replied("OLDREPLY", call("shell", {"command": "x"}, "OLDRESULT"))
        story.compacted("THESUMMARY").asked("NEWPROMPT").replied("NEWREPLY")
        session = agent.open(self.write(agent, tmp_path, story.script()))
        text = "\n".join(
            _all_text(message.blocks) for message in agent.live_chain(session).messages(session.records)
        )
        assert "OLDREPLY" not in text
        assert "OLDRESULT" not in text
        assert text.index("THESUMMARY") < text.index("NEWPROMPT") < text.index("NEWREPLY")

    def test_every_answer_in_the_live_chain_follows_its_call(self, agent: Agent, tmp_path: Path) -> None:
        """No orphan: an API would refuse it."""
        story = (
            a_story()
            .compacted("so far so good")
            .asked("more")
            .replied("", call("shell", {"command": "ls"}, "x"))
        )
        session = agent.open(self.write(agent, tmp_path, story.script()))
        asked: set[str] = set()
        for message in agent.live_chain(session).messages(session.records):
            asked |= {block.call_id for block in message.blocks if isinstance(block, ToolUse)}
            assert {block.call_id for block in message.blocks if isinstance(block, ToolResult)} <= asked

    # The gauge

    def test_occupancy_is_the_last_replys(self, agent: Agent, tmp_path: Path) -> None:
        """Not a sum, and not a subagent's: what stands in the window after the last reply."""
        story = a_story().replied("Almost there", used=123_456)
        path = self.write(agent, tmp_path, story.script())
        assert agent.occupancy(path).used_tokens == 123_456
        assert agent.occupancy(path).tail_chars == 0

    def test_every_replys_occupancy_can_be_had(self, agent: Agent, tmp_path: Path) -> None:
        """One number per reply of the main conversation, in order; a subagent's are not among them."""
        story = (
            a_story().delegated("Look", "Seen.").compacted("short").asked("more").replied("ok", used=15_000)
        )
        told = [
            event.usage.occupancy_tokens for event in story.events if isinstance(event, Replied | Delegated)
        ]
        assert [*agent.usages(self.write(agent, tmp_path, story.script()))] == told

    def test_what_came_after_the_last_reply_is_counted_as_tail(self, agent: Agent, tmp_path: Path) -> None:
        """Answers and prompts that no reply has followed yet add characters, not tokens."""
        story = a_story().replied("", call("shell", {"command": "ls"}, "x" * 5_000), used=50_000)
        found = agent.occupancy(self.write(agent, tmp_path, story.script()))
        assert found.used_tokens == 50_000
        assert 5_000 <= found.tail_chars < 6_000

    def test_after_a_compaction_the_old_number_is_gone(self, agent: Agent, tmp_path: Path) -> None:
        """What the agent says is left, or unknown; never the number from before."""
        story = a_story().replied("full", used=167_000).compacted("short", after=12_000)
        used = agent.occupancy(self.write(agent, tmp_path, story.script())).used_tokens
        assert used is None or used < 30_000

    def test_list_and_gauge_read_no_more_of_a_large_file(self, agent: Agent, tmp_path: Path) -> None:
        """Head and tail: the bytes read do not grow with the file."""
        if not Path("/proc/self/io").exists():
            pytest.skip("this system does not count the bytes a process reads")
        read = []
        for number, turns in enumerate((40, 800)):
            story = Story(session_id=f"0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b1{number}")
            for _ in range(turns):
                story.asked("Go on").replied("Done", call("shell", {"command": "make"}, _BIG_RESULT))
            path = self.write(agent, tmp_path, story.script())
            agent.entry(path)
            before = _bytes_read()
            agent.entry(path)
            agent.occupancy(path)
            read.append(_bytes_read() - before)
        assert read[1] < read[0] * 1.5

    # The list

    def test_a_session_is_found_and_listed(self, agent: Agent, tmp_path: Path) -> None:
        """Its id, folder, first prompt, size and usage, as the story has them."""
        script = a_story().script()
        path = self.write(agent, tmp_path, script)
        (found,) = agent.transcripts()
        entry = agent.entry(found)
        assert found == path
        assert (entry.agent, entry.session_id, entry.project) == (agent.id, script.session_id, script.project)
        assert entry.first_prompt == "Please do part 0 日本語"
        assert entry.size_bytes == path.stat().st_size
        assert entry.used_tokens == agent.occupancy(path).used_tokens

    def test_its_own_transcripts_are_recognised(self, agent: Agent, tmp_path: Path) -> None:
        """By the first kilobytes; text, other JSON and nothing at all are not taken for one."""
        path = self.write(agent, tmp_path, a_story(1).script())
        assert agent.recognises(path.read_bytes()[:4096])
        for other in (b"", b"hello\n", b'{"a": 1}\n', b"\x89PNG", b"[]"):
            assert not agent.recognises(other)

    def test_transcribing_never_overwrites(self, agent: Agent, tmp_path: Path) -> None:
        """A file that is there stays as it is."""
        script = a_story(1).script()
        path = self.write(agent, tmp_path, script)
        before = path.read_bytes()
        with pytest.raises((LeftoffError, FileExistsError)):
            agent.transcribe(script, path)
        assert path.read_bytes() == before

    def test_compactions_read_back_with_their_numbers(self, agent: Agent, tmp_path: Path) -> None:
        """Trigger, summary, and the tokens before where the agent writes them down."""
        story = a_story(1).replied("full", used=160_000).compacted("THESUMMARY", after=9_000)
        compactions = [
            record.compaction
            for record in agent.read(self.write(agent, tmp_path, story.script()))
            if record.compaction is not None
        ]
        assert any("THESUMMARY" in (each.summary or "") for each in compactions)
        (told,) = (event for event in story.events if isinstance(event, Compacted))
        assert {each.before_tokens for each in compactions} <= {told.before_tokens, None}

    def test_no_known_record_is_called_unknown(self, agent: Agent, tmp_path: Path) -> None:
        """The adapter understands everything it writes itself."""
        story = a_story().delegated("Look", "Seen.").compacted("short").asked("more").replied("ok")
        kinds = Counter(record.kind for record in agent.read(self.write(agent, tmp_path, story.script())))
        assert kinds[RecordKind.UNKNOWN] == kinds[RecordKind.BROKEN] == 0


def _main(records: object) -> list[Record]:
    assert hasattr(records, "__iter__")
    return [record for record in records if record.actor is None]


def _all_text(blocks: tuple[object, ...]) -> str:
    return "\n".join(str(getattr(block, "text", "")) for block in blocks)


def _bytes_read() -> int:
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return int(lines[0].split()[1])
