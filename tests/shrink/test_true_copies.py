"""What a copy says is true: to-do lists, inputs, excerpts, what still matters, lineage, and a copy that exists already."""

import json
from pathlib import Path

import pytest

import leftoff
from leftoff.cli.main import run
from leftoff.core.session_ids import short_id
from leftoff.testing.builders import Story, call
from tests.support.live_session import SESSION, LiveSession
from tests.support.long_sessions import CODEX_FIRST, FIRST, LONG

REMINDER = (
    "\n\n<system-reminder>\nWhenever you read a file, consider whether it is malware. If it is, "
    "you MUST refuse to improve the code.\n</system-reminder>\n"
)


@pytest.fixture(params=["claude", "codex"])
def agent_id(request):
    return request.param


@pytest.fixture
def write(home, agent_id):
    """Write a session of the agent in which all calls are made, each in a turn of its own, and some turns after them."""

    def write_session(*calls, after=4):
        story = Story(session_id=FIRST if agent_id == "claude" else CODEX_FIRST, project=str(Path.cwd()))
        for number, each in enumerate(calls):
            story.asked(f"Step {number}").replied("On it.", each, used=60_000)
        for number in range(after):
            story.asked(f"More {number}").replied(
                "Fine.", call("shell", {"command": "ls"}, LONG[:600]), used=61_000
            )
        return (home.claude if agent_id == "claude" else home.codex)(story)

    return write_session


def todo_list(name, count=30, words="a part of the work"):
    items = [{"text": f"{name} {number}: {words}", "done": False} for number in range(count)]
    return call("todo", {"items": items}, "ok")


def inputs(transcript, *tools):
    calls = leftoff.open_session(str(transcript)).tool_calls()
    return [each.input for each in calls if not tools or each.tool in tools]


def results(transcript):
    return [each.result.text for each in leftoff.open_session(str(transcript)).tool_calls() if each.result]


TODO_TOOLS = ("TodoWrite", "update_plan")


def test_the_current_todo_list_stays_and_older_ones_are_replaced_whole(write, capsys):
    """An older list would mislead with some of its entries, or with a placeholder as an entry."""
    source = write(todo_list("first"), todo_list("second", words="w" * 250), todo_list("third"), after=9)
    result = leftoff.trim_and_create_session(None, source, None, 1000)
    before, after = inputs(source, *TODO_TOOLS), inputs(result.output_file, *TODO_TOOLS)
    assert after[2] == before[2]
    for number, name in ((0, "first"), (1, "second")):
        assert name not in json.dumps(after[number])
        assert [each for each in after[number].values() if isinstance(each, list)] == [[]]
        note = after[number]["suppressed"]
        tool = "TodoWrite" if "todos" in after[number] else "update_plan"
        assert note.startswith(f"[Input to {tool} tool suppressed - original content was ")
        assert "An older to-do list; a later one replaces it." in note
    assert run(["untrim", str(result.output_file), "--json"]) == 0
    back = json.loads(capsys.readouterr().out)["output_file"]
    assert inputs(back) == inputs(source)


def test_a_list_that_was_refused_is_not_the_current_one(write):
    """The list before it is still in force."""
    refused = call(
        "todo",
        {"items": [{"text": f"never {n} {'x' * 60}", "done": False} for n in range(30)]},
        "no",
        failed=True,
    )
    source = write(todo_list("old"), todo_list("current"), refused, after=9)
    after = inputs(leftoff.trim_and_create_session(None, source, None, 1000).output_file, *TODO_TOOLS)
    assert after[1] == inputs(source, *TODO_TOOLS)[1]


def test_the_current_todo_list_cannot_be_named_for_cutting(write, tmp_path):
    source = write(todo_list("only"), after=9)
    line = next(number for number, line in enumerate(source.read_bytes().splitlines()) if b"only 7" in line)
    numbers = leftoff.trim_lines(source, [line], tmp_path / "copy.jsonl")
    assert numbers["skipped"] == [line]


def test_entries_of_a_task_list_stay(home):
    """Claude Code's newer tools set one entry at a time; together they are the list."""
    story = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for number in range(4):
        task = {"subject": f"Part {number}", "description": f"{number} {LONG[:3000]}"}
        story.asked(f"Plan {number}").replied(
            "Planned.", call("TaskCreate", task, f"Task #{number} created"), used=60_000
        )
    for number in range(9):
        story.asked(f"Step {number}").replied(
            "On it.", call("shell", {"command": "ls"}, LONG[:3000]), used=61_000
        )
    source = home.claude(story)
    result = leftoff.trim_and_create_session(None, source, None, 1000)
    assert result.num_tools_trimmed > 0
    assert inputs(result.output_file, "TaskCreate") == inputs(source, "TaskCreate")


def test_a_cut_input_is_called_an_input(write):
    source = write(call("write", {"path": "a.py", "content": LONG}, "written"), after=9)
    (text,) = [
        text
        for given in inputs(leftoff.trim_and_create_session(None, source, None, 1000).output_file)
        for text in ([given] if isinstance(given, str) else given.values())
        if isinstance(text, str) and "suppressed - original" in text
    ]
    assert text.startswith("[Input to ")


def test_copies_of_older_versions_are_still_given_back(write, capsys):
    """They call an input a result."""
    source = write(call("write", {"path": "a.py", "content": LONG}, "written"), after=9)
    copy = Path(leftoff.trim_and_create_session(None, source, None, 1000).output_file)
    copy.write_text(
        copy.read_text(encoding="utf-8").replace("[Input to ", "[Results from "), encoding="utf-8"
    )
    assert run(["untrim", str(copy), "--json"]) == 0
    assert inputs(json.loads(capsys.readouterr().out)["output_file"]) == inputs(source)


@pytest.mark.parametrize("command", ["trim", "smart-trim"])
def test_an_excerpt_shows_nothing_of_a_reminder(home, command, capsys):
    """The end of a reminder without its condition is an order; the whole result can be given back anyway."""
    story = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for number in range(30):
        story.asked(f"Step {number}").replied(
            "Reading.",
            call("shell", {"command": f"cat {number}"}, f"{number} {LONG}the end{REMINDER}"),
            used=60_000,
        )
    source = home.claude(story)
    assert run([command, str(source), "--json"]) == 0
    copy = json.loads(capsys.readouterr().out)["output_file"]
    cut = [text for text in results(copy) if text.startswith("[Results from")]
    assert len(cut) > 3
    assert not [text for text in cut if "reminder" in text or "malware" in text or "refuse" in text]
    assert command == "smart-trim" or [text for text in cut if "the end" in text]
    assert run(["untrim", copy, "--json"]) == 0
    assert results(json.loads(capsys.readouterr().out)["output_file"]) == results(source)


def test_both_ends_are_whole_words_and_differ(write):
    words = " ".join(f"word{number}" for number in range(900))
    source = write(call("shell", {"command": "cat a"}, words), after=9)
    text = next(
        text
        for text in results(leftoff.trim_and_create_session(None, source, None, 1000).output_file)
        if "It began:" in text
    )
    begin, _, end = text.partition("\n… and ended:\n")
    begin, end = begin.partition("It began:\n")[2], end.partition("\nline ")[0]
    known = {*words.split()}
    assert {*begin.split()[-1:], *end.split()[:1]} <= known
    assert begin
    assert end
    assert begin != end


def test_a_second_identical_trim_reuses_the_copy(write, capsys, agent_id):
    """Lines that are not sent do not count: every blocked prompt writes some."""
    source = write(*[call("shell", {"command": f"cat {n}"}, f"{n} {LONG}") for n in range(5)])
    assert run(["trim", str(source), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert "reused" not in first
    with source.open("a", encoding="utf-8") as file:
        side = (
            {"type": "mode", "mode": "normal"}
            if agent_id == "claude"
            else {"type": "event_msg", "payload": {"type": "x"}}
        )
        file.write(json.dumps(side) + "\n")
    assert run(["trim", str(source), "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert second == first | {"reused": True}
    assert run(["trim", str(source)]) == 0
    assert "The same copy exists already" in capsys.readouterr().out
    library = leftoff.trim_and_create_session(None, source, None, 1000)
    assert (library.session_id, library.reused) == (first["session_id"], True)
    assert leftoff.write_copy(
        leftoff.open_session(str(source)), leftoff.plan_trim(leftoff.open_session(str(source)))
    ) == Path(first["output_file"])


def test_another_setting_or_content_or_folder_or_a_used_copy_is_no_reason_to_reuse(write, tmp_path):
    source = write(*[call("shell", {"command": f"cat {n}"}, f"{n} {LONG}") for n in range(5)])

    def trimmed(threshold=1000, folder=None):
        return leftoff.trim_and_create_session(None, source, None, threshold, folder)

    first = trimmed()
    with Path(first.output_file).open("ab") as file:
        file.write(b"\n")  # the agent has gone on in it
    others = [trimmed(), trimmed(threshold=900), trimmed(folder=tmp_path / "out")]
    source.write_text(source.read_text(encoding="utf-8").replace("Step 0", "Step Z"), encoding="utf-8")
    others.append(trimmed())
    Path(others[-1].output_file).unlink()
    others.append(trimmed())
    assert len({first.session_id, *(each.session_id for each in others)}) == 6
    assert not any(each.reused for each in others)


@pytest.mark.parametrize("agent_name", ["claude", "codex"])
def test_trim_yes_twice_writes_one_copy(isolated_home, agent_name):
    live = LiveSession(
        isolated_home, agent_name, SESSION if agent_name == "claude" else SESSION[:14] + "7" + SESSION[15:]
    )
    for turn in range(6):
        live.story.asked(f"Step {turn}").replied(
            "Reading.", call("shell", {"command": "cat"}, f"{turn}\n{LONG}"), used=50_000
        )
    live.write()
    live.hook("UserPromptSubmit", prompt=">trim yes")
    there = {*live.agent.transcripts()}
    again = live.hook("UserPromptSubmit", prompt=">trim yes")
    assert {*live.agent.transcripts()} == there
    assert "The same copy exists already" in again["reason"]


def test_lineage_tells_the_strategies_apart(write, capsys):
    source = write(*[call("shell", {"command": f"make {n}"}, f"{n} {LONG}") for n in range(30)])
    made = {}
    for command in ("trim", "smart-trim"):
        assert run([command, str(source), "--json"]) == 0
        made[command] = json.loads(capsys.readouterr().out)
    assert run(["untrim", made["trim"]["output_file"], "--json"]) == 0
    made["untrim"] = json.loads(capsys.readouterr().out)
    assert run(["lineage", str(source)]) == 0
    shown = capsys.readouterr().out
    words = {"trim": "  trimmed  ", "smart-trim": "  smart-trimmed  ", "untrim": "  untrimmed  "}
    for command, derived in made.items():
        (line,) = [line for line in shown.splitlines() if short_id(derived["session_id"]) in line]
        assert words[command] in line
    assert run(["lineage", made["untrim"]["output_file"], "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)["tree"]
    found = {child["session_id"]: child["strategy"] for child in tree["children"]}
    assert found[made["smart-trim"]["session_id"]] == "smart-trim"
    assert leftoff.get_parent_info(made["smart-trim"]["output_file"])[1] == "trimmed"


def test_a_tool_that_was_not_used_is_named(write, capsys):
    source = write(call("shell", {"command": "cat a"}, LONG))
    assert run(["trim", str(source), "--tools", "Nope"]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "no result or input of Nope is in this conversation; its tools are: " in said


def test_the_types_of_results_are_public(write):
    source = write(*[call("shell", {"command": f"cat {n}"}, f"{n} {LONG}") for n in range(5)])
    result = leftoff.trim_and_create_session(None, source, None, 1000)
    assert isinstance(result, leftoff.TrimResult)
    assert "session_id" in result
    assert "nobody" not in result
    assert dict(result)["session_id"] == result.session_id
    fresh = leftoff.rollover_session(source)
    assert isinstance(fresh, leftoff.RolloverResult)
    assert "output_file" in fresh
