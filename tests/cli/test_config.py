"""``leftoff config`` shows settings, explains one, and changes the file without touching the rest of it."""

import json
from pathlib import Path

import pytest

from leftoff.cli.main import run

KEY = "thresholds.caution"


@pytest.fixture
def file(isolated_home):
    return isolated_home / ".config" / "leftoff" / "configuration.yaml"


def said(capsys, *arguments, code=0):
    assert run(["config", *arguments]) == code
    ended = capsys.readouterr()
    return ended.out + ended.err


def test_a_setting_is_shown_with_its_meaning(capsys):
    text = said(capsys, KEY)
    assert text.startswith(f"{KEY}: 0.7  (default)\n")
    assert "LEFTOFF_THRESHOLDS_CAUTION" in text
    assert json.loads(said(capsys, KEY, "--json"))["value"] == 0.7


def test_a_setting_is_changed_and_the_comments_stay(capsys, file):
    file.parent.mkdir(parents=True)
    file.write_text("# mine\ncontext_management:\n  enabled: true  # yes\n", encoding="utf-8")
    assert "~/.config/leftoff/configuration.yaml" in said(capsys, KEY, "0.6")
    text = file.read_text(encoding="utf-8")
    assert "# mine" in text
    assert "# yes" in text
    assert json.loads(said(capsys, KEY, "--json"))["value"] == 0.6
    assert KEY in said(capsys)
    assert "thresholds" not in (said(capsys, KEY, "--unset"), file.read_text(encoding="utf-8"))[1]
    assert "is not set in" in said(capsys, KEY, "--unset", code=3)


def test_lists_and_mappings_are_typed_with_commas(capsys, file):
    said(capsys, "trim.tools", "Read,Bash")
    said(capsys, "windows", "big-model=1000000")
    found = {each["key"]: each["value"] for each in json.loads(said(capsys, "--json"))["settings"]}
    assert (found["trim.tools"], found["windows"]) == (["Read", "Bash"], {"big-model": 1_000_000})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tresholds.caution"], "Did you mean thresholds.caution?"),
        ([KEY, "much"], "it takes: fraction 0-1"),
        ([KEY, "0.9"], "Nothing was changed."),
        ([KEY, "0.6", "--unset"], "takes a KEY and no VALUE"),
        (["--unset"], "Unset which setting?"),
        (["storage", "s3", "--project"], "may not be set by a project's file"),
        (["--edit"], "EDITOR=nano"),
    ],
)
def test_a_mistake_changes_nothing(capsys, file, arguments, words, monkeypatch):
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    assert words in said(capsys, *arguments, code=2)
    assert not file.exists() or KEY.rpartition(".")[2] not in file.read_text(encoding="utf-8")


def test_a_project_has_its_own_file(capsys):
    said(capsys, KEY, "0.8", "--project")
    assert "0.8" in Path(".leftoff/configuration.yaml").read_text(encoding="utf-8")
    assert "Nothing was changed." in said(capsys, KEY, "0.2", "--project", code=2)


def test_the_file_is_edited_in_the_users_editor(capsys, file, monkeypatch, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text(
        '#!/bin/sh\nprintf "context_management:\\n  enabled: false\\n" > "$1"\n', encoding="utf-8"
    )
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    assert "enabled" in said(capsys, "--edit")
    monkeypatch.setenv("EDITOR", "/nowhere/editor")
    assert "/nowhere/editor" in said(capsys, "--edit", code=1)


def test_a_file_that_is_not_yaml_is_left_alone(capsys, file):
    file.parent.mkdir(parents=True)
    file.write_text("a: [\n", encoding="utf-8")
    assert "Nothing was changed" in said(capsys, KEY, "0.6", code=1)
    assert file.read_text(encoding="utf-8") == "a: [\n"
