"""The command ``leftoff config``: settings shown, explained and changed."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from leftoff.cli import arguments, output
from leftoff.cli.editor import edit_file
from leftoff.config import load, save
from leftoff.config.settings import Key, WrongValueError, known_groups, known_keys
from leftoff.core.quantities import count
from leftoff.diagnose.doctor import SettingInForce, explain_settings
from leftoff.errors import ConfigWarning, NothingToDoError, UsageError
from leftoff.platform import files, paths
from leftoff.workspace import Workspace

_VERBS = {"get", "set", "list", "show"}  # as other programs have them
_LEAST_TOKENS = 100  # of a threshold: a smaller number is meant as a percentage


class SettingKey(arguments.Completed):
    """The dotted key of a setting, which the shell completes."""

    name = "key"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002 - click's signature
        """Return the key; one that does not exist is refused with the nearest."""
        if value in _VERBS:
            raise UsageError(
                "To show a setting: leftoff config KEY. To change it: leftoff config KEY VALUE. "
                "Example: leftoff config thresholds.caution 0.6"
            )
        if value in known_groups():
            members = ", ".join(key for key in known_keys() if key.startswith(f"{value}."))
            raise UsageError(f"{value} is a group of settings. Name one of them: {members}.")
        if value not in known_keys():
            raise UsageError(f"{load.unknown_setting(value)} leftoff config --all lists them all.")
        return value

    def completions(self, incomplete: str) -> list[CompletionItem]:
        """Return the keys that begin so."""
        return [
            CompletionItem(key.dotted, help=key.declared.meaning)
            for key in known_keys().values()
            if key.dotted.startswith(incomplete)
        ]


@click.command(epilog="Example: leftoff config thresholds.caution 0.6")
@click.argument("key", required=False, type=SettingKey())
@click.argument("value", required=False)
@click.option(
    "--all", "everything", is_flag=True, help="List every setting, not only those that were changed."
)
@click.option("--unset", is_flag=True, help="Remove KEY from the file, so that its default applies.")
@click.option("--project", is_flag=True, help="Change the file of this project instead of your own.")
@click.option("--edit", is_flag=True, help="Open the file in $EDITOR.")
@arguments.with_json
def config(
    *,
    key: str | None,
    value: str | None,
    everything: bool,
    unset: bool,
    project: bool,
    edit: bool,
    as_json: bool,
) -> int:
    """Show the settings, explain KEY, or set KEY to VALUE.

    Lists are separated by commas, mappings are name=value,name=value. The file is YAML and keeps your comments.
    """
    warnings.simplefilter("ignore", ConfigWarning)  # the list shows mistakes itself
    workspace = Workspace.open()
    file = (workspace.project.folder if project else paths.config_folder()) / load.FILE_NAME
    if edit:
        return _edit(file, as_json=as_json)
    if key is None:
        if unset:
            raise UsageError("Unset which setting? Example: leftoff config thresholds.caution --unset")
        return _show_all(workspace, everything=everything, as_json=as_json)
    if unset:
        if value is not None:
            raise UsageError("--unset takes a KEY and no VALUE.")
        if not save.remove_setting(file, key):
            raise NothingToDoError(f"{key} is not set in {file}.")
    elif value is not None:
        _save(file, key, _checked(known_keys()[key], value, project=project))
    return _explain(key, changed=None if value is None and not unset else file, as_json=as_json)


def _checked(key: Key, text: str, *, project: bool) -> Any:
    """Return the value as YAML holds it; UsageError if the setting does not take it, or not from a project's file."""
    if project and not key.declared.project:
        raise UsageError(f"{key.dotted} may not be set by a project's file. Leave out --project.")
    try:
        value = key.value_of_text(text)
    except WrongValueError as wrong:
        raise UsageError(f"{key.dotted} cannot be {text[:60]!r}; it takes: {wrong}.") from wrong
    if key.dotted.startswith("thresholds.") and 1 < value <= _LEAST_TOKENS:
        raise UsageError(
            f"{key.dotted} {value} would mean {value} remaining tokens. For {value} % of the window: "
            f"leftoff config {key.dotted} {value / 100:g}"
        )
    return dict(value) if isinstance(value, Mapping) else value


def _save(file: Path, dotted: str, value: Any) -> None:
    """Save a value, and take it back if it contradicts the others, such as a threshold above the next one."""
    before = files.read_if_exists(file)
    save.save_setting(file, dotted, value)
    _, mistakes = explain_settings(Workspace.open())
    wrong = [
        each
        for each in mistakes
        if each.origin.place == str(file) and dotted.rpartition(".")[2] in each.message
    ]
    if wrong:
        files.write_file(file, before or b"")
        raise UsageError(f"{wrong[0].message} Nothing was changed.")


def _explain(dotted: str, *, changed: Path | None, as_json: bool) -> int:
    """Show one setting: its value and origin, what it means, what it takes."""
    in_force, _ = explain_settings(Workspace.open())
    key, found = known_keys()[dotted], next(each for each in in_force if each.key == dotted)
    if as_json:
        output.as_json(
            dataclasses.asdict(found)
            | {"meaning": key.declared.meaning, "takes": key.takes, "file": changed and str(changed)}
        )
        return 0
    output.say(f"{dotted}: {_text(found.value)}  ({_origin(found)})", {"bold": True})
    output.say(output.wrap(output.visible(key.declared.meaning), indent="  "))
    takes = (
        f"Takes: {key.takes.replace(' | ', ' or ')}. Default: {_text(key.default)}. Variable: {key.variable}"
    )
    output.say(output.wrap(output.visible(takes), indent="  "))
    if changed is not None:
        output.say(f"  Changed in {output.short_path(changed)}")
        if found.origin.split()[0] in {"environment", "project"} and str(changed) not in found.origin:
            output.say(f"  Not in force: {output.visible(found.origin)} overrides it.")
    return 0


def _show_all(workspace: Workspace, *, everything: bool, as_json: bool) -> int:
    in_force, mistakes = explain_settings(workspace)
    # A project's are not yours.
    code = 1 if any(mistake.origin.layer != "project file" for mistake in mistakes) else 0
    if as_json:
        output.as_json(
            {"settings": [dataclasses.asdict(each) for each in in_force], "mistakes": [*map(str, mistakes)]}
        )
        return code
    shown = [each for each in in_force if everything or each.origin != "default"]
    if shown:
        rows = [
            (each.key, output.visible(_text(each.value)), "" if each.origin == "default" else _origin(each))
            for each in shown
        ]
        changed = any(origin for _, _, origin in rows)
        output.table(
            ["setting", "value", *(["changed in"] if changed else [])],
            [row if changed else row[:2] for row in rows],
        )
    for mistake in mistakes:
        output.say(f"not used: {output.short_path(mistake)}")
    if not everything:
        rest = len(in_force) - len(shown)
        output.say(f"{count(rest, 'setting')} at the default: leftoff config --all lists them.")
    output.say(f"Your file: {output.short_path(paths.config_folder() / load.FILE_NAME)}")
    return code


def _text(value: Any) -> str:
    """Return a value as it is typed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return ",".join(f"{name}={each}" for name, each in value.items()) or "(none)"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value)) or "(none)"
    return str(value) if value != "" else "(none)"


def _origin(found: SettingInForce) -> str:
    return output.short_path(found.origin)


def _edit(file: Path, *, as_json: bool) -> int:
    file.parent.mkdir(parents=True, exist_ok=True)
    edit_file(file, example="leftoff config --edit")
    return _show_all(Workspace.open(), everything=False, as_json=as_json)
