"""ARCHITECTURE.md says what is true: its packages exist, and every function of its journeys can be found."""

import importlib
import re
from pathlib import Path

import leftoff

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
SOURCE = Path(leftoff.__file__).parent


def test_every_package_has_its_line():
    table = TEXT.partition("## Packages")[2].partition("##")[0]
    named = {
        name
        for row in table.splitlines()
        if row.startswith("| `")
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    assert named == {folder.parent.name for folder in SOURCE.glob("*/__init__.py")} | {"workspace"}


def test_every_function_of_the_journeys_exists():
    names = re.findall(r"`([a-z_]+(?:\.\w+)+)`", TEXT.partition("## Five journeys")[2])
    assert len(names) > 20
    assert [name for name in names if _find(name) is None] == []


def _find(dotted: str) -> object | None:
    """Return the object that ``package.module.name`` or ``package.module.Class.name`` names, or None."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object | None = importlib.import_module(".".join(["leftoff", *parts[:length]]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            found = getattr(found, name, None)
        return found
    return None


def test_it_fits_on_two_screens():
    assert len(TEXT.splitlines()) <= 120
