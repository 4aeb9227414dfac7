"""What a session did for a project, from its transcript: decisions, files, compactions; and whether it worked on it at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from leftoff.errors import LeftoffError
from leftoff.extract import State, render
from leftoff.flows.choose import LATEST, Chosen, choose
from leftoff.flows.extraction import extracted
from leftoff.projects.layout import Home
from leftoff.projects.sessions import Worked

_MOST_FILES = 40


def session_here(words: str | None, working_folder: Path) -> Chosen | None:
    """The session that is meant; without words the latest of this folder, None where there is none."""
    if words is not None:
        return choose(words, working_folder)
    with suppress(LeftoffError):
        return choose(LATEST, working_folder)
    return None


def worked_in(
    chosen: Chosen,
    home: Home,
    *,
    used_tokens: int | None = None,
    usable_tokens: int | None = None,
    is_over: bool = False,
) -> Worked:
    """What the session did; its words are without credentials."""
    session = chosen.open()
    state = extracted(chosen, session)
    created, modified = _files(state, home)
    return Worked(
        agent=chosen.agent.id,
        session_id=session.session_id,
        used_tokens=used_tokens,
        usable_tokens=usable_tokens,
        compactions=state.compactions,
        decisions=tuple(_decided(each) for each in render(state)["decisions"]),
        created=created,
        modified=modified,
        is_over=is_over,
    )


def has_touched(chosen: Chosen, homes: Sequence[Home]) -> list[Home]:
    """Those of the projects that the session worked on: it changed a file of theirs, or a command of it names them."""
    state = extracted(chosen, chosen.open())
    folder = Path(state.project or ".")
    edited = [Path(folder / file.path) for file in state.files.values() if file.edits]
    commands = [command.text for command in state.commands.values()]
    return [home for home in homes if _is_touched(home, edited) or _is_named(home, commands)]


def _is_touched(home: Home, edited: list[Path]) -> bool:
    own = home.folder if home.working is not None else home.planning
    return any(path.is_relative_to(own) for path in edited)


def _is_named(home: Home, commands: Iterable[str]) -> bool:
    """By its folder, or by number in a command of ours that changes projects."""
    name = home.id if home.working is not None else str(home.planning.relative_to(home.root))
    said = re.escape(name)
    pattern = rf"(?<![\w.-]){said}(?![\w.-])"
    if home.number is not None:
        pattern += (
            rf"|\bproject\s+(?:complete|save|close)\b[^\n;&|]*--project[ =][\"']?0*{home.number}(?![\w.-])"
        )
    return any(re.search(pattern, command) for command in commands)


def _files(state: State, home: Home) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the session created and what it changed, relative to the project or to the repository, in that order."""
    folder = Path(state.project or ".")
    made: list[str] = []
    changed: list[str] = []
    for file in sorted(state.files.values(), key=lambda each: each.edited_at)[-10 * _MOST_FILES :]:
        path = folder / file.path
        is_gone = file.last in {"deleted", "moved", "refused"}
        if not file.edits or is_gone or not path.is_relative_to(home.root) or path == home.state:
            continue
        name = home.relative(path) if path.is_relative_to(home.folder) else str(path.relative_to(home.root))
        (made if file.is_new else changed).append(name)
    return tuple(made[-_MOST_FILES:]), tuple(changed[-_MOST_FILES:])


def _decided(entry: dict[str, str]) -> str:
    reason = entry.get("rationale", "").strip()
    return f"{entry['decision'].strip()} - {reason}" if reason else entry["decision"].strip()
