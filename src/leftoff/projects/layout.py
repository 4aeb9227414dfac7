"""Where projects are: the numbered tree of 001, or one state in a plain repository; and which one some words name.

Names inside a project are those of 001, or what its descendants call them (``04-steps.md``). A project can come with
somebody's repository: only regular files are read, links are refused, and no more is read than a document needs. A folder
that cannot be looked into is trouble for its own project alone.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from leftoff.errors import NotFoundError, OutsideFolderError, StorageError, UsageError
from leftoff.model.values import dataclass
from leftoff.system import paths, reasons

STATE_NAME = "_resume.md"
OLDER_NAME = "resume-context.md"
PLAIN_FOLDER = "project"
Part = Literal["overview", "plan", "steps", "research"]
_NAMES: Mapping[Part, tuple[str, ...]] = {
    "overview": ("overview.md", "01-overview.md"),
    "plan": ("plan.md", "03-plan.md"),
    "steps": ("steps.md", "04-steps.md"),
    "research": ("research.md",),
}
_NUMBERED = re.compile(r"(\d{1,6})-(.+)")
PARTS: tuple[Part, ...] = ("overview", "plan", "steps", "research")
MOST_BYTES = 512 * 1024  # of a document that is read whole
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_BEGINNING_BYTES = 64 * 1024
_MOST_PROJECTS = 2000
_LONGEST_NAME = 60
_LONGEST_NUMBER = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The folders of a layout: the root of all projects below the repository's, and the three inside each."""

    root: Path
    projects: Path
    plain: Path  # the folder of a state without a tree
    planning: str = "01-planning"
    resources: str = "02-resources"
    working: str = "03-working"


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """One project: its id, and where its files are. ``folder`` is what its reading list is relative to."""

    id: str
    root: Path
    folder: Path
    planning: Path
    resources: Path
    working: Path | None  # None: a plain repository works all over the place

    @property
    def state(self) -> Path:
        """Its ``_resume.md``, whether it is there or not."""
        return self.planning / STATE_NAME

    @property
    def older(self) -> Path:
        """The older form of the same."""
        return self.planning / OLDER_NAME

    @property
    def number(self) -> int | None:
        """The number before its name; None where it has none."""
        match = _NUMBERED.fullmatch(self.id)
        return int(match[1]) if match else None

    def part(self, name: Part) -> Path:
        """One of its documents: the file that is there, else where it would be."""
        folder = self.resources if name == "research" else self.planning
        there = (folder / each for each in _NAMES[name] if os.path.lexists(folder / each))
        return next(there, folder / _NAMES[name][0])

    def relative(self, path: Path) -> str:
        """A file as the reading list names it."""
        return path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else str(path)


def found(tree: Tree) -> list[Home]:
    """All projects, by number and name; a plain state comes first."""
    homes = [plain(tree)] if os.path.lexists(tree.plain / STATE_NAME) else []
    return [*homes, *(numbered(tree, name) for name in _folders(tree))]


def plain(tree: Tree) -> Home:
    """The project of a repository without a tree."""
    return Home(
        id=tree.root.name or "project",
        root=tree.root,
        folder=tree.root,
        planning=tree.plain,
        resources=tree.plain,
        working=None,
    )


def numbered(tree: Tree, name: str) -> Home:
    """The project in a folder of the tree."""
    folder = tree.projects / name
    return Home(
        id=name,
        root=tree.root,
        folder=folder,
        planning=folder / tree.planning,
        resources=folder / tree.resources,
        working=folder / tree.working,
    )


def new_id(tree: Tree, name: str) -> str:
    """``NN-name`` with the next free number, in the letters of the name; UsageError where it has none."""
    kept = "".join(letter if _is_of_a_word(letter) else " " for letter in unicodedata.normalize("NFC", name))
    slug = "-".join(kept.lower().split())[:_LONGEST_NAME].strip("-")
    if not slug:
        raise UsageError(f"{name[:40]!r} has no letters or digits that a folder could be called by.")
    used = [int(match[1]) for each in _folders(tree) if (match := _NUMBERED.fullmatch(each))]
    return f"{max(used, default=0) + 1:02d}-{slug}"


def _is_of_a_word(letter: str) -> bool:
    """Letters, their marks, and digits, of any script."""
    return unicodedata.category(letter)[0] in "LMN"


def named(homes: Sequence[Home], words: str, names: Mapping[str, str]) -> Home:
    """The project that a number, a name or a part of one means; ``names`` are project names by id."""
    wanted = words.strip().lower()
    if not homes:
        raise NotFoundError('There is no project here yet. To begin one: leftoff project init "NAME"')
    for matches in _matches(homes, wanted, names):
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise UsageError(
                f"{words[:40]!r} names {len(matches)} projects: {_listed(matches)}. Say more of the name."
            )
    raise NotFoundError(f"No project is called {words[:40]!r}. There are: {_listed(homes)}.")


def checked(home: Home) -> Home:
    """The same project, when none of its folders and documents is a link or leads out of the repository."""
    folders = [home.planning, home.resources, *([home.working] if home.working is not None else [])]
    for path in (*folders, home.state, *map(home.part, PARTS)):
        paths.contained(home.root, path)
        if is_link(path):
            raise OutsideFolderError(
                f"{path}: this is a symbolic link; leftoff works only with real files.", path=path
            )
    return home


def is_link(path: Path) -> bool:
    """Whether a link stands there; of what cannot be asked, reading it tells."""
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def content(home: Home, path: Path) -> str | None:
    """The whole text of a document, whatever its bytes; None where there is none."""
    data = content_bytes(home, path, MOST_BYTES)
    return None if data is None else data.decode("utf-8", "surrogateescape")


def beginning(home: Home, path: Path) -> str | None:
    """The same of a document of which the beginning says enough, however long it is."""
    data = _read(home, path, _BEGINNING_BYTES)
    return None if data is None else data[0].decode("utf-8", "surrogateescape")


def content_bytes(home: Home, path: Path, most: int) -> bytes | None:
    """The bytes of a document; StorageError for one that is larger than that."""
    data = _read(home, path, most)
    if data is None:
        return None
    if data[1] > most:
        raise StorageError(
            f"{path}: {data[1]:,} bytes, and leftoff reads at most {most:,}. Move what is done to a file of its own.",
            path=path,
        )
    return data[0]


def _read(home: Home, path: Path, most: int) -> tuple[bytes, int] | None:
    """As many bytes of a regular file of the project, and its size. Devices, pipes and links are never opened for long."""
    paths.contained(home.root, path)
    try:
        fd = os.open(path, _READ)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise StorageError(f"{path}: cannot be read: it is no regular file.", path=path)
        with open(fd, "rb", closefd=False) as file:
            return file.read(most), status.st_size
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(fd)


def _unreadable(path: Path, error: OSError | ValueError) -> StorageError:
    why = reasons.words(error) if isinstance(error, OSError) else "its name is none that a file can have"
    return StorageError(f"{path}: cannot be read: {why}.", path=path)


def _matches(homes: Sequence[Home], wanted: str, names: Mapping[str, str]) -> Iterator[list[Home]]:
    """From the strictest meaning of the words to the loosest; no words mean nothing, and a number is never a part."""
    if not wanted:
        return
    is_number = wanted.isdecimal() and len(wanted) <= _LONGEST_NUMBER
    if is_number:
        yield [home for home in homes if home.number == int(wanted)]
    yield [home for home in homes if wanted in {home.id.lower(), names.get(home.id, "").lower()}]
    if is_number:
        return
    yield [home for home in homes if wanted in home.id.lower() or wanted in names.get(home.id, "").lower()]


def _listed(homes: Iterable[Home]) -> str:
    all_ids = [home.id for home in homes]
    more = f" and {len(all_ids) - 6} more" if len(all_ids) > 6 else ""
    return ", ".join(all_ids[:6]) + more


def _folders(tree: Tree) -> list[str]:
    """The names of the numbered folders, in the order of their numbers; of one that cannot be asked, it is one."""
    try:
        with os.scandir(tree.projects) as entries:
            names = [each.name for each in entries if _NUMBERED.fullmatch(each.name) and _is_folder(each)]
    except OSError:
        return []
    return sorted(names, key=lambda name: (int(name.partition("-")[0]), name))[:_MOST_PROJECTS]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return True
