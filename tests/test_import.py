"""Public names of the package and the cost of importing it."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import leftoff


def loaded_by(code):
    """Return the modules that a fresh interpreter has loaded after running ``code``."""
    script = f"{code}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(ended.stdout))


def test_importing_leftoff_loads_no_other_package(without_coverage):
    """Only leftoff itself, typing and __future__ are loaded."""
    more = loaded_by("import leftoff") - loaded_by("import typing")
    assert more == {"leftoff", "leftoff.version", "__future__"}


def test_every_public_name_can_be_imported():
    """`__all__` is the public surface, and every name in it loads."""
    for name in leftoff.__all__:
        assert getattr(leftoff, name) is not None
    assert dir(leftoff) == leftoff.__all__


def test_type_checkers_see_the_same_names():
    """The imports for type checkers have the same names and modules as the table of public names."""
    tree = ast.parse(Path(leftoff.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom) and node.module != "typing"]
    assert {alias.name: node.module for node in imports for alias in node.names} == leftoff._MODULES


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = leftoff.nonsense


def test_version_loads_neither_rich_nor_yaml_nor_sqlite(without_coverage):
    """Heavy modules are imported when a command needs them."""
    code = "from leftoff.cli.main import run; run(['--version'])"
    ended = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    for heavy in ("'rich", "'ruamel", "'sqlite3'"):
        assert heavy not in ended.stdout
