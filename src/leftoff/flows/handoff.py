"""The handoff of 002, where the settings want one: a document in ``_handoffs/``, and the ledger linked to the new session.

A ledger is a person's own file: only our part of it, between two markers, is ever replaced.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from leftoff.errors import StorageError
from leftoff.flows.keep_log import Kept
from leftoff.flows.settings import settings_here
from leftoff.lineage.chain import oldest_first
from leftoff.model import markdown
from leftoff.model.session_node import SessionNode
from leftoff.system import clock, files, paths

_BEGIN, _END = "<!-- leftoff: current session -->", "<!-- /leftoff -->"
_PART = re.compile(rf"{re.escape(_BEGIN)}\n.*?{re.escape(_END)}\n?", re.DOTALL)


def hand_over(session: SessionNode, kept: Kept, *, folder: Path, at: datetime) -> tuple[Path, ...]:
    """Write what the settings name, for a session that was just rolled over to; the files."""
    wanted = settings_here(folder).settings.handoffs
    root = paths.project_of(folder).root
    written: list[Path] = []
    if wanted.folder:
        name = f"handoff-{at:%Y%m%d-%H%M%S}-{(session.session_id or 'session')[:8]}.md"
        document = paths.contained(root, root / wanted.folder / name)
        files.write_file(document, _document(session, kept, at).encode())
        written.append(document)
    if wanted.ledger:
        ledger = paths.contained(root, root / wanted.ledger)
        files.write_file(ledger, _ledger(_text(ledger), session, kept, written, at).encode())
        written.append(ledger)
    return tuple(written)


def _document(session: SessionNode, kept: Kept, at: datetime) -> str:
    """Front matter with the lineage, then the resume log as it stands."""
    lines = ["---", f"session_id: {session.session_id}", f"created_at: {clock.rfc3339(at)}", "lineage:"]
    for node in oldest_first(session):
        how = node.derivation_type or "original"
        lines.append(
            f"  - {{session_id: {_plain(node.session_id)}, derivation: {how}, missing: {str(node.missing).lower()}}}"
        )
    mission = markdown.inline(kept.log.mission_summary)[:120] or kept.log.session_id
    return "\n".join([*lines, "---", "", f"# Handoff: {mission}", "", kept.log.to_markdown()])


def _ledger(before: str, session: SessionNode, kept: Kept, written: list[Path], at: datetime) -> str:
    steps = [markdown.inline(step)[:200] for step in kept.log.next_steps[:3]]
    part = "\n".join(
        [
            _BEGIN,
            f"- Session: {session.session_id} (continues {kept.log.session_id})",
            f"- Since: {clock.rfc3339(at)}",
            *(f"- Handoff: {path.name}" for path in written),
            *(f"- Next: {step}" for step in steps),
            _END,
            "",
        ]
    )
    if _PART.search(before):
        return _PART.sub(lambda _: part, before, count=1)
    return f"{before.rstrip()}\n\n{part}" if before.strip() else part


def _text(ledger: Path) -> str:
    try:
        return ledger.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise StorageError(
            f"{ledger}: the ledger cannot be read: {error}. It was not touched.", path=ledger
        ) from error


def _plain(text: str | None) -> str:
    """An id as YAML takes it without quotes; foreign ids may hold anything."""
    return text if text and re.fullmatch(r"[0-9A-Za-z-]+", text) else '"?"'
