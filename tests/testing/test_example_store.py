"""The example of a third party's storage backend: installed as a package, found by its entry point, held to every promise."""

import importlib.util
import json
import sys
import tomllib
from pathlib import Path

import pytest

from leftoff.errors import ConfigError
from leftoff.testing.store_promises import StorePromises, a_log
from tests.support.machines import Machine

EXAMPLE = Path(__file__).parents[2] / "examples" / "folder-store"


def example():
    spec = importlib.util.spec_from_file_location(
        "leftoff_folder_store", EXAMPLE / "src" / "leftoff_folder_store" / "__init__.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestFolderStore(StorePromises):
    def make_store(self, folder):
        return example().FolderStore(folder / "shared")

    def spoil(self, store, identifier):
        store._path(identifier).write_text("{", encoding="utf-8")


def test_it_says_what_it_needs():
    """The error says which option is needed."""
    store = example().FolderStore()
    with pytest.raises(ConfigError, match=r"needs storage_options\.folder"):
        store.save(a_log("s"))
    with pytest.raises(ConfigError, match=r"takes one option, storage_options\.folder"):
        store.with_options({"bucket": "b"})


@pytest.fixture
def installed(tmp_path):
    """The package as an installer leaves it: its module, its metadata and its entry points, from its own pyproject.toml."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    site = tmp_path / "site"
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8"
    )
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text("".join(groups), encoding="utf-8")
    (site / "leftoff_folder_store").symlink_to(EXAMPLE / "src" / "leftoff_folder_store")
    return site


@pytest.fixture
def machines(tmp_path, installed):
    one, two = Machine(tmp_path / "one", "a/shop"), Machine(tmp_path / "two", "b/shop")
    for machine in (one, two):
        machine.environment["PYTHONPATH"] += f":{installed}"
        machine.environment["PYTHONDONTWRITEBYTECODE"] = "1"
        machine.configure(storage="shared-folder", storage_options={"folder": str(tmp_path / "shared")})
    one.create_repository()
    two.clone(one)
    return one, two


def test_it_serves_two_machines_by_its_entry_point(machines, tmp_path):
    """Saved on one, listed and taken up on the other; a log of another project in the same folder is not seen."""
    one, two = machines
    code = "from leftoff import plugins; print('shared-folder' in plugins.names('storage'))"
    assert one.run(sys.executable, "-c", code).stdout == "True\n"
    one.save("s", mission_summary=f"Mend {one.root}/cart.py", metadata={"project": str(one.root)})
    one.send()
    (tmp_path / "shared" / "stray.json").write_text(json.dumps(a_log("stray").to_dict()), encoding="utf-8")
    listed = json.loads(two.leftoff("log", "list", "--remote", "--json").stdout)
    assert [each["session_id"] for each in listed] == ["s"]
    data = json.loads(two.leftoff("resume", "--remote", "--json").stdout)
    assert data["mission"] == f"Mend {two.root}/cart.py"
    found = {
        each["what"]: each["detail"]
        for each in json.loads(two.leftoff("doctor", "--json", check=False).stdout)
    }
    assert found["storage"] == f"shared-folder: {tmp_path / 'shared'}: reached, 2 logs"
