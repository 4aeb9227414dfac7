"""The nouns of a saved chat: who talked, what was said, what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What one answer took. ``estimated``: the agent did not say, so it was reckoned from the words."""

    input_tokens: int
    output_tokens: int
    estimated: bool = False

    @property
    def total(self) -> int:
        """In and out."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            estimated=self.estimated or other.estimated,
        )


NO_TOKENS = Tokens(input_tokens=0, output_tokens=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One query and its answer."""

    at: datetime
    query: str
    answer: str
    seconds: float
    tokens: Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The chat that another goes on from, as that one remembers it. None: that chat began afresh itself."""

    session_id: str
    path: str
    queries: int
    tokens: int
    resumed_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoration:
    """What the agent said when it was given the parent's summary; tokens, but no query."""

    at: datetime
    parent: Parent
    answer: str
    seconds: float
    tokens: Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What stands above the first rule of a saved chat."""

    session_id: str
    date: datetime
    agent: str
    agent_path: str
    resumed_from: str | None = None
    previous_session: str | None = None  # the path of the parent's file


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a chat has come to so far. ``restoration`` None: it began afresh."""

    queries: int = 0
    session: Tokens = NO_TOKENS
    restoration: Tokens | None = None

    @property
    def tokens(self) -> int:
        """Everything, the restoration included."""
        return self.session.total + (self.restoration.total if self.restoration else 0)

    @property
    def estimated(self) -> bool:
        """Whether any of it was reckoned from the words."""
        return self.session.estimated or bool(self.restoration and self.restoration.estimated)

    def after(self, entry: Turn | Restoration) -> Totals:
        """With one more entry."""
        if isinstance(entry, Restoration):
            before = self.restoration or NO_TOKENS
            return Totals(queries=self.queries, session=self.session, restoration=before + entry.tokens)
        return Totals(
            queries=self.queries + 1, session=self.session + entry.tokens, restoration=self.restoration
        )
