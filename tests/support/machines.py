"""Two scratch machines, each with its own home and a checkout of the same project at a different path."""

import io
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

import leftoff
from leftoff.cli import main
from leftoff.platform import log, paths
from leftoff.storage.outbox import send_all
from leftoff.storage.repository import configured_backend
from leftoff.workspace import Workspace

REMOTE_URL = "git@git.example.org:shop/shop.git"


class Machine:
    """A home with a checkout; programs run on it see nothing else."""

    def __init__(self, folder: Path, checkout: str, *, environment: dict[str, str] | None = None):
        self.home = folder / "home"
        self.root = folder / checkout
        self.home.mkdir(parents=True)
        inherited = {
            name: paths.environment()[name] for name in ("PATH", "TMPDIR") if name in paths.environment()
        }
        self.environment = inherited | {
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(Path(leftoff.__file__).parents[1]),
            "GIT_CONFIG_NOSYSTEM": "1",
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "CODEX_HOME": str(self.home / ".codex"),
            **(environment or {}),
        }
        (self.home / ".gitconfig").write_text(
            "[user]\n\tname = Test\n\temail = test@example.invalid\n[init]\n\tdefaultBranch = main\n",
            encoding="utf-8",
        )

    @property
    def state_folder(self) -> Path:
        return self.home / ".local" / "state" / "leftoff"

    def configure(self, **settings: object) -> None:
        """Write the user's configuration; JSON is valid YAML."""
        folder = self.home / ".config" / "leftoff"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "configuration.yaml").write_text(
            f"context_management: {json.dumps(settings)}\n", encoding="utf-8"
        )

    def create_repository(self) -> None:
        """Create a repository with one commit."""
        self.root.mkdir(parents=True)
        self.run("git", "init", "-q")
        (self.root / "cart.py").write_text("def total(): ...\n", encoding="utf-8")
        self.run("git", "add", ".")
        self.run("git", "commit", "-q", "-m", "first")
        self.run("git", "remote", "add", "origin", REMOTE_URL)

    def clone(self, other: "Machine") -> None:
        """Clone the project of another machine."""
        self.root.parent.mkdir(parents=True, exist_ok=True)
        self.run("git", "clone", "-q", str(other.root), str(self.root), folder=self.home)
        self.run("git", "remote", "set-url", "origin", "https://someone:token@git.example.org/shop/shop")

    def run(
        self, *command: str, folder: Path | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        ended = subprocess.run(
            command,
            cwd=folder or self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert not check or ended.returncode == 0, (
            f"{command}\n{ended.stdout[-2000:]}\n{ended.stderr[-2000:]}"
        )
        return ended

    @contextmanager
    def on_this_machine(self) -> Iterator[None]:
        """Within the block, this process has the machine's environment and working folder."""
        with pytest.MonkeyPatch.context() as environment:
            for name in paths.environment():
                if name.startswith(("AWS_", "PG", "XDG_", "LEFTOFF_")):
                    environment.delenv(name)
            for name, value in self.environment.items():
                environment.setenv(name, value)
            for folder in self.environment["PYTHONPATH"].split(":"):
                environment.syspath_prepend(folder)
            environment.chdir(self.root)
            yield

    def leftoff(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run the command line in this process, which takes a third of the time of a child process."""
        out, err = io.StringIO(), io.StringIO()
        with self.on_this_machine(), redirect_stdout(out), redirect_stderr(err):
            code = main.run(arguments)
        ended = subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
        assert not check or code == 0, f"{arguments}\n{ended.stdout[-2000:]}\n{ended.stderr[-2000:]}"
        return ended

    def send(self) -> None:
        """Send waiting logs as the background process of a save does, but wait for it."""
        with self.on_this_machine():
            backend = configured_backend(Workspace.open().settings)
            sent = send_all(backend, lock_seconds=60) if backend is not None else None
            if sent is not None and sent.trouble is not None:
                log.write_line(f"{sent.waiting} logs wait to be sent: {sent.trouble}")

    def save(self, session_id: str, **state: object) -> Path:
        """Save a log of that session state and return its local Markdown file."""
        with self.on_this_machine():
            generator = leftoff.ResumeLogGenerator()
            return generator.save_resume_log(generator.generate_from_session_state(session_id, state))

    def waiting(self) -> list[Path]:
        return sorted((self.state_folder / "outbox").glob("*.json"))
