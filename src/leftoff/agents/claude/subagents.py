"""Gives a copy what the session's subagents wrote, so that the model can speak to them again.

Seen with 2.1.325: a session is resumed without these files, but whoever is told to go on (``SendMessage`` with the id that stands in its
result) is looked for in the folder of the very session that is running; in a copy without them, as in the client's own forks, there is "No
transcript found for agent ID". They are copied, not linked, because the client goes on in them; those that no live line names are
left where they are, because nobody can speak to them. Links are not followed, and what cannot be read is left out.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from leftoff.errors import StorageError
from leftoff.model.records import Place
from leftoff.system import copies

_FOLDER = "subagents"
# As a field of a line, and in the words of a result.
_NAMED = re.compile(rb'agentId(?:\\?": ?\\?"|: )([\w-]+)')
_BLOCK_BYTES = 1024 * 1024
_LONGEST_NAME_BYTES = 300


@contextmanager
def carried(source: Path, target: Path, live_from: Place | None) -> Iterator[None]:
    """Copy them into the folder of ``target``, which takes its name in the block: after them, so that it is never listed without.

    Where the block ends in trouble of any kind, neither they nor the target are left.
    """
    with ExitStack() as undo:
        found = _spoken_to(source, live_from.start if live_from else 0)
        if found:
            undo.callback(_remove, target)
            _copy(found, target)
        yield
        undo.pop_all()


def _spoken_to(source: Path, start: int) -> list[Path]:
    """What those wrote that the transcript names from there on."""
    own = source.with_suffix("")
    if own.is_symlink() or (own / _FOLDER).is_symlink():
        return []
    found = sorted(path for path in (own / _FOLDER).glob("agent-*") if path.is_file())
    named = _named(source, start) if found else frozenset()
    return [path for path in found if path.name.removeprefix("agent-").partition(".")[0] in named]


def _copy(found: list[Path], target: Path) -> None:
    try:
        copies.copy_into(target.with_suffix(""), {f"{_FOLDER}/{path.name}": path for path in found})
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
