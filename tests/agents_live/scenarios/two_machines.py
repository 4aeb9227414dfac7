"""The same project on two machines with a bucket between them: what one left off, the other goes on from."""

import json
import os
import subprocess
import sysconfig
from pathlib import Path

from drive import Agent
from sandbox import Running, Sandbox
from scenario import command, scenario, succeeded
from scenarios.filling_up import install, log_lines
from scenarios.left_off import ANSWER, last, logs, on_screen, whole

ADDRESS = "127.0.0.1:9444"
KEY, SECRET = "LEFTOFFSCENARIO0", "between-two-machines"


@scenario(clients=("claude",))
def two_machines(agent: Agent, sandbox: Sandbox) -> None:
    """Saved on one machine, resumed on another from the bucket: the model is given the paths of the second checkout."""
    _server = serve_bucket(sandbox)
    begin(sandbox.project)
    join(sandbox)
    install(agent, sandbox)
    old = str(sandbox.inside(sandbox.project))
    write = command(agent, f"mkdir -p {old}/src && echo 'cents = 0' > {old}/src/ledger.py")
    run = succeeded(
        agent.prompt(sandbox, f"Write {old}/src/ledger.py in cents.\n{write}\n#say half of it is done")
    )
    sandbox.wait_for(
        lambda: len(in_bucket(sandbox)) == 1 and not waiting(sandbox), "the log is in the bucket"
    )
    assert log_lines(sandbox) == [], log_lines(sandbox)

    move_to_second_machine(agent, sandbox)
    new = str(sandbox.inside(sandbox.project))
    install(agent, sandbox)
    assert logs(sandbox) == []
    ended = sandbox.leftoff("resume", "--remote")
    assert ended.code == 0, ended
    assert f"paths under {old} now stand under this checkout" in ended.stdout, ended.stdout
    with on_screen(agent, sandbox) as screen:
        screen.type("continue\n#say going on")
        screen.wait_for(f"{ANSWER[agent.name]} going on")
    handed = whole(last(sandbox, "continue\n"))
    assert run.transcript.stem in handed
    assert f"{new}/src/ledger.py" in handed, handed
    assert f"{old}/src/ledger.py" not in handed, handed
    assert log_lines(sandbox) == [], log_lines(sandbox)


def serve_bucket(sandbox: Sandbox) -> Running:
    """rclone's S3 server, inside the cell; it ends with it."""
    (sandbox.disk / "bucket" / "logs").mkdir(parents=True)
    rclone = Path(sysconfig.get_path("scripts")) / "rclone"
    arguments = ["serve", "s3", str(sandbox.inside(sandbox.disk / "bucket")), "--addr", ADDRESS]
    return sandbox._start([str(rclone), *arguments, "--auth-key", f"{KEY},{SECRET}", "--config", os.devnull])


def join(sandbox: Sandbox) -> None:
    """The user's own settings and AWS files, as on any machine of this user."""
    settings = {"storage": "s3", "storage_options": {"bucket": "logs", "endpoint_url": f"http://{ADDRESS}"}}
    for name, text in {
        ".config/leftoff/configuration.yaml": f"context_management: {json.dumps(settings)}\n",
        ".aws/credentials": f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n",
    }.items():
        file = sandbox.home / name
        file.parent.mkdir(parents=True)
        file.write_text(text, encoding="utf-8")


def begin(project: Path) -> None:
    """A repository with one commit."""
    git(project, "init", "-q", "-b", "main")
    (project / "README").write_text("ledger\n", encoding="utf-8")
    git(project, "add", "README")
    git(project, "-c", "user.name=a", "-c", "user.email=a@example.invalid", "commit", "-q", "-m", "first")


def move_to_second_machine(agent: Agent, sandbox: Sandbox) -> None:
    """Another home with another checkout, and nothing else in common with the first but the bucket."""
    first = sandbox.project
    sandbox.home = sandbox.disk / "home" / "grace"
    sandbox.project = sandbox.home / "code" / "ledger"
    sandbox.project.parent.mkdir(parents=True)
    git(sandbox.project.parent, "clone", "-q", str(first), str(sandbox.project))
    agent.configure(sandbox.home, sandbox.inside(sandbox.project))
    join(sandbox)


def in_bucket(sandbox: Sandbox) -> list[Path]:
    return [*(sandbox.disk / "bucket" / "logs").rglob("*.json")]


def waiting(sandbox: Sandbox) -> list[Path]:
    return [*(sandbox.home / ".local" / "state" / "leftoff" / "outbox").glob("*.json")]


def git(folder: Path, *arguments: str) -> None:
    named = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=folder, env=named, check=True, capture_output=True)
