"""What is hidden in a generated session, so that a test can ask whether it was found: rules, a reversal, a secret."""

from __future__ import annotations

from random import Random
from string import ascii_letters, digits

from leftoff.model.values import dataclass
from leftoff.samples import words


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Facts of one session. ``rules`` hold at its end, the last one since the second prompt."""

    rules: tuple[str, ...]
    superseded: str  # stated in the first prompt, taken back in the second
    secret: str  # printed once, by the second call; invented

    @property
    def reversal(self) -> str:
        """The second prompt: the last rule, in the place of the one that was taken back."""
        return self.rules[-1]


def planted(*, seed: int) -> Plan:
    """What ``generate`` hides in every session of this seed that is long enough: 2 prompts, 1 reply."""
    rng = Random(f"{seed}/plan")
    first, second = rng.choice(words.REVERSALS)
    rules = (*rng.sample(words.RULES, k=3), second)
    # The shape of a real token, so that redaction must find it; put together here, so that no scanner does.
    secret = "_".join(("ghp", "".join(rng.choices(ascii_letters + digits, k=36))))
    return Plan(rules=rules, superseded=first, secret=secret)
