"""The check-boxes of steps.md: what counts as a task, in which section it is, and how it is ticked."""

import pytest

from leftoff.errors import NotFoundError, UsageError
from leftoff.projects import steps

TEXT = """\
# Steps

Before any section.

## Section 1: Setup

- [x] one
* [X] two
- [-] given up

```
- [ ] in a fence
```

~~~text
- [ ] in another
~~~

<!--
- [ ] in a comment
-->

## Section 2: Implementation

1. [ ] three
   - [ ] three a
     - [x] three a i
   - [ ] three b
- plain
      - [ ] deep below plain
> - [ ] quoted

text

    - [ ] indented code

## Notes

- [link](x) is no box
- [ ]no space
"""


def tasks_of(text):
    return [
        (task.number, task.text, task.mark, task.depth, task.section)
        for task in steps.parse_steps(text).tasks
    ]


def test_tasks_are_check_boxes_outside_code_and_comments():
    """Bullets of all kinds, numbered lists and nested lists can be tasks."""
    assert tasks_of(TEXT) == [
        (1, "one", "done", 0, 1),
        (2, "two", "done", 0, 1),
        (3, "given up", "given_up", 0, 1),
        (4, "three", "open", 0, 2),
        (5, "three a", "open", 1, 2),
        (6, "three a i", "done", 2, 2),
        (7, "three b", "open", 1, 2),
        (8, "deep below plain", "open", 1, 2),
        (9, "quoted", "open", 0, 2),
    ]


def test_progress_ignores_abandoned_tasks():
    """The percentage is never 100 before all tasks are done."""
    found = steps.parse_steps(TEXT)
    assert (found.done, found.total, found.percentage) == (3, 8, 37)
    assert [(each.number, each.name, each.done, len(each.counted)) for each in found.sections] == [
        (1, "Setup", 2, 2),
        (2, "Implementation", 1, 6),
    ]
    assert [each.is_complete for each in found.sections] == [True, False]
    assert steps.parse_steps("- [x] a\n" * 199 + "- [ ] b\n").percentage == 99
    assert steps.parse_steps("").percentage == 0


def test_the_next_task_is_the_first_open_one():
    """For a task with open sub-tasks, the next task is the first of those."""
    assert steps.parse_steps(TEXT).next.text == "three a"
    assert steps.parse_steps("- [ ] a\n  - [x] b\n").next.text == "a"
    assert steps.parse_steps("- [x] a\n- [-] b\n").next is None


def test_ticking_changes_one_character_for_each_box():
    """Sub-tasks are ticked too; abandoned ones stay abandoned."""
    updated = steps.tick(TEXT, [1, 3, 4])
    assert updated == TEXT.replace("[ ] three\n", "[x] three\n").replace(
        "[ ] three a\n", "[x] three a\n"
    ).replace("[ ] three b\n", "[x] three b\n")
    assert steps.tick(TEXT, [1, 2]) is TEXT


def test_line_ends_and_unusual_characters_stay():
    text = "- [ ] a\u2028b\r\n- [ ] c\x0b\r\n- [ ] d"
    assert steps.tick(text, [1, 3]) == "- [x] a\u2028b\r\n- [ ] c\x0b\r\n- [x] d"


def test_an_unknown_task_is_an_error():
    with pytest.raises(NotFoundError, match="no task 9"):
        steps.tick("- [ ] a\n", [1, 9])


@pytest.mark.parametrize(
    ("words", "found"), [("3", [3]), ("1-3", [1, 2, 3]), ("1-2, 5", [1, 2, 5]), ("1\u20132", [1, 2])]
)
def test_tasks_are_selected_by_numbers_ranges_and_lists(words, found):
    assert steps.parse_task_numbers(words) == found


@pytest.mark.parametrize("words", ["", "a", "3-1", "0", "1,,2", "1-", "-1", "1 2"])
def test_an_invalid_selection_is_refused_with_an_example(words):
    with pytest.raises(UsageError, match="1-5"):
        steps.parse_task_numbers(words)


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("# A\n- [ ] x\n# B\n- [ ] y\n", [(1, "A"), (2, "B")]),
        ("# T\n## A\n- [ ] x\n", [(1, "A")]),
        ("## Phase 0: A\n- [ ] x\n## Phase 1 - B\n- [ ] y\n", [(0, "A"), (1, "B")]),
        ("## Section 2\n- [ ] x\n## Section 2\n- [ ] y\n", [(1, "Section 2"), (2, "Section 2")]),
        ("# T\n## A\n### a\n- [ ] x\n### b\n- [ ] y\n## B\n- [ ] z\n", [(1, "A"), (2, "B")]),
        ("## A\n- [ ] x\n## Empty\n\n## C ##\n- [ ] z\n", [(1, "A"), (2, "C")]),
        ("- [ ] x\n## A\n- [ ] y\n# Other\n- [ ] z\n", [(1, "A")]),
        ("- [ ] x\n", []),
        (
            "## Preparation\n- [ ] x\n## Section 1: Setup\n- [ ] y\n## Section 2: Build\n- [ ] z\n",
            [(3, "Preparation"), (1, "Setup"), (2, "Build")],
        ),
        ("Setup\n-----\n- [ ] x\n\nBuild\n---\n- [ ] y\n", [(1, "Setup"), (2, "Build")]),
        ("Steps\n=====\n\nA\n---\n- [ ] x\n\n---\n\n- [ ] y\n", [(1, "A")]),
        ("## A\n- [ ] x\n- [ ] y\n---\n- [ ] z\n", [(1, "A")]),
    ],
)
def test_sections_are_the_headings_that_divide_the_tasks(text, sections):
    """Numbers come from the headings; the others get the next ones. Underlined headings count."""
    assert [(each.number, each.name) for each in steps.parse_steps(text).sections] == sections


def test_a_task_can_be_outside_of_all_sections():
    found = steps.parse_steps("- [ ] x\n## A\n- [ ] y\n")
    assert [task.section for task in found.tasks] == [0, 1]
    assert found.section(7) is None


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("text <!--\n- [ ] hidden\n-->\n- [ ] seen\n", ["seen"]),
        ("- [ ] seen <!-- a\n- [ ] hidden\n--> b\n- [ ] too\n", ["seen <!-- a", "too"]),
        ("`<!--` opens one\n- [ ] seen\n", ["seen"]),
        ("<!-- a --> <!--\n- [ ] hidden\n-->\n", []),
        ("> ```\n> - [ ] code\n\n- [ ] seen\n", ["seen"]),
        ("> ```\n> - [ ] code\n> ```\n> - [ ] seen\n", ["seen"]),
    ],
)
def test_comments_can_begin_anywhere_and_a_quote_ends_its_code(text, tasks):
    assert [task.text for task in steps.parse_steps(text).tasks] == tasks


@pytest.mark.slow
def test_a_long_document_is_parsed_and_ticked_in_linear_time():
    text = "".join(f"## Section {n}: S\n- [ ] a\n  - [ ] b\n" for n in range(1, 5001))
    found = steps.parse_steps(text)
    assert (found.total, len(found.sections), found.next.number) == (10_000, 5_000, 2)
    done = steps.tick(text, range(1, 10_001))
    assert (steps.parse_steps(done).done, len(done)) == (10_000, len(text))
