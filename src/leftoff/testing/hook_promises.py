"""The promises of an agent that has hooks, one test each.

Subclass ``HookPromises`` in your tests, say how the adapter is made and which settings people start from; pytest does the
rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from leftoff.errors import ConfigError
from leftoff.model.protocols import HasHooks
from leftoff.model.wiring import Commands, Wired, hook_command, reverted, statusline_command

COMMANDS = Commands(
    hook=hook_command("/opt/a b/python", "/home/dev/.local/share/leftoff/fast.py", "agent"),
    statusline=statusline_command("/opt/a b/python"),
)
NEWER = Commands(
    hook=hook_command("/usr/bin/python3", "/srv/it's/leftoff/fast.py", "agent"),
    statusline=statusline_command("/usr/bin/python3"),
)


class HookPromises:
    """Every promise of ``leftoff.model.protocols.HasHooks``."""

    def make_agent(self, home: Path) -> HasHooks:
        """The adapter, looking at ``home``."""
        raise NotImplementedError

    def starting_settings(self) -> Mapping[str, bytes | None]:
        """Settings that people have before we come, by a name for each; None: no file."""
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
        """Byte for byte, whatever the settings were."""
        for name, before, done in self._all_wired(agent):
            assert done.text != before, name
            assert reverted(done.text, done.trace.edits) == before, name

    def test_everything_foreign_means_the_same_as_before(self, agent: HasHooks) -> None:
        """Our entries beside, the rest is untouched; without ours it is all there is."""
        for name, before, done in self._all_wired(agent):
            for was in (done.trace, None):
                text = agent.unwired(done.text, was, where=Path("x"))
                assert agent.ours_in(text, where=Path("x")) == (), name
                assert _pruned(json.loads(text)) == _pruned(json.loads(before or "{}")), name

    def test_what_is_remembered_brings_back_empty_lists_too(self, agent: HasHooks) -> None:
        """With the trace nothing goes that was there before us."""
        for name, before, done in self._all_wired(agent):
            text = agent.unwired(done.text, done.trace, where=Path("x"))
            assert json.loads(text) == json.loads(before or "{}"), name

    def test_every_line_of_others_stays_as_it_was(self, agent: HasHooks) -> None:
        """Nothing is laid out anew: each line of before is still there, but for a comma, or what now holds ours."""
        for name, before, done in self._all_wired(agent):
            lines = before.split("\n")
            if "\n" in before.strip():
                there = {*lines}
                assert sum(line in there for line in done.text.split("\n")) >= len(lines) - 4, name

    def test_settings_that_others_have_changed_since_lose_only_ours(self, agent: HasHooks) -> None:
        """Laid out anew, with new entries before and behind ours."""
        for name, before, done in self._all_wired(agent):
            said = json.loads(done.text)
            said = {"first": 1, **said, "last": {"a": [1]}}
            for groups in said["hooks"].values():
                groups.insert(0, {"hooks": [{"type": "command", "command": "new"}]})
            text = agent.unwired(json.dumps(said, indent=3), done.trace, where=Path("x"))
            left = json.loads(text)
            assert agent.ours_in(text, where=Path("x")) == (), name
            assert (left["first"], left["last"]) == (1, {"a": [1]}), name
            hooks = json.loads(before or "{}").get("hooks", {})
            for event, groups in left["hooks"].items():
                assert groups[0]["hooks"][0]["command"] == "new", name
                assert groups[1:] == hooks.get(event, []), name

    def test_an_entry_that_somebody_put_among_others_goes_alone(self, agent: HasHooks) -> None:
        """The group that it stands in stays, with its matcher."""
        said = json.loads(agent.wired("", COMMANDS, (), where=Path("x")).text)
        own = said["hooks"]["Stop"][0]["hooks"][0]
        theirs = {"type": "command", "command": "theirs"}
        for entries in ([own, theirs], [theirs, own], [theirs, own, theirs]):
            text = json.dumps({"hooks": {"Stop": [{"matcher": "m", "hooks": entries}, 3, {"hooks": [4]}]}})
            left = json.loads(agent.unwired(text, None, where=Path("x")))
            kept = [entry for entry in entries if entry is theirs]
            assert left == {"hooks": {"Stop": [{"matcher": "m", "hooks": kept}, 3, {"hooks": [4]}]}}

    def test_what_an_older_leftoff_wrote_is_ours_too(self, agent: HasHooks) -> None:
        """Another interpreter, another folder: told by its shape."""
        for name, before, _ in self._all_wired(agent):
            older = agent.wired(before, NEWER, (), where=Path("x"))
            assert agent.ours_in(older.text, where=Path("x")), name
            assert agent.unwired(older.text, older.trace, where=Path("x")) != older.text, name

    def test_unwiring_what_is_not_ours_changes_nothing(self, agent: HasHooks) -> None:
        """Not a byte."""
        for name, content in self.starting_settings().items():
            before = (content or b"").decode()
            assert agent.unwired(before, None, where=Path("x")) == before, name

    @pytest.mark.parametrize(
        "text", ["{", "[]", '{"a": 1,}', "nothing", '{"hooks": []}', '{"hooks": {"Stop": {}}}']
    )
    def test_broken_settings_are_refused(self, agent: HasHooks, text: str) -> None:
        """With the file that has to be mended; nothing is guessed."""
        with pytest.raises(ConfigError, match=r"settings\.file"):
            agent.wired(text, COMMANDS, (), where=Path("settings.file"))

    @pytest.mark.parametrize(
        "text", ["{", "[]", "nothing", "", '{"hooks": 3}', '{"hooks": {"Stop": [1, {"hooks": [2]}]}}']
    )
    def test_looking_into_broken_settings_finds_nothing(self, agent: HasHooks, text: str) -> None:
        """Who only looks is told nothing, and is not stopped."""
        assert agent.ours_in(text, where=Path("x")) == ()

    def test_nothing_is_written(self, agent: HasHooks, tmp_path: Path) -> None:
        """Texts in, texts out."""
        before = sorted(tmp_path.rglob("*"))
        self.test_everything_foreign_means_the_same_as_before(agent)
        agent.hooks_here(tmp_path / "project")
        agent.hook_troubles("user", tmp_path / "project")
        assert sorted(tmp_path.rglob("*")) == before

    def _all_wired(self, agent: HasHooks) -> Iterator[tuple[str, str, Wired]]:
        for name, content in self.starting_settings().items():
            before = (content or b"").decode()
            yield name, before, agent.wired(before, COMMANDS, (), where=Path("x"))


def _pruned(said: Any) -> Any:
    """Without empty lists and objects, which may go when nobody remembers whose they were."""
    if isinstance(said, dict):
        inner = {key: _pruned(value) for key, value in said.items()}
        return {key: value for key, value in inner.items() if value not in ({}, [])}
    return said
