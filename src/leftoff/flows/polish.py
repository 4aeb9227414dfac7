"""Let the summariser of the user's settings rephrase a resume log; with the default, the rules, nothing changes."""

from __future__ import annotations

import shlex

from leftoff import plugins
from leftoff.errors import ConfigError
from leftoff.flows.agents import agents_here
from leftoff.model.protocols import CanRunHeadless, Summariser
from leftoff.model.resume_log import ResumeLog
from leftoff.resume_logs import polish as rephrasing
from leftoff.resume_logs.polish import Polished
from leftoff.summarisers.command import Command

TIMEOUT_SECONDS = 60.0
RULES = "rules"


def polish(log: ResumeLog, summariser: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> Polished:
    """The log as the summariser called so makes it read; the rules' version wherever that fails."""
    if summariser == RULES:
        return Polished(log=log, rephrased=0, refused=0)
    return rephrasing.polish(log, summariser_called(summariser), timeout_seconds=timeout_seconds)


def summariser_called(name: str) -> Summariser:
    """One that is built in or brought along, an agent that answers without tools, or any command."""
    if name in plugins.names("summarisers"):
        made: Summariser = plugins.make("summarisers", name)
        return made
    for agent in agents_here():
        if agent.id == name:
            if isinstance(agent, CanRunHeadless):
                return Command(arguments=agent.headless_command())
            raise ConfigError(
                f"summariser: {agent.name} cannot answer without tools. Name another, or: {RULES}."
            )
    try:
        arguments = tuple(shlex.split(name))
    except ValueError as error:
        raise ConfigError(f"summariser: {name!r} is no command: {error}.") from error
    if not arguments:
        raise ConfigError(f"summariser: it is empty. Name {RULES}, an agent or a command.")
    return Command(arguments=arguments)
