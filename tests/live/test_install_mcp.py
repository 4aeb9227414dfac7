"""Registering the recall tools with ``--mcp`` and removing them: real files of both agents, there and back."""

import json
import tomllib

import pytest

from leftoff.errors import ConfigError, UsageError
from leftoff.live import installed
from leftoff.live.install import install, plan_install, plan_uninstall, uninstall
from leftoff.workspace import Workspace

FILES = {"claude": ".claude/.claude.json", "codex": ".codex/config.toml"}
OTHER = {"type": "stdio", "command": "other", "args": []}
STARTS = {
    "claude": [
        None,
        b"",
        b"{}",
        b'{"numStartups": 3}\n',
        json.dumps({"mcpServers": {}, "projects": {"/a/leftoff": {"mcpServers": {}}}}, indent=2).encode(),
        b'\xef\xbb\xbf{\r\n\t"mcpServers": {\r\n\t\t"other": {"command": "x"}\r\n\t},\r\n\t"theme": "d\\u00e4rk"\r\n}\r\n',
    ],
    "codex": [
        None,
        b"",
        b'model = "gpt-5.5"  # mine',
        b'model = "a"\r\n\r\n[features]\r\nhooks = true\r\n',
        b'[mcp_servers.other]\ncommand = "x"\nargs = []\n\n\n# the end\n',
    ],
}
CASES = [(agent, start) for agent, starts in STARTS.items() for start in starts]


@pytest.fixture
def file(isolated_home):
    def put(agent, before):
        path = isolated_home / FILES[agent]
        path.parent.mkdir(exist_ok=True)
        if before is not None:
            path.write_bytes(before)
        return path

    return put


def put_in(agent, scope="user"):
    plan = plan_install(agent, scope, Workspace.open(), with_mcp=True)
    install(plan)
    return plan


def take_out(agent=None):
    uninstall(plan_uninstall(agent, None, Workspace.open()))


def server_in(path):
    text = path.read_text(encoding="utf-8-sig")
    parsed = json.loads(text)["mcpServers"] if path.suffix == ".json" else tomllib.loads(text)["mcp_servers"]
    return parsed.get("leftoff")


@pytest.mark.parametrize(("agent", "before"), CASES)
def test_the_tools_are_registered_once_and_removed_byte_for_byte(file, agent, before):
    path = file(agent, before)
    put_in(agent)
    server = server_in(path)
    assert [server["command"], *server["args"]] == [
        installed.interpreter(),
        "-E",
        "-P",
        "-m",
        "leftoff",
        "mcp",
    ]
    once = path.read_bytes()
    assert not put_in(agent).changes_settings
    assert path.read_bytes() == once
    take_out(agent)
    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("knows", [True, False])
def test_what_the_client_writes_afterwards_stays(file, knows):
    """Claude Code writes its file again all the time; Codex adds tables, also below ours."""
    claude, codex = file("claude", b'{"numStartups": 3}'), file("codex", b'model = "a"\n')
    put_in("claude")
    put_in("codex")
    changed = json.loads(claude.read_text()) | {"numStartups": 4}
    claude.write_text(json.dumps(changed, indent=1))
    codex.write_text(
        'model = "b"\n'
        + codex.read_text().partition("\n")[2]
        + '[mcp_servers.leftoff.tools.recall]\napproval_mode = "approve"\n\n[projects."/a"]\ntrust_level = "trusted"\n'
    )
    if not knows:
        installed._registry_file().unlink()
    take_out()
    assert json.loads(claude.read_text()) == {"numStartups": 4}
    assert tomllib.loads(codex.read_text()) == {"model": "b", "projects": {"/a": {"trust_level": "trusted"}}}


@pytest.mark.parametrize(
    ("agent", "before"),
    [
        ("claude", json.dumps({"mcpServers": {"leftoff": OTHER}}).encode()),
        ("claude", b'{"mcpServers": []}'),
        ("claude", b"{broken"),
        ("codex", b"[mcp_servers.leftoff]\ncommand = 'other'\n"),
        ("codex", b"mcp_servers = {}\n"),
        ("codex", b"broken"),
    ],
)
def test_a_file_that_cannot_take_the_tools_is_refused_and_nothing_is_written(file, agent, before):
    path = file(agent, before)
    with pytest.raises(ConfigError, match="Nothing was changed"):
        put_in(agent)
    assert path.read_bytes() == before


def test_a_broken_file_without_our_tools_does_not_keep_the_hooks_in(file):
    path = file("claude", b'{"projects": "leftoff"')
    install(plan_install("claude", "user", Workspace.open()))
    take_out()
    assert path.read_bytes() == b'{"projects": "leftoff"'
    assert not (path.parent / "settings.json").exists()


def test_the_tools_are_for_all_projects(file):
    with pytest.raises(UsageError, match="all your projects"):
        put_in("claude", scope="project")


def test_without_a_folder_of_its_own_claude_s_state_is_in_the_home_folder(isolated_home, monkeypatch):
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    assert put_in("claude").mcp.file == isolated_home / ".claude.json"
