"""Verifying against real transcripts of both agents, pins and stored logs."""

import hashlib
import json
from pathlib import Path

import pytest

from leftoff.agents import claude, codex
from leftoff.core.provenance import Source
from leftoff.core.records import ToolResult, ToolUse
from leftoff.errors import NotFoundError
from leftoff.resume_logs import pins
from leftoff.resume_logs.verify import check_text, verify_log
from leftoff.storage.file_store import FileStore
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace
from tests.resume_logs.sample_logs import log
from tests.support.transcripts import write_transcript

SHELL = {"claude": "Bash", "codex": "shell"}


@pytest.fixture(params=["claude", "codex"])
def session_records(request, tmp_path):
    """A session in which tests passed, then failed, a file was made and removed, and a call was refused."""
    agent = {"claude": claude, "codex": codex}[request.param].here()
    story = Story(project=str(Path.cwd()))
    story.asked("Never push to main. Fix src/a.py").replied(
        "", call("shell", {"command": "pytest -x"}, "3 passed")
    )
    story.replied("", call("shell", {"command": "touch src/b.py"}, ""))
    story.replied("", call("shell", {"command": "pytest -x"}, "Exit code 1\n1 failed", failed=True))
    story.replied("", call("shell", {"command": "rm -f src/b.py 'src/c d.py' $X; ls && rm \"unclosed"}, ""))
    story.replied("Stopped at src/a.py", call("shell", {"command": "sleep 9"}, None))
    path = tmp_path / "t.jsonl"
    write_transcript(agent, story.script(), path)
    return [*agent.read(path)]


def cite(item, record):
    return Source(item=item, place=record.place, sha256=hashlib.sha256(record.raw).hexdigest(), excerpt="")


def find(records, kind, words):
    """The first record with a block of that kind and these words."""
    return next(
        record
        for record in records
        if words in record.raw.decode()
        and (kind is None or any(isinstance(block, kind) for block in record.blocks))
    )


def saved(of):
    FileStore(Path.cwd() / ".leftoff" / "resume-logs").save(of)


def verdicts(words="latest"):
    return {each.item: each for each in verify_log(words, Workspace.open()).verdicts}


def test_a_log_is_verified_item_by_item(session_records):
    """Rules and commands word for word, request and answer together, later runs and removals found."""
    prompt, passed = find(session_records, None, "Never push"), find(session_records, ToolResult, "3 passed")
    touched = find(session_records, ToolUse, "touch src/b.py")
    saved(
        log(
            accomplishments=["`pytest -x` passes", "Made src/b.py"],
            critical_context={
                "user_rules": ["“Never push to main”", "“Always push”"],
                "files": {"src/b.py": "created", "src/a.py": "asked for"},
                "commands": ["`pytest -x` → exit 1"],
            },
            sources=[
                cite("accomplishments/0", passed),
                cite("accomplishments/1", touched),
                cite("critical_context/user_rules/0", prompt),
                cite("critical_context/user_rules/1", prompt),
                cite("critical_context/files/src/b.py", touched),
                cite("critical_context/files/src/a.py", prompt),
                cite("critical_context/commands/0", find(session_records, ToolResult, "1 failed")),
            ],
        )
    )
    found = verdicts()
    assert {item: each.outcome for item, each in found.items()} == {
        "accomplishments/0": "contradicted",
        "accomplishments/1": "supported",
        "critical_context/user_rules/0": "supported",
        "critical_context/user_rules/1": "contradicted",
        "critical_context/files/src/b.py": "contradicted",
        "critical_context/files/src/a.py": "supported",
        "critical_context/commands/0": "supported",
    }
    assert found["accomplishments/0"].reason == "the same command failed later"
    assert found["critical_context/files/src/b.py"].reason == "the file was removed later"


def test_a_changed_or_deleted_transcript_is_a_source_gone(session_records):
    """The items are kept."""
    prompt = find(session_records, None, "Never push")
    saved(log(next_steps=["Fix src/a.py"], sources=[cite("next_steps/0", prompt)]))
    path = Path(prompt.place.transcript)
    assert verdicts()["next_steps/0"].outcome == "supported"
    path.write_bytes(path.read_bytes().replace(b"Never push", b"Never pull"))
    assert verdicts()["next_steps/0"].reason == "another record is there now"
    path.unlink()
    assert verdicts()["next_steps/0"].reason == "the record is not there any more"


def test_pins_are_sources_too():
    """Pins are read from the user's file, also after another was removed."""
    pins.pin("first", Workspace.open())
    pins.pin("never push to main", Workspace.open())
    pin = pins.list_pins(Workspace.open())[1]
    source = Source(item="critical_context/pins/0", place=pin.place, sha256=pin.sha256, excerpt="")
    saved(log(critical_context={"pins": [pin.text]}, sources=[source]))
    pins.unpin(1, Workspace.open())
    assert verdicts()["critical_context/pins/0"].outcome == "supported"
    pins.unpin(1, Workspace.open())
    assert verdicts()["critical_context/pins/0"].outcome == "source gone"


def test_a_log_is_found_by_id_prefix_path_or_as_the_latest(tmp_path):
    """An exact id wins over a prefix."""
    for name in ("abc", "abcd"):
        saved(log(session_id=name, mission_summary="Fix the lock"))
    folder = Path.cwd() / ".leftoff" / "resume-logs"
    for words, name in (
        ("latest", "abcd"),
        ("abc", "abc"),
        ("abcd", "abcd"),
        (str(folder / "session-abc.md"), "abc"),
        (str(folder / "session-abc.json"), "abc"),
    ):
        assert verify_log(words, Workspace.open()).log.session_id == name
    for words in ("xyz", str(folder / "session-x.json"), str(tmp_path), "notes.md"):
        with pytest.raises(NotFoundError, match="leftoff log list"):
            verify_log(words, Workspace.open())


def test_a_queued_prompt_is_supported(tmp_path):
    """The line that takes it from the queue lacks its text; the record made of it has it."""
    of = {"sessionId": "x", "timestamp": "2026-01-06T13:00:00Z", "version": "2.1.32"}
    first_prompt = {"type": "user", "uuid": "u", "message": {"role": "user", "content": "Fix it"}} | of
    queue = {"type": "queue-operation"} | of
    queued = queue | {"operation": "enqueue", "content": "Never touch the port."}
    path = tmp_path / "t.jsonl"
    lines = (json.dumps(line) for line in (first_prompt, queued, queue | {"operation": "remove"}))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    queued_record = next(record for record in claude.here().read(path) if "Never touch" in record.text)
    assert b"Never touch" not in queued_record.raw
    name = "critical_context/user_rules/0"
    saved(
        log(critical_context={"user_rules": ["“Never touch the port.”"]}, sources=[cite(name, queued_record)])
    )
    assert verdicts()[name].outcome == "supported"


def test_a_text_is_checked_against_log_and_transcript(session_records):
    """What the log lacks may be in the transcript."""
    prompt = find(session_records, None, "Never push")
    gone = Source(item="x", place=prompt.place._replace(transcript="/nowhere"), sha256="", excerpt="")
    saved(log(next_steps=["Write `limiter`"], sources=[gone, cite("next_steps/0", prompt)]))
    checked = check_text(
        "`limiter` for src/a.py, `pytest -x`; 3 ok, and src/made_up.py", "latest", Workspace.open()
    )
    assert {each.claim.value: each.known for each in checked.findings} == {
        "limiter": True,
        "src/a.py": True,
        "pytest -x": True,
        "3": True,
        "src/made_up.py": False,
    }


def test_what_a_text_says_about_tests_is_checked_against_the_last_run(session_records):
    """The run is found in the transcript; if that is gone, in the log's commands."""
    prompt = find(session_records, None, "Never push")
    saved(log(next_steps=["Fix src/a.py"], sources=[cite("next_steps/0", prompt)]))
    for text, known in (("All tests fail.", True), ("All tests pass.", False)):
        (found,) = check_text(text, "latest", Workspace.open()).findings
        assert (found.claim.kind, found.known) == ("tests", known)
    gone = Source(item="x", place=prompt.place._replace(transcript="/nowhere"), sha256="", excerpt="")
    saved(log(critical_context={"commands": ["`pytest` → exit 0"]}, sources=[gone]))
    (found,) = check_text("All tests pass.", "latest", Workspace.open()).findings
    assert found.known


def test_an_invented_rule_is_unknown(session_records):
    """A quotation must be in the log or in one of its transcripts."""
    prompt = find(session_records, None, "Never push")
    saved(log(next_steps=["Fix src/a.py"], sources=[cite("next_steps/0", prompt)]))
    text = "The user said: “Always force-push to main.” and “Never push to main.”"
    assert [each.known for each in check_text(text, "latest", Workspace.open()).findings] == [False, True]


def test_the_marked_log_strikes_what_is_contradicted(session_records):
    """The marked log is Markdown for a person."""
    prompt = find(session_records, None, "Never push")
    saved(log(next_steps=["Fix `nothing_here`"], sources=[cite("next_steps/0", prompt)]))
    found = verify_log("latest", Workspace.open())
    assert found.count("contradicted") == 1
    assert "- ~~Fix `nothing_here`~~ (contradicted: " in found.marked().to_markdown()
    assert json.loads(found.path.read_bytes())["next_steps"] == ["Fix `nothing_here`"]


@pytest.mark.parametrize("agent", [claude.here(), codex.here()])
@pytest.mark.parametrize(
    ("after", "outcome"),
    [
        ([call("shell", {"command": "git rm -q /p/b.py"}, "")], "contradicted"),
        ([call("shell", {"command": "git rm /p/b.py"}, "Exit code 1", failed=True)], "supported"),
        (
            [
                call("shell", {"command": "rm /p/b.py"}, ""),
                call("write", {"path": "/p/b.py", "content": "x"}),
            ],
            "supported",
        ),
        (
            [
                call("shell", {"command": "rm /p/b.py"}, ""),
                call("read", {"path": "/p/b.py"}, "gone", failed=True),
            ],
            "contradicted",
        ),
    ],
)
def test_what_became_of_a_file_is_what_the_last_call_did(agent, after, outcome, tmp_path):
    """Removed by git too; not by a failed command, and not if it was written again."""
    story = Story(project="/p").asked("Go").replied("", call("write", {"path": "/p/b.py", "content": "1\n"}))
    for each in after:
        story.replied("", each)
    write_transcript(agent, story.script(), path := tmp_path / "t.jsonl")
    created = find([*agent.read(path)], ToolUse, "/p/b.py")
    saved(
        log(
            critical_context={"files": {"/p/b.py": "made"}},
            sources=[cite("critical_context/files//p/b.py", created)],
        )
    )
    assert verdicts()["critical_context/files//p/b.py"].outcome == outcome
