"""What all nouns of the model have in common, and the few that are nothing but their fields."""

import dataclasses
import importlib
import inspect
import pkgutil
from datetime import UTC, datetime
from pathlib import PurePosixPath

import pytest

import leftoff.model
from leftoff.model.occupancy import Occupancy
from leftoff.model.protocols import Agent, CanCopy, CanRunHeadless
from leftoff.model.records import Usage
from leftoff.model.script import Asked, Call, Compacted, Delegated, Replied, Script
from leftoff.model.session import Parent, SessionEntry
from leftoff.model.session_node import SessionNode
from leftoff.model.usage_state import UsageState

MODULES = [
    importlib.import_module(f"leftoff.model.{found.name}")
    for found in pkgutil.iter_modules(leftoff.model.__path__)
]
VALUES = [
    value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, type) and dataclasses.is_dataclass(value) and value.__module__ == module.__name__
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.__name__)
def test_every_noun_is_frozen_slotted_and_says_what_it_is(value):
    """Values can be shared by all rooms because nobody can change their fields."""
    assert value.__dataclass_params__.frozen
    assert "__slots__" in vars(value) or value is UsageState  # whose __dict__ the design hands on
    assert inspect.getdoc(value)
    assert not inspect.getdoc(value).startswith(f"{value.__name__}(")


def test_a_noun_has_one_name():
    """The same word never stands for two classes of the model."""
    names = [value.__name__ for value in VALUES]
    assert len(names) == len(set(names)) > 20


def test_capabilities_are_told_by_what_an_adapter_can_do():
    """A class that starts an agent headless is no agent that we can copy for."""

    class Headless:
        def headless_command(self):
            return ("agent", "-p")

    assert isinstance(Headless(), CanRunHeadless)
    assert not isinstance(Headless(), CanCopy)
    assert not isinstance(Headless(), Agent)


def test_a_session_node_knows_its_parent_and_that_it_may_be_gone():
    """The four fields of the design come first; a missing file is said, not raised."""
    old = SessionNode(PurePosixPath("old.jsonl"), None, missing=True)
    new = SessionNode(PurePosixPath("new.jsonl"), "trimmed", None, old)
    assert new.parent is old
    assert (old.parent, old.missing, new.missing) == (None, True, False)


def test_what_is_not_known_is_none():
    """Of a list entry, a parent and an occupancy, no number is made up."""
    noon = datetime(2026, 1, 6, 12, tzinfo=UTC)
    entry = SessionEntry(agent="x", session_id="s", transcript="t", size_bytes=5, modified_at=noon)
    unknown = (
        entry.used_tokens,
        entry.window_tokens,
        entry.compactions,
        entry.first_prompt,
        entry.model,
        entry.parent,
    )
    assert unknown == (None,) * 6
    occupancy = Occupancy(used_tokens=None)
    assert (occupancy.model, occupancy.window_tokens) == (None, None)
    assert Parent(session_id="s", transcript=None, derivation="forked").transcript is None


def test_a_script_tells_events_in_order():
    """An interrupted call has no answer, and a reply may be calls alone."""
    noon = datetime(2026, 1, 6, 12, tzinfo=UTC)
    usage = Usage(input_tokens=10, output_tokens=1)
    step = Replied(at=noon, usage=usage, calls=(Call(tool="Read", input={"path": "a"}, answer=None),))
    events = (
        Asked(text="go", at=noon),
        step,
        Delegated(task="look", steps=(step,), answer="seen", at=noon, usage=usage),
        Compacted(summary="so far", before_tokens=100, after_tokens=10, automatic=True, at=noon),
    )
    script = Script(session_id="s", project="/p", branch="main", model="m", window_tokens=100, events=events)
    assert [*script.events] == [*events]
    assert (step.text, step.thinking, step.calls[0].failed, step.calls[0].image) == ("", "", False, None)
