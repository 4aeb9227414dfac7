"""``ChatSessions`` of design 003: the saved chats of a folder, for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from leftoff.flows import chat_sessions as flow
from leftoff.flows.chat_session import place_of
from leftoff.system import clock, paths


class ChatSessions:
    """Saved chats: written with their summary, read back, listed newest first, found by number or id."""

    def __init__(self, project_path: Path | None = None, folder: Path | None = None) -> None:
        project = Path(project_path) if project_path else paths.working_folder()
        self._place = place_of(project, folder=Path(folder) if folder else None)

    @property
    def folder(self) -> Path:
        """Where they are."""
        return self._place.folder

    def save_markdown_with_summary(self, session_id: str, markdown: str, summary: str | None = None) -> Path:
        """Write a conversation and its summary block; without a summary, one that stands there already stays."""
        return flow.save_markdown(self._place, session_id, markdown, summary)

    def extract_summary(self, file_path: Path) -> str | None:
        """The summary block of a saved chat without its markers; None when there is none, or it is broken."""
        return flow.summary_at(Path(file_path))

    def extract_metadata(self, file_path: Path) -> dict[str, Any]:
        """What the header and the entries of a saved chat say; what it does not say is None."""
        saved = flow.saved_at(Path(file_path))
        return {
            "session_id": saved.header.session_id,
            "date": clock.rfc3339(saved.header.date),
            "agent": saved.header.agent,
            "agent_path": saved.header.agent_path or None,
            "resumed_from": saved.header.resumed_from,
            "previous_session": saved.header.previous_session,
            "total_queries": saved.totals.queries,
            "total_tokens": saved.totals.tokens,
            "has_summary": saved.summary.text is not None,
        }

    def list(self) -> list[dict[str, Any]]:
        """All of them, newest first."""
        return [dict(each.to_dict()) for each in flow.chats_in(self._place).chats]

    def resolve(self, words: str | int) -> Path:
        """The file of the chat that a number of ``list``, an id or the beginning of one names; NotFoundError without one."""
        return flow.resolve(self._place, str(words), None).path
