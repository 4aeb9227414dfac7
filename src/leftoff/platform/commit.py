"""The commit that this leftoff was built from, for ``leftoff --version`` and bug reports."""

from __future__ import annotations

import subprocess
from pathlib import Path

_BUILT_FROM = "commit.txt"  # in the installed package; hatch_build.py writes it
_SECONDS = 2


def commit() -> str | None:
    """Return the beginning of the commit: as noted in the build, or of the checkout that this runs from; None if neither."""
    package = Path(__file__).resolve().parent.parent
    try:
        return (package / _BUILT_FROM).read_text(encoding="ascii").strip() or None
    except OSError:
        return _commit_of_checkout(package)


def _commit_of_checkout(package: Path) -> str | None:
    """Ask git, but only if the package lies in a checkout of leftoff: the user's own repository may hold a virtual environment."""
    checkout = package.parent.parent
    if not (checkout / ".git").exists() or not (checkout / "hatch_build.py").is_file():
        return None
    command = ["git", "-C", str(checkout), "rev-parse", "--short=9", "HEAD"]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return ended.stdout.strip() or None
