"""Reads what a list shows of a session, from the head and tail of its rollout."""

from __future__ import annotations

from leftoff.agents.base import TranscriptHead
from leftoff.agents.codex.records import read_record
from leftoff.agents.codex.rollouts import Segment
from leftoff.agents.jsonl import JsonLines
from leftoff.core.records import RecordKind
from leftoff.core.session import strip_leftoff_text

_LINES_AFTER_PROMPT = 16  # the model is named before or shortly after the first prompt, if at all


def read_head(lines: JsonLines, segments: tuple[Segment, ...]) -> TranscriptHead:
    """Read what comes before and shortly after the first prompt."""
    meta = segments[-1].meta
    project, model, prompt, lines_after = meta.project, None, None, 0
    for piece in lines.oldest_first():
        record = read_record(piece)
        project = project or record.cwd
        model = model or record.model
        if prompt is None and record.kind is RecordKind.PROMPT:
            prompt = strip_leftoff_text(record.text).strip() or None
        lines_after += prompt is not None
        if lines_after and (model or lines_after > _LINES_AFTER_PROMPT):
            break
    parent = meta.parent
    if parent and parent.derivation == "forked" and len(segments) > 1:
        parent = parent._replace(transcript=str(segments[-2].path))
    return TranscriptHead(meta.session_id, project, prompt, model, parent)
