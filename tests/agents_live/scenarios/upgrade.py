"""An installation of an older leftoff, and the state that it wrote, after only the package is upgraded."""

import io
import json
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

from drive import Agent
from installation import agent_settings, approve_hooks, check_nothing_logged, restored_texts, state_folder
from sandbox import Request, Sandbox
from scenario import scenario, shell_call
from scenarios.full_window import PIN, RULE
from screens import ANSWER_MARK, open_client, submit

import leftoff

REPOSITORY = Path(__file__).parents[3]
OLDER_COMMIT = "bcf948d"  # the last one before the package was restructured
EARLY_COMMAND = "echo recorded by the older version"
LATE_COMMAND = "echo recorded by the newer version"


@scenario(clients=("claude", "codex"))
def upgrade_in_place(agent: Agent, sandbox: Sandbox) -> None:
    """A session that runs while the package is upgraded keeps its hooks, pause, pins, log and index, without a new install."""
    install_package(sandbox, older_package(sandbox))
    run_installed(sandbox, "install", agent.name)
    approve_hooks(agent, sandbox)
    run_installed(sandbox, "pin", PIN)
    with open_client(agent, sandbox) as screen:
        almost_full = f"#usage {int(agent.usable_tokens * 0.91)}\n{shell_call(agent, EARLY_COMMAND)}"
        submit(agent, screen, f"{RULE}\n{almost_full}", "early answer")
        sandbox.wait_until(lambda: running_pauses(sandbox) == 1, "a pause of the older version")
        run_installed(sandbox, "log", "save")
        assert search_hits(sandbox), "the older version finds nothing"
        settings = agent_settings(agent, sandbox).read_bytes()

        install_package(sandbox, Path(leftoff.__file__).parent)
        assert search_hits(sandbox), "the index of the older version is not read"
        full = f"#usage {agent.usable_tokens + 1000}\n{shell_call(agent, 'echo full')}"
        screen.type(f"Continue with it.\n{shell_call(agent, LATE_COMMAND)}\n{full}\n#say late answer")
        sandbox.wait_until(
            lambda: bool(requests_after_compaction(sandbox)), "a request after the compaction", seconds=60
        )
        mark = ANSWER_MARK[agent.name]
        screen.wait_for(f"{mark} late answer", f"{mark} done")
        if agent.name == "claude":  # it comes with the next prompt, once the summary is in the transcript
            screen.type("And now?\n#say the end")
        screen.wait_for("restored")
    restored = "\n".join(restored_texts(requests_after_compaction(sandbox)[0].messages))
    for text in (PIN, RULE):
        assert text in restored, text
    snapshots = finished_pauses(sandbox)
    for text in (EARLY_COMMAND, LATE_COMMAND):
        assert any(text in snapshot for snapshot in snapshots), f"no pause holds: {text}"
    assert PIN in run_installed(sandbox, "log", "show")
    findings = json.loads(run_installed(sandbox, "doctor", "--json"))
    broken = [finding for finding in findings if finding["state"] == "broken"]
    assert broken == [], broken
    assert agent_settings(agent, sandbox).read_bytes() == settings
    check_nothing_logged(sandbox)


def older_package(sandbox: Sandbox) -> Path:
    """Extract the older package from the repository's history."""
    archive = subprocess.run(
        ["git", "-C", str(REPOSITORY), "archive", OLDER_COMMIT, "src/leftoff"],
        capture_output=True,
        check=True,
        timeout=60,
    )
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tree:
        tree.extractall(sandbox.root / "older", filter="data")
    return sandbox.root / "older" / "src" / "leftoff"


def install_package(sandbox: Sandbox, package: Path) -> None:
    """Replace leftoff in the sandbox's own virtual environment, as `pip install --upgrade` would."""
    environment = sandbox.disk / "venv"
    if not environment.exists():
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", str(environment)],
            check=True,
            capture_output=True,
            timeout=60,
        )
    (site_packages,) = environment.glob("lib/python3*/site-packages")
    # The dependencies come from the environment of the tests; its leftoff comes later in the search path than ours.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    shutil.rmtree(site_packages / "leftoff", ignore_errors=True)
    shutil.copytree(package, site_packages / "leftoff", ignore=shutil.ignore_patterns("__pycache__"))


def run_installed(sandbox: Sandbox, *arguments: str) -> str:
    """Run the leftoff of the sandbox's virtual environment, which must succeed, and return what it printed."""
    python = sandbox.path_inside(sandbox.disk / "venv") / "bin" / "python"
    result = sandbox.run_program(str(python), "-P", "-m", "leftoff", *arguments)
    assert result.code == 0, result
    return result.stdout


def running_pauses(sandbox: Sandbox) -> int:
    return len([*state_folder(sandbox).glob("pauses/*.jsonl")])


def finished_pauses(sandbox: Sandbox) -> list[str]:
    snapshots = (sandbox.project / ".leftoff" / "sessions").glob("*.json")
    return [snapshot.read_text(encoding="utf-8") for snapshot in snapshots]


def requests_after_compaction(sandbox: Sandbox) -> list[Request]:
    requests = sandbox.conversation()
    summaries = [number for number, request in enumerate(requests) if request.kind == "summary"]
    return requests[summaries[0] + 1 :] if summaries else []


def search_hits(sandbox: Sandbox) -> list[object]:
    hits: list[object] = json.loads(run_installed(sandbox, "search", "recorded", "--json"))["hits"]
    return hits
