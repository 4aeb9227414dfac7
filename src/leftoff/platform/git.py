"""Asks git about a folder: head, branch, changed files, index, objects; and commits exactly the given files.

A repository can come from anywhere, so the hooks, monitors, pagers, filters, signing programs and remotes that its own
configuration names are switched off. Outside git, without git or after a time-out, the answers are None."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from leftoff.core.provenance import Ground
from leftoff.errors import OutsideFolderError, ProcessError
from leftoff.platform import files, paths, process

TIMEOUT_SECONDS = 5.0
_LARGEST_HASHED_BYTES = 16 * 1024 * 1024
_BRANCHES = "ref: refs/heads/"
_NOT_IN_HEAD = f"{_BRANCHES}.invalid"  # in a repository with reftables
_HASH = re.compile(r"[0-9a-f]{4,64}")
_INDEX_ENTRY = re.compile(rb"\d{6} ([0-9a-f]+) ([0-3])\t([^\0]*)\0\s+ctime: \S+\s+mtime: (\d+):(\d+)\s")
# Switches off everything that a repository's own configuration could make git run.
_HARMLESS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "commit.gpgSign": "false",
    "log.showSignature": "false",
    "gpg.program": "false",
    "gpg.openpgp.program": "false",
    "gpg.x509.program": "false",
    "gpg.ssh.program": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",  # a question must not fetch: a remote can be a command, too
    "GIT_ALLOW_PROTOCOL": "",  # the same for older versions of git
    "LC_ALL": "C",
}


def read_ground(root: Path, touched: Iterable[str] = ()) -> Ground:
    """Return the current state of the folder; ``touched`` are the files, relative to ``root``, to hash."""
    return Ground(
        head=head(root),
        branch=branch(root),
        worktree=paths.find_project(root).worktree,
        dirty=dirty(root),
        hashes={name: digest for name in touched if (digest := _digest(root, name))},
    )


def head(root: Path) -> str | None:
    """Return the commit that is checked out; None outside git and before the first commit."""
    return _line(root, "rev-parse", "--verify", "--quiet", "HEAD")


def branch(root: Path) -> str | None:
    """Return the branch that is checked out; None outside git and on a detached HEAD."""
    reference = paths.read_git_head(
        root
    )  # the user waits for this at the start of a session, and git takes its time
    if reference is not None and reference.startswith(_BRANCHES) and reference != _NOT_IN_HEAD:
        return reference.removeprefix(_BRANCHES)
    return _line(root, "symbolic-ref", "--quiet", "--short", "HEAD")


def remote_address(root: Path) -> str | None:
    """Return the address of ``origin``, else of the first remote; None without remotes. It can contain a credential."""
    names = (_line(root, "remote") or "").split("\n")
    name = "origin" if "origin" in names else names[0]
    return _line(root, "config", "--get", f"remote.{name}.url") if name else None


def first_commit(root: Path) -> str | None:
    """Return the root commit; None outside git and in a shallow clone, which does not have it."""
    if _line(root, "rev-parse", "--is-shallow-repository") != "false":
        return None
    roots = _line(root, "rev-list", "--max-parents=0", "HEAD")
    return None if roots is None else min(roots.split("\n"))  # merged histories have several


def dirty(root: Path) -> tuple[str, ...] | None:
    """Return the files that differ from the last commit or are new, relative to ``root``; None outside git."""
    no_filters = _switch_off_filters(root)
    if no_filters is None:
        return None
    output = _output(
        root,
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=normal",
        "--ignore-submodules=all",
        "--",
        ".",
        settings=no_filters,
    )
    if output is None:
        return None
    changed: list[str] = []
    entries = iter(output.split(b"\0"))
    for entry in entries:
        if len(entry) < 4:  # two letters, a blank, a path
            continue
        if entry[:1] in b"RC" or entry[1:2] in b"RC":
            next(entries, None)  # a rename is followed by the old name
        changed.append(entry[3:].decode("utf-8", "surrogateescape"))
    # git names files from the top of its tree; the project's root can be below it.
    prefix = "" if (root / ".git").exists() else _line(root, "rev-parse", "--show-prefix") or ""
    return tuple(name.removeprefix(prefix) for name in changed)


def commits_between(root: Path, old: str, new: str) -> int | None:
    """Return how many commits ``new`` has and ``old`` has not; None if git does not know one of them."""
    if not (_HASH.fullmatch(old) and _HASH.fullmatch(new)):  # from documents: they must not become options
        return None
    count = _line(root, "rev-list", "--count", f"{old}..{new}")
    return int(count) if count is not None and count.isdecimal() else None


class IndexEntry(NamedTuple):
    """A file in git's index. ``stage`` is not 0 while a merge is unfinished."""

    blob: str
    stage: int
    mtime_seconds: int
    mtime_ns: int  # the rest; 0 where git does not record it

    def is_at(self, written_ns: int) -> bool:
        """Return whether the file is as it was when git last wrote or staged it."""
        seconds, rest = divmod(written_ns, 1_000_000_000)
        return self.mtime_seconds == seconds and self.mtime_ns in (rest, 0)


def index_entries(folder: Path, names: Iterable[str]) -> dict[str, list[IndexEntry]] | None:
    """Return what git's index has of these files of a folder; None if git cannot be asked."""
    output = _output(folder, "ls-files", "--stage", "--debug", "-z", "--", *names)
    if output is None:
        return None
    entries: dict[str, list[IndexEntry]] = {}
    for blob, stage, name, seconds, rest in _INDEX_ENTRY.findall(output):
        entry = IndexEntry(blob.decode(), int(stage), int(seconds), int(rest))
        entries.setdefault(name.decode("utf-8", "surrogateescape"), []).append(entry)
    return entries if entries or not output else None  # None: an unknown form of output


def object_names(folder: Path, expressions: Sequence[str]) -> list[str | None] | None:
    """Return the object that each expression names (None: there is no such object); None if git cannot be asked."""
    lines = "".join(f"{each}\n" for each in expressions).encode("utf-8", "surrogateescape")
    done = _run(folder, "cat-file", "--batch-check=%(objectname)", stdin=lines)
    if done is None or done.exit_code != 0:
        return None
    answers = done.stdout.decode("utf-8", "replace").splitlines()
    names = [each if _HASH.fullmatch(each) else None for each in answers]
    return names if len(names) == len(expressions) else None


def commit(root: Path, files: Iterable[Path], message: str) -> str:
    """Commit exactly these files, ignored or not, and return the new head; ProcessError with git's message if it fails.

    Other staged files stay staged. If git fails, the files are unstaged again.
    """
    names = [str(file) for file in files]
    no_filters = _switch_off_filters(root)
    if no_filters is None:
        raise ProcessError(f"{root}: git cannot be asked here; nothing was committed.", path=root)
    try:
        _run_or_raise(root, "add", "--force", "--", *names, settings=no_filters)
        _run_or_raise(
            root,
            "commit",
            "--quiet",
            "--no-verify",
            "--no-gpg-sign",
            "--message",
            message,
            "--only",
            "--",
            *names,
            settings=no_filters,
        )
    except ProcessError:
        _run(root, "reset", "--quiet", "--", *names)
        raise
    return head(root) or ""


def _run_or_raise(root: Path, *arguments: str, settings: Mapping[str, str]) -> None:
    done = _run(root, *arguments, settings=settings)
    if done is None:
        raise ProcessError(f"{root}: git {arguments[0]} gave no answer; nothing was committed.", path=root)
    if done.exit_code != 0:
        raise ProcessError(
            f"{root}: git {arguments[0]} refused: {done.complaint}. Nothing was committed.", path=root
        )


def _switch_off_filters(root: Path) -> dict[str, str] | None:
    """Return settings that disable the filters of the repository's own configuration, which ``git status`` would run.

    Filters of the user's configuration stay: without them every file of git-lfs would count as changed.
    """
    listed = _run(root, "config", "--null", "--name-only", "--show-scope", "--get-regexp", r"^filter\.")
    if listed is None or listed.exit_code not in (0, 1):  # 1: no filters
        return None
    words = listed.stdout.decode("utf-8", "surrogateescape").split("\0")
    drivers = {
        key.rpartition(".")[0]
        for scope, key in zip(words[::2], words[1::2], strict=False)
        if scope in {"local", "worktree"}
    }
    return {
        f"{driver}.{name}": value
        for driver in drivers
        for name, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    }


def _digest(root: Path, name: str) -> str | None:
    """Return the SHA-256 of a file; None if it is missing, too large or not below ``root``."""
    try:
        path = paths.require_inside(root, root / name)
        return hashlib.sha256(files.read_regular_file(path, _LARGEST_HASHED_BYTES)).hexdigest()
    except (OSError, ValueError, OutsideFolderError):  # ValueError: an impossible file name
        return None


def _line(root: Path, *arguments: str) -> str | None:
    output = _output(root, *arguments)
    text = "" if output is None else output.decode("utf-8", "surrogateescape").strip("\n")
    return text or None


def _output(root: Path, *arguments: str, settings: Mapping[str, str] = MappingProxyType({})) -> bytes | None:
    done = _run(root, *arguments, settings=settings)
    return done.stdout if done is not None and done.exit_code == 0 else None


def _run(
    root: Path, *arguments: str, settings: Mapping[str, str] = MappingProxyType({}), stdin: bytes = b""
) -> process.FinishedProcess | None:
    environment = {name: value for name, value in paths.environment().items() if not name.startswith("GIT_")}
    environment |= _ENVIRONMENT
    environment["GIT_CONFIG_COUNT"] = str(len(_HARMLESS) + len(settings))
    for number, (key, value) in enumerate({**_HARMLESS, **settings}.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    try:
        return process.run(
            ["git", *arguments],
            folder=root,
            timeout_seconds=TIMEOUT_SECONDS,
            stdin=stdin,
            environment=environment,
        )
    except ProcessError:
        return None
