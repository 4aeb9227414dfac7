"""Realistic sessions of any size, from a seed: the same arguments give the same events, every time they are read.

Events are made while they are read and forgotten at once, so a gigabyte takes no more memory than a megabyte.
``size_bytes`` is what the session takes as a transcript, in the middle between agents that write little around a text
and agents that write much: see ``weight``. The last event goes beyond it, so sessions below some 30 KB come out larger;
a prompt and a reply are the least there is, some 3 KB.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from uuid import UUID

from leftoff.errors import InvalidValueError
from leftoff.model.script import Event, Script
from leftoff.model.values import dataclass
from leftoff.samples.mix import Mix
from leftoff.samples.plan import Plan, planted
from leftoff.samples.telling import WINDOW_TOKENS, Telling
from leftoff.samples.world import World, project_of

__all__ = ["USUAL", "Mix", "Plan", "generate", "planted"]

USUAL = Mix()

_BYTES_PER_FILE = 20_000  # a longer session works on more files, up to a code base of fair size
_BYTES_PER_LINE = 500  # and on longer ones
_FEWEST_FILES, _MOST_FILES = 4, 48


def generate(*, seed: int, size_bytes: int, options: Mix = USUAL) -> Script:
    """A session that takes about ``size_bytes`` as a transcript."""
    if size_bytes < 1:
        raise InvalidValueError(f"A session takes at least one byte, not {size_bytes}.")
    rng = Random(f"{seed}/session")
    events = _Events(seed=seed, size_bytes=size_bytes, options=options)
    return Script(
        session_id=str(UUID(int=rng.getrandbits(128), version=4)),
        project=project_of(seed),
        branch=f"work/{rng.randrange(100, 999)}",
        model="sample-1",
        window_tokens=WINDOW_TOKENS,
        events=events,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Events:
    """Tells the same session anew each time it is iterated."""

    seed: int
    size_bytes: int
    options: Mix

    def __iter__(self) -> Iterator[Event]:
        size = self.size_bytes
        files = max(_FEWEST_FILES, min(_MOST_FILES, size // _BYTES_PER_FILE))
        world = World(self.seed, files=files, longest_lines=size // _BYTES_PER_LINE)
        rng = Random(f"{self.seed}/telling")
        return Telling(world, rng, planted(seed=self.seed), self.options, size_bytes=size).events()
