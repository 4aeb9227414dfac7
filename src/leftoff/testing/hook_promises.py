"""The promises of an agent with hooks, one test each.

Subclass ``HookPromises`` and give the settings that users start from; subclass ``EventPromises`` and give what the agent sends at
each event."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from leftoff.core.hook_event import NO_RESPONSE, EventKind, HookEvent, HookResponse
from leftoff.core.hook_settings import (
    AgentCommands,
    WiredSettings,
    hook_command,
    revert_edits,
    statusline_command,
)
from leftoff.core.protocols import HasEvents, HasFastPath, HasHooks
from leftoff.core.wire import JsonObject
from leftoff.errors import ConfigError

COMMANDS = AgentCommands(
    hook=hook_command("/opt/a b/python", "/home/dev/.local/share/leftoff/fast.py", "agent"),
    statusline=statusline_command("/opt/a b/python"),
)
NEWER = AgentCommands(
    hook=hook_command("/usr/bin/python3", "/srv/it's/leftoff/fast.py", "agent"),
    statusline=statusline_command("/usr/bin/python3"),
)
_ALL = HookResponse(to_user="to the user", to_agent="to the agent", to_summariser="to the summariser")
_NO_EVENTS: tuple[JsonObject, ...] = ({}, {"session_id": "s"}, {"session_id": 5, "hook_event_name": []})


class HookPromises:
    """Every promise of ``leftoff.core.protocols.HasHooks``."""

    def make_agent(self, home: Path) -> HasHooks:
        """Create the adapter for the agent's home folder ``home``."""
        raise NotImplementedError

    def starting_settings(self) -> Mapping[str, bytes | None]:
        """Return settings texts that users have before installation, each with a name; None means no file."""
        raise NotImplementedError

    @pytest.fixture
    def agent(self, tmp_path: Path) -> HasHooks:
        """The adapter under test."""
        return self.make_agent(tmp_path)

    def test_it_has_hooks(self, agent: HasHooks) -> None:
        """The adapter has every method of the protocol."""
        assert isinstance(agent, HasHooks)

    def test_each_scope_has_a_file_of_its_own(self, agent: HasHooks, tmp_path: Path) -> None:
        """The user's settings are not in the project, and a project's are."""
        project = tmp_path / "project"
        assert not agent.settings_files("user", project)[-1].is_relative_to(project)
        assert agent.settings_files("project", project)[-1].is_relative_to(project)

    def test_edits_taken_back_give_the_text_before(self, agent: HasHooks) -> None:
        """Undoing the edits restores every byte."""
        for name, before, done in self._all_wired(agent):
            assert done.text != before, name
            assert revert_edits(done.text, done.trace.edits) == before, name

    def test_everything_foreign_means_the_same_as_before(self, agent: HasHooks) -> None:
        """Without leftoff's entries, the settings mean what they meant before."""
        for name, before, done in self._all_wired(agent):
            for was in (done.trace, None):
                text = agent.unwired(done.text, was, where=Path("x"))
                assert agent.ours_in(text, where=Path("x")) == (), name
                assert _pruned(json.loads(text)) == _pruned(json.loads(before or "{}")), name

    def test_what_is_remembered_brings_back_empty_lists_too(self, agent: HasHooks) -> None:
        """With the recorded edits, nothing is removed that was there before."""
        for name, before, done in self._all_wired(agent):
            text = agent.unwired(done.text, done.trace, where=Path("x"))
            assert json.loads(text) == json.loads(before or "{}"), name

    def test_every_line_of_others_stays_as_it_was(self, agent: HasHooks) -> None:
        """The layout stays: each old line is still there, except for a comma or a line that now contains an entry."""
        for name, before, done in self._all_wired(agent):
            lines = before.split("\n")
            if "\n" in before.strip():
                there = {*lines}
                assert sum(line in there for line in done.text.split("\n")) >= len(lines) - 4, name

    def test_settings_that_others_have_changed_since_lose_only_ours(self, agent: HasHooks) -> None:
        """Entries that were added since, and a new layout, stay."""
        for name, before, done in self._all_wired(agent):
            settings = json.loads(done.text)
            settings = {"first": 1, **settings, "last": {"a": [1]}}
            for groups in settings["hooks"].values():
                groups.insert(0, {"hooks": [{"type": "command", "command": "new"}]})
            text = agent.unwired(json.dumps(settings, indent=3), done.trace, where=Path("x"))
            left = json.loads(text)
            assert agent.ours_in(text, where=Path("x")) == (), name
            assert (left["first"], left["last"]) == (1, {"a": [1]}), name
            hooks = json.loads(before or "{}").get("hooks", {})
            for event, groups in left["hooks"].items():
                assert groups[0]["hooks"][0]["command"] == "new", name
                assert groups[1:] == hooks.get(event, []), name

    def test_only_our_entry_is_removed_from_a_group_with_others(self, agent: HasHooks) -> None:
        """Its group stays, with its matcher."""
        settings = json.loads(agent.wired("", COMMANDS, (), where=Path("x")).text)
        own = settings["hooks"]["Stop"][0]["hooks"][0]
        theirs = {"type": "command", "command": "theirs"}
        for entries in ([own, theirs], [theirs, own], [theirs, own, theirs]):
            text = json.dumps({"hooks": {"Stop": [{"matcher": "m", "hooks": entries}, 3, {"hooks": [4]}]}})
            left = json.loads(agent.unwired(text, None, where=Path("x")))
            kept = [entry for entry in entries if entry is theirs]
            assert left == {"hooks": {"Stop": [{"matcher": "m", "hooks": kept}, 3, {"hooks": [4]}]}}

    def test_what_an_older_leftoff_wrote_is_ours_too(self, agent: HasHooks) -> None:
        """Commands with another interpreter and folder are recognised by their shape."""
        for name, before, _ in self._all_wired(agent):
            older = agent.wired(before, NEWER, (), where=Path("x"))
            assert agent.ours_in(older.text, where=Path("x")), name
            assert agent.unwired(older.text, older.trace, where=Path("x")) != older.text, name

    def test_unwiring_what_is_not_ours_changes_nothing(self, agent: HasHooks) -> None:
        """Not one byte changes."""
        for name, content in self.starting_settings().items():
            before = (content or b"").decode()
            assert agent.unwired(before, None, where=Path("x")) == before, name

    @pytest.mark.parametrize(
        "text", ["{", "[]", '{"a": 1,}', "nothing", '{"hooks": []}', '{"hooks": {"Stop": {}}}']
    )
    def test_broken_settings_are_refused(self, agent: HasHooks, text: str) -> None:
        """The error names the file."""
        with pytest.raises(ConfigError, match=r"settings\.file"):
            agent.wired(text, COMMANDS, (), where=Path("settings.file"))

    @pytest.mark.parametrize(
        "text", ["{", "[]", "nothing", "", '{"hooks": 3}', '{"hooks": {"Stop": [1, {"hooks": [2]}]}}']
    )
    def test_looking_into_broken_settings_finds_nothing(self, agent: HasHooks, text: str) -> None:
        """Reading broken settings gives no hooks and no error."""
        assert agent.ours_in(text, where=Path("x")) == ()

    def test_nothing_is_written(self, agent: HasHooks, tmp_path: Path) -> None:
        """The methods take and return texts."""
        before = sorted(tmp_path.rglob("*"))
        self.test_everything_foreign_means_the_same_as_before(agent)
        agent.hooks_here(tmp_path / "project")
        agent.hook_troubles("user", tmp_path / "project")
        assert sorted(tmp_path.rglob("*")) == before

    def _all_wired(self, agent: HasHooks) -> Iterator[tuple[str, str, WiredSettings]]:
        for name, content in self.starting_settings().items():
            before = (content or b"").decode()
            yield name, before, agent.wired(before, COMMANDS, (), where=Path("x"))


def _pruned(settings: Any) -> Any:
    """Return settings without empty lists and objects, which are removed if the edits are not known."""
    if isinstance(settings, dict):
        inner = {key: _pruned(value) for key, value in settings.items()}
        return {key: value for key, value in inner.items() if value not in ({}, [])}
    return settings


class EventPromises:
    """Every promise of ``leftoff.core.protocols.HasEvents``."""

    def make_agent(self, home: Path) -> HasEvents:
        """Create the adapter for the agent's home folder ``home``."""
        raise NotImplementedError

    def events(self) -> Mapping[EventKind, JsonObject]:
        """Return what the agent sends at each kind of event that it has."""
        raise NotImplementedError

    @pytest.fixture
    def agent(self, tmp_path: Path) -> HasEvents:
        """The adapter under test."""
        return self.make_agent(tmp_path)

    def understood(self, agent: HasEvents) -> Mapping[EventKind, HookEvent]:
        """Return the events as the adapter understands them."""
        events = {kind: agent.event(payload) for kind, payload in self.events().items()}
        return {kind: event for kind, event in events.items() if event is not None}

    def test_every_event_is_understood(self, agent: HasEvents) -> None:
        """Each event has the right kind."""
        assert {kind: event.kind for kind, event in self.understood(agent).items()} == {
            kind: kind for kind in self.events()
        }

    def test_no_object_raises(self, agent: HasEvents) -> None:
        """Anything that is not an event gives None."""
        assert [agent.event(payload) for payload in _NO_EVENTS] == [None] * len(_NO_EVENTS)

    def test_nothing_to_say_prints_nothing(self, agent: HasEvents) -> None:
        """The reply is empty at every event."""
        assert {agent.reply(event, NO_RESPONSE) for event in self.understood(agent).values()} == {b""}

    def test_a_reply_contains_a_text_only_if_the_event_delivers_it(self, agent: HasEvents) -> None:
        """A reply contains a text exactly if the event reaches the user or the agent; otherwise the text would be lost."""
        for event in self.understood(agent).values():
            reply = agent.reply(event, _ALL)
            assert (b"to the user" in reply) is event.hears_user, event.name
            assert (b"to the agent" in reply) is event.hears_agent, event.name

    def test_the_end_of_a_turn_delivers_nothing_to_the_agent(self, agent: HasEvents) -> None:
        """A text for the agent at the end of a turn would start another turn."""
        assert not self.understood(agent)["stop"].hears_agent

    def test_only_a_prompt_is_blocked(self, agent: HasEvents) -> None:
        """No other event can be blocked."""
        for kind, event in self.understood(agent).items():
            assert (b"block" in agent.reply(event, _ALL)) is False, kind
        prompt = self.understood(agent)["prompt"]
        assert b"block" in agent.reply(prompt, HookResponse(to_user="for us", blocks=True))

    def test_the_fast_path_knows_events_by_the_same_kinds(self, agent: HasEvents) -> None:
        """The rules can be stored as JSON and agree with the adapter on the kind of each event."""
        if not isinstance(agent, HasFastPath):
            pytest.skip("without fast-path rules every event starts the full program")
        rules = agent.fast_path
        assert json.loads(json.dumps(rules)) == rules
        assert {*rules["events"].values()} <= {"prompt", "tools", "stop", "end"}
        for kind, event in self.understood(agent).items():
            assert rules["events"].get(event.name, kind) == kind
