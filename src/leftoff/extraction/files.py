"""Note what a call did to files: read, changed, created, deleted or moved, and what the agent said it was about to do."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import assert_never

from leftoff.core.actions import Action, Changed, Looked, Moved, Ran, Removed, Searched, Wrote
from leftoff.extraction import wording
from leftoff.extraction.state import File, Ref, State, truncate

_MAX_ANNOUNCED_CHARS = 160
_MAX_PURPOSES = 3  # of one file
_PURPOSE_HOLDS_CALLS = 8  # how long what the agent announced of a file explains its edits
_PURPOSE_OF_ANY_FILE_HOLDS_CALLS = 2
_MAX_FILES_OF_PURPOSE = 3
# Files that a shell command writes: a here-document, ``tee``, ``sed -i``.
_SHELL_WRITES = re.compile(
    r"\bcat\s*>>?\s*([^\s<>|;&]+)\s*<<|<<-?\s*['\"]?\w+['\"]?\s*>>?\s*([^\s<>|;&]+)|\btee\s+(?:-a\s+)?([^\s<>|;&-][^\s<>|;&]*)"
    r"|\bsed\s+-i\S*\s+(?:''\s+)?(?:'[^']+'|\"[^\"]+\")\s+([^\s<>|;&]+)"
)
_SHELL_WRITE_MARKS = ("<<", "tee", "sed")  # one of which each of them has: looking for these takes less time
_MOVES = re.compile(
    r"(?:^|[;&|]\s*)(?:git )?mv (?:-\w+ )*([^\s;&|]+) ([^\s;&|]+)\s*(?=$|[;&|\n])", re.MULTILINE
)
_DELETES = re.compile(r"(?:^|[;&|]\s*)(?:git )?rm (?:-\w+ )*([^;&|\n]+)")
# What comes before the verb when an agent says what it does next.
_LEAD_IN = re.compile(
    r"\A(?:(?:now|next|then|first|good|great|perfect|ok|okay|also)[,.!]? )*(?:let me|let's|I'll|I will|I need to|I'm going to)(?: now| also)? ",
    re.IGNORECASE,
)
_FEW_WORDS = 5
_CONTENT_WORD = re.compile(r"\w{7}|[`_.]\w")  # not in "fix it" and "make all the edits now"


def add_file(state: State, ref: Ref, action: Action, *, failed: bool, is_main: bool) -> None:
    """Add what a successful call did to files."""
    if failed:
        return
    match action:
        case Looked(path, _, _):
            file = _touch_file(state, ref, path)
            _store_file(state, file._replace(reads=file.reads + 1, last="read"))
        case Searched(_, str(path)) if "." in path.rsplit("/", 1)[-1].strip("*.") and "*" not in path:
            _store_file(state, _touch_file(state, ref, path)._replace(last="searched"))
        case Ran(command, folder, _):
            _add_shell_changes(state, ref, command, folder)
        case Changed() | Wrote() | Removed() | Moved():
            _add_change(state, ref, action, purpose=_purpose(state, action.path) if is_main else "")
        case _:
            pass


def _add_shell_changes(state: State, ref: Ref, command: str, folder: str | None) -> None:
    """Add the files that a shell command writes and removes."""
    if any(mark in command for mark in _SHELL_WRITE_MARKS):
        for found in _SHELL_WRITES.findall(command):
            path = below(folder or state.project or None, "".join(found))
            _add_change(state, ref, Changed(path, "", ""), purpose=_purpose(state, path))
    if "rm " in command:
        _delete_known_files(state, ref, command, folder)
    if "mv " in command:
        _move_known_files(state, ref, command, folder)


def below(folder: str | None, path: str) -> str:
    """Return a path as seen from everywhere, if it is below a folder."""
    path = path.strip("'\"")
    return path if folder is None or path.startswith(("/", "~")) else f"{folder.rstrip('/')}/{path}"


def _purpose(state: State, path: str) -> str:
    """Return why a file is edited now: what the agent announced of it, or just before, else the to-do in progress."""
    said = state.last_reply
    calls = state.calls - said.call if said is not None else 0
    if said is not None and said.turn == state.turns and calls <= _PURPOSE_HOLDS_CALLS:
        announced, named = _announced(said.text)
        is_about = any(f"/{path}".endswith(f"/{name.removeprefix('./')}") for name in named)
        if announced and (is_about if named else calls <= _PURPOSE_OF_ANY_FILE_HOLDS_CALLS):
            return announced
    todo = next((truncate(todo.text, 160) for todo in state.todos if todo.status == "in_progress"), "")
    # What explains the edits of many files explains none of them.
    is_general = sum(todo in file.purposes for file in state.files.values()) >= _MAX_FILES_OF_PURPOSE
    return "" if is_general else todo


@lru_cache(maxsize=1)  # several edits often follow one text
def _announced(text: str) -> tuple[str, list[str]]:
    """Return what an agent says at the end of a text that it does next, and the files that this names."""
    last = [*wording.sentences(text.rstrip("`\n ").rpartition("\n")[2])][-1:]
    said = last[0].strip("#*-:> ") if last else ""
    lead_in = _LEAD_IN.match(said)
    words = said[lead_in.end() :] if lead_in else said
    has_content = len(words.split()) > _FEW_WORDS or not words.isascii() or _CONTENT_WORD.search(words)
    named = wording.FILE_NAME.findall(words)
    # A report ("Two tasks are still running.") explains no edit.
    announces = lead_in is not None or bool(named) or text.rstrip("`\n ").endswith((":", "\uff1a"))
    return (truncate(words, _MAX_ANNOUNCED_CHARS) if has_content and announces else ""), named


def _add_change(state: State, ref: Ref, action: Changed | Wrote | Removed | Moved, *, purpose: str) -> None:
    match action:
        case Changed(path, _, _):
            _store_file(
                state, _count_edit(state, _touch_file(state, ref, path), purpose)._replace(last="changed")
            )
        case Wrote(path, _):
            is_new = path not in state.files or state.files[path].last == "deleted"
            file = _count_edit(state, _touch_file(state, ref, path), purpose)
            is_new = is_new or file.is_new
            _store_file(state, file._replace(last="created" if is_new else "changed", is_new=is_new))
        case Removed(path):
            _store_file(state, _touch_file(state, ref, path)._replace(last="deleted", edited_at=state.calls))
        case Moved(path, to):
            earlier = _touch_file(state, ref, path)._replace(edited_at=state.calls)
            _store_file(state, earlier._replace(last="moved", moved_to=to))
            _store_file(state, earlier._replace(path=to, last="changed"))
        case _:
            assert_never(action)


def _delete_known_files(state: State, ref: Ref, command: str, folder: str | None) -> None:
    """Mark known files that a shell command removed; files never seen before are ignored."""
    for targets in _DELETES.findall(command):
        for target in targets.split():
            places = (target.rstrip("/"), f"{folder or state.project}/{target.rstrip('/')}")
            for path in [*state.files]:
                if path in places or path.startswith(tuple(f"{place}/" for place in places)):
                    _store_file(
                        state, _touch_file(state, ref, path)._replace(last="deleted", edited_at=state.calls)
                    )


def _move_known_files(state: State, ref: Ref, command: str, folder: str | None) -> None:
    """Mark known files that a shell command moved; a target without a suffix, or with a slash at its end, is a folder."""
    for source, target in _MOVES.findall(command):
        for path in dict.fromkeys((source, below(folder or state.project, source))):
            if path in state.files:
                is_relative = path == source and not source.startswith("/")
                to = target if is_relative else below(folder or state.project, target)
                name = path.rpartition("/")[2]
                is_folder = to.endswith("/") or ("." in name and "." not in to.rpartition("/")[2])
                moved = Moved(path, f"{to.rstrip('/')}/{name}" if is_folder else to)
                _add_change(state, ref, moved, purpose="")


def _touch_file(state: State, ref: Ref, path: str) -> File:
    """Remove and return what is known of the file, marked as seen now."""
    known = state.files.pop(path, None)
    return File(ref, path, call=state.calls) if known is None else known._replace(ref=ref, call=state.calls)


def _store_file(state: State, file: File) -> None:
    state.files.pop(file.path, None)
    state.files[file.path] = file


def _count_edit(state: State, file: File, purpose: str) -> File:
    """Count an edit; several parts of a file that one call changes are one edit."""
    purposes = (
        file.purposes
        if not purpose or purpose in file.purposes
        else (*file.purposes, purpose)[-_MAX_PURPOSES:]
    )
    edits = file.edits + (file.edited_at != state.calls or not file.edits)
    return file._replace(edits=edits, edited_at=state.calls, purposes=purposes)
