"""Fixtures for all tests. No test can reach the developer's home, agents, servers or git identity."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest

import leftoff
from leftoff.platform import paths

# Read now, because the fixture below removes it.
_TRANSCRIPTS = paths.environment().get("LEFTOFF_TRANSCRIPTS")
_REMOVED_PREFIXES = (
    *("CLAUDE", "CODEX", "GEMINI", "OPENCODE", "COPILOT", "ANTHROPIC", "OPENAI", "GOOGLE"),
    *("AWS_", "PG", "GIT_", "XDG_", "LEFTOFF_"),
)

# A shell starts background jobs with SIGINT ignored, nohup ignores SIGHUP, and processes inherit that; tests need the defaults.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# No deadline, because the machine may be busy; no database, because tests must not write into the repository.
hypothesis.settings.register_profile("leftoff", deadline=None, database=None, max_examples=30)
hypothesis.settings.register_profile("stress", hypothesis.settings.get_profile("leftoff"), max_examples=300)
hypothesis.settings.load_profile("leftoff")


pytest_plugins = ["tests.support.fixtures"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Use one worker more than there are cores: tests wait for child processes and for the disk."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give slow tests a longer limit: it is there for hangs, and a shared machine may be four times slower."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(900))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: a gzip contains the time, and all workers must collect the same names."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def isolated_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """Put HOME and everything below it under ``tmp_path``, work in ``tmp_path / "work"``, and return HOME.

    Child processes run without coverage, which would double their time, unless the test is marked ``measured``.
    """
    home = tmp_path / "home"
    home.mkdir()
    prefixes = (
        _REMOVED_PREFIXES if request.node.get_closest_marker("measured") else (*_REMOVED_PREFIXES, "COVERAGE")
    )
    for name in paths.environment():
        if name.startswith(prefixes):
            monkeypatch.delenv(name)
    for name, below in {
        "HOME": "",
        "XDG_CONFIG_HOME": ".config",
        "XDG_DATA_HOME": ".local/share",
        "XDG_STATE_HOME": ".local/state",
        "XDG_CACHE_HOME": ".cache",
        "CLAUDE_CONFIG_DIR": ".claude",
        "CODEX_HOME": ".codex",
        "GIT_CONFIG_GLOBAL": ".gitconfig",
    }.items():
        monkeypatch.setenv(name, str(home / below))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("PATH", _path_without_agents(tmp_path / "programs"))
    code = (Path(leftoff.__file__).parents[1], Path(__file__).parents[1])  # children run the same code
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, code)))
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Test\n\temail = test@example.invalid\n[init]\n\tdefaultBranch = main\n",
        encoding="utf-8",
    )
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return home


def _path_without_agents(links: Path) -> str:
    """Return the PATH, where a folder with a real agent is replaced by links to all else in it."""
    agents = {"claude", "codex"}
    folders = paths.environment().get("PATH", "").split(os.pathsep)
    for number, folder in enumerate(folders):
        if any(Path(folder, agent).exists() for agent in agents):
            (links / str(number)).mkdir(parents=True)
            for program in Path(folder).iterdir():
                if program.name not in agents:
                    (links / str(number) / program.name).symlink_to(program)
            folders[number] = str(links / str(number))
    return os.pathsep.join(folders)


@pytest.fixture
def without_coverage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run child processes without coverage, which loads modules and writes files, even in a file marked ``measured``."""
    for name in paths.environment():
        if name.startswith("COVERAGE"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def real_transcripts() -> Path:
    """Return a folder of real transcripts; without one, skip the test and say how to provide it."""
    if not _TRANSCRIPTS or not Path(_TRANSCRIPTS).is_dir():
        pytest.skip(
            f"no real transcripts at {_TRANSCRIPTS or 'LEFTOFF_TRANSCRIPTS (not set)'}: "
            "LEFTOFF_TRANSCRIPTS=/a/folder/of/them make test"
        )
    return Path(_TRANSCRIPTS)


@pytest.fixture
def run_python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs Python code in a child process; the code may call ``drop()`` to give up root's privileges."""

    def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", _DROP + code, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    return run


# Call it after the imports: the unprivileged user may not be able to read the interpreter's folder.
_DROP = """
def drop():
    import os
    if os.geteuid() == 0:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
"""


@pytest.fixture
def process_has_ended() -> Callable[[int], bool]:
    """Return a function that tells whether a process ends within a minute; a zombie has ended."""

    def has_ended(pid: int) -> bool:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            state = subprocess.run(
                ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
            )
            if state.stdout.strip()[:1] in {"", "Z"}:
                return True
            time.sleep(0.02)
        return False

    return has_ended


@pytest.fixture
def unprivileged_folder(tmp_path: Path) -> Iterator[Path]:
    """Return a folder of an unprivileged user; other users cannot reach root's ``tmp_path``."""
    if os.geteuid() != 0:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        os.chown(folder, 65534, 65534)
        yield Path(folder)


@pytest.fixture
def zstd() -> ModuleType:
    """Return the installed Zstandard module, or skip the test."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    pytest.skip("neither Python 3.14 nor backports.zstd is installed: pip install backports.zstd")
