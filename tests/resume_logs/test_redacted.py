"""A resume log without credentials: they go, and nothing else does."""

from dataclasses import replace

from leftoff.model.context_metrics import ContextMetrics
from leftoff.model.edits import Edit
from leftoff.model.records import Place
from leftoff.model.resume_log import CustomSection, ResumeLog
from leftoff.model.sources import Ground, Source
from leftoff.resume_logs.redacted import redacted
from leftoff.system.redaction import Redactor

SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def secretive(text):
    return ResumeLog(
        "s",
        ContextMetrics(200_000, 100, stop_reason=text, timestamp="2026-01-06T12:00:00Z"),
        mission_summary=text,
        accomplishments=["fine", text],
        key_findings=[text],
        decisions=[{"decision": text, "rationale": text}],
        next_steps=[text],
        critical_context={"environment": {"x": text}, "list": [text], text: 1},
        metadata={"errors": [text]},
        custom_sections=[CustomSection(name=f"Name {text}", budget_tokens=5, content=text)],
        sources=[
            Source(
                item="next_steps/0", place=Place("/home/dev/a.jsonl", 3, 0, 9), sha256=DIGEST, excerpt=text
            )
        ],
        ground=Ground(head=DIGEST[:40], branch="main", hashes={"src/auth_token.py": DIGEST}),
        edits=[Edit(section="next_steps", before=text, wrote=text, after=text)],
    )


def test_a_credential_is_taken_out_of_every_place_it_can_stand_in():
    """Neither Markdown nor JSON holds it afterwards."""
    log = redacted(secretive(f"use {SECRET} for it"), Redactor())
    assert SECRET not in log.to_markdown()
    assert SECRET not in str(log.to_dict())
    assert str(log.to_dict()).count("[REDACTED:") >= 15


def test_what_is_no_credential_stays():
    """Ids, hashes by telling file names, places: a log without secrets comes out equal."""
    log = secretive("plain words")
    assert redacted(log, Redactor()) == log
    named = replace(log, critical_context={"token_file": "src/auth_token.py", "commit": DIGEST})
    assert redacted(named, Redactor()) == named
