"""Of a prompt that an agent expanded from a command's template, only what differs from the template is the user's."""

import pytest

from leftoff.extraction import templates
from leftoff.testing.builders import Story
from tests.extraction.builders import rules_of, session_state_of

OUTLINE = (
    "# Release a package\n\n"
    + "\n".join(
        f"{n}. Step {n} of the outline names the script that it runs and says why." for n in range(12)
    )
    + "\n\n## Key rules\n\n- Never publish without a tag that was signed.\n"
    + "\n".join(f"- Finding {n} of the reviewers goes into the table as a row of its own." for n in range(12))
)


def story_with_prompts(*prompts: str) -> Story:
    story = Story()
    for prompt in prompts:
        story.asked(prompt).replied("Done.")
    return story


def with_field(typed: str, heading: str = "## User Input") -> str:
    return f"{heading}\n\n```text\n{typed}\n```\n\nYou **MUST** consider it.\n\n{OUTLINE}"


def mission_of(story: Story) -> str:
    mission: str = session_state_of(story)["mission_summary"]
    return mission


@pytest.mark.parametrize("heading", ["## User Input", "## 用户输入", "Raw arguments:", "# User Request:"])
def test_a_field_has_what_the_user_typed_and_the_rest_is_no_rule(heading: str) -> None:
    story = story_with_prompts(with_field("Phase 1", heading))
    assert mission_of(story) == "The user first asked: “Phase 1”"
    assert rules_of(story) == []


def test_a_template_without_an_argument_is_named_by_its_heading_and_has_no_rules_of_the_user() -> None:
    story = story_with_prompts(with_field(""))
    assert mission_of(story) == "The user first asked: “(command template: Release a package)”"
    assert rules_of(story) == []
    assert session_state_of(story)["decisions"] == []


def test_a_template_that_was_pasted_with_its_placeholder_is_the_users_text() -> None:
    pasted = with_field("$ARGUMENTS")
    assert templates.without_template(pasted) == pasted
