"""Plugins: built-ins and guests enter by the same door, and one that fails is named and passed over."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from leftoff import plugins
from leftoff.errors import LeftoffError, NotFoundError, PluginError
from leftoff.stores.memory import MemoryStore

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_a_built_in_is_made_by_its_name() -> None:
    """A new one each time."""
    assert "memory" in plugins.names("storage")
    first, second = plugins.make("storage", "memory"), plugins.make("storage", "memory")
    assert isinstance(first, MemoryStore)
    assert first is not second


@pytest.mark.parametrize("group", [*plugins.BUILT_IN])
def test_everything_built_in_can_be_made(group: plugins.Group) -> None:
    """Every dotted path on the one screen leads somewhere."""
    for name in plugins.BUILT_IN[group]:
        assert plugins.make(group, name) is not None


def test_an_unknown_name_is_told_with_those_that_exist() -> None:
    """As not found, which it is."""
    with pytest.raises(
        NotFoundError, match=r"nothing called 'memry' among the storage\. There are: .*memory"
    ):
        plugins.make("storage", "memry")


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module of somebody's, on the path under a name of its own."""
    (tmp_path / "lib").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    return tmp_path / "lib"


@pytest.mark.parametrize(
    ("path", "words"),
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
def test_a_path_that_leads_nowhere_is_told(path: str, words: str) -> None:
    """With the path as it was written."""
    with pytest.raises(PluginError) as refused:
        plugins.make_from(path)
    assert str(refused.value).startswith(f"Plugin {path!r}")
    assert words in str(refused.value)


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
def test_whatever_a_guest_does_is_an_error_of_ours(
    guest: Path, code: str, request: pytest.FixtureRequest
) -> None:
    """Raising, leaving, bad syntax: it cannot take us along."""
    module = f"guest_{abs(hash(request.node.name))}"
    (guest / f"{module}.py").write_text(code + "\n", encoding="utf-8")
    with pytest.raises(PluginError, match=f"Plugin '{module}:Name' failed: "):
        plugins.make_from(f"{module}:Name")


def test_a_failing_guest_hides_no_other(guest: Path) -> None:
    """It comes back as the error that says so, in its place."""
    (guest / "guest_mixed.py").write_text(
        "class Good: pass\ndef bad(): raise ValueError('no')\n", encoding="utf-8"
    )
    made = [*plugins.make_all("sections", ["guest_mixed:Good", "guest_mixed:bad", "guest_mixed:Good"])]
    mine = made[-3:]
    assert [type(each).__name__ for each in mine] == ["Good", "PluginError", "Good"]
    assert isinstance(mine[1], LeftoffError)
    assert str(mine[1]) == "Plugin 'guest_mixed:bad' failed: ValueError: no."


def test_a_name_may_lie_inside_a_class(guest: Path) -> None:
    """As an entry point may say it."""
    (guest / "guest_inner.py").write_text("class A:\n    class B:\n        pass\n", encoding="utf-8")
    assert type(plugins.make_from("guest_inner:A.B")).__qualname__ == "A.B"


# Entry points, of a real distribution in a process of its own


def install(folder: Path, name: str, entry_points: str, module: str = "") -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    (folder / f"{name}.py").write_text(module, encoding="utf-8")


_ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
from leftoff import plugins
before = {*sys.modules}
names = plugins.names("storage")
loaded = [each for each in ("guest", "rival") if each in sys.modules]
made = [str(each) if isinstance(each, plugins.PluginError) else type(each).__name__ for each in plugins.make_all("storage")]
print(json.dumps([names, loaded, made]))
"""


def test_a_guest_by_entry_point_is_found_and_loaded_only_when_asked_for(
    tmp_path: Path, run_python: Run
) -> None:
    """After the built-ins; it cannot take the name of one, nor enter by a group of another version."""
    install(
        tmp_path / "lib",
        "guest",
        "[leftoff.storage.v1]\nshelf = guest:Shelf\nmemory = guest:Thief\nbroken = guest:nothing\n"
        "[leftoff.storage.v2]\nfuture = guest:Shelf\n",
        "class Shelf: pass\nclass Thief: pass\n",
    )
    names, loaded, made = json.loads(run_python(_ASK, tmp_path / "lib").stdout)
    built_in = [*plugins.BUILT_IN["storage"]]
    assert names == [*built_in, "shelf", "broken"]
    assert loaded == []
    assert made[len(built_in)] == "Shelf"
    assert made[-1].startswith("Plugin 'guest:nothing' failed: AttributeError")
    assert "Thief" not in made


def test_a_distribution_with_broken_entry_points_hides_no_other(tmp_path: Path, run_python: Run) -> None:
    """Somebody else's packaging mistake is not ours to die of."""
    install(tmp_path / "lib", "guest", "[leftoff.storage.v1]\nshelf = guest:Shelf\n", "class Shelf: pass\n")
    install(tmp_path / "lib", "rival", "[leftoff.storage.v1]\nno equals sign\n= x\n[[[\n")
    names, _, made = json.loads(run_python(_ASK, tmp_path / "lib").stdout)
    assert {*plugins.BUILT_IN["storage"], "shelf"} <= {*names}
    assert any(each.startswith("The entry points of rival cannot be read: ") for each in made)
    assert "Shelf" in made


def test_a_guest_in_an_archive_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Python itself would import it from there."""
    archive = tmp_path / "guest.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("zipped_guest.py", "class Store:\n    pass\n")
        packed.writestr("guest-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: guest\nVersion: 1\n")
        packed.writestr(
            "guest-1.dist-info/entry_points.txt", "[leftoff.storage.v1]\nzipped = zipped_guest:Store\n"
        )
    monkeypatch.syspath_prepend(str(archive))
    assert "zipped" in plugins.names("storage")


def test_without_guests_no_parser_of_packages_is_loaded(run_python: Run) -> None:
    """It costs as much as reading a session."""
    asked = "import sys; from leftoff import plugins; [*plugins.make_all('agents')]; "
    done = run_python(f"{asked} print('importlib.metadata' in sys.modules)")
    assert done.stdout.strip() == "False", done
