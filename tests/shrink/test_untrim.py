"""There and back: what a trim took out, untrim gives back, with a placeholder or without."""

import json
from pathlib import Path

import pytest

from leftoff.agents.registry import agent_of
from leftoff.core.session import BEGIN, END
from leftoff.errors import LeftoffError, NothingToDoError
from leftoff.sessions.find import open_session
from leftoff.shrink import untrim
from leftoff.shrink.derive import copy_to_folder
from leftoff.shrink.trim import TrimOptions, prepare_trim, write_trim
from leftoff.testing.builders import Story, call
from leftoff.workspace import SessionRef, Workspace
from tests.support.long_sessions import CODEX_FIRST, FIRST, LONG, copy_into_agent_home
from tests.support.transcripts import occupancies

GOLDEN = ("claude-2.1.325-parallel-tools", "claude-2.1.325-too-long", "codex-0.166.0-exec-basic")


def story(session_id: str = FIRST) -> Story:
    """Six turns that think and read a lot; every second reply thinks and speaks on the same line."""
    result = Story(session_id=session_id, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for turn in range(6):
        result.asked(f"Step {turn}")
        result.replied(
            f"Looking, step {turn}.",
            call("shell", {"command": f"cat {turn}.txt"}, f"turn {turn}\n{LONG}"),
            thinking=f"What is in {turn}? " * 20,
            used=60_000 + turn * 10_000,
        )
        result.replied(f"Seen {turn}.", thinking=f"So that was {turn}. " * 20, used=62_000 + turn * 10_000)
    return result


def trimmed(source: Path, **wanted) -> Path:
    derived = write_trim(prepare_trim(str(source), Workspace.open(), TrimOptions(**wanted)))
    return derived.output_file or source


def given_back(transcript: Path) -> Path:
    return untrim.untrim(str(transcript), Workspace.open()).output_file


def live_values(transcript: Path) -> list[object]:
    """Everything that live records hold, as JSON: but for what a copy says of itself, and for usage."""
    agent = agent_of(transcript)
    session = agent.open(transcript)
    places = agent.live_chain(session).places
    raw = {record.place: record.raw for record in session.records}
    return [content(json.loads(raw[place])) for place in places]


def content(line: dict) -> object:
    for key in ("sessionId", "session_id", "trim_metadata", "forkedFrom", "ordinal"):
        line.pop(key, None)
    line.get("message", {}).pop("usage", None)
    return json.loads(without_blocks(json.dumps(line)))


def without_blocks(words: str) -> str:
    """A copy's first prompt has the lineage block before it."""
    begin, end = (json.dumps(mark)[1:-1] for mark in (BEGIN, END))
    while begin in words:
        before, _, rest = words.partition(begin)
        words = before + rest.partition(end)[2].removeprefix("\\n\\n")
    return words


def thoughts(transcript: Path) -> list[str]:
    agent = agent_of(transcript)
    session = agent.open(transcript)
    messages = agent.live_chain(session).messages(session.records)
    return [
        block.text
        for message in messages
        for block in message.blocks
        if type(block).__name__ == "Thinking" and block.text
    ]


@pytest.mark.parametrize(
    ("folder", "strategy"),
    [
        ("golden", "trim"),
        pytest.param("real", "trim", marks=pytest.mark.slow),
        pytest.param("real", "smart-trim", marks=pytest.mark.slow),
        pytest.param("all real", "trim", marks=pytest.mark.stress),
    ],
)
def test_untrim_restores_every_value_of_the_live_chain(request, home, folder, strategy):
    if folder == "golden":
        clients = Path(__file__).parents[1] / "golden" / "clients"
        paths = [clients / f"{name}.jsonl" for name in GOLDEN]
    else:
        found = request.getfixturevalue("real_transcripts")
        paths = sorted([*found.rglob("claude-*.jsonl"), *found.rglob("codex-*.jsonl")])
        if folder == "real":  # what is cut comes back the same way: the smaller ones tell
            paths = sorted(paths, key=lambda path: path.stat().st_size)[:20]
    changed = thought = 0
    for path in paths:
        source = copy_into_agent_home(home, path)
        try:
            copy = trimmed(
                source, strategy=strategy, threshold=300, level="strong", min_token_savings=0, force=True
            )
        except LeftoffError:
            continue  # nothing in it that could be continued
        if copy == source:
            continue
        changed += 1
        assert copy.stat().st_size != source.stat().st_size, path.name
        back = untrim.untrim(str(copy), Workspace.open(), force=True)
        assert back.left == (), path.name
        assert live_values(back.output_file) == live_values(source), path.name
        thought += back.thoughts_given_back
        for each in (source, copy, back.output_file):
            each.unlink()
    assert changed >= {"golden": 1, "real": 5, "all real": 5}[folder]
    assert thought > 0 or folder == "golden"


def test_thoughts_are_restored_in_their_place(home):
    source = home.claude(story())
    copy = trimmed(source)
    assert 0 < len(thoughts(copy)) < len(thoughts(source))
    back = untrim.untrim(str(copy), Workspace.open())
    assert back.thoughts_given_back == len(thoughts(source)) - len(thoughts(copy))
    assert thoughts(back.output_file) == thoughts(source)
    assert live_values(back.output_file) == live_values(source)


def test_thoughts_removed_by_two_trims_are_restored(home):
    source = home.claude(story())
    first = trimmed(source)
    second = trimmed(more_work(first))
    assert len(thoughts(second)) < len(thoughts(first))
    back = given_back(second)
    assert thoughts(back) == [*thoughts(source), "Later. " * 60, "Last. " * 60]
    assert live_values(back)[: len(live_values(source))] == live_values(source)


def more_work(transcript: Path) -> Path:
    """Append two turns as the client would: from the last line, with new ids."""
    last = json.loads(transcript.read_bytes().splitlines()[-1])
    lines = transcript.read_bytes().splitlines()
    leaf = next(line for line in map(json.loads, reversed(lines)) if line.get("uuid"))
    parent, derived = leaf["uuid"], []
    for number, (kind, blocks) in enumerate(
        [
            ("user", "Go on"),
            ("assistant", [{"type": "thinking", "thinking": "Later. " * 60, "signature": "s"}]),
            ("assistant", [{"type": "text", "text": "Gone on. " + LONG}]),
            ("user", "And on"),
            ("assistant", [{"type": "thinking", "thinking": "Last. " * 60, "signature": "s"}]),
            ("assistant", [{"type": "text", "text": "There."}]),
            ("user", "Thanks"),
            ("assistant", [{"type": "text", "text": "Welcome."}]),
        ]
    ):
        line = {
            **leaf,
            "parentUuid": parent,
            "type": kind,
            "uuid": f"11111111-0000-4000-8000-00000000000{number}",
        }
        line["timestamp"] = f"2027-01-01T00:00:0{number}.000Z"
        line["message"] = {"role": kind, "content": blocks}
        if kind == "assistant":
            usage = {"input_tokens": 70_000 + number, "output_tokens": 10}
            line["message"] |= {"id": f"msg_{number // 3}", "model": "claude-sonnet-4-5", "usage": usage}
        parent = line["uuid"]
        derived.append(json.dumps(line, separators=(",", ":")))
    assert last
    with transcript.open("a", encoding="utf-8") as file:
        file.write("\n".join(derived) + "\n")
    return transcript


def test_the_display_form_of_a_result_is_restored(home):
    source = home.claude(story())
    copy = trimmed(source)
    assert "[suppressed: leftoff expand" in copy.read_text(encoding="utf-8")
    assert "[suppressed" not in given_back(copy).read_text(encoding="utf-8")


MARKED = "[suppressed"


def visible_events(transcript: Path) -> list[object]:
    """Return what every event shows, without token counts and thread ids."""
    lines = [json.loads(line) for line in transcript.read_text(encoding="utf-8").splitlines() if line]
    events = [line["payload"] for line in lines if line.get("type") == "event_msg"]
    return [
        {key: value for key, value in event.items() if key != "thread_id"}
        for event in events
        if event["type"] != "token_count"
    ]


@pytest.mark.parametrize("kind", ["built", pytest.param("real", marks=pytest.mark.slow)])
def test_display_events_are_restored(request, home, kind):
    if kind == "real":
        source = copy_into_agent_home(
            home, request.getfixturevalue("real_transcripts") / "codex-0.142-compacted.jsonl"
        )
    else:
        result = Story(session_id=CODEX_FIRST, project=str(Path.cwd()))
        for turn in range(6):
            result.asked(f"Step {turn}").replied(
                f"{turn} {LONG}",
                call("write", {"path": f"src/{turn}.py", "content": f"# {turn}\n{LONG}"}, "written"),
                call("shell", {"command": f"cat {turn}.txt"}, f"turn {turn}\n{LONG}"),
                used=60_000,
            )
        source = home.codex(result)
    wanted = {"threshold": 300, "trim_assistant": 1 << 20, "min_token_savings": 0, "force": True}
    copy = trimmed(source, **wanted)
    assert MARKED in json.dumps(visible_events(copy))
    assert MARKED not in json.dumps(visible_events(source))
    again = trimmed(copy, **wanted | {"threshold": 200})
    back = untrim.untrim(str(again), Workspace.open(), force=True)
    assert back.left == ()
    assert visible_events(back.output_file) == visible_events(source)


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
def test_the_last_usage_includes_what_was_restored(home, agent_id):
    """Otherwise the agent would overestimate its free context."""
    source = home.claude(story()) if agent_id == "claude" else home.codex(story(CODEX_FIRST))
    copy = trimmed(source)
    back = untrim.untrim(str(copy), Workspace.open())
    used = {path: agent_of(path).occupancy(path).used_tokens for path in (source, copy, back.output_file)}
    assert used[copy] < used[source]
    # Each number is rounded down.
    assert abs(used[back.output_file] - (used[copy] + back.tokens_given_back)) <= 4
    assert max(occupancies(agent_of(copy), back.output_file)) <= used[copy] + back.tokens_given_back


def test_thoughts_of_a_deleted_session_are_reported(home):
    result = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for turn in range(6):
        result.asked(f"Step {turn}").replied("Done.", thinking="Hm. " * 900, used=50_000 + turn)
    source = home.claude(result)
    copy = trimmed(source)
    assert len(thoughts(copy)) < len(thoughts(source))
    data = source.read_bytes()
    source.unlink()
    with pytest.raises(LeftoffError, match=f"Session {FIRST} is gone"):
        untrim.untrim(str(copy), Workspace.open())
    source.write_bytes(data)
    assert thoughts(given_back(copy)) == thoughts(source)
    with pytest.raises(NothingToDoError):
        untrim.untrim(str(source), Workspace.open())


def test_a_thought_without_its_neighbours_is_not_restored(home):
    """The session lost its beginning, like a fork of a compacted one."""
    source = home.claude(story())
    copy = trimmed(source)
    lines = copy.read_bytes().splitlines(keepends=True)
    half = len(lines) // 2
    start = next(number for number in range(half, len(lines)) if b'"type":"user","uuid"' in lines[number])
    kept = json.loads(lines[start])
    metadata = json.loads(lines[0])["trim_metadata"]
    first = json.dumps({**kept, "parentUuid": None, "trim_metadata": metadata}, separators=(",", ":"))
    copy.write_bytes(first.encode() + b"\n" + b"".join(lines[start + 1 :]))
    back = given_back(copy)
    assert 0 < len(thoughts(back)) < len(thoughts(source))
    assert open_session(str(back)).records


OTHER = "7d1c0a52-93c4-4d0e-8a53-0c2f3f1f5a10"


def quoting(source: Path, words: str) -> Path:
    """A trimmed copy in which a command has since printed these words, and nothing else."""
    copy = trimmed(source)
    lines = copy.read_text(encoding="utf-8").splitlines()
    last = max(number for number, line in enumerate(lines) if "turn 5" in line)
    whole = json.dumps(f"turn 5\n{LONG}")
    assert whole in lines[last]
    lines = [line.replace(whole, json.dumps(words)) for line in lines]
    copy.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return copy


def test_a_placeholder_of_another_session_is_not_restored(home):
    """A tool could print such a placeholder to bring in another session's text."""
    theirs = trimmed(home.claude(story(OTHER)))
    copy = quoting(home.claude(story()), placeholder_in(theirs))
    back = untrim.untrim(str(copy), Workspace.open())
    assert any("not from a session that this one was made from" in reason for reason in back.left), back.left
    assert placeholder_in(theirs) in results(back.output_file)


def test_a_placeholder_of_another_call_is_not_restored(home):
    source = home.claude(story())
    quoted = placeholder_in(trimmed(source))
    copy = quoting(source, quoted)
    back = untrim.untrim(str(copy), Workspace.open())
    assert quoted in results(back.output_file)
    assert any("another call" in reason for reason in back.left), back.left


def test_restored_content_is_counted_by_its_real_size(home):
    copy = trimmed(home.claude(story()))
    usual = untrim.untrim(str(copy), Workspace.open(), dry_run=True).tokens_given_back
    text = copy.read_text(encoding="utf-8")
    size = text.partition("original content was ")[2].partition(" ")[0]
    copy.write_text(text.replace(f"was {size} characters", "was 999999999999 characters"), encoding="utf-8")
    believed = untrim.untrim(str(copy), Workspace.open(), dry_run=True).tokens_given_back
    assert believed == pytest.approx(usual, abs=20)  # the longer number makes the placeholder longer


def test_a_grandparent_is_found_through_the_registry(home):
    first = trimmed(home.claude(story()))
    second = copy_to_folder(
        SessionRef(agent=agent_of(first), transcript=first), Path.cwd(), Workspace.open()
    ).output_file
    first.unlink()
    back = untrim.untrim(str(second), Workspace.open())
    assert back.given_back >= 4
    assert f"turn 0\n{LONG}" in results(back.output_file)


def results(transcript: Path) -> list[str]:
    records = agent_of(transcript).open(transcript).records
    return [
        block.text for record in records for block in record.blocks if type(block).__name__ == "ToolResult"
    ]


def placeholder_in(transcript: Path) -> str:
    return next(text for text in results(transcript) if text.startswith("[Results from "))
