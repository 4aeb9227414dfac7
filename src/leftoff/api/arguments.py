"""Checks of what a caller passes in: the error names the argument, says what it is, and what was expected."""

from __future__ import annotations

from pathlib import Path, PurePath

from leftoff.errors import UsageError
from leftoff.platform import paths

_NAMES = {int: "a whole number", str: "text"}


def require(name: str, value: object, kind: type, *, hint: str = "") -> None:
    """Raise UsageError if ``value`` is not of that kind; ``hint`` says how to make it so."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        expected = _NAMES.get(kind) or ("a mapping" if kind.__name__ == "Mapping" else f"a {kind.__name__}")
        raise UsageError(f"{name} is {value!r:.60}: {expected} was expected.{hint and f' {hint}'}")


def project_folder(project_path: object) -> Path:
    """Return the folder that a caller passes as ``project_path``; None is the working folder."""
    if project_path is None:
        return paths.working_folder()
    return path("project_path", project_path)


def path(name: str, value: object) -> Path:
    """Return ``value`` as a path; raise UsageError if it cannot be one."""
    if isinstance(value, str | PurePath):
        return Path(value)
    raise UsageError(f"{name} is {value!r:.60}: a path was expected.")


def token_count(name: str, value: object) -> int:
    """Return ``value`` if it is a number of tokens; raise UsageError if not."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise UsageError(
        f"{name} is {value!r:.60}: a whole number was expected. Token counts cannot be negative."
    )
