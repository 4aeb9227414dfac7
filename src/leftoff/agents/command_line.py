"""Describes an agent's command line, as far as needed to start the agent again on another session with the same flags."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """The commands that start an agent, and what its flags mean.

    ``resume`` is the command to which a session's id is added; ``headless`` answers one prompt on standard input. A flag that is
    named in none of the sets takes one value.
    """

    program: str
    resume: tuple[str, ...]
    headless: tuple[str, ...]
    session_flags: Collection[str]  # choose or name a session
    flags_without_value: Collection[str]
    flags_with_values: Collection[str] = ()  # take all values that follow
    once: Collection[str] = ()  # flags or subcommands with which the agent answers one prompt and exits

    def flags_to_keep(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """Return the arguments without the prompt, the subcommand, and the flags that choose a session."""
        return tuple(
            argument
            for argument, flag in self._with_flags(arguments)
            if flag is not None and flag not in self.session_flags
        )

    def answers_once(self, arguments: Sequence[str]) -> bool:
        """Say whether the agent answers one prompt and exits, so that there is no session to continue."""
        parsed = [*self._with_flags(arguments)]
        subcommand = next((argument for argument, flag in parsed if flag is None), None)
        return subcommand in self.once or any(flag in self.once for _, flag in parsed)

    def _with_flags(self, arguments: Sequence[str]) -> Iterator[tuple[str, str | None]]:
        """Pair each argument with the flag that it is or is a value of; None for a prompt or a subcommand."""
        flag, values_left = None, 0.0
        for argument in arguments:
            if argument == "--":
                return
            if argument.startswith("-") and argument != "-":
                flag, equals, _ = argument.partition("=")
                if equals or flag in self.flags_without_value:
                    values_left = 0
                else:
                    values_left = float("inf") if flag in self.flags_with_values else 1
                yield argument, flag
            elif values_left > 0:
                values_left -= 1
                yield argument, flag
            else:
                yield argument, None
