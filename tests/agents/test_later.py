"""Modules are loaded when something of theirs is first asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from leftoff.agents import fields
from leftoff.agents.later import later


def _said(program: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.split()


def test_loaded_when_it_is_first_asked_for() -> None:
    """Not when it is named."""
    program = """
import sys
from leftoff.agents import fields
from leftoff.agents.later import later
globals().update(later("leftoff.agents.codex", "wiring scribe"))
name = "leftoff.agents.codex.wiring"
print(name in sys.modules)
wiring.settings_files
print(name in sys.modules, "leftoff.agents.codex.scribe" in sys.modules)
"""
    assert _said(program) == ["False", "True", "False"]


def test_the_very_thing_that_the_module_has() -> None:
    """And what it has not is said as ever."""
    module = later("leftoff.agents", "fields")["fields"]
    assert module.text is fields.text
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = module.nothing_of_the_kind


def test_an_adapter_loads_none_of_what_only_some_commands_need() -> None:
    """Somebody waits for the gauge."""
    program = """
import sys
import leftoff.agents.claude.adapter, leftoff.agents.codex.adapter
late = ("wiring", "copying", "scribe", "live_pieces", "events", "starting")
print(*[name for name in sys.modules if name.startswith("leftoff.agents.c") and name.endswith(late)])
print("leftoff.agents.codex.glance" in sys.modules, "subprocess" in sys.modules)
"""
    assert _said(program) == ["False", "False"]
