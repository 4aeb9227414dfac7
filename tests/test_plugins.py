"""Plugins: built-ins and third-party plugins are found the same way, and a failing one is reported and skipped."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from leftoff import plugins
from leftoff.errors import LeftoffError, NotFoundError, PluginError
from leftoff.storage.store_base import MemoryStore

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_a_built_in_is_created_by_its_name() -> None:
    """Every call creates a new one."""
    assert "memory" in plugins.names("storage")
    first, second = plugins.make("storage", "memory"), plugins.make("storage", "memory")
    assert isinstance(first, MemoryStore)
    assert first is not second


@pytest.mark.parametrize("group", [*plugins.BUILT_IN])
def test_every_built_in_can_be_created(group: plugins.Group) -> None:
    """Every dotted path in the table of built-ins is valid."""
    for name in plugins.BUILT_IN[group]:
        assert plugins.make(group, name) is not None


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    """The error is a NotFoundError."""
    with pytest.raises(
        NotFoundError, match=r"nothing called 'memry' among the storage\. There are: .*memory"
    ):
        plugins.make("storage", "memry")


@pytest.fixture
def plugin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder on the import path for modules of plugins."""
    (tmp_path / "lib").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    return tmp_path / "lib"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("json", "a plugin is named package.module:Name."),
        (":x", "a plugin is named package.module:Name."),
        ("json:", "a plugin is named package.module:Name."),
        ("", "a plugin is named package.module:Name."),
        ("no_such_module_here:X", "failed: ModuleNotFoundError: "),
        ("json:Nothing", "failed: AttributeError: "),
        ("json:__doc__", "failed: TypeError: "),
        ("json:loads", "failed: TypeError: "),
        ("..evil:X", "failed: "),
        ("json:decoder.Nothing", "failed: AttributeError: "),
    ],
)
def test_a_wrong_path_is_a_plugin_error(path: str, message: str) -> None:
    """The message quotes the path as it was written."""
    with pytest.raises(PluginError) as refused:
        plugins.make_from(path)
    assert str(refused.value).startswith(f"Plugin {path!r}")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "code",
    [
        "raise RuntimeError('broken')",
        "import sys; sys.exit(0)",
        "def Name(: pass",
        "1 / 0",
        "def Name(): raise KeyError('x')",
    ],
)
def test_a_failing_plugin_raises_plugin_error(
    plugin_folder: Path, code: str, request: pytest.FixtureRequest
) -> None:
    """Exceptions, sys.exit and syntax errors of a plugin all become a PluginError."""
    module = f"plugin_{abs(hash(request.node.name))}"
    (plugin_folder / f"{module}.py").write_text(code + "\n", encoding="utf-8")
    with pytest.raises(PluginError, match=f"Plugin '{module}:Name' failed: "):
        plugins.make_from(f"{module}:Name")


def test_a_failing_plugin_does_not_hide_others(plugin_folder: Path) -> None:
    """The error is returned in the place of the failing plugin."""
    (plugin_folder / "plugin_mixed.py").write_text(
        "class Good: pass\ndef bad(): raise ValueError('no')\n", encoding="utf-8"
    )
    created = [*plugins.make_all("sections", ["plugin_mixed:Good", "plugin_mixed:bad", "plugin_mixed:Good"])]
    own = created[-3:]
    assert [type(each).__name__ for each in own] == ["Good", "PluginError", "Good"]
    assert isinstance(own[1], LeftoffError)
    assert str(own[1]) == "Plugin 'plugin_mixed:bad' failed: ValueError: no."


def test_a_plugin_may_be_a_nested_class(plugin_folder: Path) -> None:
    """A dotted name after the colon is allowed, as in entry points."""
    (plugin_folder / "plugin_nested.py").write_text(
        "class A:\n    class B:\n        pass\n", encoding="utf-8"
    )
    assert type(plugins.make_from("plugin_nested:A.B")).__qualname__ == "A.B"


# Entry points, of a real distribution in a process of its own


def install(folder: Path, name: str, entry_points: str, module: str = "") -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    (folder / f"{name}.py").write_text(module, encoding="utf-8")


_LIST_PLUGINS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from leftoff import plugins
names = plugins.names("storage")
loaded = [each for each in ("plugin_module", "broken_module") if each in sys.modules]
created = [str(each) if isinstance(each, plugins.PluginError) else type(each).__name__ for each in plugins.make_all("storage")]
print(json.dumps([names, loaded, created]))
"""


def test_an_entry_point_is_listed_without_being_loaded(tmp_path: Path, run_python: Run) -> None:
    """Entry points come after the built-ins, cannot replace one, and must have the right group version."""
    install(
        tmp_path / "lib",
        "plugin_module",
        "[leftoff.storage.v1]\nextra = plugin_module:ExtraStore\nmemory = plugin_module:FakeMemory\nbroken = plugin_module:nothing\n"
        "[leftoff.storage.v2]\nfuture = plugin_module:ExtraStore\n",
        "class ExtraStore: pass\nclass FakeMemory: pass\n",
    )
    names, loaded, created = json.loads(run_python(_LIST_PLUGINS, tmp_path / "lib").stdout)
    built_in = [*plugins.BUILT_IN["storage"]]
    assert names == [*built_in, "extra", "broken"]
    assert loaded == []
    assert created[len(built_in)] == "ExtraStore"
    assert created[-1].startswith("Plugin 'plugin_module:nothing' failed: AttributeError")
    assert "FakeMemory" not in created


def test_broken_entry_points_do_not_hide_others(tmp_path: Path, run_python: Run) -> None:
    """A distribution with broken entry points is reported, and the plugins of others still load."""
    install(
        tmp_path / "lib",
        "plugin_module",
        "[leftoff.storage.v1]\nextra = plugin_module:ExtraStore\n",
        "class ExtraStore: pass\n",
    )
    install(tmp_path / "lib", "broken_module", "[leftoff.storage.v1]\nno equals sign\n= x\n[[[\n")
    names, _, created = json.loads(run_python(_LIST_PLUGINS, tmp_path / "lib").stdout)
    assert {*plugins.BUILT_IN["storage"], "extra"} <= {*names}
    assert any(each.startswith("The entry points of broken_module cannot be read: ") for each in created)
    assert "ExtraStore" in created


def test_a_plugin_in_a_zip_archive_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python can import from archives, so plugins in them are found too."""
    archive = tmp_path / "guest.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("zipped_plugin.py", "class Store:\n    pass\n")
        packed.writestr("guest-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: guest\nVersion: 1\n")
        packed.writestr(
            "guest-1.dist-info/entry_points.txt", "[leftoff.storage.v1]\nzipped = zipped_plugin:Store\n"
        )
    monkeypatch.syspath_prepend(str(archive))
    assert "zipped" in plugins.names("storage")


@pytest.mark.parametrize("folder_name", ["lib/guest-1.dist-info", "lib/guest.egg-info", "guest.egg/EGG-INFO"])
def test_a_plugin_is_found_however_it_was_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder_name: str
) -> None:
    """Wheels, editable installs and eggs differ in the name of the folder that declares entry points."""
    info = tmp_path / folder_name
    info.mkdir(parents=True)
    metadata = "PKG-INFO" if "egg" in folder_name.lower() else "METADATA"
    (info / metadata).write_text("Metadata-Version: 2.1\nName: guest\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[leftoff.storage.v1]\nguest = guest:Store\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(info.parent))
    assert "guest" in plugins.names("storage")
