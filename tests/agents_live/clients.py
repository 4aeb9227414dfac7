"""Download the pinned clients and some older versions of them from npm, and find their executables.

A version is downloaded once and used only when its installation was complete; two runs at the same time do not collide.
Only npm is run, never a client. As a script it downloads every client: `make clients` does this outside the sealed
environment, because on some machines npm needs the user's own configuration to reach a registry.
"""

import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

INSTALL_SECONDS = 900
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The PATH that clients get."""


class ClientMissingError(Exception):
    """A client could not be downloaded or has no executable for this platform."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One entry of clients.json."""

    name: str
    package: str
    version: str
    older_versions: tuple[str, ...]
    """Versions that scenarios ask for besides the pinned one."""
    executable: str
    """Pattern below the installed tree; `{platform}` is npm's name of this platform."""

    @property
    def folder(self) -> Path:
        return clients_folder() / f"{self.name}-{self.version}"


def main() -> int:
    for client in pinned_clients().values():
        for version in (client.version, *client.older_versions):
            sys.stdout.write(f"{client.name} {version}: {ensure_installed(client.name, version)}\n")
    return 0


def ensure_installed(name: str, version: str | None = None) -> Path:
    """Return the executable of a client, of the pinned version unless another is given; download it first if needed."""
    client = pinned_clients()[name]
    client = client if version is None else replace(client, version=version)
    if not client.folder.is_dir():
        client.folder.parent.mkdir(parents=True, exist_ok=True)
        with file_lock(client.folder.parent / ".lock"):
            if not client.folder.is_dir():  # another run may have fetched it while we waited
                install(client)
    return executable(client)


def pinned_clients() -> dict[str, Client]:
    text = Path(__file__).with_name("clients.json").read_text(encoding="utf-8")
    return {
        name: Client(name=name, older_versions=tuple(fields.pop("older_versions", ())), **fields)
        for name, fields in json.loads(text).items()
    }


def clients_folder() -> Path:
    folder = os.environ.get("LEFTOFF_CLIENTS", "")  # noqa: TID251 - the harness is not part of leftoff
    if not folder:
        raise ClientMissingError(
            "LEFTOFF_CLIENTS is not set. It names the folder that keeps the real agents; `make live` sets it."
        )
    return Path(folder)


def install(client: Client) -> None:
    """Install in a temporary folder and rename it, so that a partial installation is never used."""
    partial = Path(tempfile.mkdtemp(prefix=f".{client.name}-", dir=client.folder.parent))
    # npm looks upwards for a project; with this file it stops here. Not --prefix: that hides the machine's global npmrc.
    (partial / "package.json").write_text("{}", encoding="utf-8")
    # Scripts are not needed (the native file comes in a platform package) and would run foreign code.
    command = ["npm", "install", f"{client.package}@{client.version}"]
    command += [
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-package-lock",
        "--no-update-notifier",
        "--loglevel=error",
    ]
    try:
        completed = subprocess.run(
            command, cwd=partial, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
        if completed.returncode != 0:
            raise ClientMissingError(
                f"npm could not fetch {client.package}@{client.version}. Try `make clients`.\n{completed.stderr.strip()}"
            )
        partial.rename(client.folder)
    except FileNotFoundError:
        raise ClientMissingError(
            "npm is not on the PATH. The real agents come from npm: install Node.js, then `make clients`."
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def executable(client: Client) -> Path:
    pattern = client.executable.format(platform=npm_platform())
    # The shortest name first: npm leaves out a `-musl` package on glibc and the other way round, but not every version does.
    found = sorted(client.folder.glob(pattern), key=lambda path: (len(str(path)), path))
    script = client.folder / "node_modules" / ".bin" / client.name
    if not found and script.resolve().suffix == ".js":  # older clients are a script that Node.js runs
        if shutil.which("node", path=SEARCH_PATH) is None:
            raise ClientMissingError(f"{client.name} {client.version} needs node in {SEARCH_PATH}.")
        return script
    if not found:
        raise ClientMissingError(
            f"{client.folder}: no file {pattern}. Remove that folder and run `make clients` again."
        )
    return found[0]


def npm_platform() -> str:
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(
        platform.machine().lower(), platform.machine()
    )
    return f"{sys.platform}-{machine}"


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    with path.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main())
