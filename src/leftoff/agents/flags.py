"""The flags that an agent was started with, as far as they hold for another session of it too."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from leftoff.model.values import dataclass


class _Word(NamedTuple):
    text: str
    flag: str | None  # that it is, or is a value of; None: a prompt, or a subcommand


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What must be known of a command line: which flags choose a session, which take no value, which take several.

    ``once`` are the flags or the subcommands with which the agent answers one prompt and ends.
    """

    of_session: Collection[str]
    alone: Collection[str]
    several: Collection[str] = ()
    once: Collection[str] = ()

    def kept(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """The arguments without prompt, subcommand, and whatever chooses a session. A flag that nobody knows takes one value."""
        return tuple(
            word.text
            for word in self._words(arguments)
            if word.flag is not None and word.flag not in self.of_session
        )

    def answers_once(self, arguments: Sequence[str]) -> bool:
        """Whether nobody sits before it: it answers and ends."""
        words = [*self._words(arguments)]
        subcommand = next((word.text for word in words if word.flag is None), None)
        return subcommand in self.once or any(word.flag in self.once for word in words)

    def _words(self, arguments: Sequence[str]) -> Iterator[_Word]:
        room, flag = 0.0, None  # values that the last flag may still take
        for argument in arguments:
            if argument == "--":
                return
            if argument.startswith("-") and argument != "-":
                flag, equals, _ = argument.partition("=")
                room = 0 if equals or flag in self.alone else float("inf") if flag in self.several else 1
                yield _Word(argument, flag)
            elif room > 0:
                room -= 1
                yield _Word(argument, flag)
            else:
                yield _Word(argument, None)
