"""Projects in a live session: what the hooks hand over, keep up to date and suggest; and what they leave alone."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.cli.main import run
from leftoff.core import markdown
from leftoff.live import fast, project_events
from leftoff.live.trust import documents, trust
from leftoff.live.trust import waiting as find_waiting
from leftoff.platform import clock, log, paths
from leftoff.projects import find_project
from leftoff.projects.commands import init, init_plain, save
from leftoff.projects.find_project import load_projects
from leftoff.projects.history import touched_projects
from leftoff.projects.progress import UserInput
from leftoff.sessions import live_state
from leftoff.testing.builders import call
from leftoff.workspace import SessionRef, Workspace
from tests.support.live_session import OTHER, LiveSession, agent_context, wait_for

STEPS = "# Steps\n\n## Section 1: Setup\n\n- [ ] one\n- [ ] two\n\n## Section 2: Work\n\n- [ ] three\n- [ ] four\n"


pytestmark = pytest.mark.usefixtures("interactive_user")


@pytest.fixture
def project():
    """A project in execution, with two sections."""
    home = init("Skills", Workspace.open())
    home.part("steps").write_text(STEPS, encoding="utf-8")
    save("1", Workspace.open(), given=UserInput(phase="execution", decisions=("SQLite: nothing to start",)))
    return home


def state_of(home):
    return find_project.load_state(home).state


def begin(live):
    """Begin the session and wait until its documents have been looked at in the background."""
    live.hook("SessionStart", source="startup")
    wait_for(lambda: live.state.files)


def tick(home, *words):
    text = home.part("steps").read_text(encoding="utf-8")
    for each in words:
        text = text.replace(f"[ ] {each}", f"[x] {each}")
    home.part("steps").write_text(text, encoding="utf-8")


def edited(live, home):
    """The agent changes the steps with its own tool, as the transcript tells."""
    path = str(home.part("steps"))
    live.story.asked("Tick it").replied(
        "Ticked.",
        call("Edit", {"file_path": path, "old_string": "[ ]", "new_string": "[x]"}, "ok"),
        used=30_000,
    )
    live.write()


def configure(settings):
    """Write these settings into the user's configuration."""
    folder = paths.config_folder()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "configuration.yaml").write_text(f"context_management:\n  {settings}\n", encoding="utf-8")


def test_continue_project_gets_the_manifest(live, project):
    """The manifest is fenced as data and has the next action, files, section, task and decisions."""
    live.turn(20_000)
    response = live.hook("UserPromptSubmit", prompt="continue project 1")
    context = agent_context(response)
    assert "A record, quoted" in context
    assert "<leftoff-record-" in context
    for words in (
        'Next action: Continue Task 1 - "one"',
        "Current section: 1: Setup",
        "Next task: #1: one",
        "Progress: 0/4 tasks (0%)",
        "1. 02-projects/01-skills/01-planning/_resume.md",
        "SQLite: nothing to start",
    ):
        assert words in context
    assert len(context) < 9900
    assert "01-skills: 0/4 tasks; next: Continue Task 1" in response["systemMessage"]
    assert live.state.project_state == str(project.state)
    assert state_of(project).metadata.session_count == 1


@pytest.mark.parametrize(
    "prompt", ["continue project 1 and fix it", "Please continue project 1", "continue project\n1"]
)
def test_words_around_it_make_it_a_prompt_like_any_other(live, project, prompt):
    """A trigger is the whole prompt or nothing."""
    live.turn(20_000)
    assert "Next action" not in agent_context(live.hook("UserPromptSubmit", prompt=prompt))


def test_a_project_that_is_not_there_is_reported_to_the_user(live, project):
    """The message lists the projects that exist."""
    live.turn(20_000)
    assert "There are: 01-skills" in live.message_to_user("UserPromptSubmit", prompt="continue project 24")


@pytest.mark.parametrize(
    "prompt",
    [
        "continue project Skills Research",
        "Continue  project 1",
        "continue project 1?",
        'continue project "Skills Research"',
        "continue project 'skills'.",
        "continue project #1!",
    ],
)
def test_a_project_is_continued_by_any_of_its_names(live, prompt):
    """Quotes, extra spaces and a question mark do not matter."""
    init("Skills Research", Workspace.open())
    live.turn(20_000)
    assert "Next action" in agent_context(live.hook("UserPromptSubmit", prompt=prompt))


def test_more_words_than_the_name_are_answered_with_what_would_work(live, project):
    """The prompt itself goes to the agent as it is."""
    live.turn(20_000)
    response = live.hook("UserPromptSubmit", prompt="continue project 1 and fix it")
    assert "say only: continue project 1" in response["systemMessage"]
    assert live.message_to_user("UserPromptSubmit", prompt="continue project management work") == ""


def test_the_manifest_is_counted_with_what_else_is_reported(live, project):
    """Together they stay below what an agent takes; what comes first is the manifest."""
    save(
        "1",
        Workspace.open(),
        given=UserInput(
            decisions=tuple(f"{n} " + "d" * 230 for n in range(8)),
            assumptions=tuple(f"{n} " + "a" * 230 for n in range(8)),
            models=tuple(f"{n} " + "m" * 230 for n in range(8)),
            pending=tuple(f"{n} " + "p" * 230 for n in range(8)),
            blockers=tuple(f"{n} " + "b" * 230 for n in range(8)),
        ),
    )
    live.turn(20_000)
    live.hook("SessionStart", source="startup")
    live_state.change(
        "claude", live.session_id, lambda state: (state.with_messages(to_agent="w" * 4500), None)
    )
    context = agent_context(live.hook("UserPromptSubmit", prompt="continue project 1"))
    assert "Next action" in context
    assert "w" * 4500 in context
    assert "(the resume state has more)" in context
    assert len(context) <= 9900


def test_hooks_do_not_feel_a_project_that_cannot_be_read(live, project):
    """A pipe in the place of its overview or a recursive front matter costs a line in our log and nothing else."""
    other = init("Other", Workspace.open())
    other.state.write_text("---\na: &a [*a]\n---\n", encoding="utf-8")
    os.mkfifo(other.working / "pipe")
    live.turn(20_000)
    live.hook("SessionStart", source="startup")
    live.hook("UserPromptSubmit", prompt="continue project 1")
    project.part("overview").unlink()
    os.mkfifo(project.part("overview"))
    tick(project, "one")
    edited(live, project)
    assert live.hook("Stop") == {}
    assert "overview.md" in log.log_path().read_text("utf-8")
    assert "was not saved" in live.message_to_user("UserPromptSubmit", prompt="save progress")
    assert "holds itself" in live.message_to_user("UserPromptSubmit", prompt="continue project 2")
    assert live.hook("SessionStart", source="compact") is not None


@pytest.mark.slow
def test_ticks_are_noticed_in_any_of_many_projects(live, project):
    """Ticks are noticed even in a project that has not changed for a long time."""
    for number in range(12):
        init(f"Later {number}", Workspace.open())
    live.turn(20_000)
    begin(live)
    tick(project, "one")
    assert fast._has_moved(live.state.to_dict())
    edited(live, project)
    live.hook("Stop")
    assert state_of(project).execution.progress_tasks_completed == 1


def test_a_command_names_the_project_that_it_says(live, project):
    """``complete 1-3 --project 24`` is not about project 3."""
    homes = [project, *(init(name, Workspace.open()) for name in ("Two", "Three"))]
    live.story.asked("Do").replied(
        "Done.", call("Bash", {"command": "leftoff project complete 1-3 --project 2"}, "ok"), used=30_000
    )
    live.write()
    chosen = SessionRef(agent=claude.here(), transcript=live.transcript)
    assert [home.id for home in touched_projects(chosen, homes, Workspace.open())] == ["02-two"]


def test_a_cloned_project_waits_for_trust(live, project):
    """Nothing that this machine did not write reaches the agent before the user's word."""
    (paths.data_folder() / "register.jsonl").unlink()  # as on another machine
    live.turn(20_000)
    before = project.state.read_bytes()
    response = live.hook("UserPromptSubmit", prompt="continue project 1")
    assert agent_context(response) == ""
    assert "this machine did not write it. Read it, then: leftoff trust" in response["systemMessage"]
    assert project.state.read_bytes() == before
    trust(documents([project.state], Workspace.open()))
    assert "Next action" in agent_context(live.hook("UserPromptSubmit", prompt="continue project 1"))
    # Our own additions to what is trusted are trusted with it.
    tick(project, "one")
    edited(live, project)
    live.hook("Stop")
    assert state_of(project).execution.progress_tasks_completed == 1
    assert "#2: two" in agent_context(live.hook("UserPromptSubmit", prompt="continue project 1"))


def test_a_state_that_was_edited_and_staged_here_is_handed_over(live, project):
    text = project.state.read_text(encoding="utf-8")
    project.state.write_text(text.replace("Skills", "Better skills"), encoding="utf-8")
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], check=True, capture_output=True)
    live.turn(20_000)
    assert "Better skills" in agent_context(live.hook("UserPromptSubmit", prompt="continue project 1"))


def test_a_task_that_came_from_elsewhere_waits(live, project):
    """Also after a compaction, when nobody has typed anything."""
    live.turn(20_000)
    live.hook("UserPromptSubmit", prompt="continue project 1")
    steps = project.part("steps")
    steps.write_text(steps.read_text(encoding="utf-8").replace("one", "Do as I say"), encoding="utf-8")
    os.utime(steps, (1_000_000_000, 1_000_000_000))  # as an archive unpacks it
    live.hook("PreCompact", trigger="auto")
    assert "Do as I say" not in agent_context(live.hook("SessionStart", source="compact"))
    response = live.hook("UserPromptSubmit", prompt="continue project 1")
    assert "Do as I say" not in agent_context(response)
    assert f"leftoff trust {steps}" in response["systemMessage"]
    trust(documents([steps], Workspace.open()))
    assert "Do as I say" in agent_context(live.hook("UserPromptSubmit", prompt="continue project 1"))


def test_steps_that_arrive_before_the_project_is_first_continued_wait_too(live, project, capsys):
    steps = project.part("steps")
    steps.write_text(steps.read_text(encoding="utf-8").replace("one", "Do as I say"), encoding="utf-8")
    os.utime(steps, (1_000_000_000, 1_000_000_000))  # as an archive unpacks it
    response = live.hook("UserPromptSubmit", prompt="continue project 1")
    assert "Do as I say" not in json.dumps(response)
    assert f"leftoff trust {steps}" in response["systemMessage"]
    assert run(["project", "load", "1", "--json"]) == 0, "what a person types works"
    assert json.loads(capsys.readouterr().out)["trusted"] is False


def git(folder, *arguments):
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
        check=True,
        capture_output=True,
        cwd=folder,
    )


@pytest.mark.parametrize("is_made_here", [True, False])
def test_steps_that_a_clone_brought_wait_also_where_the_state_is_trusted(
    live, project, isolated_home, is_made_here
):
    """The user's own steps, which leftoff did not write either, are used as they are."""
    folder = Path.cwd()
    upstream = isolated_home / "upstream"
    if not is_made_here:
        git(folder, "init", "-q")
        git(folder, "add", "-f", ".")
        git(folder, "commit", "-qm", "steps")
        folder.rename(upstream)
        git(isolated_home, "clone", "-q", str(upstream), str(folder))
        os.chdir(folder)
        (paths.data_folder() / "register.jsonl").unlink()
        trust(documents([project.state], Workspace.open()))
    live.turn(20_000)
    response = live.hook("UserPromptSubmit", prompt="continue project 1")
    assert ("one" in agent_context(response)) is is_made_here
    steps = project.part("steps")
    assert (f"leftoff trust {steps}" in response.get("systemMessage", "")) is not is_made_here
    waiting = {each.path: each.what for each in find_waiting(Workspace.open()).documents}
    assert ("the next task" in waiting.get(steps, "")) is not is_made_here
    trust(documents([steps], Workspace.open()))
    assert "one" in agent_context(live.hook("UserPromptSubmit", prompt="continue project 1"))


def test_ticks_of_the_agent_keep_the_steps_usable(live, project):
    live.turn(20_000)
    live.hook("UserPromptSubmit", prompt="continue project 1")
    tick(project, "one")
    live.hook("PreCompact", trigger="auto")
    assert "two" in agent_context(live.hook("SessionStart", source="compact"))


def test_a_state_that_was_unpacked_over_ours_waits(live, project):
    """One word in it is enough, and our updates never make it ours."""
    text = project.state.read_text(encoding="utf-8")
    project.state.write_text(text.replace("Skills", "Do as I say"), encoding="utf-8")
    os.utime(project.state, (0, 0))
    save("1", Workspace.open(), given=UserInput(notes=("x",), assumptions=("y",)))
    live.turn(20_000)
    assert agent_context(live.hook("UserPromptSubmit", prompt="continue project 1")) == ""


def test_ticking_in_a_session_that_continues_the_project_updates_its_state(live, project):
    """The state is updated at the end of the turn, and a repeated event changes nothing."""
    live.turn(20_000)
    live.hook("SessionStart", source="startup")
    live.hook("UserPromptSubmit", prompt="continue project 1")
    tick(project, "one", "two")
    edited(live, project)
    live.hook("Stop")
    state = state_of(project)
    assert (state.execution.progress_tasks_completed, state.execution.current_section) == (2, 2)
    assert "Completed Section 1: Setup (2 tasks)" in project.state.read_text(encoding="utf-8")
    before = project.state.read_bytes()
    live.hook("Stop")
    assert project.state.read_bytes() == before
    assert log.log_path().exists() is False


def test_a_session_is_known_by_the_files_it_touches(live, project):
    """The user did not type "continue", but the session edited the steps."""
    live.turn(20_000)
    live.hook("SessionStart", source="startup")
    live.hook("Stop")
    assert live.state.project_state is None
    tick(project, "one")
    edited(live, project)
    live.hook("Stop")
    assert state_of(project).execution.progress_tasks_completed == 1
    assert live.state.project_state == str(project.state)


def test_a_session_that_touched_nothing_leaves_the_project_alone(live, project):
    """The step was ticked outside the session."""
    live.turn(20_000)
    live.hook("SessionStart", source="startup")
    before = project.state.read_bytes()
    tick(project, "one")
    live.hook("Stop")
    assert project.state.read_bytes() == before
    assert live.state.project_state is None


def test_a_state_knows_the_session_that_worked_on_it(live, project):
    """The session is known even if the rest of its remembered state is gone."""
    live.turn(20_000)
    live.hook("UserPromptSubmit", prompt="continue project 1")
    (paths.state_folder() / "watch" / f"claude-{live.session_id}.json").unlink()
    live.hook("Stop")
    tick(project, "one")
    live.hook("Stop")
    assert state_of(project).execution.progress_tasks_completed == 1
    assert state_of(project).metadata.session_count == 1


def test_a_first_turn_that_is_faster_than_the_look_in_the_background_counts(live, project):
    """What it has changed by then is not taken for what the session began with; what an event has remembered stays."""
    begun = int(clock.now().timestamp()) - 3600
    at_start = clock.format_rfc3339(datetime.fromtimestamp(begun, UTC))
    live_state.change("claude", live.session_id, lambda now: (now._replace(started_at=at_start), None))
    steps, plan = project.part("steps"), project.part("plan")
    plan.write_text("# Plan\n", encoding="utf-8")
    for path, at in ((plan, begun - 60), (steps, begun + 2)):
        os.utime(path, (at, at))
    live_state.change("claude", live.session_id, lambda now: (now._replace(files={}), None))
    project_events.begin_in_background(live.state, Workspace.open())
    assert live.state.files[str(plan)] == plan.stat().st_mtime_ns
    assert live.state.files[str(steps)] is None
    assert fast._has_moved(live.state.to_dict())
    live_state.change("claude", live.session_id, lambda now: (now._replace(files={"a": 1}), None))
    project_events.begin_in_background(live.state, Workspace.open())
    assert live.state.files == {"a": 1}


def test_the_fast_path_hands_over_when_a_document_has_changed(live, project):
    """A changed or new document makes the fast path hand over, and a broken list of files does not."""
    live.turn(20_000)
    begin(live)
    state = live.state.to_dict()
    assert not fast._has_moved(state)
    tick(project, "one")
    assert fast._has_moved(state)
    assert fast._has_moved({"files": {str(project.folder / "new"): 5}})
    assert not fast._has_moved({"files": "broken"})
    init("Another", Workspace.open())
    live.hook("Stop")
    assert not fast._has_moved(live.state.to_dict())


def test_the_whole_way_through_the_installed_hook(live, project):
    """The real fast path in a process of its own, event by event."""
    live.turn(20_000)
    begin(live)
    live.hook("UserPromptSubmit", prompt="continue project 1")
    tick(project, "one")
    edited(live, project)
    live.hook("PostToolBatch")
    wait_for(lambda: not live.state.catching_up)
    assert not live.state.is_due
    event = {
        "session_id": live.session_id,
        "transcript_path": str(live.transcript),
        "cwd": str(Path.cwd()),
        "hook_event_name": "Stop",
    }
    command = [sys.executable, fast.__file__, "claude"]
    ended = subprocess.run(
        command, input=json.dumps(event).encode(), capture_output=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert state_of(project).execution.progress_tasks_completed == 1


def test_near_the_limit_a_natural_stopping_point_is_suggested_once(live, project):
    """The suggestion comes at ``warn``; at ``auto_save`` the state is saved."""
    live.turn(20_000)
    live.hook("UserPromptSubmit", prompt="continue project 1")
    live.turn(int(167_000 * 0.91))
    message = live.message_to_user("PostToolBatch")
    assert "a natural stopping point is near: the end of Section 1 (2 tasks left)" in message
    assert "failing checks" in message
    assert "stopping point" not in live.message_to_user("PostToolBatch")
    assert live.state.next_mark_tokens <= int(167_000 * 0.975)
    live.turn(int(167_000 * 0.98))
    assert "the state of 01-skills is saved" in live.message_to_user("PostToolBatch")
    assert live.state.project_said == "auto_save"
    assert state_of(project).metadata.total_tokens_approx >= int(167_000 * 0.98)
    assert live.message_to_user("PostToolBatch") == ""


def test_a_session_without_a_project_is_suggested_nothing(live, project):
    """The marks are those of projects."""
    live.turn(int(167_000 * 0.91))
    assert "stopping point" not in live.message_to_user("PostToolBatch")


def test_a_compaction_is_counted_and_the_marks_count_again(live, project):
    """A compaction is counted automatically and only once."""
    live.turn(20_000)
    live.hook("UserPromptSubmit", prompt="continue project 1")
    live.turn(int(167_000 * 0.91))
    live.hook("PostToolBatch")
    live.hook("PreCompact", trigger="auto")
    assert live.state.project_said is None
    live.story.compacted("It was about skills.", after=20_000)
    live.write()
    live.hook("SessionStart", source="compact")
    live.hook("SessionStart", source="compact")
    state = state_of(project)
    assert (state.metadata.compaction_count, state.metadata.session_count) == (1, 1)


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
def test_the_manifest_comes_back_after_a_compaction(isolated_home, project, agent_id):
    """With the log and within the same room: next action, section, task, files. What was typed for leftoff is no request."""
    configure("restore:\n    max_chars: 4000")  # less than there is to say
    live = LiveSession(isolated_home, agent_id)
    live.turn(20_000, prompt="continue project 1")
    live.hook("UserPromptSubmit", prompt="continue project 1")
    tick(project, "one", "two")
    for number in range(60):
        rule = f"Never change the number {number} in src/part_{number}.py, because customer {number} relies on it."
        live.turn(30_000 + number, prompt=f"Look at src/part_{number}.py. {rule}")
    live.turn(100_000, prompt="save progress")
    live.hook("PreCompact", trigger="auto")
    live.story.compacted("It was about skills.", after=20_000)
    live.write()
    context = agent_context(live.hook("SessionStart", source="compact"))
    for words in (
        'Next action: Continue Task 3 - "three"',
        "Current section: 2: Work",
        "Next task: #3: three",
        "Progress: 2/4 tasks (50%)",
        "1. 02-projects/01-skills/01-planning/_resume.md",
        "Decisions:\n- SQLite: nothing to start",
    ):
        assert context.count(words) == 1
    assert "src/part_59.py" in context
    assert "continue project 1" not in context.lower()
    assert "save progress" not in context.lower()
    assert markdown.utf16_length(context) <= 4000


def test_after_a_compaction_a_decision_of_the_session_is_said_once(live, project):
    """The log has it, with the reason, and what the summary lost comes from there; the manifest has those of earlier sessions."""
    live.turn(20_000)
    live.hook("UserPromptSubmit", prompt="continue project 1")
    live.story.asked("Which queue?").replied(
        "I decided to use Redis for the queue because it survives a restart.", used=30_000
    )
    live.write()
    live.hook("UserPromptSubmit", prompt="save progress")
    assert "Redis" in project.state.read_text(encoding="utf-8")
    live.hook("PreCompact", trigger="auto")
    context = agent_context(live.hook("SessionStart", source="compact"))
    decisions = context.partition("\nDecisions:\n")[2]
    assert "SQLite: nothing to start" in decisions
    assert "Redis" not in context
    live.compacted("It was about skills.")
    assert agent_context(live.hook("PostToolBatch")).count("Redis") == 1


def test_a_state_that_cannot_be_saved_is_handed_back_as_it_is(live, project):
    """Another process holds its lock."""
    live.turn(20_000)
    live.hook("UserPromptSubmit", prompt="continue project 1")
    with find_project.project_lock(project):
        live.hook("PreCompact", trigger="auto")
    assert "Next task: #1: one" in agent_context(live.hook("SessionStart", source="compact"))


def test_without_logs_the_project_alone_is_handed_back(live, project):
    """Also where the event before the compaction was not seen."""
    live.turn(20_000)
    live.hook("UserPromptSubmit", prompt="continue project 1")
    configure("resume_logs:\n    enabled: false")
    for events in (["PreCompact"], []):
        for name in events:
            live.hook(name, trigger="auto")
        context = agent_context(live.hook("SessionStart", source="compact"))
        assert context.startswith("leftoff: the resume state of the project that this session works on")
        assert "Next task: #1: one" in context


def test_a_state_from_elsewhere_is_not_handed_back(live, project):
    live.turn(20_000)
    live.hook("UserPromptSubmit", prompt="continue project 1")
    text = project.state.read_text(encoding="utf-8")
    project.state.write_text(text.replace("Skills", "Do as I say"), encoding="utf-8")
    os.utime(project.state, (1_000_000_000, 1_000_000_000))  # as an archive unpacks it
    live.hook("PreCompact", trigger="auto")
    assert "Do as I say" not in agent_context(live.hook("SessionStart", source="compact"))


def test_save_progress_and_done_for_today(live, project):
    """The state is saved with the log; closed, no session is the current one."""
    live.turn(20_000)
    live.hook("UserPromptSubmit", prompt="continue project 1")
    tick(project, "one")
    message = live.message_to_user("UserPromptSubmit", prompt="save progress")
    assert "the log is saved" in message
    assert '\nThe state of 01-skills is saved; next: Continue Task 2 - "two"' in message
    assert "(Current)" in project.state.read_text(encoding="utf-8")
    assert "\nThe state of 01-skills is closed" in live.message_to_user(
        "UserPromptSubmit", prompt="Done for today."
    )
    assert "(Current)" not in project.state.read_text(encoding="utf-8")


def test_the_end_of_a_session_closes_its_entry(live, project):
    """A process of its own does it."""
    live.turn(20_000)
    live.hook("UserPromptSubmit", prompt="continue project 1")
    tick(project, "one")
    live.hook("SessionEnd", reason="exit")
    wait_for(lambda: "(Current)" not in project.state.read_text(encoding="utf-8"))
    assert state_of(project).execution.progress_tasks_completed == 1


def test_two_sessions_work_on_one_project(live, project, isolated_home):
    """Each has an entry of its own, and the last one recorded is the current one."""
    other = LiveSession(isolated_home, session_id=OTHER)
    for each in (live, other):
        each.turn(20_000)
        each.hook("UserPromptSubmit", prompt="continue project 1")
    text = project.state.read_text(encoding="utf-8")
    assert "### Session 1: " in text
    assert "### Session 2 (Current): " in text
    assert state_of(project).metadata.session_count == 2


def test_trouble_with_a_project_is_one_line_in_our_log(live, project):
    """A broken project state never reaches the agent as an error."""
    live.turn(20_000)
    live.hook("UserPromptSubmit", prompt="continue project 1")
    project.state.write_text("---\nsession_count: many\n---\n", encoding="utf-8")
    tick(project, "one")
    assert live.hook("Stop") == {}
    assert "session_count is 'many'" in log.log_path().read_text("utf-8")
    assert "was not saved" in live.message_to_user("UserPromptSubmit", prompt="save progress")


def test_a_plain_repository_has_a_state_of_its_own(live):
    home = init_plain("Shop", Workspace.open())
    live.turn(20_000)
    context = agent_context(live.hook("UserPromptSubmit", prompt=f"continue project {Path.cwd().name}"))
    assert ".leftoff/project/_resume.md" in context
    assert "Shop" in context
    assert state_of(home).metadata.session_count == 1
    assert load_projects(Workspace.open()).find(None).id == home.id
