"""What `import leftoff` costs and offers."""

import json
import subprocess
import sys

import pytest

import leftoff


def loaded_by(code):
    """The modules a fresh interpreter has loaded after running ``code``."""
    script = f"{code}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(ended.stdout))


def test_importing_leftoff_loads_nothing_of_anybody_elses(unmeasured):
    """Leftoff itself, typing and __future__, which ship with Python, and nothing else."""
    more = loaded_by("import leftoff") - loaded_by("import typing")
    assert more == {"leftoff", "__future__"}


def test_every_public_name_can_be_had():
    """`__all__` is the public surface, and every name in it loads."""
    for name in leftoff.__all__:
        assert getattr(leftoff, name) is not None
    assert dir(leftoff) == leftoff.__all__
    assert set(leftoff._WHERE) | {"__version__"} == set(leftoff.__all__)


def test_a_name_that_does_not_exist_is_an_attribute_error():
    """As for any module."""
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = leftoff.nonsense


def test_the_command_line_loads_no_drawing_before_it_draws(unmeasured):
    """`leftoff --version` needs neither rich nor YAML nor orjson."""
    code = "from leftoff.cli.main import run; run(['--version'])"
    ended = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    for heavy in ("'rich", "'ruamel", "'orjson'", "'platformdirs'", "'sqlite3'"):
        assert heavy not in ended.stdout
