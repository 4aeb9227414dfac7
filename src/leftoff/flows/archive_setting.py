"""Switch the archive on in the user's own configuration: the one setting that installing asks about."""

from __future__ import annotations

import io

from leftoff.config.layers import FILE_NAME
from leftoff.errors import ConfigError
from leftoff.flows.settings import settings_here
from leftoff.library.zstd import is_possible
from leftoff.system import files, paths

_SECTION = "context_management"


def may_be_asked() -> bool:
    """Whether nobody has decided yet, and this machine could do it."""
    return settings_here().origins["archive.enabled"].layer == "default" and is_possible()


def decide(*, enabled: bool) -> None:
    """Write the decision down, whatever else stands there; comments and order stay."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - only where something is written
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    path = paths.config_folder() / FILE_NAME
    yaml = YAML()
    try:
        content = yaml.load(path.read_text(encoding="utf-8")) if path.exists() else None
    except (YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path}: cannot be read; the archive was not decided about. Mend the file first.", path=path
        ) from error
    content = content or {}
    section = content.get(_SECTION) or {}
    archive = section.get("archive") or {}
    archive["enabled"] = enabled
    section["archive"] = archive
    content[_SECTION] = section
    written = io.StringIO()
    yaml.dump(content, written)
    files.write_file(path, written.getvalue().encode())
