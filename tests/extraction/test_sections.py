"""What a log says about a session, section by section: every kind of item, each with a valid source."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from bench.generate import generate
from leftoff.agents.claude import Claude
from leftoff.agents.codex.adapter import Codex
from leftoff.core.actions import Answer, Looked, Moved, Proposed, Ran, Wrote
from leftoff.core.budget import estimate_tokens
from leftoff.core.provenance import Ground
from leftoff.core.records import Compaction, RecordKind
from leftoff.extraction import State, render, step
from leftoff.resume_logs.build import from_session_state
from leftoff.testing.builders import Story, call
from tests.extraction.builders import PLAIN, a_ref, add_call, folded, record, session_state_of
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


@pytest.mark.parametrize(("name", "script"), [*scripts()], ids=[name for name, _ in scripts()])
@pytest.mark.parametrize("agent_type", [Claude, Codex])
def test_every_item_has_a_valid_source(tmp_path: Path, agent_type, name: str, script) -> None:
    """The bytes in the transcript match the source's hash, and every source belongs to an item."""
    path = tmp_path / f"rollout-2026-01-06T12-00-00-{script.session_id}.jsonl"
    agent = agent_type(home=tmp_path)
    write_transcript(agent, script, path)
    log = render(step(State(), agent.open(path).records, agent))
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


def test_accomplishments_are_outcomes_commits_and_changes() -> None:
    story = Story(project="/p").asked("Write an importer")
    story.replied("", call("edit", {"path": "/p/b.py", "old": "x = 1", "new": "x = parse_line(1)"}))
    message = "git commit -m 'Add the importer\n\nIt reads rows one by one.'"
    story.replied("", call("shell", {"command": message}, "[main 1a2b3c4] Add the importer"))
    story.replied("The importer reads CSV.").asked("Thanks").replied("Sure.")
    assert session_state_of(story)["accomplishments"] == [
        "Edit in `b.py`:\n```diff\n-x = 1\n+x = parse_line(1)\n```",
        "Committed `1a2b3c4`: Add the importer\nIt reads rows one by one.",
        "Asked “Write an importer”: The importer reads CSV.",
    ]


def test_findings_are_what_was_said_and_written_on_the_way() -> None:
    """Each request is named once; the plan and notes say what they are."""
    story = Story(project="/p").asked("Follow STYLE.md and write an importer")
    story.replied("The store has no index on the date.", call("shell", {"command": "ls"}, "a"))
    story.replied("Each lookup takes 40 ms because of it.", *[call("shell", {"command": "ls"}, "a")] * 3)
    story.replied("", call("write", {"path": "/p/NOTES.md", "content": "The cache is kept per worker."}))
    story.delegated("Count the files", "There are 7 files in all.")
    story.replied("Done.").asked("Thanks")
    assert session_state_of(story)["key_findings"] == [
        "On “Follow STYLE.md and write an importer”: The store has no index on the date.",
        "Each lookup takes 40 ms because of it.",
        "Written to `NOTES.md`: The cache is kept per worker.",
        "A subagent reported on “Count the files”: There are 7 files in all.",
    ]


@pytest.mark.parametrize(
    ("answer", "opening"),
    [
        (Answer("", approved=True), "The plan that the user approved"),
        (Answer("", refused=True, approved=False), "A plan that the user rejected"),
        (Answer(""), "The plan that the agent proposed"),
    ],
)
def test_a_plan_is_told_whole_with_what_became_of_it(answer: Answer, opening: str) -> None:
    plan = "# Move the cache\n\n1. Add a table\n2. Fill it\n\nDeviation: no lock is held."
    (found,) = render(add_call(State(), Proposed(plan), answer=answer))["key_findings"]
    assert (
        found == f"{opening}: **Move the cache**\n1. Add a table\n2. Fill it\n\nDeviation: no lock is held."
    )


TABLE = "Covered so far:\n\n| domain | covered |\n|---|---|\n| logs | yes |\n| traces | no |"


def test_tables_lists_and_code_of_a_reply_are_told_whole() -> None:
    reply = f"{TABLE}\n\nProfile startup with:\n\n```sh\nmake trace\n```\n\nOptions:\n1. Keep it\n2. Drop it"
    log = session_state_of(Story().asked("What is covered?").replied(reply).asked("Thanks").replied("Sure."))
    told = log["accomplishments"][0]
    for part in ("| traces | no |", "```sh\nmake trace\n```", "1. Keep it\n2. Drop it"):
        assert part in told


def test_a_decision_of_the_agent_has_its_reason() -> None:
    """Without a reason, or as a mere announcement, it is none."""
    decided = "I decided on a plain file because a database is one more thing to run."
    story = Story().asked("Store it").replied(decided, call("shell", {"command": "ls"}, "a"))
    story.replied("I'll use the store. Now let me look.", call("shell", {"command": "ls"}, "a")).replied(
        "So."
    )
    log = session_state_of(story)
    assert [each["decision"] for each in log["decisions"]] == [decided]


@pytest.mark.parametrize(
    ("fact", "guess"),
    [
        (
            "The listener of the socket is never closed, so that each reload adds another one to the list of open handles.",
            "The cache of the importer is probably full, since the second run reads all of its rows a good deal more slowly.",
        ),
        (
            "Der Listener am Socket wird niemals geschlossen, weshalb jedes Neuladen einen weiteren offenen Deskriptor hinterlässt.",
            "Der Cache des Imports ist vermutlich zu voll geworden, da der zweite Lauf alle seine Zeilen merklich langsamer liest.",
        ),
        (
            "ソケットのリスナーは閉じられておらず、" * 6 + "再読み込みのたびに増えます。",
            "たぶんインポーターのキャッシュが原因で、" * 6 + "二回目の実行が遅くなります。",
        ),
    ],
)
def test_a_guess_is_never_told_in_place_of_a_fact(fact: str, guess: str) -> None:
    """Once the turn has an outcome; and although the guess came later."""
    story = Story().asked("Find the leak")
    for words in (fact, guess):
        story.replied(words, call("shell", {"command": "ls"}, "a"))
    state = folded(story.replied("It is fixed.").asked("Thanks"))
    told = [str(render(state, max_tokens=tokens)["key_findings"]) for tokens in range(250, 1_000, 5)]
    assert {(fact in text, guess in text) for text in told} == {(False, False), (True, False), (True, True)}


def test_a_question_at_the_end_of_a_turn_was_answered_by_the_next_prompt() -> None:
    reply = "The importer reads CSV files row by row.\n\nShall I also read Excel?"
    story = Story().asked("Write it").replied(reply).asked("No, the docs").replied("Written.")
    assert session_state_of(story)["accomplishments"] == [
        "Asked “Write it”: The importer reads CSV files row by row."
    ]


def test_a_check_says_whether_it_ran_before_the_last_change() -> None:
    story = Story(project="/p").asked("Go").replied("", call("shell", {"command": "make test"}, "3 passed"))
    story.replied("", call("edit", {"path": "/p/a.py", "old": "x", "new": "y"}))
    assert session_state_of(story)["critical_context"]["commands"] == [
        "`make test` → passed (“3 passed”), before the last change"
    ]


def test_the_last_words_that_only_announce_a_call_are_left_out() -> None:
    """The call was made; its result is known."""
    ls = call("shell", {"command": "ls"}, "a")
    said = "The store has no index on the date. Let me look at the importer next:"
    log = session_state_of(Story().asked("Look").replied(said, ls).replied("Done.").asked("Thanks"))
    assert log["key_findings"] == ["On “Look”: The store has no index on the date."]


def test_what_the_client_adds_to_a_summary_is_left_out() -> None:
    text = (
        "The importer keeps cents.\n\nIf you need specific details from before compaction, read the full transcript at: /t.jsonl\n"
        "Please continue the conversation. Continue with the last task that you were asked to work on."
    )
    details = Compaction(trigger="auto", before_tokens=None, after_tokens=None, summary=text)
    records = [
        record(RecordKind.PROMPT, "Write the importer", line=0),
        record(RecordKind.COMPACTION, text, line=1)._replace(compaction=details),
    ]
    assert render(step(State(), records, PLAIN))["key_findings"] == [
        "From the agent's summary at an earlier compaction: The importer keeps cents."
    ]


def test_what_was_said_twice_is_told_once() -> None:
    story = Story().asked("Look")
    for _ in range(30):
        story.replied("The importer drops the last row of each file.", call("shell", {"command": "ls"}, "a"))
    story.replied("Totals are kept in cents, not in floats.", call("shell", {"command": "ls"}, "a")).replied(
        "So."
    ).asked("Ok")
    told = session_state_of(story)["key_findings"]
    assert told == [
        "On “Look”: The importer drops the last row of each file.",
        "Totals are kept in cents, not in floats.",
    ]


def test_a_long_request_is_told_beside_the_mission() -> None:
    """The mission shortens the requests between the first and the last."""
    parts = (f"Part {n}: column c{n} of the old table becomes field f{n} of the new one." for n in range(20))
    long = "Read the spec first.\n\n" + "\n\n".join(parts)
    story = (
        Story()
        .asked("Read the code")
        .replied("Done.")
        .asked(long)
        .replied("Done.")
        .asked("And the docs")
        .replied("Done.")
    )
    log = session_state_of(story)
    assert "column c17" not in log["mission_summary"]
    assert any(text.startswith("The user wrote: “") and "column c17" in text for text in log["key_findings"])


def test_a_long_last_reply_is_told_whole() -> None:
    """What does not fit beside the next steps is told with the rest, once."""
    parts = [
        f"Finding {n}: column{n} of table{n} is read by worker{n} without its lock{n}." for n in range(60)
    ]
    log = session_state_of(Story().asked("Review it").replied("\n\n".join(parts)))
    told = json.dumps([log["next_steps"], log["key_findings"]])
    assert {told.count(part) for part in parts} == {1}


def test_the_outcome_before_an_unanswered_prompt_is_told_once() -> None:
    """As what was said before the prompt, which may only approve of an earlier request."""
    for prompt in ("Now Excel, too", "yes"):
        log = session_state_of(Story().asked("Write an importer").replied("It reads CSV.").asked(prompt))
        assert "Before the last prompt the agent said: It reads CSV." in log["next_steps"]
        assert log["accomplishments"] == []


def test_a_japanese_session_gets_as_full_a_log_as_an_english_one() -> None:
    def told(request: str, finding: str, outcome: str) -> dict[str, Any]:
        story = Story().asked(request).replied(finding, call("shell", {"command": "ls"}, "a"))
        log = session_state_of(story.replied(outcome).asked("OK"))
        return {key: len(log[key]) for key in SECTIONS}

    english = told("Write an importer", "The store has no index on the date.", "The importer reads CSV now.")
    for words in (
        ("インポーターを書いて", "ストアには日付の索引がありません。", "インポーターはCSVを読みます。"),
        (
            "Schreib einen Import",
            "Der Speicher hat keinen Index auf dem Datum.",
            "Der Import liest jetzt CSV.",
        ),
    ):
        assert told(*words) == english


def test_files_are_told_with_what_was_done_to_them() -> None:
    """Changed ones first; deleted and moved ones are not among the modified files."""
    state = State(project="/p")
    for action in (
        *[Looked("/p/much_read.py")] * 9,
        Wrote("/p/a.py", "x"),
        Ran("rm a.py"),
        Wrote("/p/b.py", "x"),
        Moved("/p/b.py", "/p/c.py"),
    ):
        add_call(state, action, answer=Answer("ok", failed=False))
    log = render(state)
    files = log["critical_context"]["files"]
    assert files == {
        "c.py": "created, 1 edit" if "1 edit" in files["c.py"] else "created",
        "b.py": "moved to /p/c.py",
        "a.py": "deleted",
        "much_read.py": "read 9 times",
    }
    assert [*files][-1] == "much_read.py"
    assert log["metadata"]["files_modified"] == ["c.py"]


def test_the_state_of_the_files_is_what_git_says_when_the_log_is_saved() -> None:
    """Without git, what the transcript tells."""
    story = Story(project="/p").asked("Go").replied("", call("write", {"path": "/p/a.py", "content": "x"}))
    state = folded(story)

    def said(ground: Ground | None) -> list[str]:
        found: list[str] = render(state, ground)["critical_context"]["state"]
        return found

    assert said(None) == ["Changed: `a.py`; no commit was seen in this session"]
    dirty = Ground(head="a" * 40, branch="main", worktree=None, dirty=("a.py", "b.py"))
    assert said(dirty) == ["Not committed, as git said when this was saved: `a.py`, `b.py`"]
    clean = Ground(head="a" * 40, branch="main", worktree=None, dirty=())
    assert said(clean) == ["Everything is committed, as git said when this was saved (HEAD aaaaaaaaaa)"]


def test_what_was_changed_since_the_last_commit_is_named() -> None:
    story = Story(project="/p").asked("Go").replied("", call("write", {"path": "/p/a.py", "content": "x"}))
    story.replied("", call("shell", {"command": "git commit -m 'Add a'"}, "[main 1a2b3c4] Add a"))
    assert (
        "Nothing was changed after commit `1a2b3c4` (“Add a”)"
        in (session_state_of(story)["critical_context"]["state"])
    )
    story.replied("", *(call("write", {"path": f"/p/{n}.py", "content": "x"}) for n in range(17)))
    names = ", ".join(f"`{n}.py`" for n in range(16, 1, -1))
    assert (
        f"Changed since commit `1a2b3c4` (“Add a”): {names} and 2 more"
        in (session_state_of(story)["critical_context"]["state"])
    )


def test_critical_context_has_no_lists_of_names() -> None:
    """Commands that only look around, files and names that were only mentioned, and ids of calls are not listed."""
    story = Story(project="/p").asked("See https://x.example/a, #12 and $MY_TOKEN_NAME")
    story.replied(
        "", call("search", {"pattern": "parse_rows", "path": "/p/src"}, "src/other.py:3: parse_rows")
    )
    story.replied("Run `make docs` later.", call("shell", {"command": "ls -la | head"}, "a toolu_01Bba b"))
    story.replied("", call("shell", {"command": "make test"}, "3 passed"))
    assert session_state_of(story)["critical_context"] == {
        "commands": ["`make test` → passed (“3 passed”)"],
        "where": {"project": "/p"},
    }


def test_rules_that_do_not_fit_are_named_with_their_place() -> None:
    """The newest are quoted word for word, the others counted."""
    story = Story()
    for number in range(100):
        story.asked(f"Never do the thing that is called number {number}, " + "not even once, " * 12).replied(
            "Yes."
        )
    rules = session_state_of(story)["critical_context"]["user_rules"]
    assert "earlier rules left out to fit: lines 2, " in rules[0]
    assert "number 99" in rules[-1]
    assert sum(map(len, rules)) < 8_000


def failing(command: str = "make test", words: str = "E  ValueError: no rows") -> Any:
    return call("shell", {"command": command}, f"Exit code 2\n{words}", failed=True)


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


@pytest.mark.parametrize("max_tokens", [500, 2_000, 10_000])
def test_a_log_never_needs_more_room_than_it_has(max_tokens: int) -> None:
    """A smaller one says less, but always has the rule; nothing is left out of what was chosen."""
    story = Story().asked("Write an importer. Never use pandas.")
    for number in range(60):
        story.replied(
            f"Step {number}: found that reader_{number}_name is slow. " * 20,
            call("read", {"path": f"/p/f{number}.py"}, f"def some_name_{number}(): ..."),
        )
    session_state = render(folded(story), max_tokens=max_tokens)
    assert session_state["critical_context"]["user_rules"] == ["“Never use pandas.”"]
    if max_tokens == 10_000:
        text = from_session_state("s", session_state).to_markdown()
        assert 8_000 < estimate_tokens(text) <= 10_000
        assert "left out to fit the budget" not in text


def test_items_are_in_order_of_time() -> None:
    """Also those of turns without any call."""
    story = Story()
    for number in range(6):
        story.asked(f"What about part {number}, please").replied(f"Part {number} is covered by the parser.")
    told = session_state_of(story.asked("Thanks"))["accomplishments"]
    assert [re.findall(r"part (\d), please”: Part \1", text) for text in told] == [[str(n)] for n in range(5)]


def test_a_mission_in_any_script_fits_its_budget() -> None:
    """Korean and Chinese take several times as many tokens: the latest request would be cut off."""
    for words in ("구독이 끝나면 무료 요금제로 내려 주세요. ", "Lower the plan to free when it ends. "):
        story = Story()
        for number in range(12):
            story.asked(f"{number}: {words * 30}").replied("Good.")
        log = from_session_state("s", session_state_of(story.asked("마지막 요청")))
        assert "The latest request: “마지막 요청”" in log.to_markdown()
