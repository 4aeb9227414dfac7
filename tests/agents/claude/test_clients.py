"""Claude Code is found wherever its installers put it, and its version is read without running it."""

import json
import os

import pytest

from leftoff.agents import claude
from leftoff.agents.claude.clients import find_clients
from leftoff.platform import paths
from leftoff.testing.builders import Story
from tests.support.fixtures import CLAUDE_ID
from tests.support.transcripts import write_transcript


@pytest.fixture
def program(isolated_home, tmp_path, monkeypatch):
    """Return a function that creates a program, which would fail if it were run, and puts a link to it on the PATH."""

    def put(place, link="bin"):
        file = tmp_path / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\nexit 9\n", encoding="utf-8")
        file.chmod(0o755)
        (tmp_path / link).mkdir(exist_ok=True)
        (tmp_path / link / "claude").symlink_to(file)
        monkeypatch.setenv("PATH", f"{paths.environment()['PATH']}:{tmp_path / link}")
        return file

    return put


def package(folder, name="@anthropic-ai/claude-code", **fields):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text(json.dumps({"name": name, **fields}), encoding="utf-8")


def versions(isolated_home):
    return [client.version for client in find_clients(isolated_home / ".claude", paths.environment())]


@pytest.mark.parametrize("place", ["cli.js", "bin/claude.exe"])
def test_npm_has_it_in_the_package(isolated_home, tmp_path, program, place):
    """The folder of Node.js is named after another version, which does not count."""
    folder = "node/20.20.2/lib/node_modules/@anthropic-ai/claude-code"
    program(f"{folder}/{place}")
    package(tmp_path / folder, version="2.1.90")
    assert versions(isolated_home) == [(2, 1, 90)]


def test_the_native_program_has_a_package_of_its_own(isolated_home, tmp_path, program):
    """Its name has the platform at its end."""
    program("node_modules/@anthropic-ai/claude-code-linux-x64/claude")
    folder = tmp_path / "node_modules/@anthropic-ai/claude-code-linux-x64"
    package(folder, "@anthropic-ai/claude-code-linux-x64", version="2.1.325")
    assert versions(isolated_home) == [(2, 1, 325)]


@pytest.mark.parametrize("place", ["share/claude/versions/2.1.197", "Caskroom/claude-code/2.1.197/claude"])
def test_other_installers_have_it_in_a_name(isolated_home, program, place):
    """The name of the file, or of its folder."""
    program(place)
    assert versions(isolated_home) == [(2, 1, 197)]


def test_every_client_of_the_user_counts(isolated_home, program, claude_version):
    """First the one that the shell starts, then the others on the PATH, outside of it and in editors, each once."""
    program("one/2.1.90/claude", "first")
    program("two/2.1.197/claude", "second")
    claude_version("2.1.325")
    (isolated_home / ".vscode/extensions/anthropic.claude-code-2.1.104-linux-x64").mkdir(parents=True)
    (isolated_home / ".vscode/extensions/someone.else-9.9.9").mkdir()
    assert versions(isolated_home) == [(2, 1, 90), (2, 1, 197), (2, 1, 325), (2, 1, 104)]


def test_the_clients_of_other_versions_of_node_count(isolated_home, claude_version):
    """They are on the PATH of another terminal, and would skip the whole settings file if it had a hook they do not know."""
    claude_version("2.1.325")
    node = isolated_home / ".nvm/versions/node/v18.20.2"
    package(node / "lib/node_modules/@anthropic-ai/claude-code", version="2.1.90")
    script = node / "lib/node_modules/@anthropic-ai/claude-code/cli.js"
    script.touch(0o755)
    (node / "bin").mkdir()
    (node / "bin/claude").symlink_to(script)
    assert versions(isolated_home) == [(2, 1, 325), (2, 1, 90)]


@pytest.mark.parametrize("place", [None, "wrappers/claude"])
def test_where_no_program_shows_it_the_newest_transcript_does(isolated_home, program, place):
    """Without a program, or with a wrapper that may start any client."""
    if place is not None:
        program(place)
    assert versions(isolated_home) == []
    transcript = isolated_home / ".claude" / "projects" / "-x" / f"{CLAUDE_ID}.jsonl"
    transcript.parent.mkdir(parents=True)
    story = Story(session_id=CLAUDE_ID).asked("Go").replied("Done.", used=10)
    write_transcript(claude.here(), story.script(), transcript)
    assert versions(isolated_home) == [(2, 1, 325)]


def test_a_session_that_leftoff_wrote_shows_no_client(isolated_home):
    """A rollover has the newest version that leftoff knows, which may be on no machine of the user."""
    folder = isolated_home / ".claude" / "projects" / "-x"
    folder.mkdir(parents=True)
    fresh = {"type": "user", "version": "2.1.325", "timestamp": "2026-01-06T13:00:00.000Z"}
    used = {"type": "user", "version": "2.1.90", "timestamp": "2026-01-06T12:00:00.000Z"}
    for number, line in enumerate(({**fresh, "continue_metadata": {}}, used)):
        (folder / f"{CLAUDE_ID[:-1]}{number}.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert versions(isolated_home) == [(2, 1, 90)]


def test_volta_keeps_it_in_a_folder_of_its_own(isolated_home, claude_version):
    """On the PATH is a program of Volta, which does not show the version."""
    claude_version("2.1.325")
    volta = isolated_home / ".volta/tools/image/packages/@anthropic-ai/claude-code"
    package(volta / "lib/node_modules/@anthropic-ai/claude-code", version="2.1.90")
    script = volta / "lib/node_modules/@anthropic-ai/claude-code/cli.js"
    script.touch(0o755)
    (volta / "bin").mkdir()
    (volta / "bin/claude").symlink_to(script)
    assert versions(isolated_home) == [(2, 1, 325), (2, 1, 90)]


@pytest.mark.parametrize(
    ("used", "found"),
    [
        (["2.1.325", "2.1.90", "2.1.325"], [(2, 1, 325), (2, 1, 90)]),
        (["2.1.325", "2.1.90"], [(2, 1, 325), (2, 1, 90)]),
        (["2.1.90", "2.1.90", "2.1.325"], [(2, 1, 325)]),  # an upgrade
        (["2.1.90"], [(2, 1, 325)]),  # the same, and the new one was not used yet
    ],
)
def test_an_older_version_that_was_used_after_a_newer_one_is_still_there(
    isolated_home, claude_version, used, found
):
    """A container may share the home folder, and nothing else."""
    claude_version("2.1.325")
    folder = isolated_home / ".claude" / "projects" / "-x"
    folder.mkdir(parents=True)
    for number, client in enumerate(used):
        transcript = folder / f"{CLAUDE_ID[:-1]}{number}.jsonl"
        line = {"type": "user", "version": client, "timestamp": f"2026-01-06T12:0{number}:00.000Z"}
        transcript.write_text(json.dumps(line) + "\n", encoding="utf-8")
        os.utime(transcript, (1_000 - number, 1_000 - number))  # copied since, in any order
    assert versions(isolated_home) == found


@pytest.mark.parametrize("content", ["", "[]", '{"name": "@anthropic-ai/claude-code"}', "[" * 100_000])
def test_a_damaged_package_shows_nothing(isolated_home, tmp_path, program, content):
    """It is as if the version were not known."""
    program("broken/cli.js")
    (tmp_path / "broken" / "package.json").write_text(content, encoding="utf-8")
    assert versions(isolated_home) == []


def test_folders_of_the_path_that_depend_on_the_working_folder_are_passed_over(
    isolated_home, tmp_path, monkeypatch
):
    """A project could bring a program of that name."""
    (tmp_path / "work" / "claude").write_text("", encoding="utf-8")
    (tmp_path / "work" / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", ":.")
    assert find_clients(isolated_home / ".claude", paths.environment()) == []
