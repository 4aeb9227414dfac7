"""``leftoff project …`` as a person or a script types it."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff import ProjectLoader
from leftoff.cli.main import run
from leftoff.errors import NotTrustedError
from leftoff.live.trust import documents, trust
from leftoff.platform import paths
from leftoff.projects.find_project import load_projects
from leftoff.projects.layout import OLDER_NAME
from leftoff.workspace import Workspace

STEPS = "# Steps\n\n## Section 1: Setup\n\n- [ ] one\n- [ ] two\n\n## Section 2: Work\n\n- [ ] three\n- [-] four\n"


def output_of(capsys, *arguments, code=0):
    assert run(["project", *arguments]) == code, capsys.readouterr().err
    return capsys.readouterr().out


def json_of(capsys, *arguments, code=0):
    return json.loads(output_of(capsys, *arguments, "--json", code=code))


@pytest.fixture
def project(capsys):
    """A project in execution."""
    output_of(capsys, "init", "Skills", "research")
    home = load_projects(Workspace.open()).find("1")
    home.part("steps").write_text(STEPS, encoding="utf-8")
    output_of(capsys, "save", "--phase", "execution")
    return home


def test_init_makes_the_documented_tree(capsys):
    """Numbered, with the documents to be written, and says what to do next."""
    out = output_of(capsys, "init", "Skills: research & more")
    assert "continue project 1" in out
    root = Path.cwd() / "02-projects" / "01-skills-research-more"
    assert sorted(str(path.relative_to(root)) for path in root.rglob("*")) == [
        "01-planning",
        "01-planning/_resume.md",
        "01-planning/overview.md",
        "01-planning/plan.md",
        "01-planning/steps.md",
        "02-resources",
        "02-resources/research.md",
        "03-working",
    ]
    assert json_of(capsys, "init", "Next")["id"] == "02-next"


def test_init_in_a_plain_repository_makes_no_tree(capsys):
    """The command creates one state in ``.leftoff/project`` and refuses to create it twice."""
    found = json_of(capsys, "init", "Shop", "--plain")
    assert found["state_file"] == str(Path.cwd() / ".leftoff" / "project" / "_resume.md")
    assert not (Path.cwd() / "02-projects").exists()
    assert json_of(capsys, "init", "Shop", "--plain", code=2) == {
        "error": f"{found['state_file']}: this project has a resume state already."
    }
    assert json_of(capsys, "load")["state"]["project_name"] == "Shop"


@pytest.mark.parametrize("name", ["…", " ", "x" * 300, "a\nb"])
def test_a_name_that_no_folder_can_have_is_refused(capsys, name):
    output_of(capsys, "init", name, code=2)
    assert [*Path.cwd().iterdir()] == []


def test_list_shows_the_state_of_each(project, capsys):
    """A broken project does not hide the others."""
    output_of(capsys, "init", "Broken")
    broken = load_projects(Workspace.open()).find("2")
    broken.state.write_text("---\nsession_count: x\n---\n", encoding="utf-8")
    first, second = json_of(capsys, "list")
    assert (first["id"], first["status"], first["tasks_total"], first["standing"]) == (
        "01-skills-research",
        "IN_PROGRESS",
        3,
        "written",
    )
    assert "session_count is 'x'" in second["trouble"]
    out = output_of(capsys, "list")
    assert "01-skills-research" in out
    assert "session_count is 'x'" in out
    assert "leftoff project init" in said_in(capsys, Path.cwd().parent / "home")


def said_in(capsys, folder):
    os.chdir(folder)
    return output_of(capsys, "list", code=3)


def test_load_gives_the_documented_answer(project, capsys):
    """Exactly these keys; every read exists, in the order to read them in."""
    found = json_of(capsys, "load", "skills")
    assert [*found] == [
        "state",
        "action",
        "recommended_reads",
        "instructions",
        "trusted",
        "waits_because",
    ]
    assert found["action"] == "continue_working"
    assert found["state"]["next_action"] == 'Continue Task 1 - "one"'
    assert found["recommended_reads"] == [
        f"02-projects/01-skills-research/{name}"
        for name in (
            "01-planning/_resume.md",
            "01-planning/overview.md",
            "01-planning/plan.md",
            "01-planning/steps.md",
            "02-resources/research.md",
        )
    ]
    assert all(Path(path).is_file() for path in found["recommended_reads"])
    assert "Continue with Task 1 of 3" in " ".join(found["instructions"])
    out = output_of(capsys, "load", "1")
    assert "01-planning/steps.md" in out


def test_load_names_only_files_of_this_repository_that_are_there(project, capsys, tmp_path):
    """A reading list can say anything."""
    (tmp_path / "secret.md").write_text("x", encoding="utf-8")
    text = project.state.read_text(encoding="utf-8")
    head, _, rest = text.partition("files_to_load:")
    lines = f"files_to_load:\n  - ../../../secret.md\n  - {tmp_path / 'secret.md'}\n  - gone.md\n  - 01-planning/plan.md\n"
    project.state.write_text(head + lines + rest[rest.index("\n\n") + 1 :], encoding="utf-8")
    trust(documents([project.state], Workspace.open()))
    reads = json_of(capsys, "load", "1")["recommended_reads"]
    assert [Path(each).name for each in reads] == ["_resume.md", "plan.md"]


def test_a_project_without_a_state_is_started(capsys):
    """The loader says so; `import` makes one."""
    folder = Path.cwd() / "02-projects" / "07-old" / "01-planning"
    folder.mkdir(parents=True)
    (folder / "overview.md").write_text("# Old but good\n\nDo it.\n", encoding="utf-8")
    found = json_of(capsys, "load", "7")
    assert (found["state"], found["action"]) == (None, "start")
    assert found["recommended_reads"] == ["02-projects/07-old/01-planning/overview.md"]
    assert "leftoff project import" in error_of(capsys, "resume", "7")
    assert json_of(capsys, "import", "7")[0]["how"] == "begun"
    assert json_of(capsys, "load", "7")["state"]["project_name"] == "Old but good"


def error_of(capsys, *arguments, code=1):
    assert run(["project", *arguments]) == code
    return capsys.readouterr().err


def test_save_takes_what_no_file_says(project, capsys):
    """Everything that only the user knows can be saved, without credentials."""
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    found = json_of(
        capsys, "save", "--step", "4", "--skill", "execute-project", "--decision", f"SQLite: no server, key {key}",
        "--assumption", "one user", "--blocker", "CI is slow", "--model", "Pre-Mortem: the API changes",
        "--pending", "a.py - needs tests", "--next", "Ask Ann",
    )  # fmt: skip
    assert found["changed"]
    assert (found["state"]["current_workflow_step"], found["state"]["next_action"]) == (4, "Ask Ann")
    text = project.state.read_text(encoding="utf-8")
    assert key not in text
    for words in (
        "1. SQLite: no server",
        "- one user",
        "- [ ] CI is slow",
        "- Pre-Mortem: the API",
        "- a.py - needs tests",
    ):
        assert words in text
    output_of(capsys, "save", "--resolved", "ci is")
    assert "- [x] CI is slow" in project.state.read_text(encoding="utf-8")
    assert "Nothing new" in output_of(capsys, "save")


def test_complete_ticks_and_updates_in_one_step(project, capsys):
    """Tasks are chosen by number or section; abandoned ones stay abandoned."""
    found = json_of(capsys, "complete", "1")
    assert (found["completed"], found["state"]["progress_tasks_completed"]) == ([1], 1)
    out = output_of(capsys, "complete", "--section", "2")
    assert "Completed Section 2: Work" in out
    assert "- [-] four" in project.part("steps").read_text(encoding="utf-8")
    assert 'Next: Continue Task 2 - "two"' in out
    assert "already" in error_of(capsys, "complete", "3", code=3)


def test_what_cannot_be_done_is_reported_with_what_to_type(project, capsys):
    """The error is one sentence, and nothing is changed."""
    before = project.state.read_bytes(), project.part("steps").read_bytes()
    for arguments, code, words in (
        (["complete"], 2, "leftoff project complete 1-5"),
        (["complete", "1", "--section", "1"], 2, "Say which tasks"),
        (["complete", "x"], 2, "names no tasks"),
        (["complete", "99"], 1, "no task 99"),
        (["complete", "--section", "9"], 1, "There are: 1: Setup, 2: Work"),
        (["load", "99"], 1, "There are: 01-skills-research"),
        (["save", "--phase", "dreaming"], 2, "--phase"),
        (["import"], 3, "already"),
        (["resume", "--project"], 2, "No such option"),
    ):
        assert words in error_of(capsys, *arguments, code=code), arguments
        assert (project.state.read_bytes(), project.part("steps").read_bytes()) == before, arguments


def test_words_that_name_two_projects_are_refused(project, capsys):
    """Both projects are named."""
    output_of(capsys, "init", "Skills sorting")
    assert "01-skills-research, 02-skills-sorting" in error_of(capsys, "load", "skills", code=2)
    assert "2 projects are open" in error_of(capsys, "save", code=2)
    os.chdir(Path.cwd() / "02-projects" / "02-skills-sorting" / "03-working")
    assert "02-skills-sorting" in output_of(capsys, "save")


def test_close_asks_what_must_not_be_forgotten(project, capsys):
    """Missing decisions, files and blockers are named with what to type."""
    subprocess.run(["git", "init", "-q"], check=True)
    Path("new.py").write_text("x", encoding="utf-8")
    found = json_of(capsys, "close", "--blocker", "CI is slow")
    assert [check["is_good"] for check in found["checks"]] == [False, False, False]
    assert "new.py" in found["checks"][1]["missing"]
    out = output_of(
        capsys, "close", "--decision", "SQLite: no server", "--pending", "new.py - tests", "--resolved", "CI"
    )
    assert "Are the decisions captured? Yes." in out
    assert "Is every blocker resolved? Yes." in out
    assert "COMPLETE" in json.dumps(json_of(capsys, "close", "--complete"))


@pytest.mark.slow
def test_close_asks_on_a_terminal(project):
    first, second = pty.openpty()
    command = [sys.executable, "-m", "leftoff", "project", "close"]
    with subprocess.Popen(command, stdin=second, stdout=second, stderr=second) as running:
        os.close(second)
        os.write(first, b"Postgres: it was there\n")
        assert running.wait(timeout=60) == 0
    os.close(first)
    assert "1. Postgres: it was there" in project.state.read_text(encoding="utf-8")


def test_resume_draws_the_documented_screen(project, capsys):
    """The screen has the project's real numbers and the three offers."""
    output_of(capsys, "complete", "--section", "1")
    output_of(
        capsys,
        "save",
        "--decision",
        "SQLite: no server",
        "--model",
        "First Principles: x",
        "--model",
        "Pre-Mortem: y",
        "--blocker",
        "CI",
    )
    out = output_of(capsys, "resume", "1")
    for words in (
        "Welcome back! Picking up where we left off:",
        "CURRENT STATE",
        "Project: Skills research",
        "Last Session: Today at ",
        "Progress: 2/3 tasks (66%)",
        "  Section 2: Work",
        '  Next Task: #3 - "three"',
        "Completed Section 1: Setup (2 tasks)",
        "Using First Principles + Pre-Mortem models",
        "Decision: SQLite: no server",
        "Blocker: CI",
        "Ready to continue Task 3",
        "1. Review completed work first",
        "2. Jump to different section (1: Setup; 2: Work)",
        "3. Update the plan based on learnings",
    ):
        assert words in out, words
    assert json_of(capsys, "resume", "1")["recent_progress"] == ["Completed Section 1: Setup (2 tasks)"]


def test_the_screen_of_a_project_without_tasks_says_its_phase(capsys):
    output_of(capsys, "init", "Fresh")
    out = output_of(capsys, "resume")
    assert "Phase: research" in out
    assert "Next Action: Do the research" in out


def test_an_older_form_is_taken_over_and_waits_for_trust(capsys):
    """The keys and text of an older form are kept, and the old file is not changed."""
    folder = Path.cwd() / "02-projects" / "03-installer" / "01-planning"
    folder.mkdir(parents=True)
    (folder / "04-steps.md").write_text("## Phase 1: Bash\n- [x] a\n- [ ] b\n", encoding="utf-8")
    old = folder / OLDER_NAME
    old.write_text(
        '---\nsession_ids: ["a", "b"]\nresume_schema_version: "2.0"\nbuild_name: "One-Command Installer"\n'
        'current_phase: "documentation"\nnext_action: "continue-documentation"\nfiles_to_load:\n'
        '  - "01-planning/04-steps.md"\ntotal_tasks: 5\n---\n\n## Progress Summary\n\nMY WORDS\n',
        encoding="utf-8",
    )
    (found,) = json_of(capsys, "import")
    assert (found["how"], found["waits_for_trust"]) == ("taken over", True)
    text = (folder / "_resume.md").read_text(encoding="utf-8")
    assert "MY WORDS" in text
    assert "NOT TRUSTED: this machine did not write it" in output_of(capsys, "load", "3")
    with pytest.raises(NotTrustedError, match="this machine did not write it"):
        ProjectLoader().load(3)
    trust(documents([folder / "_resume.md"], Workspace.open()))
    state = json_of(capsys, "load", "installer")["state"]
    assert (state["project_name"], state["current_phase"], state["session_count"]) == (
        "One-Command Installer",
        "execution",
        2,
    )
    assert state["files_to_load"] == ["01-planning/04-steps.md"]
    assert old.is_file()


def test_a_state_in_the_documented_form_gets_what_it_lacks(capsys):
    """What it has stays, to the byte of each line; also one with no front matter at all."""
    for number, text in (
        (
            "08",
            "---\nresume_version: 1.0\nphase: execution\nmine: yes  # kept\n---\n\n# Mine\n\n## Quick Context\n\nMY WORDS\n",
        ),
        ("09", "# Only words\n\nMY WORDS\n"),
    ):
        folder = Path.cwd() / "02-projects" / f"{number}-x" / "01-planning"
        folder.mkdir(parents=True)
        (folder / "_resume.md").write_text(text, encoding="utf-8")
    assert [each["how"] for each in json_of(capsys, "import")] == ["completed", "completed"]
    eight, nine = (
        (Path.cwd() / "02-projects" / f"{number}-x" / "01-planning" / "_resume.md").read_text(
            encoding="utf-8"
        )
        for number in ("08", "09")
    )
    for line in ("phase: execution", "mine: yes  # kept", "# Mine", "MY WORDS"):
        assert line in eight.splitlines()
    assert "current_phase: execution" in eight
    assert eight.count("## Quick Context") == 1
    assert "## Session History" in eight
    assert "MY WORDS" in nine
    assert "project_id: 09-x" in nine
    assert "leftoff trust" in output_of(capsys, "list")


def test_a_broken_state_is_named_and_the_others_are_imported(capsys):
    """The exit code is 1, because not everything was imported."""
    for number, text in (("08", "---\na: [\n---\n"), ("09", "words\n")):
        folder = Path.cwd() / "02-projects" / f"{number}-x" / "01-planning"
        folder.mkdir(parents=True)
        (folder / "_resume.md").write_text(text, encoding="utf-8")
    out = output_of(capsys, "import", code=1)
    assert "08-x: failed" in out
    assert "the front matter is not YAML" in out
    assert "09-x: completed" in out


def test_a_link_that_leads_out_is_refused(project, capsys, tmp_path):
    """A repository can come from anywhere."""
    outside = tmp_path / "outside.md"
    outside.write_text("---\na: 1\n---\n", encoding="utf-8")
    project.state.unlink()
    project.state.symlink_to(outside)
    assert "leads out" in error_of(capsys, "save")
    assert outside.read_text(encoding="utf-8") == "---\na: 1\n---\n"


def test_one_unreadable_project_hides_no_other(project, capsys):
    output_of(capsys, "init", "Locked")
    locked = load_projects(Workspace.open()).find("2")
    locked.planning.chmod(0)
    try:
        if os.access(locked.state, os.R_OK):
            pytest.skip("this user may read everything")
        first, second = json_of(capsys, "list")
        assert (first["trouble"], first["id"]) == (None, "01-skills-research")
        assert "cannot be read" in second["trouble"]
        assert "Saved" in output_of(capsys, "save", "--project", "1", "--decision", "x: y")
        assert "cannot be read" in error_of(capsys, "save", "--project", "2")
    finally:
        locked.planning.chmod(0o700)


def test_a_front_matter_that_holds_itself_is_trouble_for_its_project_alone(project, capsys):
    output_of(capsys, "init", "Round")
    load_projects(Workspace.open()).find("2").state.write_text("---\na: &a [*a]\n---\n", encoding="utf-8")
    first, second = json_of(capsys, "list")
    assert first["trouble"] is None
    assert "the front matter holds itself" in second["trouble"]


def test_ticks_by_hand_show_at_once(project, capsys):
    """The ticks show in list, load and resume before the state is saved."""
    text = project.part("steps").read_text(encoding="utf-8").replace("[ ] one", "[x] one")
    project.part("steps").write_text(text, encoding="utf-8")
    before = project.state.read_bytes()
    assert json_of(capsys, "list")[0]["tasks_completed"] == 1
    state = json_of(capsys, "load", "1")["state"]
    assert (state["progress_tasks_completed"], state["next_action"]) == (1, 'Continue Task 2 - "two"')
    out = output_of(capsys, "resume", "1")
    assert "Progress: 1/3 tasks (33%)" in out
    assert '#2 - "two"' in out
    assert project.state.read_bytes() == before


def test_complete_with_a_broken_state_ticks_nothing(project, capsys):
    """Either both files change or neither does."""
    text = project.state.read_text(encoding="utf-8")
    project.state.write_text(text.replace("session_count: 0", "session_count: many"), encoding="utf-8")
    before = project.part("steps").read_bytes()
    assert "session_count is 'many'" in error_of(capsys, "complete", "1")
    assert project.part("steps").read_bytes() == before


def test_complete_by_the_number_that_a_section_says(project, capsys):
    """The number in its heading counts, not its position."""
    steps = project.part("steps")
    steps.write_text(
        "## Preparation\n- [ ] a\n## Section 1: Setup\n- [ ] b\n## Section 2: Build\n- [ ] c\n",
        encoding="utf-8",
    )
    assert "Completed Section 2: Build" in output_of(capsys, "complete", "--section", "2")
    assert "- [x] c" in steps.read_text(encoding="utf-8")
    assert "- [ ] b" in steps.read_text(encoding="utf-8")


def test_a_plain_state_of_a_worktree_is_its_own(capsys, tmp_path):
    """The state of a worktree belongs to its branch."""
    for command in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
        ["worktree", "add", "-q", str(tmp_path / "beside")],
    ):
        subprocess.run(["git", *command], check=True, capture_output=True)
    os.chdir(tmp_path / "beside")
    found = json_of(capsys, "init", "Shop", "--plain")
    assert found["state_file"] == str(tmp_path / "beside" / ".leftoff" / "project" / "_resume.md")
    assert "Saved" in output_of(capsys, "save", "--decision", "x: y")
    assert json_of(capsys, "load")["recommended_reads"] == [".leftoff/project/_resume.md"]


def test_the_documented_template_takes_decisions_after_import(capsys):
    """New decisions follow the existing ones, and a second import has nothing to do."""
    folder = Path.cwd() / "02-projects" / "24-skills" / "01-planning"
    folder.mkdir(parents=True)
    sections = ("Quick Context", "Session History", "Loading Sequence for Resume", "Quick Start Commands")
    sections += ("Compaction Detection", "Resume State Update Checklist")
    text = "---\nresume_version: 1.0\nproject_name: Skills\n---\n\n# Resume State: Skills\n\n"
    text += "".join(f"## {name}\n\nwords\n\n---\n\n" for name in sections)
    text += "## Critical Context to Remember\n\n**Key Decisions Made**:\n1. Mine\n\n**Important Assumptions**:\n- A\n\n"
    text += "**Blockers/Risks Identified**:\n- [ ] B\n\n**Mental Models Applied**:\n- M\n\n---\n\n"
    text += "## Files Modified This Project\n\n**Created**:\n- `c`\n\n**Modified**:\n- `m`\n\n**Pending**:\n- `p`\n"
    (folder / "_resume.md").write_text(text, encoding="utf-8")
    assert json_of(capsys, "import")[0]["how"] == "completed"
    assert "already" in error_of(capsys, "import", code=3)
    output_of(capsys, "save", "--decision", "SQLite: x", "--resolved", "b", "--note", "hello")
    imported = (folder / "_resume.md").read_text(encoding="utf-8")
    assert "1. Mine\n<!-- leftoff:decisions" in imported
    assert "1. SQLite: x" in imported
    assert "- [x] B" in imported
    assert "- hello" in imported
    assert "Nothing new" in output_of(capsys, "save")


def test_import_of_the_older_form_keeps_keys_and_flags(capsys):
    """Unknown keys come last, with their comments."""
    folder = Path.cwd() / "02-projects" / "03-x" / "01-planning"
    folder.mkdir(parents=True)
    (folder / OLDER_NAME).write_text(
        "---\nbuild_name: X\nplanning_completed:\n  plan: true\nmine:  # why\n  - a: 1\nteam: [ann]\n---\n\nwords\n",
        encoding="utf-8",
    )
    json_of(capsys, "import")
    imported = (folder / "_resume.md").read_text(encoding="utf-8")
    assert "mine:  # why\n  - a: 1\nteam: [ann]\n---\n" in imported
    assert "  - plan: true\n" in imported
    assert "build_name" not in imported


@pytest.mark.slow
def test_the_first_day_of_the_calendar_is_shown_everywhere(project):
    """West of Greenwich this moment has no local date."""
    text = project.state.read_text(encoding="utf-8")
    text = re.sub("last_updated: .*", "last_updated: 0001-01-01T00:00:00Z", text)
    project.state.write_text(text, encoding="utf-8")
    trust(documents([project.state], Workspace.open()))
    command = [sys.executable, "-m", "leftoff", "project", "resume", "1"]
    done = subprocess.run(
        command, env=paths.environment() | {"TZ": "EST5EDT"}, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert b"Last Session: 0001-01-01 at 00:00 UTC" in done.stdout


def test_a_state_that_was_edited_staged_and_committed_here_stays_usable(project, capsys):
    """A state is made to be committed with the project."""

    def check():
        assert json_of(capsys, "load", "1")["trusted"] is True
        assert "NOT TRUSTED" not in output_of(capsys, "resume", "1")
        assert ProjectLoader().load(1)["action"] == "continue_working"

    subprocess.run(["git", "init", "-q"], check=True, timeout=60)
    subprocess.run(["git", "add", "-A"], check=True, timeout=60)
    check()
    text = project.state.read_text(encoding="utf-8")
    project.state.write_text(f"{text}\nMy words\n", encoding="utf-8")
    subprocess.run(["git", "commit", "-q", "-a", "-m", "mine"], check=True, timeout=60)
    check()
    assert "NOT TRUSTED" not in output_of(capsys, "save", "--decision", "x: y")
    assert json_of(capsys, "list")[0]["standing"] == "written"


def test_commands_show_a_state_from_an_archive_and_mark_it(project, capsys):
    """What hands it to an agent refuses it; an own save on top does not hide where it came from."""
    text = project.state.read_text(encoding="utf-8")
    project.state.write_text(f"{text}\nTheir words\n", encoding="utf-8")
    os.utime(project.state, (0, 0))
    reason = "it was unpacked or copied to its place: its own time is 1970-01-01"
    for command in (["load", "1"], ["resume", "1"], ["list"], ["save", "--decision", "x: y"], ["load", "1"]):
        out = " ".join(output_of(capsys, *command).split())
        assert f"NOT TRUSTED: {reason}" in out or f"before: {reason}" in out
        assert f"leftoff trust {project.state}" in out
    for command in ("load", "resume"):
        found = json_of(capsys, command, "1")
        assert found["trusted"] is False
        assert reason in found["waits_because"]
    with pytest.raises(NotTrustedError, match="held content from elsewhere before"):
        ProjectLoader().load(1)


@pytest.mark.slow
def test_two_that_begin_at_once_take_two_numbers(capsys):
    """The number is taken under a lock."""
    commands = [[sys.executable, "-m", "leftoff", "project", "init", f"P{n}"] for n in range(4)]
    running = [subprocess.Popen(each, stdout=subprocess.DEVNULL) for each in commands]
    assert [each.wait(timeout=120) for each in running] == [0, 0, 0, 0]
    assert [each["number"] for each in json_of(capsys, "list")] == [1, 2, 3, 4]


@pytest.mark.parametrize("command", ["init", "list", "load", "save", "complete", "close", "resume", "import"])
def test_every_command_has_help_with_an_example(command, capsys):
    assert "Example: leftoff project" in output_of(capsys, command, "--help")
