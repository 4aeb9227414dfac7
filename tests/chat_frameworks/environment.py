"""An environment with the pinned frameworks, kept beside the real agents so that it is made once.

As a script it makes it: `make frameworks` does so outside the seal, because pip may need the user's own configuration. An
environment is used only when its install was finished.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

INSTALL_SECONDS = 1800
PINS = Path(__file__).with_name("frameworks.txt")


class EnvironmentMissingError(Exception):
    """The environment could not be created."""


def main() -> int:
    sys.stdout.write(f"chat frameworks: {ensure()}\n")
    return 0


def ensure() -> Path:
    """Return the interpreter of the environment, which is created if it is missing."""
    kept = os.environ.get("LEFTOFF_CLIENTS", "")  # noqa: TID251 - the harness is not part of leftoff
    if not kept:
        raise EnvironmentMissingError("LEFTOFF_CLIENTS is not set. `make live` sets it.")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    digest = hashlib.sha256(PINS.read_bytes()).hexdigest()[:12]
    folder = Path(kept) / f"chat-frameworks-{version}-{digest}"
    if not (folder / "ready").is_file():
        install(folder)
    return folder / "bin" / "python"


def install(folder: Path) -> None:
    """The environment is not moved afterwards, because it contains its own path. `ready` says that it is complete."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [
            str(folder / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
            str(PINS),
        ],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
        if done.returncode != 0:
            raise EnvironmentMissingError(f"{command}: {done.stderr.strip()[-2000:]}")
    (folder / "ready").touch()


if __name__ == "__main__":
    sys.exit(main())
