"""No session that its agent could resume is refused: odd beginnings, other layouts, newer clients, lines of other programs."""

import json
import random
import shutil
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leftoff
from leftoff.agents import claude, codex
from leftoff.agents.registry import agent_of
from leftoff.cli.main import run
from leftoff.platform import paths
from leftoff.testing.builders import Story, call
from tests.support.long_sessions import CODEX_FIRST, FIRST, LONG
from tests.support.transcripts import write_transcript

SESSION_ID = "5817b2e2-c1a2-4d6e-bd4e-726f2fe1a4ac"
SUMMARY = {"type": "summary", "summary": "Ledger work", "leafUuid": "00000000-0000-4000-8000-000000000000"}


def message(kind, words, **more):
    """A line of Claude Code; ``chained`` gives it its place in the conversation."""
    return {
        "parentUuid": None,
        "isSidechain": False,
        "cwd": str(Path.cwd()),
        "sessionId": SESSION_ID,
        "version": "2.1.200",
        "type": kind,
        "message": {"role": kind, "content": words},
        **more,
    }


def chained(*lines):
    """Give each message an id, a time, and the one before it as parent."""
    parent, found = None, []
    for number, line in enumerate(lines):
        if "parentUuid" in line:
            name = str(uuid.UUID(int=number + 1, version=4))
            line = line | {
                "parentUuid": parent,
                "uuid": name,
                "timestamp": f"2026-01-06T12:{number // 60:02}:{number % 60:02}.000Z",
            }
            parent = name
        found.append(line)
    return found


def asked(number, tool="Bash"):
    return message(
        "assistant", [{"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": {"command": "ls"}}]
    )


def answered(number, text=LONG):
    return message(
        "user", [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"{number} {text}"}]
    )


def said(text):
    return message("assistant", [{"type": "text", "text": text}])


def turns(first, last):
    return [
        line for number in range(first, last) for line in (asked(number), answered(number), said("Seen."))
    ]


def put(home, lines, *, separators=(",", ":"), name=f"{SESSION_ID}.jsonl"):
    path = home / ".claude" / "projects" / "-slug" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(json.dumps(line, separators=separators) + "\n" for line in lines), encoding="utf-8"
    )
    return path


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_bytes().splitlines()]


def carriers(path):
    return [number for number, line in enumerate(lines_of(path)) if "trim_metadata" in line]


BEGINNINGS = {
    "a reply": [
        SUMMARY,
        SUMMARY,
        said("Let me look."),
        *turns(0, 8),
        message("user", "Go on"),
        *turns(8, 12),
    ],
    "a call": [asked(0), answered(0), message("user", "Go on"), *turns(1, 12)],
    "an answer": [answered(0), message("user", "Go on"), *turns(1, 12)],
    "no prompt at all": [said("Working."), *turns(0, 12)],
    "only answers of the user": [answered(0), *turns(1, 12)],
}


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("command", ["trim", "smart-trim"])
def test_a_session_that_begins_in_the_middle_is_copied_in_its_order(
    isolated_home, beginning, command, capsys
):
    """The metadata are where the user's first own words are, or on the first line of the user, and readers find them there."""
    source = put(isolated_home, chained(*BEGINNINGS[beginning]))
    assert run([command, str(source), "--json"]) == 0
    copy = Path(json.loads(capsys.readouterr().out)["output_file"])
    before, after = lines_of(source), lines_of(copy)
    assert [line.get("uuid") for line in after] == [line.get("uuid") for line in before]
    (carrier,) = carriers(copy)
    kept = (
        [block for block in after[carrier]["message"]["content"] if block["type"] == "tool_result"]
        if (isinstance(after[carrier]["message"]["content"], list))
        else []
    )
    assert not kept or not any(isinstance(line.get("message", {}).get("content"), str) for line in before)
    assert leftoff.get_parent_info(copy)[:2] == (source, "trimmed")
    assert [path for path, _ in leftoff.get_full_lineage_chain(copy)] == [copy, source]
    assert leftoff.open_session(str(copy)).session_id == copy.stem
    assert run(["untrim", str(copy), "--json"]) == 0
    back = lines_of(json.loads(capsys.readouterr().out)["output_file"])
    assert contents(back) == contents(before)


def contents(lines):
    """The messages, without the lineage block that a copy adds to the first prompt."""
    found = [json.loads(json.dumps(line["message"])) for line in lines if "message" in line]
    for each in found:
        if isinstance(each["content"], str):
            each["content"] = each["content"].rpartition("[/SESSION LINEAGE]\n\n")[2]
    return found


def test_usage_is_noted_where_the_metadata_are(isolated_home):
    """The sums of the old and the new usage are in the metadata, also when these are not on the first line."""
    usage = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 9,
        "cache_read_input_tokens": 150_000,
        "output_tokens": 40,
    }
    lines = chained(*BEGINNINGS["a reply"])
    for number, line in enumerate(lines):
        if line["type"] == "assistant":
            line["message"] |= {"id": f"msg_{number}", "model": "claude-sonnet-4-5", "usage": usage}
    result = leftoff.trim_and_create_session("claude", put(isolated_home, lines), None, 1000)
    (carrier,) = carriers(result.output_file)
    assert carrier > 2
    noted = lines_of(result.output_file)[carrier]["trim_metadata"]["usage"]
    assert noted["original"]["cache_read_input_tokens"] > noted["written"]["cache_read_input_tokens"] > 0


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
def test_the_layout_of_the_json_does_not_matter(home, agent_id, tmp_path):
    """Lines that another program wrote, with spaces after colons and commas, are copied like those of the client."""
    story = Story(session_id=FIRST if agent_id == "claude" else CODEX_FIRST, project=str(Path.cwd()))
    for turn in range(6):
        cat = call("shell", {"command": f"cat {turn}"}, f"{turn} {LONG}")
        story.asked(f"Step {turn}").replied("Reading.", cat, thinking="Hm. " * 90, used=60_000)
    source = (home.claude if agent_id == "claude" else home.codex)(story)
    usual = leftoff.trim_and_create_session(None, source, None, 1000, output_dir=tmp_path / "usual")
    spaced = "".join(json.dumps(line) + "\n" for line in lines_of(source))
    half = spaced.splitlines(keepends=True)
    compact = source.read_text(encoding="utf-8").splitlines(keepends=True)
    mixed = "".join(half[n] if n % 2 else compact[n] for n in range(len(half)))
    for name, text in (("spaced", spaced), ("mixed", mixed)):
        source.write_text(text, encoding="utf-8")
        result = leftoff.trim_and_create_session(None, source, None, 1000, output_dir=tmp_path / name)
        assert without_ids(result) == without_ids(usual)
        assert FIRST not in ids_of(result.output_file)
        assert CODEX_FIRST not in ids_of(result.output_file)


def without_ids(result):
    """The lines of a copy without what differs in each."""
    lines = lines_of(result.output_file)
    for line in lines:
        line.pop("trim_metadata", None)
        if line.get("type") == "session_meta":
            for key in ("trim_metadata", "timestamp"):
                line["payload"].pop(key)
    text = json.dumps(lines).replace(result.session_id, "ID")
    return text.replace(result.output_file.name, "NAME").replace(
        result.output_file.name.replace(result.session_id, "ID"), "NAME"
    )


def ids_of(path):
    """The ids that lines give for their session."""
    found = set()
    for line in lines_of(path):
        for fields in (line, line.get("payload") or {}):
            found |= {fields.get("sessionId"), fields.get("thread_id"), fields.get("session_id")}
            if line.get("type") == "session_meta":
                found.add(fields.get("id"))
    return found


def blocked_prompt():
    """What the client writes when a hook blocks a prompt, as leftoff's own triggers do."""
    line = message(
        "system", None, subtype="informational", level="warning", content="blocked", version="9.1.400"
    )
    del line["message"]
    return line | {"preventContinuation": True, "promptSubmitEnding": "blocked"}


def newer(*lines):
    return chained(*[line | {"version": "9.1.400"} if "version" in line else line for line in lines])


@pytest.mark.parametrize("command", ["trim", "smart-trim"])
def test_lines_of_a_newer_client_that_are_not_sent_refuse_nothing(isolated_home, command, capsys):
    """Blocked prompts, unknown side lines, and a branch that the user took back."""
    lines = newer(message("user", "Go"), *turns(0, 10), blocked_prompt(), *turns(10, 12), blocked_prompt())
    abandoned = message("user", "No, wait", novelty=1, version="9.1.400") | {
        "uuid": "u-x",
        "parentUuid": lines[3]["uuid"],
    }
    abandoned["timestamp"] = "2026-01-06T12:00:03.500Z"
    side = {"type": "weather", "sessionId": SESSION_ID, "sky": "blue"}
    source = put(isolated_home, [*lines[:4], abandoned, side, *lines[4:]])
    assert run([command, str(source), "--json"]) == 0
    assert Path(json.loads(capsys.readouterr().out)["output_file"]).exists()
    assert leftoff.rollover_session(source).output_file.exists()


def test_an_unknown_field_that_is_sent_refuses_a_copy_and_no_rollover(isolated_home, capsys):
    """A rollover copies no line, so nothing in them can go wrong."""
    source = put(isolated_home, newer(message("user", "Go", novelty=1), *turns(0, 12)))
    assert run(["trim", str(source)]) == 1
    assert "novelty" in capsys.readouterr().err
    assert leftoff.rollover_session(source).output_file.exists()


def test_an_unknown_item_of_a_newer_codex_refuses_a_copy_and_no_rollover(home, capsys):
    story = Story(session_id=CODEX_FIRST, project=str(Path.cwd()))
    for turn in range(6):
        story.asked(f"Step {turn}").replied(
            "Reading.", call("shell", {"command": f"cat {turn}"}, f"{turn} {LONG}"), used=60_000
        )
    source = home.codex(story)
    text = source.read_text(encoding="utf-8")
    version = lines_of(source)[0]["payload"]["cli_version"]
    unknown = {"timestamp": "2026-01-06T13:00:00.000Z", "type": "weather", "payload": {"sky": "blue"}}
    source.write_text(text.replace(version, "9.999.0") + json.dumps(unknown) + "\n", encoding="utf-8")
    assert run(["trim", str(source), "--json"]) == 0
    capsys.readouterr()
    item = {"timestamp": "2026-01-06T13:00:00.000Z", "type": "response_item", "payload": {"type": "wind"}}
    with source.open("a", encoding="utf-8") as file:
        file.write(json.dumps(item) + "\n")
    assert run(["trim", str(source)]) == 1
    assert "response_item/wind" in capsys.readouterr().err
    assert leftoff.rollover_session(source).output_file.exists()


# Lines as claude-code-tools reads and writes them: no ids, no times, no roles.


def simple_claude(words="words of a file "):
    return [
        {
            "type": "session_start",
            "sessionId": "abc123",
            "cwd": "/test/dir",
            "timestamp": "2025-10-24T10:00:00Z",
        },
        {"type": "user", "message": {"content": [{"type": "text", "text": "Read the file"}]}},
        {
            "type": "assistant",
            "message": {
                "content": [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/a"}}]
            },
        },
        {
            "type": "user",
            "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": words * 60}]},
        },
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "A long answer. " * 60}]}},
        {"type": "user", "message": {"content": [{"type": "text", "text": "Now list it"}]}},
        {
            "type": "assistant",
            "message": {
                "content": [{"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "ls"}}]
            },
        },
        {
            "type": "user",
            "message": {"content": [{"type": "tool_result", "tool_use_id": "t2", "content": "a\nb\n"}]},
        },
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "Done"}]}},
    ]


def simple_codex(words="words of a file "):
    def item(kind, **payload):
        return {"type": kind, "payload": payload}

    return [
        item("session_meta", id="xyz789", cwd="/test/dir", version="1.0"),
        item(
            "request_item",
            type="message",
            role="user",
            content=[{"type": "input_text", "text": "Read the file"}],
        ),
        item(
            "response_item", type="function_call", call_id="c1", name="Read", parameters='{"file_path":"/a"}'
        ),
        item(
            "response_item",
            type="function_call_output",
            call_id="c1",
            output=json.dumps({"output": words * 60, "metadata": {}}),
        ),
        item(
            "response_item",
            type="message",
            role="assistant",
            content=[{"type": "output_text", "text": "A long answer. " * 60}],
        ),
        item(
            "request_item",
            type="message",
            role="user",
            content=[{"type": "input_text", "text": "Now list it"}],
        ),
        item("response_item", type="function_call", call_id="c2", name="Bash", parameters='{"command":"ls"}'),
        item(
            "response_item", type="function_call_output", call_id="c2", output='{"output":"a","metadata":{}}'
        ),
        item(
            "response_item",
            type="message",
            role="assistant",
            content=[{"type": "output_text", "text": "Done"}],
        ),
    ]


SIMPLE = {"claude": simple_claude, "codex": simple_codex}


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")], ids=["compact", "spaced"])
def test_simple_lines_are_trimmed(tmp_path, agent_id, separators):
    """A minimum saving of 0 writes a copy even if its metadata are longer than what was cut."""
    source = tmp_path / "session.jsonl"
    source.write_text(
        "".join(json.dumps(line, separators=separators) + "\n" for line in SIMPLE[agent_id]()),
        encoding="utf-8",
    )
    result = leftoff.trim_and_create_session(
        None, source, None, 500, tmp_path / "out", 1, min_token_savings=0
    )
    assert result["detected_agent"] == agent_id
    assert "session_id" in result
    assert dict(result)["num_tools_trimmed"] == 1
    assert (result.num_assistant_trimmed, result.nothing_to_trim) == (1, False)
    text = Path(result.output_file).read_text(encoding="utf-8")
    assert "[Results from Read tool suppressed - original content was " in text
    assert "[Claude response trimmed - original was " in text
    assert len(lines_of(result.output_file)) == len(lines_of(source))
    assert leftoff.get_parent_info(result.output_file)[:2] == (source, "trimmed")
    assert leftoff.open_session(str(result.output_file)).session_id == result.session_id


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
def test_a_minimum_of_zero_is_met_by_nothing(tmp_path, agent_id):
    source = tmp_path / "session.jsonl"
    source.write_text(
        "".join(json.dumps(line) + "\n" for line in SIMPLE[agent_id]("short ")[:2]), encoding="utf-8"
    )
    nothing = leftoff.trim_and_create_session(
        agent_id, source, None, 500, tmp_path / "out", min_token_savings=1
    )
    assert (nothing.nothing_to_trim, nothing.output_file) == (True, None)
    result = leftoff.trim_and_create_session(
        agent_id, source, None, 500, tmp_path / "out", min_token_savings=0
    )
    assert (result.nothing_to_trim, result.num_tools_trimmed) == (False, 0)
    assert leftoff.get_parent_info(result.output_file)[:2] == (source, "trimmed")


def test_a_byte_that_is_not_utf_8_survives_on_the_line_with_the_metadata(tmp_path):
    source = tmp_path / "session.jsonl"
    broken = b'{"type":"user","sessionId":"s","message":{"content":"\xff"}}\n'
    lines = [line | {"sessionId": "s"} for line in simple_claude()[2:4]]
    source.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines) + broken)
    result = leftoff.trim_and_create_session(
        "claude", source, None, 500, tmp_path / "out", min_token_savings=0
    )
    assert result.num_tools_trimmed == 1
    line = Path(result.output_file).read_bytes().splitlines()[2]
    assert b'\xff"}' in line
    assert b"trim_metadata" in line


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
@pytest.mark.parametrize("with_parent", [False, True])
def test_trim_lines_writes_the_id_of_the_file_name_and_keeps_the_lineage(tmp_path, agent_id, with_parent):
    original = tmp_path / (
        "original.jsonl" if agent_id == "claude" else "rollout-2025-01-01T00-00-00-xyz789.jsonl"
    )
    original.write_text("".join(json.dumps(line) + "\n" for line in SIMPLE[agent_id]()), encoding="utf-8")
    source = tmp_path / f"moved-{original.name}" if with_parent else original
    shutil.copyfile(original, source) if with_parent else None
    new_id = "45311cfd-9c0b-4a52-8f6e-0c6a2b1f9d77"
    name = new_id if agent_id == "claude" else f"smart-trim-2025-01-01T00-00-00-{new_id}"
    copy = tmp_path / "out" / f"{name}.jsonl"
    copy.parent.mkdir()
    numbers = leftoff.trim_lines(source, [3], copy, parent_file=original if with_parent else None)
    assert numbers["session_id"] == new_id == leftoff.open_session(str(copy)).session_id
    assert numbers["tools_trimmed"] == 1
    assert ids_of(copy) - {None} == {new_id}
    assert leftoff.get_parent_info(copy) == (original, "trimmed", None)
    assert [*leftoff.get_full_lineage_chain(copy)] == [(copy, "trimmed"), (original, "original")]


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
@given(seed=st.integers(0, 10**9))
def test_whatever_order_lines_have_a_copy_is_written_and_given_back(agent_id, seed, tmp_path_factory):
    """Sessions of random turns, cut off at a random line, in random layouts: each is copied, and every byte comes back."""
    home = tmp_path_factory.mktemp("home")
    agent = claude.Claude(home=home) if agent_id == "claude" else codex.Codex(home)
    dice = random.Random(seed)
    story = Story(session_id=FIRST if agent_id == "claude" else CODEX_FIRST, project=str(home))
    for turn in range(dice.randint(3, 8)):
        story.asked(f"Step {turn}")
        for step in range(dice.randint(1, 4)):
            todos = [
                {"content": f"part {n} {turn}", "status": "pending", "activeForm": "x"}
                for n in range(dice.choice([2, 30]))
            ]
            calls = [
                call(
                    "shell",
                    {"command": f"cat {step}"},
                    f"{turn}-{step} " + LONG[: dice.choice([9, 900, 3000])],
                ),
                call("todo", {"items": todos}, "ok"),
                call("write", {"path": f"a{step}.py", "content": LONG[: dice.choice([9, 3000])]}, "written"),
            ]
            thinking = "Hm. " * dice.choice([0, 0, 200])
            story.replied(
                dice.choice(["", "Words. " * 40]), *dice.sample(calls, dice.randint(1, 3)), thinking=thinking
            )
        if dice.random() < 0.1:
            story.compacted("What was done.")
    folder = home / ("projects/p" if agent_id == "claude" else "sessions/2026/01/06")
    folder.mkdir(parents=True)
    source = folder / (
        f"{FIRST}.jsonl" if agent_id == "claude" else f"rollout-2026-01-06T12-00-00-{CODEX_FIRST}.jsonl"
    )
    write_transcript(agent, story.script(), source)
    raw = source.read_bytes().splitlines(keepends=True)
    begin = dice.choice([0, 0, dice.randrange(len(raw) // 2)])
    header = raw[:1] if agent_id == "codex" and begin else []  # without it Codex would not resume
    laid_out = [
        json.dumps(json.loads(line)).encode() + b"\n" if dice.random() < 0.3 else line
        for line in [*header, *raw[begin:]]
    ]
    source.write_bytes(b"".join(laid_out))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAUDE_CONFIG_DIR" if agent_id == "claude" else "CODEX_HOME", str(home))
        patch.setenv("XDG_DATA_HOME", str(home / "data"))
        result = leftoff.trim_and_create_session(
            agent_id,
            source,
            None,
            dice.choice([100, 500, 1000]),
            None,
            dice.choice([None, 2, -1]),
            min_token_savings=0,
        )
        assert run(["untrim", str(result.output_file), "--json"]) in {0, 3}
        newest = max(agent.transcripts(), key=lambda path: path.stat().st_mtime_ns)
    assert sent(agent, newest) == sent(agent, source)


def sent(agent, transcript):
    """What the model would be sent, without the lineage block."""
    session = agent.open(transcript)
    messages = agent.live_chain(session).messages(session.records)
    return [
        (
            each.role,
            [
                str(getattr(block, "text", block)).rpartition("[/SESSION LINEAGE]\n\n")[2]
                for block in each.blocks
            ],
        )
        for each in messages
    ]


def test_real_sessions_are_copied_whatever_they_begin_with(real_transcripts, tmp_path):
    """Each real transcript of moderate size, whole and without its first third."""
    for path in sorted(real_transcripts.glob("claude-*.jsonl")):
        if path.stat().st_size > 2_000_000:
            continue
        lines = path.read_bytes().splitlines(keepends=True)
        for name, part in (("whole", lines), ("later", lines[len(lines) // 3 :])):
            source = tmp_path / name / f"{SESSION_ID}.jsonl"
            source.parent.mkdir(exist_ok=True)
            source.write_bytes(b"".join(part))
            agent_of(source)
            result = leftoff.trim_and_create_session(
                None, source, None, 500, tmp_path / "out", min_token_savings=0
            )
            assert result.output_file is not None, (path.name, name)
            assert leftoff.get_parent_info(result.output_file)[0] == source, (path.name, name)
    assert paths.home().exists()
