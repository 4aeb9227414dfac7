"""Write a setting into a configuration file, keeping its comments and order."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leftoff.config.load import SECTION
from leftoff.errors import ConfigError
from leftoff.platform import files


def save_setting(path: Path, dotted: str, value: Any) -> None:
    """Set a value by its dotted key; a missing file is created. ConfigError if the file cannot be read."""
    document = _load(path)
    group = document
    *above, name = [SECTION, *dotted.split(".")]
    for each in above:
        if not isinstance(group.get(each), Mapping):
            group[each] = {}
        group = group[each]
    group[name] = [*value] if isinstance(value, tuple) else value
    _write(path, document)


def remove_setting(path: Path, dotted: str) -> bool:
    """Remove a setting by its dotted key, and the groups that are empty without it; return whether it was there."""
    document = _load(path)
    groups = [document]
    names = [SECTION, *dotted.split(".")]
    for each in names[:-1]:
        inner = groups[-1].get(each)
        if not isinstance(inner, Mapping):
            return False
        groups.append(inner)
    if names[-1] not in groups[-1]:
        return False
    for name, group in zip(reversed(names), reversed(groups), strict=True):
        del group[name]
        if group:
            break
    _write(path, document)
    return True


def _load(path: Path) -> Any:
    from ruamel.yaml import YAML  # noqa: PLC0415 - only where something is written
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    try:
        document = YAML().load(path.read_text(encoding="utf-8-sig")) if path.exists() else None
    except (YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path}: cannot be read as YAML. Nothing was changed; repair the file first.", path=path
        ) from error
    if not isinstance(document, Mapping | None):
        raise ConfigError(f"{path}: has no settings below {SECTION}:. Nothing was changed.", path=path)
    return {} if document is None else document


def _write(path: Path, document: Any) -> None:
    from ruamel.yaml import YAML  # noqa: PLC0415 - only where something is written

    text = io.StringIO()
    if document:
        YAML().dump(document, text)
    files.write_file(path, text.getvalue().encode())
