"""``tools/check_docs.py`` finds what it is made for."""

import ast
import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "check_docs.py"


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check_docs", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "text",
    [
        "What stands there is old.",
        "Make it anew.",
        "Mend the file.",
        "To go on, type this.",
        "You are told so.",
        "Nobody can be asked.",
        "That is no key.",
        "At most so many characters.",
        "It waits for your word.",
    ],
)
def test_unusual_words_are_found(check, text):
    assert [*check.unusual_words(text)]


@pytest.mark.parametrize(
    "text",
    ["There is no such folder.", "It is no longer pinned.", "This stands for itself.", "Continue here."],
)
def test_usual_words_are_not(check, text):
    assert not [*check.unusual_words(text)]


def test_only_texts_for_users_are_looked_at(check):
    """Docstrings count only where they are the help of a command."""
    tree = ast.parse(
        '"""For developers, of the module."""\n'
        "@click.command()\ndef one():\n    '''Help of a command.'''\n"
        "def two():\n    '''For developers.'''\n    say('to the user')\n"
    )
    assert [text for _, text in check.user_texts(tree)] == ["Help of a command.", "to the user"]


def test_generated_parts_and_code_do_not_count(check):
    page = "One two.\n```\ncode code\n```\n<!-- generated: x -->\nmany many\n<!-- /generated -->\nthree\n"
    assert check.count_words(page) == 3


def test_anchors_are_those_of_the_headings(check, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Get it back\n```\n# not a heading\n```\n## Installing hooks: `HasHooks`\n", encoding="utf-8"
    )
    assert check.anchors(page) == {"get-it-back", "installing-hooks-hashooks"}
