"""The sandbox itself, seen from inside: what every other scenario relies on."""

from drive import Agent
from sandbox import INSIDE, Sandbox
from scenario import command, pairs, scenario, succeeded


@scenario(clients=("claude", "codex"))
def sealed(agent: Agent, sandbox: Sandbox) -> None:
    """What the agent runs sees no network but loopback, no process but the sandbox's, and a scratch HOME."""
    networks = "echo networks: $(tail -n +3 /proc/net/dev | cut -d: -f1)"
    processes = "echo processes: $(ls /proc | grep -c '^[0-9]*$')"
    reach = "(echo > /dev/tcp/192.0.2.1/80) 2>&1 | grep -o unreachable"
    look = f"{networks}; {processes}; echo home: $HOME; {reach}"
    run = succeeded(agent.prompt(sandbox, f"Where are you?\n{command(agent, look)}\n#say there"))
    (result,) = pairs(run.last).values()
    seen = dict(line.split(":", 1) for line in result.splitlines() if ":" in line)
    assert seen["networks"].split() == ["lo"], result
    assert int(seen["processes"]) < 20, result
    assert seen["home"].strip() == str(INSIDE / "home" / "dev"), result
    assert "unreachable" in result, result
