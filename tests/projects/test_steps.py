"""The check-boxes of steps.md: what counts as a task, where it stands, and how it is ticked."""

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


def told(text):
    return [(task.number, task.text, task.mark, task.depth, task.section) for task in steps.read(text).tasks]


def test_what_is_a_task():
    """Bullets of all kinds, numbers, nesting; not what stands in code or comments."""
    assert told(TEXT) == [
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


def test_progress_counts_what_was_not_given_up():
    """And is never 100 before the end."""
    found = steps.read(TEXT)
    assert (found.done, found.total, found.percentage) == (3, 8, 37)
    assert [(each.number, each.name, each.done, len(each.counted)) for each in found.sections] == [
        (1, "Setup", 2, 2),
        (2, "Implementation", 1, 6),
    ]
    assert [each.is_complete for each in found.sections] == [True, False]
    assert steps.read("- [x] a\n" * 199 + "- [ ] b\n").percentage == 99
    assert steps.read("").percentage == 0


def test_the_next_task_is_the_first_that_can_be_done():
    """Of one with open sub-tasks, the first of those."""
    assert steps.read(TEXT).next.text == "three a"
    assert steps.read("- [ ] a\n  - [x] b\n").next.text == "a"
    assert steps.read("- [x] a\n- [-] b\n").next is None


def test_ticking_changes_one_character_for_each_box():
    """A task takes its sub-tasks along; what was given up stays so."""
    made = steps.ticked(TEXT, [1, 3, 4])
    assert made == TEXT.replace("[ ] three\n", "[x] three\n").replace(
        "[ ] three a\n", "[x] three a\n"
    ).replace("[ ] three b\n", "[x] three b\n")
    assert steps.ticked(TEXT, [1, 2]) is TEXT


def test_line_ends_and_odd_characters_stay():
    """Windows, and what other readers take for line ends."""
    text = "- [ ] a\u2028b\r\n- [ ] c\x0b\r\n- [ ] d"
    assert steps.ticked(text, [1, 3]) == "- [x] a\u2028b\r\n- [ ] c\x0b\r\n- [x] d"


def test_a_task_that_is_not_there_is_an_error():
    """Nothing is ticked then."""
    with pytest.raises(NotFoundError, match="no task 9"):
        steps.ticked("- [ ] a\n", [1, 9])


@pytest.mark.parametrize(
    ("words", "found"), [("3", [3]), ("1-3", [1, 2, 3]), ("1-2, 5", [1, 2, 5]), ("1\u20132", [1, 2])]
)
def test_numbers_are_named_as_people_do(words, found):
    """Single ones, ranges, lists."""
    assert steps.numbers(words) == found


@pytest.mark.parametrize("words", ["", "a", "3-1", "0", "1,,2", "1-", "-1", "1 2"])
def test_words_that_name_no_tasks_are_refused(words):
    """With an example."""
    with pytest.raises(UsageError, match="1-5"):
        steps.numbers(words)


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
    """Numbered as they say themselves; those that say nothing come after; underlined ones are headings too."""
    assert [(each.number, each.name) for each in steps.read(text).sections] == sections


def test_a_task_outside_of_all_sections_has_none():
    """It is a task all the same."""
    found = steps.read("- [ ] x\n## A\n- [ ] y\n")
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
def test_comments_begin_anywhere_and_a_quote_ends_its_code(text, tasks):
    """As a reader of Markdown sees it."""
    assert [task.text for task in steps.read(text).tasks] == tasks


def test_a_long_document_is_read_and_ticked_in_one_go():
    """Each line and each task is looked at once: ten times as long is not a hundred times as slow."""
    text = "".join(f"## Section {n}: S\n- [ ] a\n  - [ ] b\n" for n in range(1, 5001))
    found = steps.read(text)
    assert (found.total, len(found.sections), found.next.number) == (10_000, 5_000, 2)
    done = steps.ticked(text, range(1, 10_001))
    assert (steps.read(done).done, len(done)) == (10_000, len(text))
