"""The trimming functions as programs call them: by file, with their return values, also on lines of the simplest shape."""

import json
from pathlib import Path

import pytest

import leftoff
from leftoff.agents import claude
from leftoff.core.records import RecordKind
from leftoff.errors import LeftoffError, UsageError
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript

FIRST = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
LONG = "the ledger keeps its amounts in cents\n" * 200


@pytest.fixture
def source(isolated_home):
    story = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for turn in range(6):
        story.asked(f"Step {turn}").replied(
            f"Long words {turn}. {LONG}",
            call("shell", {"command": f"cat {turn}"}, f"{turn} {LONG}"),
            used=60_000 + turn,
        ).replied("Seen.", used=61_000 + turn)
    path = isolated_home / ".claude" / "projects" / "-slug" / f"{FIRST}.jsonl"
    path.parent.mkdir(parents=True)
    write_transcript(claude.here(), story.script(), path)
    return path


@pytest.fixture
def simple(tmp_path):
    """Return a transcript in the simple format, whose lines have no ids."""
    lines = [{"sessionId": "abc123", "type": "user", "message": {"role": "user", "content": "Read it"}}]
    for number in range(8):
        lines += [
            {
                "sessionId": "abc123",
                "type": "assistant",
                "message": {"role": "assistant", "content": f"Reading {number}."},
            },
            {
                "sessionId": "abc123",
                "type": "tool_result",
                "message": {"tool_name": "Read" if number % 2 else "Bash", "content": f"{number} {LONG}"},
            },
        ]
    path = tmp_path / "session-abc123.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def test_the_result_unpacks_into_five_values(source):
    """The values can also be read by name in brackets, together with some more."""
    result = leftoff.trim_and_create_session("claude", str(source), None, 1000)
    session_id, output_file, tools, chars, tokens = result
    assert result["session_id"] == session_id == Path(output_file).stem
    assert (result["num_tools_trimmed"], result["chars_saved"], result["tokens_saved"]) == (
        tools,
        chars,
        tokens,
    )
    assert tools > 0
    assert chars > 1000
    assert result.num_assistant_trimmed == 0
    assert result.detected_agent == "claude"
    assert result["nothing_to_trim"] is False
    assert len(result) == 5
    with pytest.raises(KeyError):
        result["nobody"]
    assert Path(output_file).parent == source.parent


def test_the_first_line_carries_the_metadata(source):
    """The metadata has the parent, the parameters and the numbers."""
    result = leftoff.trim_and_create_session(None, source, ["shell", "Bash"], 900)
    first = lines_of(result.output_file)[0]
    assert first["trim_metadata"]["parent_file"] == str(source)
    assert first["trim_metadata"]["trim_params"]["threshold"] == 900
    assert first["trim_metadata"]["stats"]["tools_trimmed"] == result.num_tools_trimmed


def test_replies_are_trimmed_when_asked_for(source):
    """A number of replies can be trimmed, or all of them."""
    two = leftoff.trim_and_create_session("claude", source, None, 1000, trim_assistant_messages=2)
    assert two.num_assistant_trimmed == 2
    everything = leftoff.trim_and_create_session("claude", source, None, 1000, trim_assistant_messages=True)
    assert everything.num_assistant_trimmed > 2
    assert "[Claude response trimmed - original was " in Path(two.output_file).read_text(encoding="utf-8")
    none = leftoff.trim_and_create_session("claude", source, None, 1000, trim_assistant_messages=False)
    assert none.num_assistant_trimmed == 0


def test_nothing_to_trim_writes_nothing(source):
    """No copy is written if there is nothing to trim or too little to gain."""
    for options in ({"threshold": 10**6}, {"threshold": 1000, "min_token_savings": 10**9}):
        result = leftoff.trim_and_create_session("claude", source, ["shell", "Bash"], **options)
        assert result.nothing_to_trim
        assert (result.session_id, result.output_file) == (None, None)
    assert [*source.parent.iterdir()] == [source]


def test_the_copy_goes_where_the_caller_wants_it(source, tmp_path):
    """A copy in another folder still names its parent."""
    result = leftoff.trim_and_create_session("claude", source, None, 1000, output_dir=tmp_path / "out")
    assert result.output_file.parent == tmp_path / "out"
    assert leftoff.get_parent_info(result.output_file) == (source, "trimmed", None)
    assert [*source.parent.iterdir()] == [source]


def test_lines_in_the_simple_format_are_trimmed_too(simple, tmp_path):
    """The id on every line, the structure kept, only the tools that were named."""
    result = leftoff.trim_and_create_session(
        "claude", simple, ["Read"], 500, output_dir=tmp_path / "out", min_token_savings=1
    )
    before, after = lines_of(simple), lines_of(result.output_file)
    assert [line["type"] for line in after] == [line["type"] for line in before]
    assert {line["sessionId"] for line in after} == {result.session_id}
    cut = [line["message"] for line in after if "suppressed" in str(line["message"]["content"])]
    assert len(cut) == result.num_tools_trimmed > 0
    assert {message["tool_name"] for message in cut} == {"Read"}
    assert cut[0]["content"].startswith(
        f"[Results from Read tool suppressed - original content was {len(LONG) + 2} characters"
    )
    assert "trim_metadata" in after[0]


def test_lines_are_proposed_and_trimmed(source, tmp_path):
    """The rules propose lines; trimming shortens their content and removes no line."""
    found = leftoff.identify_trimmable_lines_cli(source)
    assert all(isinstance(index, int) and rationale for index, rationale, _ in found)
    results = [number for number, line in enumerate(lines_of(source)) if "tool_result" in json.dumps(line)][
        :2
    ]
    out = tmp_path / "trimmed.jsonl"
    numbers = leftoff.trim_lines(source, [*results, 0], out, descriptions={results[0]: "notes"})
    assert numbers["tools_trimmed"] == 2
    assert numbers["skipped"] == [0]
    assert len(lines_of(out)) == len(lines_of(source))
    assert leftoff.get_parent_info(out)[:2] == (source, "trimmed")
    with pytest.raises(UsageError, match="exists already"):
        leftoff.trim_lines(source, results, out)
    named = tmp_path / "named.jsonl"
    leftoff.trim_lines(source, results, named, parent_file=source, descriptions=["a", "b"])
    assert lines_of(named)[0]["trim_metadata"]["parent_file"] == str(source)


def test_a_rollover_by_file(source):
    """The caller's own summary is in the first message of the new session."""
    result = leftoff.rollover_session(source, summary="The ledger is half done.")
    session_id, output_file = result
    assert result["session_id"] == session_id
    assert result["summary_included"] is True
    with pytest.raises(KeyError):
        result["nobody"]
    first = lines_of(output_file)[0]
    assert first["continue_metadata"]["continuation_type"] == "rollover"
    assert "The ledger is half done." in json.dumps(first)
    assert leftoff.rollover_session(source)["summary_included"] is False


def test_lineage_can_be_read_from_either_end(source):
    """The lineage is given oldest first, newest first, or as the parent alone."""
    trimmed = leftoff.trim_and_create_session("claude", source, None, 1000).output_file
    fresh = leftoff.rollover_session(trimmed).output_file
    nodes = leftoff.get_continuation_lineage(fresh)
    assert [node.session_file for node in nodes] == [source, trimmed, fresh]
    assert [node.derivation_type for node in nodes] == [None, "trimmed", "continued"]
    assert all(isinstance(node, leftoff.SessionNode) for node in nodes)
    assert leftoff.get_full_lineage_chain(str(fresh)) == [
        (fresh, "continued"),
        (trimmed, "trimmed"),
        (source, "original"),
    ]
    assert leftoff.get_parent_info(source) == (None, None, None)
    assert leftoff.get_parent_info(fresh) == (trimmed, "continued", None)


def test_a_parent_that_is_gone_is_marked_as_missing(source):
    trimmed = leftoff.trim_and_create_session("claude", source, None, 1000).output_file
    source.unlink()
    assert [node.missing for node in leftoff.get_continuation_lineage(trimmed)] == [True, False]


def test_the_block_is_put_into_a_file_that_another_program_made(source, tmp_path):
    """The block is put on the first real prompt, once, and never into the original session."""
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(source.read_bytes())
    for _ in range(2):
        assert leftoff.inject_lineage_into_first_user_message(copy, source, "claude", "trimmed")
    prompts = [record.text for record in claude.here().read(copy) if record.kind is RecordKind.PROMPT]
    assert prompts[0].startswith(
        f"[SESSION LINEAGE]\nThis session continues from previous work:\n1. {source.name} (trimmed)\n"
    )
    assert prompts[0].endswith("Step 0")
    assert copy.read_text(encoding="utf-8").count("[SESSION LINEAGE]") == 1
    with pytest.raises(UsageError):
        leftoff.inject_lineage_into_first_user_message(source, source, None, "trimmed")
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"type": "mode", "sessionId": "x"}\n', encoding="utf-8")
    assert not leftoff.inject_lineage_into_first_user_message(empty, source, "claude", "trimmed")


def test_plans_are_values_and_copies_are_written_from_them(source):
    """The Python API plans first and then writes the copy."""
    session = leftoff.open_session(str(source))
    plan = leftoff.plan_trim(session, threshold=500)
    assert plan.cuts
    out = leftoff.write_copy(session, plan)
    assert out.is_file()
    assert leftoff.write_copy(session, leftoff.plan_trim(session, tools=["nobody"])) is None
    assert leftoff.plan_smart_trim(session).strategy == "smart-trim"
    assert leftoff.extract(session)["mission_summary"]


def test_an_unknown_agent_and_a_file_of_no_agent_are_reported(source, tmp_path):
    with pytest.raises(LeftoffError, match="No agent is called"):
        leftoff.trim_and_create_session("nobody", source, None, 1000)
    other = tmp_path / "other.jsonl"
    other.write_text("{}\n", encoding="utf-8")
    with pytest.raises(LeftoffError, match="not a transcript"):
        leftoff.trim_and_create_session(None, other, None, 1000)


def test_the_copy_has_the_very_name_that_was_asked_for(source, tmp_path):
    """The copy has exactly the requested name, whatever its suffix."""
    out = tmp_path / "copies" / "trimmed.session"
    numbers = leftoff.trim_lines(source, [3], out)
    assert out.is_file()
    assert lines_of(out)[0]["sessionId"] == numbers["session_id"]
    assert [*out.parent.iterdir()] == [out]


def test_a_copy_for_elsewhere_is_never_in_the_agents_folder(source, tmp_path):
    """The copy is drafted in its own folder, so the agent never lists it, even if leftoff is killed."""
    before = source.parent.stat().st_mtime_ns  # changes with every name that comes or goes
    trimmed = leftoff.trim_and_create_session(
        "claude", source, None, 1000, output_dir=tmp_path / "out.d.jsonl"
    )
    leftoff.trim_lines(source, [3], tmp_path / "named.jsonl")
    assert source.parent.stat().st_mtime_ns == before
    assert trimmed.output_file.parent == tmp_path / "out.d.jsonl"


def test_a_file_of_the_other_agent_is_reported(source):
    """No agent could read its records, and "nothing to trim" would be wrong."""
    with pytest.raises(UsageError, match=r"not a transcript of Codex.*Claude Code"):
        leftoff.trim_and_create_session("codex", source, None, 1000)


def test_one_tool_may_be_named_as_a_string_and_none_means_all(source):
    """A string means one tool, and an empty list means all tools."""
    one = leftoff.trim_and_create_session("claude", source, "Bash", 1000)
    assert one.num_tools_trimmed == 5
    assert lines_of(one.output_file)[0]["trim_metadata"]["trim_params"]["target_tools"] == ["Bash"]
    everything = leftoff.trim_and_create_session("claude", source, [], 1000)
    assert everything.num_tools_trimmed == 5
    with pytest.raises(UsageError, match="names of tools"):
        leftoff.trim_and_create_session("claude", source, "", 1000)


@pytest.mark.parametrize("threshold", [0, -5])
def test_a_threshold_below_one_is_refused(source, threshold):
    with pytest.raises(UsageError, match="threshold"):
        leftoff.trim_and_create_session("claude", source, None, threshold)
    with pytest.raises(UsageError, match="threshold"):
        leftoff.plan_trim(leftoff.open_session(str(source)), threshold=threshold)


def test_what_is_proposed_can_be_trimmed(isolated_home, tmp_path):
    """Thoughts, the last turns and unsolved errors are not proposed, because they would be skipped."""
    story = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for turn in range(8):
        story.asked(f"Step {turn}").replied(
            "Reading.",
            call("read", {"path": "src/ledger.py"}, LONG),
            call("shell", {"command": f"make {turn % 2}"}, LONG, failed=turn == 2),
            thinking=f"Long thoughts. {LONG}",
        )
    path = isolated_home / ".claude" / "projects" / "-slug" / f"{FIRST}.jsonl"
    path.parent.mkdir(parents=True)
    write_transcript(claude.here(), story.script(), path)
    found = leftoff.identify_trimmable_lines_cli(path)
    assert found
    lines = [index for index, _, _ in found]
    assert len(lines) == len({*lines})
    assert leftoff.trim_lines(path, lines, tmp_path / "out.jsonl")["skipped"] == []
