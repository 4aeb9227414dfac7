"""Redacting a resume log removes credentials and nothing else."""

from dataclasses import replace

from leftoff.core.metrics import ContextMetrics
from leftoff.core.provenance import Ground, Source
from leftoff.core.records import Place
from leftoff.core.resume_log import CustomSection, Edit, ResumeLog
from leftoff.platform.redaction import Redactor
from leftoff.storage.store_base import redact_log

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


def test_a_credential_is_removed_from_every_field():
    log = redact_log(secretive(f"use {SECRET} for it"), Redactor())
    assert SECRET not in log.to_markdown()
    assert SECRET not in str(log.to_dict())
    assert str(log.to_dict()).count("[REDACTED:") >= 15


def test_what_is_not_a_credential_stays():
    """A log without secrets is unchanged."""
    log = secretive("plain words")
    assert redact_log(log, Redactor()) == log
    named = replace(log, critical_context={"token_file": "src/auth_token.py", "commit": DIGEST})
    assert redact_log(named, Redactor()) == named
