"""Mistakes in a configuration file are named by every command and by the library, in one line."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import leftoff as library
from leftoff.platform import paths

PROJECT_YAML = """context_management:
  enabled: true
  budget_total: 200000
  thresholds:
    caution: 0.70
    warning: 0.85
    critical: 0.95
  resume_logs:
    enabled: true
    auto_generate: true
    max_tokens: 10000
    storage_dir: ".leftoff/resume-logs"
    format: "markdown"
    triggers: ["max_tokens"]
    cleanup: {enabled: true, keep_count: 10, auto_cleanup: true}
"""


def leftoff(*arguments, stdin=""):
    return subprocess.run(
        [sys.executable, "-m", "leftoff", *arguments],
        capture_output=True,
        text=True,
        check=False,
        input=stdin,
    )


@pytest.fixture
def user_mistake():
    folder = paths.config_folder()
    folder.mkdir(parents=True)
    (folder / "configuration.yaml").write_text("context_management:\n  threshholds:\n    caution: 0.6\n")
    return f"{folder / 'configuration.yaml'}:2: threshholds is not a setting. Did you mean thresholds?"


def test_a_command_names_the_mistake_in_one_line_and_works(user_mistake):
    """Standard output stays as it is, also as JSON."""
    for arguments, code in (
        (["log", "list"], 3),
        (["pause", "list"], 3),
        (["sessions", "--json"], 3),
        ([], 0),
    ):
        ended = leftoff(*arguments)
        assert (ended.returncode, ended.stderr) == (code, f"leftoff: {user_mistake}\n")
    assert json.loads(leftoff("sessions", "--json").stdout) == []


def test_what_ends_with_the_mistake_or_lists_it_does_not_repeat_it(user_mistake):
    """`status` refuses to guess; `doctor` lists mistakes among its findings."""
    ended = leftoff("status")
    assert (ended.returncode, ended.stderr) == (1, f"leftoff: {user_mistake}\n")
    ended = leftoff("config", "--all")
    assert (ended.returncode, ended.stderr) == (1, "")
    assert user_mistake.rpartition("/")[2] in ended.stdout


def test_hooks_and_the_status_line_stay_silent(user_mistake):
    """An agent shows what they write."""
    for arguments in (["hook", "claude"], ["statusline"]):
        ended = leftoff(*arguments, stdin="{}")
        assert (ended.returncode, ended.stderr) == (0, "")


def test_the_settings_that_a_project_may_not_make_are_named_once():
    """All of them in one line; the others are in force."""
    Path(".leftoff").mkdir()
    (Path(".leftoff") / "configuration.yaml").write_text(PROJECT_YAML)
    ended = leftoff("log", "list")
    (line,) = ended.stderr.splitlines()
    for key in (
        "enabled,",
        "resume_logs.enabled,",
        "resume_logs.triggers,",
        "resume_logs.cleanup.keep_count,",
    ):
        assert key in line
    assert "budget_total" not in line
    assert "thresholds" not in line
    assert "a project's file may not set" in line


def test_the_library_warns(user_mistake):
    """One Python warning, however many objects are made."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        library.ResumeLogGenerator()
        library.ResumeLogGenerator()
    assert [str(each.message) for each in caught] == [user_mistake]
