"""Our plugin in the settings of Claude Code: added beside others, and removed without a trace."""

import json
from pathlib import Path

import pytest

from leftoff.agents import json_edit
from leftoff.agents.claude import mod, plugin_settings

SETTINGS = {
    "empty": "{}\n",
    "others": '{\n    "model": "opus"\n}\n',
    "own plugins": json.dumps(
        {"enabledPlugins": {"a@b": True}, "extraKnownMarketplaces": {"b": {"source": {}}}}, indent=2
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_added_is_removed_without_a_trace(name):
    before = SETTINGS[name]
    draft = json_edit.start_draft(before, Path("settings.json"))
    created = plugin_settings.add(draft, "/data/leftoff/plugins/claude")
    settings = json.loads(draft.text)
    assert settings["enabledPlugins"][mod.PLUGIN] is True
    source = settings["extraKnownMarketplaces"][mod.MARKETPLACE]["source"]
    assert source == {"source": "directory", "path": "/data/leftoff/plugins/claude"}
    plugin_settings.remove(draft, created)
    assert json.loads(draft.text) == json.loads(before)


def test_a_plugin_that_the_user_switched_off_stays_off():
    text = json.dumps({"enabledPlugins": {mod.PLUGIN: False}})
    draft = json_edit.start_draft(text, Path("settings.json"))
    plugin_settings.remove(draft, None)  # as installing again does first
    plugin_settings.add(draft, "/data")
    assert json.loads(draft.text)["enabledPlugins"][mod.PLUGIN] is False


def test_the_files_of_the_plugin_name_each_other():
    files = mod.plugin_files()
    (listed,) = json.loads(files[".claude-plugin/marketplace.json"])["plugins"]
    folder = listed["source"].removeprefix("./")
    assert json.loads(files[f"{folder}/.claude-plugin/plugin.json"])["name"] == listed["name"]
    hooks = json.loads(files[f"{folder}/hooks/hooks.json"])
    assert hooks["hooks"] == {}, "the hooks of the settings are the only ones"
    for module in hooks["modules"]:
        code = files[f"{folder}/hooks/{module.removeprefix('./')}"].decode()
        assert f"{folder}/hooks/leftoff.sh" in files
        assert "/hooks/leftoff.sh" in code
