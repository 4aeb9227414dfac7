"""What is installed: our entries in the agents' settings files, and the fast path in the data folder.

A registry in the data folder remembers what we changed in each settings file, and nothing else of it, so that it can be removed
without a trace. Without the registry uninstalling still finds our entries; only white space of empty objects may then differ.

The installed fast path is ``live/fast.py`` with its interpreter, then version and hash on the first two lines, and compiled: Python would
compile a script each time it runs, which takes half as long as starting Python. The source follows for any other interpreter.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from leftoff.agents.registry import agent_by_id, load_agents
from leftoff.core.hook_settings import EditTrace, Scope, TextEdit, revert_edits
from leftoff.core.live_messages import CompactsInPlace
from leftoff.core.protocols import HasHooks
from leftoff.core.wire import SCHEMAS, JsonObject, upgrade_document
from leftoff.errors import ConfigError, DocumentError, StorageError, describe_os_error
from leftoff.platform import files, locks, paths
from leftoff.version import VERSION

REGISTRY_NAME = "installations.json"
FAST_PATH_NAME = "fast.py"
_STAMP = "# leftoff "
_PLUGINS = "plugins"


class Installation(NamedTuple):
    """A settings file with our entries: the edits that made them, and the file's hash as we left it.

    ``made_file`` and ``made_folder`` say whether we created the file and its folder. ``events`` are those of our entries; None
    in what an older leftoff remembered.
    """

    agent: str
    scope: Scope
    settings: Path
    sha256: str
    trace: EditTrace
    made_file: bool
    made_folder: bool
    events: tuple[str, ...] | None

    def to_dict(self) -> JsonObject:
        """Return the form in the registry's file."""
        return {
            "agent": self.agent,
            "scope": self.scope,
            "settings": str(self.settings),
            "sha256": self.sha256,
            "made": [*self.trace.created],
            "edits": [[edit.start, edit.removed, edit.inserted] for edit in self.trace.edits],
            "made_file": self.made_file,
            "made_folder": self.made_folder,
            **({} if self.events is None else {"events": [*self.events]}),
        }


def digest(content: bytes) -> str:
    """Return the hash that an installation remembers."""
    return hashlib.sha256(content).hexdigest()


def all_installations() -> list[Installation]:
    """Return all installations in the registry; none if its content is damaged, because our entries are found without it."""
    try:
        data = json.loads(_registry_file().read_bytes())
        listed = upgrade_document("installations", data, where=str(_registry_file())).get("installations")
        return [_installation(each) for each in listed] if isinstance(listed, list) else []
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(
            f"{_registry_file()}: cannot be read: {describe_os_error(error)}.", path=_registry_file()
        ) from error
    except (DocumentError, ValueError, KeyError, TypeError):
        return []


def installation_of(settings: Path) -> Installation | None:
    """Return the installation in a settings file; None if the registry has none."""
    return next((each for each in all_installations() if each.settings == settings), None)


@contextmanager
def remembered(installation: Installation) -> Iterator[None]:
    """Add an installation to the registry, replacing one in the same settings file; not if the block fails.

    No other leftoff changes an agent's settings meanwhile.
    """
    with _locked():
        before = all_installations()
        others = [each for each in before if each.settings != installation.settings]
        _write([*others, installation])
        try:
            yield
        except StorageError:
            _write(before)
            raise


def forget(settings: Iterable[Path]) -> None:
    """Remove the installations in these settings files from the registry."""
    removed = {*settings}
    if not any(each.settings in removed for each in all_installations()):
        return
    with _locked():
        remaining = [each for each in all_installations() if each.settings not in removed]
        if remaining:
            _write(remaining)
        else:
            _registry_file().unlink(missing_ok=True)


def without_ours(agent: HasHooks, settings: Path, content: bytes, text: str) -> str:
    """Return the settings without our entries: exactly the text before the installation if the file is unchanged since."""
    known = installation_of(settings)
    if known is not None and known.sha256 == digest(content):
        return revert_edits(text, known.trace.edits)
    return agent.unwired(text, known.trace if known else None, where=settings)


def resolve_settings_file(named: Path) -> Path:
    """Return the file behind a link; a link into a folder that does not exist is refused rather than guessed at."""
    file = files.resolve_links(named)
    if named.is_symlink() and not file.parent.is_dir():
        raise StorageError(
            f"{named}: a link to {file}, whose folder does not exist. Make the folder or remove the link, then try again.",
            path=named,
        )
    return file


def settings_text(file: Path, content: bytes | None) -> str:
    """Decode a settings file; ConfigError if it is not UTF-8."""
    try:
        return (content or b"").decode()
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{file}: not UTF-8 text. Nothing was changed; repair the file first.", path=file
        ) from error


@contextmanager
def _locked() -> Iterator[None]:
    files.make_folder(_registry_file().parent)
    with locks.hold(_registry_file().with_name(files.LOCK_NAME)):
        yield


def _write(installations: Iterable[Installation]) -> None:
    content = {
        "schema": SCHEMAS["installations"],
        "installations": [each.to_dict() for each in installations],
    }
    files.write_file(_registry_file(), json.dumps(content, indent=2).encode() + b"\n")


def _registry_file() -> Path:
    return paths.data_folder() / REGISTRY_NAME


def _installation(data: object) -> Installation:
    if not isinstance(data, dict):
        raise TypeError("an installation is an object")
    edits = tuple(
        TextEdit(start=int(start), removed=str(old), inserted=str(new)) for start, old, new in data["edits"]
    )
    return Installation(
        agent=str(data["agent"]),
        scope="project" if data["scope"] == "project" else "user",
        settings=Path(data["settings"]),
        sha256=str(data["sha256"]),
        trace=EditTrace(edits=edits, created=tuple(map(str, data["made"]))),
        made_file=data["made_file"] is True,
        made_folder=data["made_folder"] is True,
        events=tuple(map(str, data["events"])) if data.get("events") else None,
    )


def fast_path_file() -> Path:
    """Return where the fast path is installed, or would be."""
    return paths.data_folder() / FAST_PATH_NAME


def interpreter() -> str:
    """Return the interpreter that runs leftoff and can import it again."""
    if not sys.executable:
        raise StorageError("Python does not know its own path; leftoff cannot tell an agent how to call it.")
    return sys.executable


def fast_path_content() -> bytes:
    """Return what the installed fast path of this leftoff consists of."""
    source = _fast_path_source()
    code = compile(source, FAST_PATH_NAME, "exec", dont_inherit=True, optimize=2)
    ready = marshal.dumps(code, 2)  # the output of later versions depends on reference counts and varies
    return "\n".join(
        [
            f"#!{interpreter()} -IS",
            _stamp(source),
            "import marshal, sys",
            f"if sys.version == {sys.version!r}:",
            f"    exec(marshal.loads({ready!r}))",
            "else:",
            f"    exec(compile({source!r}, {FAST_PATH_NAME!r}, 'exec'))",
            "",
        ]
    ).encode()


def write_fast_path() -> bool:
    """Install the fast path; return whether that changed the file."""
    wanted, file = fast_path_content(), fast_path_file()
    if files.read_if_exists(file) == wanted and os.access(file, os.X_OK):
        return False
    files.write_file(file, wanted)
    file.chmod(0o700)
    return True


def is_program(file: Path) -> bool:
    """Return whether a file is a part of leftoff itself, which has nothing of any session."""
    return file == fast_path_file() or file.is_relative_to(paths.data_folder() / _PLUGINS)


def plugin_folder(agent_id: str) -> Path:
    """Return the folder of the plugin that runs inside an agent."""
    return paths.data_folder() / _PLUGINS / agent_id


def write_plugin(agent_id: str) -> None:
    """Write the files of the agent's plugin that are not there or not the same; nothing for an agent that takes none."""
    agent = agent_by_id(agent_id)
    if not isinstance(agent, CompactsInPlace):
        return
    for name, content in agent.plugin_files().items():
        file = plugin_folder(agent_id) / name
        if files.read_if_exists(file) != content:
            files.write_file(file, content)


def remove_plugins() -> None:
    """Remove the plugins of all agents."""
    shutil.rmtree(paths.data_folder() / _PLUGINS, ignore_errors=True)


def renew_plugins() -> None:
    """Write the installed plugins again, as after an upgrade of leftoff."""
    for agent in load_agents():
        if plugin_folder(agent.id).is_dir():
            write_plugin(agent.id)


def is_fast_path_outdated() -> bool:
    """Return whether the installed fast path was made from another source, such as that of the package before an upgrade."""
    installed = _installed_stamp()
    return installed is not None and installed != _stamp(_fast_path_source())


def installed_version() -> str | None:
    """Return the version of the installed fast path; None if it is missing or not ours."""
    stamp = _installed_stamp()
    return None if stamp is None else stamp.removeprefix(_STAMP).partition(" ")[0]


def _installed_stamp() -> str | None:
    lines = (files.read_if_exists(fast_path_file()) or b"").split(b"\n", 2)
    stamp = lines[1].decode("ascii", "replace") if len(lines) > 1 else ""
    return stamp if stamp.startswith(_STAMP) else None


def _stamp(source: str) -> str:
    return f"{_STAMP}{VERSION} {digest(source.encode())[:12]}"


def _fast_path_source() -> str:
    return (resources.files("leftoff.live") / FAST_PATH_NAME).read_text(encoding="utf-8")
