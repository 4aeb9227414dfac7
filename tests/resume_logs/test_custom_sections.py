"""A plugin that fails is named and skipped."""

import sys

import pytest

from leftoff.core.metrics import ContextMetrics
from leftoff.resume_logs.custom_sections import any_condition_triggers, build_custom_sections

METRICS = ContextMetrics(200_000, 100_000)


class Section:
    def __init__(self, name="Weather", budget=100, content="rain"):
        self.name, self.budget, self.content = name, budget, content

    def get_section_name(self):
        return self.name

    def get_token_budget(self):
        return self.budget

    def generate_content(self, session_state):
        return self.content(session_state) if callable(self.content) else self.content


def leave(_):
    sys.exit(3)


def fail(_):
    raise KeyError("errors")


def test_sections_come_in_the_order_of_registration():
    """Name, budget and content are those of the plugins."""
    sections, troubles = build_custom_sections(
        [Section("B"), Section("A", 5, lambda state: state["x"])], {"x": "content"}
    )
    assert [(each.name, each.budget_tokens, each.content) for each in sections] == [
        ("B", 100, "rain"),
        ("A", 5, "content"),
    ]
    assert troubles == []


@pytest.mark.parametrize(
    ("provider", "how"),
    [
        (Section(content=fail), "KeyError: 'errors'"),
        (Section(content=leave), "SystemExit: 3"),
        (Section(content=b"bytes"), "its content is of type bytes, not text"),
        (Section(content=None), "its content is of type NoneType, not text"),
        (Section(name=None), "its section name is None, not a line of text"),
        (Section(name=" "), "its section name is ' ', not a line of text"),
        (Section(budget="many"), "its token budget is 'many', not a whole number from 0 up"),
        (Section(budget=True), "its token budget is True"),
        (Section(budget=-1), "its token budget is -1"),
        (object(), "AttributeError"),
    ],
)
def test_a_failing_provider_is_named_and_skipped(provider, how):
    """The error names its class and how it failed."""
    sections, (trouble,) = build_custom_sections([Section("Before"), provider, Section("After")], {})
    assert [each.name for each in sections] == ["Before", "After"]
    assert str(trouble).startswith(f"Plugin {type(provider).__module__}.{type(provider).__name__} failed")
    assert how in str(trouble)


class Condition:
    def __init__(self, answer):
        self.answer = answer

    def should_trigger(self, context_metrics, session_state):
        return self.answer(session_state) if callable(self.answer) else self.answer


def test_one_condition_is_enough():
    """The others are not asked."""
    assert any_condition_triggers([Condition(False), Condition(True), Condition(fail)], METRICS, {}) == (
        True,
        [],
    )
    assert any_condition_triggers([Condition(False)], METRICS, {}) == (False, [])
    assert any_condition_triggers([], METRICS, {}) == (False, [])


def test_a_failing_condition_is_named_and_the_others_are_asked():
    """A failing condition can neither make a log due nor prevent one."""
    triggered, (trouble,) = any_condition_triggers(
        [Condition(fail), Condition(lambda state: state["e"])], METRICS, {"e": 1}
    )
    assert triggered is True
    assert "Condition failed and was skipped: KeyError" in str(trouble)
