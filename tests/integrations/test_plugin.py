"""The contents of the plugin folder and the skills fit the program; the live scenarios show that the client accepts them."""

import json
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import leftoff
from leftoff.agents.claude import hooks
from leftoff.agents.claude.versions import known
from leftoff.cli import agent_hook
from leftoff.cli.main import COMMANDS
from leftoff.core.hook_settings import PLUGIN_NAME
from leftoff.live import installed
from leftoff.platform import paths

ROOT = Path(__file__).parents[2] / "integrations"
PLUGIN = ROOT / "claude" / "leftoff"
SCRIPT = PLUGIN / "hooks" / "leftoff.sh"
# Named in the skill before it is there: it comes with the library.
COMING = {"search"}


def read(file):
    return json.loads(file.read_bytes())


def test_the_marketplace_lists_the_plugin_under_the_name_we_look_for():
    """``leftoff install`` recognises the plugin by this name."""
    (listed,) = read(ROOT / "claude" / ".claude-plugin" / "marketplace.json")["plugins"]
    manifest = read(PLUGIN / ".claude-plugin" / "plugin.json")
    assert listed["name"] == manifest["name"] == PLUGIN_NAME
    assert (ROOT / "claude" / listed["source"]).resolve() == PLUGIN
    assert leftoff.__version__.startswith(manifest["version"])


def test_the_marketplace_at_the_root_names_the_same_plugin():
    """Who adds the repository as a marketplace gets the file at its root."""
    at_root = read(ROOT.parent / ".claude-plugin" / "marketplace.json")
    (listed,) = at_root["plugins"]
    assert (ROOT.parent / listed["source"]).resolve() == PLUGIN
    inner = read(ROOT / "claude" / ".claude-plugin" / "marketplace.json")
    assert (at_root["name"], listed["description"]) == (inner["name"], inner["plugins"][0]["description"])


def test_the_plugin_is_called_at_the_same_events_as_wired_settings():
    """The time-outs are the same too. Events that not every client knows have a file each: an older client skips such a file."""
    manifest = read(PLUGIN / ".claude-plugin" / "plugin.json")
    separate = [read(PLUGIN / file)["hooks"] for file in manifest["hooks"]]
    assert all(len(file) == 1 for file in separate)
    always = read(PLUGIN / "hooks" / "hooks.json")["hooks"]
    assert always.keys() == {*hooks.events_of(())} - {"PostToolUse"}, "batches come instead"
    groups = always | {event: value for file in separate for event, value in file.items()}
    assert groups.keys() == {*hooks.events_of(known().newest_version)}
    for event, (group,) in groups.items():
        (entry,) = group["hooks"]
        assert entry["timeout"] == hooks.TIMEOUTS[event]
        assert entry["command"] == 'sh "${CLAUDE_PLUGIN_ROOT}/hooks/leftoff.sh" || exit 0'


def test_a_slash_command_reaches_the_agent_whatever_leftoff_s_exit_code():
    """The client drops the whole command if a program in it fails, as leftoff does in a session without a transcript."""
    for file in (PLUGIN / "commands").glob("*.md"):
        for line in re.findall(r"!`(.*)`", file.read_text(encoding="utf-8")):
            assert line.endswith(" 2>&1 || true"), file


def test_both_agents_learn_the_same():
    """The skill of both agents is the same file."""
    ours, theirs = (
        PLUGIN / "skills" / "leftoff" / "SKILL.md",
        ROOT / "codex" / "skills" / "leftoff" / "SKILL.md",
    )
    assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("file", sorted(PLUGIN.rglob("*.md")), ids=lambda file: file.name)
def test_every_command_that_is_taught_exists(file):
    """An agent believes what it reads."""
    taught = set(re.findall(r"[`(]leftoff ([a-z]+)", file.read_text(encoding="utf-8")))
    assert taught <= {*COMMANDS, *COMING}


@pytest.mark.parametrize("file", sorted((PLUGIN / "commands").glob("*.md")), ids=lambda file: file.stem)
def test_every_slash_command_says_what_it_does_and_what_it_may_run(file):
    """A slash command may run only leftoff itself."""
    head = file.read_text(encoding="utf-8").split("---")[1]
    assert "description: " in head
    allowed = re.search(r"allowed-tools: (.*)", head)[1]
    assert all(each.startswith("Bash(leftoff ") for each in allowed.split(", "))


# The script that the plugin's hooks call


@pytest.fixture
def call(isolated_home, tmp_path):
    """Calls it as the client does; gives exit code and what it printed."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("grep", "cat"):
        (programs / name).symlink_to(
            subprocess.run(["which", name], capture_output=True, text=True, check=True).stdout.strip()
        )

    def run():
        ended = subprocess.run(
            ["/bin/sh", str(SCRIPT)],
            input="EVENT",
            capture_output=True,
            text=True,
            check=False,
            env={**paths.environment(), "PATH": str(programs), "CLAUDE_PROJECT_DIR": str(Path.cwd())},
        )
        return ended.returncode, ended.stdout

    return run


def put_fast_path(code, python=sys.executable):
    installed.fast_path_file().parent.mkdir(parents=True, exist_ok=True)
    installed.fast_path_file().write_text(f"#!{python} -IS\n{code}", encoding="utf-8")


ECHO = "import sys; print(sys.argv[1], sys.stdin.read(), sys.flags.isolated, sys.flags.no_site)"


def test_the_plugin_runs_the_installed_fast_path(call):
    """The interpreter of the first line runs it with the event on standard input."""
    put_fast_path(ECHO)
    assert call() == (0, "claude EVENT 1 1\n")


@pytest.mark.parametrize("where", ["user", "shared", "local"])
def test_beside_wired_settings_the_plugin_does_nothing(call, isolated_home, where):
    """Each event must be handled only once."""
    put_fast_path(ECHO)
    file = {
        "user": isolated_home / ".claude" / "settings.json",
        "shared": Path(".claude/settings.json"),
        "local": Path(".claude/settings.local.json"),
    }[where]
    file.parent.mkdir()
    file.write_text(f'{{"hooks": "{installed.fast_path_file()}"}}', encoding="utf-8")
    assert call() == (0, "")


def test_a_status_line_in_the_settings_does_not_silence_the_plugin(call, isolated_home):
    """Only hooks in the settings silence the plugin."""
    put_fast_path(ECHO)
    (isolated_home / ".claude").mkdir()
    (isolated_home / ".claude" / "settings.json").write_text(
        '{"statusLine": "-P -m leftoff statusline"}', encoding="utf-8"
    )
    assert call() == (0, "claude EVENT 1 1\n")


@pytest.mark.parametrize(
    ("code", "python"),
    [("import sys; sys.exit(2)", sys.executable), ("", "/nowhere/python"), ("(", sys.executable)],
)
def test_a_fast_path_that_fails_harms_nothing(call, code, python):
    """An exit code of 2 would block the agent."""
    put_fast_path(code, python)
    assert call() == (0, "")


def test_without_a_fast_path_the_program_is_asked(call, tmp_path):
    """The program gives the same answer more slowly; if it is missing too, nothing happens."""
    assert call() == (0, "")
    program = tmp_path / "bin" / "leftoff"
    program.write_text('#!/bin/sh\necho "$@" "$(cat)"; exit 2\n', encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert call() == (0, "hook claude EVENT\n")


@pytest.fixture
def waiting_program():
    """The script as the mod calls it, with the real program, which waits for the request; and what it prints."""
    put_fast_path("")
    command = ["/bin/sh", str(SCRIPT), "in-place"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=paths.environment()
    ) as script:
        yield script


@pytest.mark.slow
def test_a_compaction_in_place_ends_before_the_mod_gives_up(waiting_program):
    """Later, its note that all is saved could overwrite that of the hooks, which look after the agent's own compaction."""
    (limit,) = re.findall(
        r"TIME_LIMIT_MS = (\d+);", (PLUGIN / "hooks" / "mod.js").read_text(encoding="utf-8")
    )
    started = time.monotonic()
    assert waiting_program.stdout.read() == b""
    assert 1 < time.monotonic() - started < int(limit) / 1000 + 5, "on a busy machine it starts late"
    assert int(limit) > agent_hook.MOST_IN_PLACE_SECONDS * 1000


@pytest.mark.slow
def test_ending_the_script_of_a_compaction_ends_the_program(waiting_program):
    """Otherwise it would go on after the mod has given up."""
    time.sleep(1)
    waiting_program.terminate()
    started = time.monotonic()
    assert waiting_program.stdout.read() == b""
    assert time.monotonic() - started < agent_hook.MOST_IN_PLACE_SECONDS / 2


def test_the_data_folder_is_found_where_it_is(call, monkeypatch, isolated_home):
    """The data folder is found without ``XDG_DATA_HOME``."""
    monkeypatch.delenv("XDG_DATA_HOME")
    assert paths.data_folder() == isolated_home / ".local" / "share" / "leftoff" or sys.platform == "darwin"
    put_fast_path(ECHO)
    assert call() == (0, "claude EVENT 1 1\n")
