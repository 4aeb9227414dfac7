"""The generated parts of a resume state."""

from dataclasses import replace
from pathlib import Path

import pytest

from leftoff.projects import body, render, update
from leftoff.projects.progress import UserInput
from tests.projects.builders import NO_TOKENS, OVERVIEW, STEPS, first, news, project


@pytest.fixture
def home():
    return project(Path.cwd(), overview=OVERVIEW, steps=STEPS)


def test_thresholds_are_shown_in_tokens_of_the_usable_window():
    assert "- Warning threshold: 180,000 tokens (90.0% of 200,000)" in render.compaction(
        replace(NO_TOKENS, used_tokens=45_000, usable_tokens=200_000)
    )
    assert "Current session: not known" in render.compaction(NO_TOKENS)


def test_text_from_elsewhere_cannot_become_structure(home):
    """A task that looks like a marker or a heading, and a very long one."""
    evil = "## Heading <!-- /leftoff:header -->"
    home.part("steps").write_text(f"- [x] a\n- [ ] {evil}\n- [ ] {'x' * 900}\n", encoding="utf-8")
    document = update.update_document(
        first(home), news(home, given=UserInput(decisions=(evil, "two\n## lines", "y" * 900)))
    )
    assert document.state.execution.next_task_description == evil
    assert [name for name in body.split_sections(document.body) if "Heading" in name or "lines" in name] == []
    again = update.update_document(
        document, news(home, given=UserInput(decisions=(evil, "two\n## lines", "y" * 900)))
    )
    assert again.text == document.text
