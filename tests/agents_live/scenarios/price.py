"""What a resumed session costs when the prompt cache is cold: the client's own figure, our table and our line agree."""

import json
import re
from datetime import datetime, timedelta
from pathlib import Path

from drive import Agent
from installation import agent_settings, check_nothing_logged, install
from sandbox import Sandbox
from scenario import require_success, scenario

from leftoff.agents.claude.prices import price

MODELS = ("claude-opus-5-5", "claude-sonnet-4-5", "claude-opus-4-5", "claude-haiku-4-5", "claude-haiku-5-5")
TIME = re.compile(r'(?<="timestamp":")[^"]+')
LONG_AGO = timedelta(hours=9)


@scenario(clients=("claude",))
def cold_cache_price(agent: Agent, sandbox: Sandbox) -> None:
    """The price of the first prompt equals the client's own to the cent, for each model; one line says it on resume."""
    install(agent, sandbox)
    events = record_starts(agent, sandbox)
    for model in MODELS:
        prompt = "Look around.\n#usage 150000\n#say seen"
        first = require_success(agent.prompt(sandbox, prompt, "--model", model))
        age(first.transcript)
        require_success(agent.resume(sandbox, first.transcript, "And?\n#say so", "--model", model))
        told = [event for event in read(events) if event.get("source") == "resume"][-1]
        assert told["prompt_cache_likely_expired"] is True, told
        known = price(model)
        assert known is not None, model
        ours = known.of(told["context_tokens"])
        assert abs(ours - told["estimated_cache_write_usd"]) < 0.005, (model, ours, told)
    first = require_success(agent.prompt(sandbox, "Look around.\n#usage 300000\n#say seen"))
    age(first.transcript)
    with sandbox.open_screen(["--resume", first.transcript.stem]) as screen:
        shown = " ".join(screen.wait_for("cold cache").split())
    told = [event for event in read(events) if event.get("source") == "resume"][-1]
    assert f"about ${told['estimated_cache_write_usd']:.2f}" in shown, (shown, told)
    check_nothing_logged(sandbox)


def record_starts(agent: Agent, sandbox: Sandbox) -> Path:
    """Add a hook that keeps what the client says when a session starts; return the file."""
    file = sandbox.home / "starts.jsonl"
    settings = agent_settings(agent, sandbox)
    values = json.loads(settings.read_bytes())
    command = f"cat >> {sandbox.path_inside(file)}; echo >> {sandbox.path_inside(file)}"
    values["hooks"]["SessionStart"].append({"hooks": [{"type": "command", "command": command}]})
    settings.write_text(json.dumps(values), encoding="utf-8")
    return file


def read(events: Path) -> list[dict]:
    return [json.loads(line) for line in events.read_text("utf-8").split("\n") if line.strip()]


def age(transcript: Path) -> None:
    """Move every time in the transcript back, as if the session had been left hours ago."""

    def earlier(found: re.Match[str]) -> str:
        at = datetime.fromisoformat(found[0]) - LONG_AGO
        return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    transcript.write_text(TIME.sub(earlier, transcript.read_text("utf-8")), encoding="utf-8")
