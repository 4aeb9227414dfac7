"""What a log says about a session, section by section: every kind of item, each with a valid source."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from bench.generate import generate
from leftoff.agents.claude import Claude
from leftoff.agents.codex.adapter import Codex
from leftoff.core.actions import Answer, Moved, Ran, Wrote
from leftoff.core.records import RecordKind
from leftoff.extraction import State, render, step
from leftoff.testing.builders import Story, call
from tests.extraction.builders import PLAIN, a_ref, add_call, record, session_state_of
from tests.support.screenplay import bundled_script
from tests.support.transcripts import write_transcript

SECTIONS = ("accomplishments", "key_findings", "decisions", "next_steps")


def items_of(log: dict[str, Any]) -> set[str]:
    """Return every item of the log, by the name that its sources give it."""
    found = {"mission_summary"} if log["mission_summary"] else set()
    for section in SECTIONS:
        found |= {f"{section}/{number}" for number in range(len(log[section]))}
    for key, entries in log["critical_context"].items():
        names = entries if isinstance(entries, dict) else range(len(entries))
        found |= {f"critical_context/{key}/{name}" for name in names}
    return found


def scripts():
    yield "bundled", bundled_script()
    for seed in (1, 2, 3):
        yield f"generated-{seed}", generate(seed=seed, size_bytes=250_000)


@pytest.mark.parametrize("max_chars", [None, 9_900, 2_000])
@pytest.mark.parametrize(("name", "script"), [*scripts()], ids=[name for name, _ in scripts()])
@pytest.mark.parametrize("agent_type", [Claude, Codex])
def test_every_item_has_a_valid_source(tmp_path: Path, agent_type, name: str, script, max_chars) -> None:
    """The bytes in the transcript match the source's hash, and every source belongs to an item."""
    path = tmp_path / f"rollout-2026-01-06T12-00-00-{script.session_id}.jsonl"
    agent = agent_type(home=tmp_path)
    write_transcript(agent, script, path)
    log = render(step(State(), agent.open(path).records, agent), max_chars)
    data = path.read_bytes()
    for source in log["sources"]:
        assert source["transcript"] == str(path)
        assert hashlib.sha256(data[source["start"] : source["end"]]).hexdigest() == source["sha256"]
        assert data.count(b"\n", 0, source["start"]) == source["line_idx"]
        assert source["excerpt"]
    assert {source["item"] for source in log["sources"]} == items_of(log)


def test_the_mission_is_what_the_user_asked() -> None:
    """The mission has the first request, the later ones and the latest; approvals do not count."""
    story = Story().asked("Write an importer for CSV files").replied("Done.")
    for prompt in ("yes", "Now read Excel files too", "ok, go ahead", "And write the docs"):
        story.asked(prompt).replied("Done.")
    mission = session_state_of(story)["mission_summary"]
    assert mission == (
        "The user first asked: “Write an importer for CSV files”\n\n"
        "Then, in this order:\n- “Now read Excel files too”\n\n"
        "The latest request: “And write the docs”"
    )


def test_a_single_request_is_the_whole_mission() -> None:
    """Without a prompt the mission is empty; an expanded command is quoted by its field."""
    assert (
        session_state_of(Story().asked("Write docs").replied("Done."))["mission_summary"]
        == "The user first asked: “Write docs”"
    )
    assert session_state_of(Story().asked("yes").replied("Done."))["mission_summary"] == ""
    assert render(State())["mission_summary"] == ""
    form = "## User Input\n\n```text\nphase two\n```\n\nYou **MUST** do as the form says."
    assert (
        session_state_of(Story().asked(form).replied("Done."))["mission_summary"]
        == "The user first asked: “phase two”"
    )


def test_requests_that_do_not_fit_are_counted() -> None:
    """The newest are quoted, the others counted."""
    story = Story()
    for number in range(100):
        story.asked(f"Request number {number} is about something else than the one before it").replied(
            "Done."
        )
    mission = session_state_of(story)["mission_summary"]
    assert "earlier requests left out), in this order:" in mission
    assert "number 0 " in mission
    assert "number 99 " in mission
    assert "number 98 " in mission
    assert "number 5 " not in mission


def test_accomplishments_cover_summaries_commits_checks_subagents_and_files() -> None:
    story = Story(project="/p").asked("Write an importer")
    story.replied("", call("write", {"path": "/p/a.py", "content": "def read_rows(): ..."}))
    story.replied("", call("edit", {"path": "/p/b.py", "old": "x", "new": "parse_line(x)"}))
    story.replied("", call("shell", {"command": "git commit -am x"}, "[main 1a2b3c4] Add the importer"))
    story.replied("", call("shell", {"command": "make test"}, "12 passed in 3s"))
    story.delegated("Count the files", "There are 7.").replied("The importer reads CSV.")
    accomplishments = session_state_of(story)["accomplishments"]
    assert "Committed `1a2b3c4`: Add the importer" in accomplishments
    assert "Passes: `make test` (12 passed in 3s)" in accomplishments
    assert "Subagent on “Count the files”: There are 7." in accomplishments
    assert "Asked “Write an importer”: The importer reads CSV." in accomplishments
    assert any(text.startswith("Created `a.py`") and "read_rows" in text for text in accomplishments)
    assert any(text.startswith("Changed `b.py`") and "parse_line" in text for text in accomplishments)


def test_deleted_and_moved_files() -> None:
    """Deleted and moved files are described as such and are not among the modified files."""
    state = State(project="/p")
    for action in (Wrote("/p/a.py", "x"), Ran("rm a.py"), Wrote("/p/b.py", "x"), Moved("/p/b.py", "/p/c.py")):
        add_call(state, action, answer=Answer("ok", failed=False))
    log = render(state)
    assert "Deleted `a.py`" in log["accomplishments"]
    assert any(text.startswith("Moved `b.py`") and "c.py" in text for text in log["accomplishments"])
    assert log["metadata"]["files_modified"] == ["c.py"]
    assert "deleted" in log["critical_context"]["files"]["/p/a.py"]
    assert "moved to /p/c.py" in log["critical_context"]["files"]["/p/b.py"]


def failing(command: str = "make test", words: str = "E  ValueError: no rows") -> Any:
    return call("shell", {"command": command}, f"Exit code 2\n{words}", failed=True)


def test_a_current_failure_is_a_finding_and_a_next_step() -> None:
    """The failure has its exit code and error line; a failed search or listing does not count."""
    log = session_state_of(
        Story().asked("Go").replied("", failing(), failing("cat nothing", "No such file")).replied("Hm.")
    )
    assert "Fails now: `make test` (exit 2): “E ValueError: no rows”" in log["key_findings"]
    assert "Mend what fails: `make test` → “E ValueError: no rows”" in log["next_steps"]
    assert "`make test` → exit 2" in log["critical_context"]["commands"]
    assert not any("cat nothing" in step for step in log["next_steps"])
    assert any("ValueError" in error for error in log["metadata"]["errors"])


def test_a_failure_without_an_exit_code() -> None:
    """Without an exit code, a command is shown as failed or with an unknown end."""
    state = add_call(State(), Ran("make test"), answer=Answer("error: no", failed=True))
    add_call(state, Ran("watch"), answer=Answer(""))
    add_call(state, Ran("watch"), answer=Answer(""))
    log = render(state)
    assert "`make test` → failed" in log["critical_context"]["commands"]
    assert "`watch` → end not known, 2 times" in log["critical_context"]["commands"]
    assert any(text.startswith("Fails now: `make test`: ") for text in log["key_findings"])


def test_a_fixed_failure_is_listed_with_its_fix() -> None:
    """A fixed failure is no longer a next step, even if another command of its kind passed."""
    story = Story(project="/p").asked("Go").replied("", failing())
    story.replied("", call("edit", {"path": "/p/a.py", "old": "x", "new": "y"}))
    story.replied("", call("shell", {"command": "make test"}, "3 passed")).replied("Done.")
    log = session_state_of(story)
    assert (
        "Fixed after changes in `a.py`: `make test` had failed with “E ValueError: no rows”, and passes now"
        in log["key_findings"]
    )
    assert not any("Mend" in step or "make test" in step for step in log["next_steps"])
    kin = Story().asked("Go").replied("", failing("cd /p && make test -k one"))
    kin.replied("", call("shell", {"command": "make test"}, "3 passed")).replied("Done.")
    assert not any("Mend" in step for step in session_state_of(kin)["next_steps"])


def test_a_fix_without_a_change() -> None:
    """The command passes later although nothing was changed in between."""
    story = (
        Story().asked("Go").replied("", failing()).replied("", call("shell", {"command": "make test"}, "ok"))
    )
    assert any(
        text.startswith("Fixed: `make test` had failed") for text in session_state_of(story)["key_findings"]
    )


def test_an_unfinished_request_is_the_first_next_step() -> None:
    """The current activity and the unanswered call follow."""
    story = (
        Story()
        .asked("Write the importer")
        .replied("Looking at the parser.", call("shell", {"command": "make"}, None))
    )
    steps = session_state_of(story)["next_steps"]
    assert steps[0] == "Go on with the request that is not finished: “Write the importer”"
    assert "A call was under way and has no answer: shell" in steps
    assert "The agent was at: “Looking at the parser.”" in steps


def test_an_approval_is_not_the_request() -> None:
    """The unfinished request is the one before it; with approvals only, there is none."""
    story = (
        Story()
        .asked("Write the importer")
        .replied("Shall I?")
        .asked("yes")
        .replied("", call("shell", {"command": "make"}))
    )
    assert session_state_of(story)["next_steps"][0].endswith("“Write the importer”")
    assert session_state_of(Story().asked("yes"))["next_steps"] == []


def test_the_agents_last_text_names_the_next_step() -> None:
    """Only sentences about the future count; without any, nothing is open."""
    story = Story().asked("Write it").replied("It reads CSV. Next step: the docs.")
    assert session_state_of(story)["next_steps"] == ["The agent's last word on it: “Next step: the docs.”"]
    over = session_state_of(Story().asked("Write it").replied("It reads CSV."))["next_steps"]
    assert over == ["No next step was named: “Write it” was answered with “It reads CSV.”"]
    done = session_state_of(Story().asked("Write it").replied("It is done."))["next_steps"]
    assert done == ["Nothing is left open: “Write it” was answered with “It is done.”"]


def test_next_steps_fit_their_share() -> None:
    """A long list is cut after the first steps."""
    todo = {
        "items": [{"text": f"Thing {n} to do, at some length" * 4, "status": "pending"} for n in range(40)]
    }
    steps = session_state_of(Story().asked("Go").replied("", call("todo", todo)).replied("So."))["next_steps"]
    assert 3 < len(steps) <= 14
    short = session_state_of(Story().asked("Go").replied("", call("todo", todo)).replied("So."), 1_000)[
        "next_steps"
    ]
    assert 0 < len(short) < len(steps)


def test_critical_context_has_exact_text() -> None:
    """Project, files with line range, commands, ids, ports, variables and names with their file."""
    story = Story(project="/p").asked(
        "See https://x.example/a, #12, ABC-7, port 8080, localhost:5432, $MY_TOKEN_NAME and UTF-8"
    )
    story.replied(
        "", call("read", {"path": "/p/src/a.py", "offset": 10, "limit": 11}, "def parse_rows(max_size): ...")
    )
    story.replied(
        "", call("search", {"pattern": "parse_rows", "path": "/p/src"}, "src/other_file.py:3: parse_rows")
    )
    story.replied("Run `make docs` later.", call("shell", {"command": "make test"}, "ok"))
    context = session_state_of(story)["critical_context"]
    assert context["where"]["project"] == "/p"
    assert context["files"]["/p/src/a.py"] == "read, lines 10-20 seen"
    assert context["files"]["src/other_file.py"] == "spoken of, not opened"
    assert "`make docs` → spoken of, not run" in context["commands"]
    assert {"https://x.example/a", "#12", "ABC-7", "port 8080", "localhost:5432"} <= {
        *context["ids_and_urls"]
    }
    assert context["environment_variables"] == ["MY_TOKEN_NAME"]
    assert "UTF-8" not in json.dumps(context)
    assert "max_size" in json.dumps(session_state_of(story)["key_findings"])


def test_names_without_a_file_are_listed_by_themselves() -> None:
    """Names that belong to no file come from commands and texts."""
    story = (
        Story()
        .asked("Look at parse_rows and maxSize")
        .replied("", call("shell", {"command": "x"}, "deep_name"))
    )
    assert "deep_name" in session_state_of(story)["critical_context"]["names"]["elsewhere"]


def test_rules_that_do_not_fit_are_named_with_their_place() -> None:
    """The newest are quoted word for word, the others counted."""
    story = Story()
    for number in range(100):
        story.asked(f"Never do the thing that is called number {number}, " + "not even once, " * 12).replied(
            "Yes."
        )
    rules = session_state_of(story)["critical_context"]["user_rules"]
    assert "earlier rules do not fit: lines 2, " in rules[0]
    assert "number 99" in rules[-1]
    assert sum(map(len, rules)) < 8_000


def test_metadata_has_what_the_transcript_says() -> None:
    """What the transcript does not say is None."""
    story = Story(project="/p").asked("Go").replied("", call("write", {"path": "/p/a.py", "content": "x"}))
    story.replied("", failing()).compacted("so far").replied("Done.")
    found = session_state_of(story)["metadata"]
    assert found["files_modified"] == ["a.py"]
    assert (found["turns"], found["tool_calls"], found["failed_calls"], found["compactions"]) == (1, 2, 1, 1)
    assert found["session_duration_minutes"] == 1
    assert found["transcript"] == "memory"
    nothing = render(State())["metadata"]
    assert (nothing["session_duration_minutes"], nothing["model"]) == (None, None)


def test_project_and_branch_cite_the_record_that_names_them() -> None:
    """Without such a record, project and branch are left out."""
    assert render(State(project="/p", project_ref=a_ref()))["critical_context"]["where"] == {"project": "/p"}
    assert "where" not in render(State(project="/p"))["critical_context"]


def test_an_empty_state_renders_empty_sections() -> None:
    log = render(State())
    assert items_of(log) == set()
    assert log["sources"] == []
    only_words = step(State(), [record(RecordKind.REPLY, "Hello there.")], PLAIN)
    assert render(only_words)["next_steps"] == []


@pytest.mark.parametrize("max_chars", [600, 3_000, 9_900, 29_999, 30_000, 10**6])
def test_any_size_can_be_rendered(max_chars: int) -> None:
    """A smaller text says less, but always has the rule."""
    story = Story().asked("Write an importer. Never use pandas.")
    for number in range(60):
        story.replied(
            f"Step {number}: found that reader_{number}_name is slow.",
            call("read", {"path": f"/p/f{number}.py"}, f"def some_name_{number}(): ..."),
        )
    log = session_state_of(story, max_chars)
    assert log["critical_context"]["user_rules"] == ["“Never use pandas.”"]
    whole = len(json.dumps({**session_state_of(story), "sources": []}))
    assert len(json.dumps({**log, "sources": []})) <= whole


def test_a_failure_is_refuted_by_a_later_check_of_its_kind() -> None:
    """Another command for the same tests refutes it, or tests after a failed build; a smaller part of the same does not."""

    def next_steps_to_fix(*runs: tuple[str, bool]) -> list[str]:
        story = Story().asked("Make it pass")
        for command, failed in runs:
            answer = "Exit code 1\nFAILED test_x" if failed else "12 passed"
            story = story.replied("", call("shell", {"command": command}, answer, failed=failed))
        return [step for step in session_state_of(story)["next_steps"] if step.startswith("Mend")]

    assert next_steps_to_fix(("pytest tests/a.py", True), ("make test", False)) == []
    assert next_steps_to_fix(("go build ./...", True), ("go test ./...", False)) == []
    assert len(next_steps_to_fix(("pytest", True), ("pytest tests/a.py", False))) == 1
    assert len(next_steps_to_fix(("make lint", True), ("pytest", False))) == 1
