"""The same project on two machines that share an S3 bucket."""

import json
import os
import subprocess
import sysconfig
from pathlib import Path

from drive import Agent
from installation import check_nothing_logged, install, run_leftoff, saved_logs, state_folder
from sandbox import Running, Sandbox
from scenario import require_success, scenario, shell_call
from scenarios.next_session import restored_log
from screens import open_client, request_with, submit

ADDRESS = "127.0.0.1:9444"
KEY, SECRET = "LEFTOFFSCENARIO0", "between-two-machines"


@scenario(clients=("claude",))
def two_machines(agent: Agent, sandbox: Sandbox) -> None:
    """A session saved on one machine is resumed on another from the bucket, with the paths of the second checkout."""
    _server = serve_bucket(sandbox)
    create_repository(sandbox.project)
    configure_bucket(sandbox)
    install(agent, sandbox)
    old = str(sandbox.path_inside(sandbox.project))
    write = shell_call(agent, f"mkdir -p {old}/src && echo 'cents = 0' > {old}/src/ledger.py")
    run = require_success(
        agent.prompt(sandbox, f"Write {old}/src/ledger.py in cents.\n{write}\n#say half of it is done")
    )
    sandbox.wait_until(
        lambda: len(logs_in_bucket(sandbox)) == 1 and not unsent_logs(sandbox), "the log is in the bucket"
    )
    check_nothing_logged(sandbox)

    switch_to_second_machine(agent, sandbox)
    new = str(sandbox.path_inside(sandbox.project))
    install(agent, sandbox)
    assert saved_logs(sandbox) == []
    output = run_leftoff(sandbox, "resume", "--remote")
    assert f"under {old} rewritten to this checkout" in output, output
    with open_client(agent, sandbox) as screen:
        submit(agent, screen, "continue", "going on")
    log = restored_log(request_with(sandbox, "continue\n"))
    assert run.transcript.stem in log
    assert f"{new}/src/ledger.py" in log, log
    assert f"{old}/src/ledger.py" not in log, log
    check_nothing_logged(sandbox)


def serve_bucket(sandbox: Sandbox) -> Running:
    """Start rclone's S3 server inside the sandbox, with which it ends."""
    (sandbox.disk / "bucket" / "logs").mkdir(parents=True)
    rclone = Path(sysconfig.get_path("scripts")) / "rclone"
    folder = str(sandbox.path_inside(sandbox.disk / "bucket"))
    options = ["--addr", ADDRESS, "--auth-key", f"{KEY},{SECRET}", "--config", os.devnull]
    return sandbox.start_program([str(rclone), "serve", "s3", folder, *options])


def configure_bucket(sandbox: Sandbox) -> None:
    """Write the user's leftoff settings and AWS credentials, the same on every machine."""
    settings = {"storage": "s3", "storage_options": {"bucket": "logs", "endpoint_url": f"http://{ADDRESS}"}}
    for name, text in {
        ".config/leftoff/configuration.yaml": f"context_management: {json.dumps(settings)}\n",
        ".aws/credentials": f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n",
    }.items():
        file = sandbox.home / name
        file.parent.mkdir(parents=True)
        file.write_text(text, encoding="utf-8")


def create_repository(project: Path) -> None:
    git(project, "init", "-q", "-b", "main")
    (project / "README").write_text("ledger\n", encoding="utf-8")
    git(project, "add", "README")
    git(project, "-c", "user.name=a", "-c", "user.email=a@example.invalid", "commit", "-q", "-m", "first")


def switch_to_second_machine(agent: Agent, sandbox: Sandbox) -> None:
    """Continue with another home and another checkout, which share only the bucket with the first."""
    first = sandbox.project
    sandbox.home = sandbox.disk / "home" / "grace"
    sandbox.project = sandbox.home / "code" / "ledger"
    sandbox.project.parent.mkdir(parents=True)
    git(sandbox.project.parent, "clone", "-q", str(first), str(sandbox.project))
    agent.configure(sandbox.home, sandbox.path_inside(sandbox.project))
    configure_bucket(sandbox)


def logs_in_bucket(sandbox: Sandbox) -> list[Path]:
    return [*(sandbox.disk / "bucket" / "logs").rglob("*.json")]


def unsent_logs(sandbox: Sandbox) -> list[Path]:
    return [*(state_folder(sandbox) / "outbox").glob("*.json")]


def git(folder: Path, *arguments: str) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True)
