"""The promises of an agent whose hook events we understand, one test each.

Subclass ``EventPromises`` in your tests, and say how the adapter is made and what it sends at each event.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from leftoff.hook.fast import READERS
from leftoff.model.hook_event import NOTHING, EventKind, HookEvent, Saying
from leftoff.model.protocols import HasEvents
from leftoff.model.wire import JsonObject

_ALL = Saying(to_user="to the user", to_agent="to the agent", to_summariser="to the summariser")
_NO_EVENTS: tuple[JsonObject, ...] = ({}, {"session_id": "s"}, {"session_id": 5, "hook_event_name": []})


class EventPromises:
    """Every promise of ``leftoff.model.protocols.HasEvents``."""

    def make_agent(self, home: Path) -> HasEvents:
        """The adapter, looking at ``home``."""
        raise NotImplementedError

    def events(self) -> Mapping[EventKind, JsonObject]:
        """What the agent sends at each kind of event that it has."""
        raise NotImplementedError

    @pytest.fixture
    def agent(self, tmp_path: Path) -> HasEvents:
        """The adapter under test."""
        return self.make_agent(tmp_path)

    def understood(self, agent: HasEvents) -> Mapping[EventKind, HookEvent]:
        """The events as the adapter understands them."""
        found = {kind: agent.event(said) for kind, said in self.events().items()}
        return {kind: event for kind, event in found.items() if event is not None}

    def test_every_event_is_understood(self, agent: HasEvents) -> None:
        """As what it is."""
        assert {kind: event.kind for kind, event in self.understood(agent).items()} == {
            kind: kind for kind in self.events()
        }

    def test_no_object_raises(self, agent: HasEvents) -> None:
        """What is no event is None."""
        assert [agent.event(said) for said in _NO_EVENTS] == [None] * len(_NO_EVENTS)

    def test_nothing_to_say_prints_nothing(self, agent: HasEvents) -> None:
        """At any event."""
        assert {agent.reply(event, NOTHING) for event in self.understood(agent).values()} == {b""}

    def test_only_who_hears_is_told(self, agent: HasEvents) -> None:
        """A reply holds the words for the user or the agent where they reach them, and nowhere else: or they were lost."""
        for event in self.understood(agent).values():
            said = agent.reply(event, _ALL)
            assert (b"to the user" in said) is event.hears_user, event.name
            assert (b"to the agent" in said) is event.hears_agent, event.name

    def test_at_the_end_of_a_turn_nobody_speaks_to_the_agent(self, agent: HasEvents) -> None:
        """It would go on, and be told again."""
        assert not self.understood(agent)["stop"].hears_agent

    def test_only_a_prompt_is_blocked(self, agent: HasEvents) -> None:
        """And nothing else can be."""
        for kind, event in self.understood(agent).items():
            assert (b"block" in agent.reply(event, _ALL)) is False, kind
        prompt = self.understood(agent)["prompt"]
        assert b"block" in agent.reply(prompt, Saying(to_user="for us", blocks=True))

    def test_the_fast_path_can_read_its_transcripts(self, agent: HasEvents) -> None:
        """By the reader that it names."""
        assert agent.tail_format in READERS
