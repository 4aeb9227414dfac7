"""Copies the files of a session's subagents, and finds content that earlier cuts removed from a session.

Files: as seen with 2.1.325, a session is resumed without them, but a subagent that is addressed again (``SendMessage`` with the id
from its result) is looked for in the folder of the running session. They are copied, not linked, because the client appends to
them; those that no live line names are not copied. Symbolic links are not followed, and what cannot be copied is reported.

Removed content: thinking, which is removed whole, with its line where that holds nothing else, and what the client keeps of a
result for its own screen, which is shortened with the result. Records keep their ids in copies and forks, so they are matched by
id with those of the sessions that this one was made from. A line is restored if its neighbours are still there.
"""

from __future__ import annotations

import glob
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from leftoff.agents.claude.records import read_record
from leftoff.agents.copy_writer import parse_objects
from leftoff.agents.jsonl import open_transcript, pieces
from leftoff.core.records import Place, Record, Thinking
from leftoff.core.session import Session
from leftoff.core.trim_plan import NotCopied, RemovedContent, RestoredPart, RestoredRecord
from leftoff.core.wire import JsonValue
from leftoff.errors import StorageError, describe_os_error
from leftoff.platform import files, large_files

_FOLDER = "subagents"
_TRANSCRIPT = ".jsonl"
_WHAT = "what a subagent wrote"
# As a field of a line, and in the text of a result.
_SUBAGENT_ID = re.compile(rb'agentId(?:\\?": ?\\?"|: )([\w-]+)')
_BLOCK_BYTES = 1024 * 1024
_LONGEST_ID_BYTES = 300
_SCREEN_RESULT, _PLACEHOLDER = "toolUseResult", b"; leftoff expand "


@contextmanager
def copy_files(
    source: Path, target: Path, live_from: Place | None, not_copied: list[NotCopied]
) -> Iterator[None]:
    """Copy the files of the subagents that the live part of ``source`` names into the folder of ``target``.

    The caller names ``target`` inside the block, after the files are there. If the block fails, files and target are removed. What
    could not be read is added to ``not_copied``.
    """
    with ExitStack() as undo:
        paths, problem = _files_to_copy(source, live_from.start if live_from else 0)
        if problem:
            not_copied.append(NotCopied(what=_WHAT, path=_subagents_folder(source), why=problem))
        if paths:
            undo.callback(_remove, target)
            unreadable = _copy(paths, target)
            not_copied += [NotCopied(what=_WHAT, path=path, why=why) for path, why in unreadable.items()]
        yield
        undo.pop_all()


def remove_abandoned(folder: Path) -> None:
    """Remove subagents' files of copies that were never finished, because their writer was killed.

    Such a copy is known by its old temporary transcript. Files are removed only if another session has all of their content.
    """
    for target in files.abandoned_files(folder):
        session_folder = target.with_suffix("")
        is_transcript = target == session_folder.with_suffix(_TRANSCRIPT)
        if is_transcript and not target.exists() and _is_copied_elsewhere(session_folder):
            shutil.rmtree(session_folder, ignore_errors=True)


def _is_copied_elsewhere(session_folder: Path) -> bool:
    """Say whether the folder of a session holds only subagents' files, and other sessions have all of them."""
    subagents = session_folder / _FOLDER
    try:
        if (
            session_folder.is_symlink()
            or subagents.is_symlink()
            or {*session_folder.iterdir()} != {subagents}
        ):
            return False
        return all(_has_twin(path) for path in subagents.iterdir())
    except OSError:
        return False


def _has_twin(path: Path) -> bool:
    """Say whether a session has a file of that name with the same content, or more: its subagent may have continued."""
    if path.is_symlink() or not path.is_file():
        return False
    projects = path.parent.parent.parent.parent
    candidates = projects.glob(f"*/*/{_FOLDER}/{glob.escape(path.name)}")
    return any(
        other.is_file()
        and other.parent.parent.with_suffix(_TRANSCRIPT).is_file()
        and _begins_with(other, path)
        for other in candidates
    )


def _begins_with(path: Path, beginning: Path) -> bool:
    with path.open("rb") as whole, beginning.open("rb") as part:
        while block := part.read(_BLOCK_BYTES):
            if whole.read(len(block)) != block:
                return False
    return True


def _subagents_folder(transcript: Path) -> Path:
    return transcript.with_suffix("") / _FOLDER


def _files_to_copy(source: Path, start: int) -> tuple[list[Path], str]:
    """Return the files of the subagents that the transcript names from ``start`` on, or why they cannot be listed."""
    paths, problem = _list_files(_subagents_folder(source))
    ids = _subagent_ids(source, start) if paths or problem else frozenset()
    wanted = [path for path in paths if path.name.removeprefix("agent-").partition(".")[0] in ids]
    return wanted, problem if ids else ""


def _list_files(folder: Path) -> tuple[list[Path], str]:
    if folder.parent.is_symlink() or folder.is_symlink():
        return [], "a symbolic link leads to it; leftoff does not follow it"
    try:
        paths = [path for path in folder.iterdir() if path.name.startswith("agent-")]
        return sorted(path for path in paths if path.is_symlink() or path.is_file()), ""
    except (FileNotFoundError, NotADirectoryError):
        return [], ""
    except OSError as error:
        return [], describe_os_error(error)


def _copy(paths: list[Path], target: Path) -> dict[Path, str]:
    """Copy the files. Return those that could not be read, and why."""
    try:
        return large_files.copy_files(
            target.with_suffix(""), {f"{_FOLDER}/{path.name}": path for path in paths}
        )
    except StorageError as error:
        raise StorageError(
            f"{target}: not written, because what subagents wrote could not be copied. {error}", path=target
        ) from error


def _remove(target: Path) -> None:
    target.unlink(missing_ok=True)  # first: it must not be listed without its files
    shutil.rmtree(target.with_suffix(""), ignore_errors=True)


def _subagent_ids(source: Path, start: int) -> frozenset[str]:
    """Return the ids of the subagents that the transcript names from ``start`` on."""
    found: set[bytes] = set()
    with source.open("rb") as file:
        file.seek(start)
        rest = b""
        while block := file.read(_BLOCK_BYTES):
            found.update(_SUBAGENT_ID.findall(rest + block))
            rest = block[-_LONGEST_ID_BYTES:]
    return frozenset(name.decode("utf-8", "replace") for name in found)


class _Link(NamedTuple):
    """A record without its text."""

    place: Place
    parent: str | None
    thinking_chars: int
    is_thinking: bool  # and nothing else
    may_be_shortened: bool  # what it repeats for the screen


def removed_content(session: Session, ancestors: Sequence[Path]) -> RemovedContent:
    """Find what the ancestors, oldest first, still have. The oldest that has a record knows its original parent."""
    present = _links(Path(session.transcript))
    first = next(iter(present.values()), None)
    records: dict[str, RestoredRecord] = {}
    parts: dict[Place, RestoredPart] = {}
    thinking_chars: list[int] = []
    for path in ancestors:
        ancestor = _links(path)
        missing = _missing_thinking(present, ancestor)
        following = _following_places(present, ancestor, first)
        for name, link in ancestor.items():
            if name in missing and name in following and name not in records:
                records[name] = RestoredRecord(
                    place=following[name], raw=_read_raw(link), hanging=tuple(missing[name])
                )
                thinking_chars.append(link.thinking_chars)
        for name, link in present.items():
            original = ancestor.get(name)
            if original is None or link.place in parts or not _lacks_content(link, original):
                continue
            parts[link.place] = RestoredPart(place=link.place, raw=_read_raw(original))
            thinking_chars += [original.thinking_chars] if original.thinking_chars else []
    return RemovedContent(
        records=tuple(records.values()),
        parts=tuple(parts.values()),
        thoughts=len(thinking_chars),
        chars=sum(thinking_chars),
    )


def _links(transcript: Path) -> dict[str, _Link]:
    """Return the records that have an id, in file order."""
    records = map(read_record, pieces(transcript))
    return {record.id: _link(record) for record in records if record.id is not None}


def _link(record: Record) -> _Link:
    thinking = [block for block in record.blocks if isinstance(block, Thinking)]
    return _Link(
        place=record.place,
        parent=record.parent_id,
        thinking_chars=sum(len(block.text) for block in thinking),
        is_thinking=bool(thinking) and len(thinking) == len(record.blocks),
        may_be_shortened=_PLACEHOLDER in record.raw and _SCREEN_RESULT.encode() in record.raw,
    )


def _missing_thinking(present: dict[str, _Link], ancestor: dict[str, _Link]) -> dict[str, list[Place]]:
    """Find thinking that was between two records that are still present, or before the first, each with its children here."""
    missing: dict[str, list[Place]] = {}
    for name, link in present.items():
        passed: list[str] = []
        step = ancestor[name].parent if name in ancestor else None
        while (
            step is not None and step not in present and step not in passed and _is_thinking(ancestor, step)
        ):
            passed.append(step)
            step = ancestor[step].parent
        # A file that begins in the middle of a conversation names a parent that it does not have.
        if not passed or not (step is None or step in present or step not in ancestor):
            continue
        for each in passed:
            missing.setdefault(each, [])
        missing[passed[0]].append(link.place)
    return missing


def _is_thinking(links: dict[str, _Link], name: str) -> bool:
    return name in links and links[name].is_thinking and links[name].thinking_chars > 0


def _following_places(
    present: dict[str, _Link], ancestor: dict[str, _Link], first: _Link | None
) -> dict[str, Place]:
    """Return for each missing record the place of the next one that is present.

    The first record of a copy does not count, because it may come from elsewhere in the original.
    """
    following: dict[str, Place] = {}
    place: Place | None = None
    for name in reversed(ancestor):
        if name not in present:
            following |= {name: place} if place else {}
        elif present[name] != first:
            place = present[name].place
    return following


def _lacks_content(link: _Link, original: _Link) -> bool:
    if original.thinking_chars > 0 and link.thinking_chars == 0:
        return True
    return link.may_be_shortened and _screen_result(link) != _screen_result(original)


def _screen_result(link: _Link) -> JsonValue:
    return next((line.get(_SCREEN_RESULT) for line in parse_objects(_read_raw(link))), None)


def _read_raw(link: _Link) -> bytes:
    with open_transcript(Path(link.place.transcript)) as file:
        file.seek(link.place.start)
        return file.read(link.place.end - link.place.start)
