"""Gives a copy what the session's subagents wrote, so that the model can speak to them again.

Seen with 2.1.325: a session is resumed without these files, but whoever is told to go on (``SendMessage`` with the id that stands in its
result) is looked for in the folder of the very session that is running; in a copy without them, as in the client's own forks, there is "No
transcript found for agent ID". They are copied, not linked, because the client goes on in them; those that no live line names are
left where they are, because nobody can speak to them. Links are not followed; what cannot be taken along is named.
"""

from __future__ import annotations

import glob
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from leftoff.errors import StorageError
from leftoff.model.copying import LeftBehind
from leftoff.model.records import Place
from leftoff.system import copies, files, reasons

_FOLDER = "subagents"
_TRANSCRIPT = ".jsonl"
_WHAT = "what a subagent wrote"
# As a field of a line, and in the words of a result.
_NAMED = re.compile(rb'agentId(?:\\?": ?\\?"|: )([\w-]+)')
_BLOCK_BYTES = 1024 * 1024
_LONGEST_NAME_BYTES = 300


@contextmanager
def carried(source: Path, target: Path, live_from: Place | None, left: list[LeftBehind]) -> Iterator[None]:
    """Copy them into the folder of ``target``, which takes its name in the block: after them, so that it is never listed without.

    Where the block ends in trouble of any kind, neither they nor the target are left. What could not be read is put into ``left``.
    """
    with ExitStack() as undo:
        found, trouble = _spoken_to(source, live_from.start if live_from else 0)
        if trouble:
            left.append(LeftBehind(what=_WHAT, path=_folder(source), why=trouble))
        if found:
            undo.callback(_remove, target)
            unread = _copied(found, target)
            left += [LeftBehind(what=_WHAT, path=path, why=why) for path, why in unread.items()]
        yield
        undo.pop_all()


def tidy(folder: Path) -> None:
    """Remove from the folder of a project what a writer left who was killed after naming their folder, before the transcript.

    It is known by the transcript's draft, which has lain there for long and never got its name; and it goes only where another
    session has every word of it.
    """
    for target in files.left_by_killed(folder):
        own = target.with_suffix("")
        if target == own.with_suffix(_TRANSCRIPT) and not target.exists() and _is_kept_elsewhere(own):
            shutil.rmtree(own, ignore_errors=True)


def _is_kept_elsewhere(own: Path) -> bool:
    """Whether the folder of a session holds only what its subagents wrote, and others have all of that."""
    try:
        if own.is_symlink() or (own / _FOLDER).is_symlink() or {*own.iterdir()} != {own / _FOLDER}:
            return False
        return all(_has_twin(path) for path in (own / _FOLDER).iterdir())
    except OSError:
        return False


def _has_twin(path: Path) -> bool:
    """Whether a session has a file of that name that says the same, and maybe more: its subagent may have gone on."""
    if path.is_symlink() or not path.is_file():
        return False
    projects = path.parent.parent.parent.parent
    found = projects.glob(f"*/*/{_FOLDER}/{glob.escape(path.name)}")
    of_sessions = (each for each in found if each.parent.parent.with_suffix(_TRANSCRIPT).is_file())
    return any(each.is_file() and _begins_as(each, path) for each in of_sessions)


def _begins_as(other: Path, path: Path) -> bool:
    with other.open("rb") as theirs, path.open("rb") as ours:
        while block := ours.read(_BLOCK_BYTES):
            if theirs.read(len(block)) != block:
                return False
    return True


def _folder(transcript: Path) -> Path:
    return transcript.with_suffix("") / _FOLDER


def _spoken_to(source: Path, start: int) -> tuple[list[Path], str]:
    """What those wrote that the transcript names from there on; and why it cannot be looked for, empty where it can."""
    found, trouble = _written_by_any(_folder(source))
    named = _named(source, start) if found or trouble else frozenset()
    return [path for path in found if path.name.removeprefix("agent-").partition(".")[0] in named], (
        trouble if named else ""
    )


def _written_by_any(folder: Path) -> tuple[list[Path], str]:
    """All that stands there, or why nobody can tell."""
    if folder.parent.is_symlink() or folder.is_symlink():
        return [], "a symbolic link leads to it; leftoff does not follow it"
    try:
        found = sorted(
            path for path in folder.iterdir() if path.name.startswith("agent-") and _is_some_file(path)
        )
    except (FileNotFoundError, NotADirectoryError):
        return [], ""
    except OSError as error:
        return [], reasons.words(error)
    return found, ""


def _is_some_file(path: Path) -> bool:
    return path.is_symlink() or path.is_file()


def _copied(found: list[Path], target: Path) -> dict[Path, str]:
    """Those that could not be read, and why; the others are copied."""
    try:
        return copies.copy_into(target.with_suffix(""), {f"{_FOLDER}/{path.name}": path for path in found})
    except StorageError as error:
        raise StorageError(
            f"{target}: not written, because what subagents wrote could not be copied. {error}", path=target
        ) from error


def _remove(target: Path) -> None:
    target.unlink(missing_ok=True)  # first: it must not be listed without them
    shutil.rmtree(target.with_suffix(""), ignore_errors=True)


def _named(source: Path, start: int) -> frozenset[str]:
    """The subagents that the transcript names from there on."""
    found: set[bytes] = set()
    with source.open("rb") as file:
        file.seek(start)
        rest = b""
        while block := file.read(_BLOCK_BYTES):
            found.update(_NAMED.findall(rest + block))
            rest = block[-_LONGEST_NAME_BYTES:]
    return frozenset(name.decode("utf-8", "replace") for name in found)
