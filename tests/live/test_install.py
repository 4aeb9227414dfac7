"""Installing and uninstalling: real settings files, there and back."""

import json
import re
import stat
from pathlib import Path

import pytest

import leftoff
from leftoff.errors import ConfigError, NothingToDoError, StorageError, UsageError
from leftoff.forget import purge
from leftoff.live import installed
from leftoff.live.install import install, plan_install, plan_uninstall, uninstall
from leftoff.platform import paths
from leftoff.workspace import Workspace
from tests.agents_live.starting_settings import CLAUDE, CODEX

AGENTS = {"claude": (".claude/settings.json", CLAUDE), "codex": (".codex/hooks.json", CODEX)}
STARTS = [(agent, name) for agent, (_, starts) in AGENTS.items() for name in starts]


@pytest.fixture
def settings(isolated_home):
    """Return the path of an agent's settings, which are written first if content is given."""

    def put(agent="claude", before=None):
        file = isolated_home / AGENTS[agent][0]
        file.parent.mkdir(exist_ok=True)
        if before is not None:
            file.write_bytes(before)
        return file

    return put


def put_in(agent="claude", scope="user"):
    plan = plan_install(agent, scope, Workspace.open())
    install(plan)
    return plan


def take_out(agent=None, scope=None):
    plan = plan_uninstall(agent, scope, Workspace.open())
    uninstall(plan)
    return plan


def content(file):
    return file.read_bytes() if file.exists() else None


@pytest.mark.parametrize(("agent", "name"), STARTS)
def test_uninstall_leaves_settings_byte_for_byte(settings, isolated_home, agent, name):
    """Only empty folders and the lock are left besides."""
    before = AGENTS[agent][1][name]
    file = settings(agent, before)
    put_in(agent)
    assert content(file) != before
    take_out(agent)
    assert content(file) == before
    left = [path.name for path in isolated_home.rglob("*") if path.is_file() and path != file]
    assert sorted(left) == [".gitconfig", ".lock"]


@pytest.mark.parametrize(("agent", "name"), STARTS)
def test_installing_twice_changes_nothing_the_second_time(settings, agent, name):
    """A second installation changes nothing, and uninstalling still restores the original file."""
    before = AGENTS[agent][1][name]
    file = settings(agent, before)
    put_in(agent)
    once = content(file)
    plan = put_in(agent)
    assert not plan.changes_settings
    assert plan.diff == ""
    assert content(file) == once
    take_out()
    assert content(file) == before


@pytest.mark.parametrize(("agent", "name"), STARTS)
def test_an_upgrade_replaces_ours_and_uninstalls_byte_for_byte(settings, monkeypatch, agent, name):
    """Entries of another interpreter are recognised by their shape and replaced, one for one."""
    before = AGENTS[agent][1][name]
    file = settings(agent, before)
    monkeypatch.setattr("sys.executable", "/old/python")
    put_in(agent)
    monkeypatch.setattr("sys.executable", "/new/python")
    assert put_in(agent).changes_settings
    text = file.read_text(encoding="utf-8")
    assert "/old/python" not in text
    assert text.count("/new/python -I -S") == (5 if agent == "claude" else 6)
    take_out()
    assert content(file) == before


def test_settings_changed_since_lose_only_ours(settings):
    """The user has added a hook, and changed a value: both stay, and the layout with them."""
    before = b'{\n  "model": "opus",\n  "hooks": {\n    "Stop": []\n  }\n}\n'
    file = settings(before=before)
    put_in()
    changed = file.read_text(encoding="utf-8").replace('"opus"', '"sonnet"')
    file.write_text(
        changed.replace('"hooks": {\n    "Stop"', '"hooks": {\n    "Mine": [1],\n    "Stop"'),
        encoding="utf-8",
    )
    take_out()
    assert file.read_bytes() == (
        b'{\n  "model": "sonnet",\n  "hooks": {\n    "Mine": [1],\n    "Stop": []\n  }\n}\n'
    )


def test_half_a_character_in_a_status_line_comes_back_as_it_was(settings):
    """Strings of JavaScript may hold half a character, and the file keeps its escape."""
    before = rb'{"statusLine": {"type": "command", "command": "echo \ud83d \u00e9"}}'
    file = settings(before=before)
    put_in()
    assert rb"\ud83d" in file.read_bytes()
    assert "leftoff statusline" in json.loads(file.read_bytes())["statusLine"]["command"]
    take_out()
    assert file.read_bytes() == before


def test_a_link_into_a_folder_that_is_not_there_is_refused(settings, isolated_home):
    """leftoff does not create the folder that a link points into."""
    file = settings()
    file.symlink_to(isolated_home / "dotfiles" / "claude" / "settings.json")
    with pytest.raises(StorageError, match="whose folder does not exist"):
        plan_install("claude", "user", Workspace.open())
    assert not (isolated_home / "dotfiles").exists()


def test_a_status_line_of_an_older_leftoff_is_removed(settings):
    """Older versions called the interpreter without ``-E``."""
    before = b'{\n  "model": "opus"\n}\n'
    file = settings(before=before)
    put_in()
    file.write_bytes(file.read_bytes().replace(b" -E -P -m leftoff", b" -P -m leftoff"))
    take_out()
    assert b"leftoff" not in file.read_bytes()


def test_a_file_of_our_making_stays_when_another_program_uses_it(settings):
    """A settings file that leftoff created is deleted only if nothing else is in it."""
    file = settings()
    put_in()
    changed = {**json.loads(file.read_bytes()), "model": "opus"}
    file.write_text(json.dumps(changed), encoding="utf-8")
    take_out()
    assert json.loads(file.read_bytes()) == {"model": "opus"}


def test_a_file_of_our_making_goes_even_when_the_agent_reformatted_it(settings):
    """Nothing meaningful is left in such a file."""
    file = settings()
    put_in()
    file.write_text(json.dumps(json.loads(file.read_bytes()), indent=7), encoding="utf-8")
    take_out()
    assert not file.exists()


def test_without_our_notes_uninstall_still_finds_ours(settings):
    """The data folder was deleted, or holds rubbish."""
    before = CLAUDE["foreign hooks on the same events"]
    for notes in (None, b"rubbish", b'{"schema": 1, "installations": [3]}', b'{"schema": 99}'):
        file = settings(before=before)
        put_in()
        path = paths.data_folder() / installed.REGISTRY_NAME
        path.unlink()
        if notes is not None:
            path.write_bytes(notes)
        take_out()
        assert content(file) == before
        path.unlink(missing_ok=True)


def test_notes_that_cannot_be_read_are_an_error(settings):
    """A folder in place of the file is reported."""
    settings()
    (paths.data_folder() / installed.REGISTRY_NAME).mkdir(parents=True)
    with pytest.raises(StorageError, match="installations"):
        put_in()


def test_our_notes_hold_nothing_of_the_user_s(settings):
    """Settings may hold keys, so only leftoff's own changes are remembered."""
    settings(before=b'{"env": {"API_KEY": "sk-secret"}, "hooks": {"Stop": []}}')
    put_in()
    notes = paths.data_folder() / installed.REGISTRY_NAME
    assert b"secret" not in notes.read_bytes()
    assert stat.S_IMODE(notes.stat().st_mode) == 0o600


def test_a_linked_settings_file_is_followed(settings, tmp_path):
    """Dotfiles: the link stays a link, the file behind it is changed and restored."""
    real = tmp_path / "dotfiles.json"
    real.write_bytes(CLAUDE["tabs"])
    real.chmod(0o640)
    link = settings()
    link.symlink_to(real)
    plan = put_in()
    assert plan.settings == real
    assert link.is_symlink()
    assert b"leftoff" in real.read_bytes()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    take_out()
    assert link.is_symlink()
    assert real.read_bytes() == CLAUDE["tabs"]


@pytest.mark.parametrize("broken", [b'{"a": 1,}', b"\xff\xfe{}", b'{"hooks": []}'])
def test_broken_settings_are_refused_and_nothing_is_written(settings, isolated_home, broken):
    """Not even the fast path is written if the settings are broken."""
    file = settings(before=broken)
    with pytest.raises(ConfigError, match=r"settings\.json.*repair the file"):
        put_in()
    assert file.read_bytes() == broken
    assert not installed.fast_path_file().exists()


def test_settings_that_broke_since_are_not_touched_by_uninstall(settings):
    """The user has to repair the settings before uninstalling."""
    file = settings()
    put_in()
    broken = file.read_bytes()[:-3]
    file.write_bytes(broken)
    with pytest.raises(ConfigError):
        take_out()
    assert file.read_bytes() == broken


def test_settings_saved_between_plan_and_deed_are_left_alone(settings):
    """An editor may save them in between."""
    file = settings(before=b"{}")
    plan = plan_install("claude", "user", Workspace.open())
    file.write_bytes(b'{"model": "opus"}')
    with pytest.raises(StorageError, match="just changed it"):
        install(plan)
    assert file.read_bytes() == b'{"model": "opus"}'
    put_in()
    take_out()
    assert file.read_bytes() == b'{"model": "opus"}'


def test_the_fast_path_is_put_in_place_with_its_stamp(settings):
    """The first line names the interpreter, the second the version and a hash; the file is private and can be run."""
    settings()
    put_in()
    first, second, *rest = installed.fast_path_file().read_text(encoding="utf-8").splitlines()
    assert first.startswith("#!/")
    assert first.endswith(" -IS")
    assert re.fullmatch(rf"# leftoff {re.escape(leftoff.__version__)} [0-9a-f]{{12}}", second)
    assert installed.installed_version() == leftoff.__version__
    assert rest[0] == "import marshal, sys"  # the compiled form, for this interpreter
    assert stat.S_IMODE(installed.fast_path_file().stat().st_mode) == 0o700
    assert not installed.write_fast_path()


def test_an_interpreter_that_does_not_know_itself_is_an_error(settings, monkeypatch):
    """No agent could run leftoff without the interpreter's path."""
    settings()
    monkeypatch.setattr("sys.executable", "")
    with pytest.raises(StorageError, match="its own path"):
        put_in()


def test_the_fast_path_stays_as_long_as_anything_calls_it(settings):
    """The last one out takes it along."""
    settings("claude")
    settings("codex")
    put_in("claude")
    put_in("codex")
    assert take_out("claude").fast_path is None
    assert installed.fast_path_file().exists()
    assert take_out("codex").fast_path == installed.fast_path_file()
    assert not installed.fast_path_file().exists()


def test_a_fast_path_that_nothing_calls_is_taken_away(settings):
    """The settings were deleted by hand."""
    file = settings()
    put_in()
    file.unlink()
    take_out()
    assert not installed.fast_path_file().exists()
    with pytest.raises(NothingToDoError):
        take_out()


def test_codex_s_config_is_never_written(settings):
    """Only the user may approve hooks, and leftoff says where."""
    config = settings("codex").with_name("config.toml")
    config.write_bytes(b"# mine\n")
    troubles = install(plan_install("codex", "user", Workspace.open()))
    assert [trouble.fix for trouble in troubles] == [
        'start codex and answer "Hooks need review" with "Trust all", or type /hooks and approve those of leftoff'
    ]
    take_out()
    assert config.read_bytes() == b"# mine\n"


# Scopes


def test_a_project_gets_files_of_its_own_and_loses_them_again(settings):
    """Folders that leftoff created are removed too."""
    settings()
    plan = put_in(scope="project")
    assert plan.settings == Path.cwd() / ".claude" / "settings.local.json"
    with pytest.raises(NothingToDoError):
        plan_uninstall("claude", "user", Workspace.open())
    take_out(scope="project")
    assert not (Path.cwd() / ".claude").exists()


def test_without_a_scope_other_projects_are_cleaned_up_too(settings, tmp_path, monkeypatch):
    """Uninstall remembers where it installed; with a scope it changes only that place."""
    settings()
    put_in(scope="project")
    there = tmp_path / "elsewhere"
    there.mkdir()
    monkeypatch.chdir(there)
    with pytest.raises(NothingToDoError):
        take_out("claude", "project")
    take_out()
    assert not (tmp_path / "work" / ".claude").exists()


def test_a_project_is_not_wired_when_the_user_is(settings):
    """Each event must be handled once."""
    settings()
    put_in()
    with pytest.raises(NothingToDoError, match=r"all your projects already.*uninstall claude --scope user"):
        put_in(scope="project")


def test_a_note_names_the_hooks_that_the_project_has_already(settings):
    """The note says how to remove them."""
    settings()
    put_in(scope="project")
    assert any("--scope project" in note for note in put_in().notes)


def test_home_is_not_a_project(settings, isolated_home, monkeypatch):
    """Hooks in the home folder would apply to every project."""
    monkeypatch.chdir(isolated_home)
    with pytest.raises(UsageError, match="not a project"):
        plan_install("claude", "project", Workspace.open(isolated_home))


# Beside others


def test_with_the_plugin_no_hooks_go_into_the_settings(settings):
    """Only what a plugin cannot provide is written, and earlier hooks are removed."""
    file = settings(before=b"{}")
    put_in()
    changed = {**json.loads(file.read_bytes()), "enabledPlugins": {"leftoff@leftoff": True}}
    file.write_text(json.dumps(changed), encoding="utf-8")
    plan = put_in()
    assert any("plugin" in note for note in plan.notes)
    assert json.loads(file.read_bytes()).keys() == {"enabledPlugins", "statusLine"}
    assert installed.fast_path_file().exists(), "the plugin calls it"
    plan = take_out()
    assert json.loads(file.read_bytes()) == {"enabledPlugins": {"leftoff@leftoff": True}}
    assert any("still switched on" in note for note in plan.notes)
    assert installed.fast_path_file().exists(), "the plugin still calls it"


def prompt_hook(command):
    return {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": command}]}]}}


@pytest.mark.parametrize(
    ("command", "taken"),
    [
        ("$HOME_OF_IT/tools/prompt.sh --fast", True),
        ("~/.claude/tools/prompt.sh", True),
        ("sh -c 'grep -q >resume'", True),
        ("true", False),
        ("sh 'never closed", False),
        ("/nowhere/prompt.sh", False),
        ("$LOST", False),
        ("/" + "x" * 5000 + "/prompt.sh", False),
    ],
)
def test_other_tools_that_read_prompts_are_reported(settings, isolated_home, command, taken):
    """The note says which triggers the other tool takes and what to do about it."""
    script = isolated_home / ".claude" / "tools" / "prompt.sh"
    script.parent.mkdir(parents=True)
    script.write_text('case "$p" in ">resume"*) ;; esac', encoding="utf-8")
    settings(before=json.dumps(prompt_hook(command)).encode())
    (note,) = (note for note in plan_install("claude", "user", Workspace.open()).notes if "prompts" in note)
    assert command in note
    assert ("triggers_prefix" in note) == taken
    assert (">resume" in note.replace(command, "")) == taken


def test_an_agent_without_hooks_says_so(isolated_home, monkeypatch):
    """The error lists the agents that have hooks."""
    (isolated_home / "guest_agent.py").write_text(
        "from pathlib import Path\nfrom leftoff.testing.plain_agent import PlainAgent\n"
        "def here():\n    return PlainAgent(home=Path('.'))\n",
        encoding="utf-8",
    )
    info = isolated_home / "guest-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: guest\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[leftoff.agents.v1]\nplain = guest_agent:here\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(isolated_home))
    with pytest.raises(UsageError, match=r"Plain has no hooks.*claude, codex"):
        plan_install("plain", "user", Workspace.open())


# Purging


def test_purge_lists_what_there_is_and_takes_it_away(settings, isolated_home):
    """The user's folders and the documents of this project; what a project shares stays."""
    settings()
    put_in()
    documents = Path.cwd() / ".leftoff"
    for name in ("resume-logs/session-a.md", "configuration.yaml", "project/_resume.md"):
        (documents / name).parent.mkdir(parents=True, exist_ok=True)
        (documents / name).write_text("words", encoding="utf-8")
    (documents / "link").symlink_to(isolated_home)
    paths.config_folder().mkdir(parents=True)
    (paths.config_folder() / "configuration.yaml").write_text("{}", encoding="utf-8")
    take_out()
    kept = purge.kept_data(Path.cwd())
    assert [each.path for each in kept] == [
        paths.config_folder(),
        paths.data_folder(),
        documents / "link",
        documents / "resume-logs",
    ]
    assert [each.files for each in kept] == [1, 1, 1, 1]
    assert kept[-1].size_bytes == 5
    purge.purge(kept)
    purge.purge(kept)
    assert sorted(each.name for each in documents.iterdir()) == ["configuration.yaml", "project"]
    assert isolated_home.exists()
    assert purge.kept_data(Path.cwd()) == []


def test_what_cannot_be_purged_is_named(run_python, unprivileged_folder):
    """What could not be deleted is not reported as deleted."""
    (unprivileged_folder / "locked" / "folder").mkdir(parents=True)
    (unprivileged_folder / "locked" / "folder" / "inner").write_bytes(b"x")
    (unprivileged_folder / "locked").chmod(0o555)
    ended = run_python(
        "import sys\nfrom pathlib import Path\nfrom leftoff.forget import purge\nfrom leftoff.errors import StorageError\n"
        "drop()\n"
        "try:\n    purge.purge([purge.KeptData(path=Path(sys.argv[1]), what='', files=1, size_bytes=1)])\n"
        "except StorageError as error:\n    print(error)\n",
        unprivileged_folder / "locked" / "folder",
    )
    (unprivileged_folder / "locked").chmod(0o755)
    assert "not removed: no permission" in ended.stdout
    assert (unprivileged_folder / "locked" / "folder" / "inner").exists()
