"""A resume log without credentials, for every store alike. Ids, numbers, places and hashes stay what they were."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from leftoff.model.resume_log import ResumeLog
from leftoff.model.sources import Source
from leftoff.system.redaction import Redactor

# Hashes by file name, and where a record stands, are no text: `auth_token.py` tells nothing about its hash.
_WORDS = (
    *("context_metrics", "mission_summary", "accomplishments", "key_findings", "decisions", "next_steps"),
    *("critical_context", "metadata", "custom_sections", "edits"),
)


def redacted(log: ResumeLog, redactor: Redactor) -> ResumeLog:
    """The same log with every credential replaced by its marker."""
    # Sources are more than half of a log, and only their words can change.
    wire = replace(log, sources=[]).to_dict()
    clean: Any = redactor.redact_value({name: wire[name] for name in _WORDS if name in wire})
    sources = [_without_credentials(source, redactor) for source in log.sources]
    return replace(ResumeLog.from_dict(wire | clean), sources=sources)


def _without_credentials(source: Source, redactor: Redactor) -> Source:
    clean = redactor.redact(source.excerpt)
    return source if clean == source.excerpt else replace(source, excerpt=clean)
