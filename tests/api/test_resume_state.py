"""``ResumeState`` and ``ProjectLoader``: a project's state as an object, safe beside other writers."""

import threading

import pytest

import leftoff
from leftoff.errors import DocumentError, NotFoundError, StorageError, UsageError
from leftoff.projects.commands import init
from leftoff.workspace import Workspace


@pytest.fixture
def home():
    return init("Skills", Workspace.open())


def test_load_update_save(home):
    """Only the updated keys and the time of the update change."""
    state = leftoff.ResumeState.load(1)
    before = home.state.read_text(encoding="utf-8").splitlines()
    state.update({"current_skill": "create-project", "next_action": "Ask: Ann", "files_to_load": ["a.md"]})
    assert state.state.next_action == "Ask: Ann"
    assert state.values["current_skill"] == "create-project"
    assert state.save() == home.state
    again = leftoff.ResumeState.load("skills")
    assert (again.state.next_action, again.state.files_to_load) == ("Ask: Ann", ("a.md",))
    after = home.state.read_text(encoding="utf-8").splitlines()
    assert len({*after} - {*before}) <= 5
    content = home.state.read_bytes()
    again.save()
    assert home.state.read_bytes() == content


def test_the_body_can_be_read(home):
    """The body can be read by section, and its lists entry by entry."""
    state = leftoff.ResumeState.load()
    assert {"Quick Context", "Session History", "Critical Context to Remember", "Compaction Detection"} <= {
        *state.sections
    }
    assert state.listed("decisions") == []


def test_what_no_resume_state_can_hold_is_refused(home):
    """Unknown keys and values of the wrong kind are refused."""
    state = leftoff.ResumeState.load()
    with pytest.raises(UsageError, match="is not a key of a resume state"):
        state.update({"current_fase": "execution"})
    with pytest.raises(DocumentError, match="takes one of research"):
        state.update({"current_phase": "dreaming"})
    with pytest.raises(NotFoundError):
        leftoff.ResumeState.load("nothing")


def test_what_others_wrote_meanwhile_is_kept(home):
    """Changes to other keys and other text are merged with ours."""
    ours, theirs = leftoff.ResumeState.load(), leftoff.ResumeState.load()
    theirs.update({"current_workflow_step": 7})
    theirs.save()
    home.state.write_text(home.state.read_text(encoding="utf-8") + "\nMY NOTE\n", encoding="utf-8")
    ours.update({"next_action": "Ours"})
    ours.save()
    text = home.state.read_text(encoding="utf-8")
    assert "MY NOTE" in text
    found = leftoff.ResumeState.load().state
    assert (found.next_action, found.location.current_workflow_step) == ("Ours", 7)


def test_the_same_key_changed_by_two_is_refused_by_name(home):
    """A key that two callers changed is refused, and nothing is written."""
    ours, theirs = leftoff.ResumeState.load(), leftoff.ResumeState.load()
    theirs.update({"next_action": "Theirs"})
    theirs.save()
    ours.update({"next_action": "Ours"})
    with pytest.raises(StorageError, match="next_action"):
        ours.save()
    assert leftoff.ResumeState.load().state.next_action == "Theirs"
    ours.update({"next_action": "Theirs"})
    ours.save()  # an update that is there already is not a conflict


def test_many_writers_lose_nothing(home):
    """Many writers at once, each with its own key, lose no update."""
    keys = [
        "current_workflow_step",
        "compaction_count",
        "total_tokens_approx",
        "current_section",
        "next_task_number",
    ]

    def write(key, number):
        state = leftoff.ResumeState.load()
        state.update({key: number})
        state.save()

    threads = [threading.Thread(target=write, args=(key, number)) for number, key in enumerate(keys, 50)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    found = leftoff.ResumeState.load().values
    assert [found[key] for key in keys] == [50, 51, 52, 53, 54]


def test_the_loader_gives_the_documented_answer(home):
    """The loader returns the same as ``leftoff project load --json``."""
    loader = leftoff.ProjectLoader()
    found = loader.load(1)
    assert [*found] == ["state", "action", "recommended_reads", "instructions"]
    assert [each["id"] for each in loader.list()] == [home.id]
    assert leftoff.ProjectLoader(home.folder).load()["state"]["project_name"] == "Skills"


def test_a_list_in_the_place_of_a_text_can_be_replaced(home):
    """The comment on its line stays."""
    text = home.state.read_text(encoding="utf-8")
    lines = [
        "next_action: [a, b]  # mine" if line.startswith("next_action:") else line
        for line in text.split("\n")
    ]
    home.state.write_text("\n".join(lines), encoding="utf-8")
    state = leftoff.ResumeState.load(1)
    with pytest.raises(DocumentError, match="takes text"):
        state.update({"next_action": ["a"]})
    state.update({"next_action": "Ask Ann"})
    state.save()
    assert "next_action: Ask Ann  # mine\n" in home.state.read_text(encoding="utf-8")
