"""JSON forms compared with golden files that never change, so that files on users' disks stay readable."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.core import wire
from leftoff.core.resume_log import ResumeLog
from leftoff.errors import DocumentError
from leftoff.pause.journal import ACTION_TYPES, PauseAction
from leftoff.platform.register import Register
from tests.support import strategies

GOLDEN = Path(__file__).parents[1] / "golden" / "wire"


def golden(name):
    return (GOLDEN / name).read_text(encoding="utf-8")


def first_number(kind):
    """The oldest schema that can be upgraded step by step to the newest."""
    number = wire.SCHEMAS[kind]
    while (kind, number - 1) in wire._UPGRADES:
        number -= 1
    return number


@pytest.mark.parametrize("kind", wire.SCHEMAS)
def test_every_schema_that_was_ever_written_has_a_golden_file(kind):
    """Raising a number without keeping an example of the new form fails here."""
    kept = {
        int(found[1]) for path in GOLDEN.iterdir() if (found := re.match(rf"{kind}\.v(\d+)\.", path.name))
    }
    assert kept == set(range(first_number(kind), wire.SCHEMAS[kind] + 1))


def test_every_golden_file_is_of_a_known_kind():
    """A kind that was renamed or dropped leaves its users' files unreadable."""
    assert {path.name.split(".")[0] for path in GOLDEN.iterdir()} == set(wire.SCHEMAS)


def test_a_resume_log_is_read_and_written_byte_for_byte():
    """Reading the golden file and writing it again gives the same file."""
    text = golden("resume_log.v1.json")
    log = ResumeLog.from_dict(json.loads(text))
    assert json.dumps(log.to_dict(), indent=2, ensure_ascii=False) + "\n" == text
    assert all(json.loads(text).values()), "the example shows every field"


def test_the_markdown_of_a_resume_log_equals_the_golden_file():
    """The documented Markdown is an interface, so every change of it must be intended."""
    log = ResumeLog.from_dict(json.loads(golden("resume_log.v1.json")))
    assert log.to_markdown() == golden("resume_log.v1.md")
    assert strategies.outer_headings(golden("resume_log.v1.md")) == [
        *strategies.FIXED_HEADINGS,
        "Code Changes",
    ]


def test_a_predecessor_s_log_in_the_documented_form_is_read_in_full():
    """The documented form has no schema number, and every value of it is read."""
    old = json.loads(golden("resume_log.v0.json"))
    log = ResumeLog.from_dict(old)
    read = log.to_dict()
    assert read["schema"] == 1
    assert {key: read[key] for key in old if key != "context_metrics"} == {
        key: value for key, value in old.items() if key != "context_metrics"
    }
    assert read["context_metrics"].items() >= old["context_metrics"].items()
    assert (log.sources, log.ground, log.custom_sections) == ([], None, [])
    assert ResumeLog.from_dict(read) == log


def test_a_predecessor_s_log_as_really_written_is_read_too():
    """It has other names for some keys, negative remainders and null for what it did not know."""
    log = ResumeLog.from_dict(json.loads(golden("resume_log.v0.as_written.json")))
    assert log.context_metrics.percentage_used == 122.0
    assert log.context_metrics.remaining_tokens == 0
    assert log.context_metrics.timestamp == "2025-11-01T11:50:00+00:00"
    assert log.decisions == [{"decision": "Signed tokens", "rationale": "No state to share"}]
    assert log.metadata == {
        "files_modified": ["src/services/auth.py"],
        "agents_used": {"Engineer": 3},
        "errors": ["ImportError: no module named jwt"],
        "previous_session_id": "20251031_090000",
    }


def test_upgrading_leaves_the_document_given_as_it_was():
    """The caller may still use it."""
    old = json.loads(golden("resume_log.v0.json"))
    wire.upgrade_document("resume_log", old, where="x")
    assert old == json.loads(golden("resume_log.v0.json"))


@pytest.mark.parametrize(
    "broken", [{"context_metrics": 5}, {"metadata": "x"}, {"context_metrics": {"used_tokens": 5}}]
)
def test_a_broken_log_of_a_predecessor_is_refused_or_read_by_the_same_rules(broken):
    """The upgrade does not fail; a number that cannot be computed again is kept."""
    upgraded = wire.upgrade_document("resume_log", {"session_id": "s"} | broken, where="x")
    assert upgraded["schema"] == 1
    assert upgraded.items() >= {"session_id": "s"}.items()


def test_a_predecessors_percentage_is_used_without_other_numbers():
    """The percentage cannot be computed again without the window."""
    log = ResumeLog.from_dict({"session_id": "s", "context_metrics": {"percentage_used": 85.0}})
    assert log.context_metrics.percentage_used == 85.0


def test_a_pause_is_read_and_written_byte_for_byte():
    """All six types of action keep their documented form."""
    lines = golden("pause_action.v1.jsonl").splitlines()
    actions = [PauseAction.from_json_line(line) for line in lines]
    assert [action.to_json_line() for action in actions] == lines
    assert [action.type for action in actions] == list(ACTION_TYPES)
    assert actions[0].data["schema"] == wire.SCHEMAS["pause_action"]


def test_the_register_is_read_and_written_byte_for_byte(tmp_path):
    """Writing the same two entries gives the golden file, with the folder's number; older entries, without it or git's name, are read too."""
    written, trusted = Path("session-20260106_120000.md"), Path("_resume.md")
    written.write_text("what was done\n", encoding="utf-8")
    trusted.write_text("what is next\n", encoding="utf-8")
    moment = datetime(2026, 1, 6, 12, 5, tzinfo=UTC)
    register = Register(folder=tmp_path / "new")
    register.note_written(written, "20260106_120000", moment)
    register.trust(trusted, moment)
    text = (tmp_path / "new" / "register.jsonl").read_text(encoding="utf-8")
    assert text.replace(f', "folder": {Path.cwd().stat().st_ino}', "") == golden("register.v1.jsonl") != text

    first_version = re.sub(r'"blob": "\w+", ', "", golden("register.v1.jsonl"))
    for number, content in enumerate([golden("register.v1.jsonl"), first_version]):
        kept = Register(folder=tmp_path / f"kept-{number}")
        kept.folder.mkdir()
        (kept.folder / "register.jsonl").write_text(content, encoding="utf-8")
        assert [kept.standing(path) for path in (written, trusted)] == ["written", "trusted"]


def test_a_schema_that_never_was_is_refused():
    with pytest.raises(DocumentError, match=r"r.jsonl: there is no register of schema 0"):
        wire.upgrade_document("register", {}, where="r.jsonl")
    assert wire.upgrade_document("register", {"schema": 1}, where="r.jsonl") == {"schema": 1}
