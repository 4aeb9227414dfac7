"""Of a prompt that an agent expanded from a command's template, only what differs from the template is the user's."""

from typing import Any

import pytest

from leftoff.extraction import State, templates
from leftoff.testing.builders import Story
from tests.extraction.builders import folded, rules_of, session_state_of

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


def expanded(typed: str) -> str:
    return f"{OUTLINE}\n\nThe package: {typed}"


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
    assert mission_of(story).startswith(
        "The user first asked: “(command template: Release a package: Step 0 of the outline names"
    )
    assert rules_of(story) == []
    assert session_state_of(story)["decisions"] == []


def test_a_template_is_quoted_as_a_document_once() -> None:
    findings = session_state_of(story_with_prompts(with_field("Phase 1"), with_field("Phase 2")))[
        "key_findings"
    ]
    quoted = [each for each in findings if "Never publish without a tag" in each]
    assert len(quoted) == 1
    assert quoted[0].startswith("The template of a command that the user ran says: “")


def test_a_template_that_was_pasted_with_its_placeholder_is_the_users_text() -> None:
    assert templates.separate_field(with_field("$ARGUMENTS")) is None


def test_of_two_long_prompts_with_the_same_lines_what_differs_is_the_users() -> None:
    """The first is corrected when the second shows that it was a template; the third is known by it."""
    story = story_with_prompts(expanded("parser"), expanded("writer"), expanded("reader"))
    assert mission_of(story) == (
        "The user first asked: “The package: parser”\n\n"
        "Then, in this order:\n- “The package: writer”\n\nThe latest request: “The package: reader”"
    )
    assert rules_of(story) == []


def test_rules_in_what_the_user_typed_are_kept_when_the_template_is_found() -> None:
    first = f"Never touch the parser.\n\n{OUTLINE}"
    assert rules_of(story_with_prompts(first, f"Now the writer.\n\n{OUTLINE}")) == [
        "“Never touch the parser.”"
    ]


def test_a_request_that_is_typed_again_stays_the_users() -> None:
    """One sent twice, one without an answer that was changed, and output that was pasted twice are no templates."""
    rule = ["“Never publish without a tag that was signed.”"]
    assert rules_of(story_with_prompts(expanded("parser"), expanded("parser"))) == rule
    unanswered = Story().asked(expanded("parser")).asked(expanded("writer")).replied("Done.")
    assert rules_of(unanswered) == rule
    log = "\n".join(
        f"10:11:{n:02} request {n} to the server took longer than it was allowed" for n in range(30)
    )
    assert templates.separate_shared(f"Fix it\n{log}", f"Still there\n{log}") is None


def test_a_state_saved_without_templates_is_loaded() -> None:
    saved: dict[str, Any] = folded(story_with_prompts("Write docs")).to_dict()
    saved["prompts"] = [prompt[:-1] for prompt in saved["prompts"]]
    assert [prompt.template for prompt in State.from_dict(saved).prompts] == [""]
