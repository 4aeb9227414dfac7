"""Find the summariser that a setting names: one from a plugin, an agent that answers without tools, or any command.

A command reads the prompt on standard input and prints the answer. It runs in an empty temporary folder with ``LEFTOFF_DISABLE=1``,
so that an agent's hooks do not start leftoff again, and within a time limit that also ends its children. A failure is an error,
never an empty summary.
"""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import NamedTuple

from leftoff.agents.registry import load_agents
from leftoff.core.protocols import CanRunHeadless, Summariser
from leftoff.errors import ConfigError, ProcessError
from leftoff.platform import paths, process
from leftoff.plugins import make as make_plugin
from leftoff.plugins import names as plugin_names

TIMEOUT_SECONDS = 60.0
RULES = "rules"
_MAX_ANSWER_BYTES = 4 * 1024 * 1024


def find_summariser(name: str) -> Summariser:
    """Return the summariser that a setting names; raise ConfigError where it names none."""
    if name in plugin_names("summarisers"):
        summariser: Summariser = make_plugin("summarisers", name)
        return summariser
    for agent in load_agents():
        if agent.id == name:
            if isinstance(agent, CanRunHeadless):
                return CommandSummariser(arguments=agent.headless_command())
            raise ConfigError(
                f"summariser: {agent.name} cannot answer without tools. Name another, or: {RULES}."
            )
    try:
        arguments = tuple(shlex.split(name))
    except ValueError as error:
        raise ConfigError(f"summariser: {name!r} is not a command: {error}.") from error
    if not arguments:
        raise ConfigError(f"summariser: it is empty. Name {RULES}, an agent or a command.")
    return CommandSummariser(arguments=arguments)


class CommandSummariser(NamedTuple):
    """A summariser that runs a program; its arguments never pass through a shell."""

    arguments: tuple[str, ...]

    def summarise(self, prompt: str, *, timeout_seconds: float) -> str:
        """Return what the program prints when it is given ``prompt``."""
        with tempfile.TemporaryDirectory(prefix="leftoff-summary-") as folder:
            ended = process.run(
                self.arguments,
                timeout_seconds=timeout_seconds,
                folder=Path(folder),
                stdin=prompt.encode("utf-8", "replace"),
                environment=paths.environment() | {"LEFTOFF_DISABLE": "1"},
            )
        name = self.arguments[0]
        if ended.exit_code != 0:
            raise ProcessError(f"{name}: no summary: {ended.complaint}.")
        if len(ended.stdout) > _MAX_ANSWER_BYTES:
            raise ProcessError(f"{name}: no summary: it printed {len(ended.stdout):,} bytes.")
        answer = ended.stdout.decode("utf-8", "replace").strip()
        if not answer:
            raise ProcessError(f"{name}: no summary: it printed nothing.")
        return answer
