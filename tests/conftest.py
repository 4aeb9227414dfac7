"""Every test has a world of its own: no test reaches the developer's home, agents, servers or git identity."""

from __future__ import annotations

import os
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
from leftoff.system import locks, paths

# Remembered now, because the world below takes it away.
_TRANSCRIPTS = paths.environment().get("LEFTOFF_TRANSCRIPTS")
_FOREIGN = (
    *("CLAUDE", "CODEX", "GEMINI", "OPENCODE", "COPILOT", "ANTHROPIC", "OPENAI", "GOOGLE"),
    *("AWS_", "PG", "GIT_", "XDG_", "LEFTOFF_"),
)

# A busy machine is no bug, and a test leaves nothing behind in the repository. `make stress` takes its own profile.
hypothesis.settings.register_profile("leftoff", deadline=None, database=None, max_examples=30)
hypothesis.settings.register_profile("stress", hypothesis.settings.get_profile("leftoff"), max_examples=300)
hypothesis.settings.load_profile("leftoff")


@pytest.fixture(autouse=True)
def patient_again() -> Iterator[None]:
    """A hook's impatience with locks is the process's; the other tests are not in a hurry."""
    yield
    locks.hurry(locks.DEFAULT_TIMEOUT_SECONDS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: tests wait for their children and for the disk."""
    return (os.cpu_count() or 1) + 1


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are named by their argument: a gzip holds the time, and workers must collect the same names."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """HOME and all that hangs on it below ``tmp_path``; the working folder is ``tmp_path / "work"``. Gives HOME.

    Children run without coverage, which would double their time, unless the test is marked ``measured``.
    """
    home = tmp_path / "home"
    home.mkdir()
    unwanted = _FOREIGN if request.node.get_closest_marker("measured") else (*_FOREIGN, "COVERAGE")
    for name in paths.environment():
        if name.startswith(unwanted):
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
    monkeypatch.setenv("PYTHONPATH", str(Path(leftoff.__file__).parents[1]))  # children run the same code
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Test\n\temail = test@example.invalid\n[init]\n\tdefaultBranch = main\n",
        encoding="utf-8",
    )
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return home


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children run without the measuring of coverage, which loads modules and writes files of its own.

    They do so anyway where nothing is marked ``measured``; a test that is about what its children load asks for it here,
    and holds whatever its file is marked.
    """
    for name in paths.environment():
        if name.startswith("COVERAGE"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def real_transcripts() -> Path:
    """A folder of real transcripts; without one the test is skipped, and says how to give it one."""
    if not _TRANSCRIPTS or not Path(_TRANSCRIPTS).is_dir():
        pytest.skip(
            f"no real transcripts at {_TRANSCRIPTS or 'LEFTOFF_TRANSCRIPTS (not set)'}: "
            "LEFTOFF_TRANSCRIPTS=/a/folder/of/them make test"
        )
    return Path(_TRANSCRIPTS)


@pytest.fixture
def run_python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a piece of Python in a process of its own, with arguments; ``drop()`` in it gives up root's privileges."""

    def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", _DROP + code, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    return run


# To be called after the imports: the ordinary user may not even be able to read the interpreter's folder.
_DROP = """
def drop():
    import os
    if os.geteuid() == 0:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
"""


@pytest.fixture
def has_ended() -> Callable[[int], bool]:
    """Whether a process has ended, or does so within five seconds; a zombie that nobody waits for has."""

    def ended(pid: int) -> bool:
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            state = subprocess.run(
                ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
            )
            if state.stdout.strip()[:1] in {"", "Z"}:
                return True
            time.sleep(0.02)
        return False

    return ended


@pytest.fixture
def ordinary_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of an ordinary user; root's ``tmp_path`` can be reached by nobody else."""
    if os.geteuid() != 0:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        os.chown(folder, 65534, 65534)
        yield Path(folder)


@pytest.fixture
def zstd() -> ModuleType:
    """What compresses here; the test is skipped where nothing does."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    pytest.skip("neither Python 3.14 nor backports.zstd is here: pip install backports.zstd")
