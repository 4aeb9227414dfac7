"""The commands ``leftoff help`` and ``leftoff completion``."""

from __future__ import annotations

from collections.abc import Iterator

import click
from click.shell_completion import get_completion_class

from leftoff.cli import arguments, output
from leftoff.cli.main import GROUPS, cli

_RC_FILES = {
    "bash": ("~/.bashrc", 'eval "$(leftoff completion bash)"'),
    "zsh": ("~/.zshrc", 'eval "$(leftoff completion zsh)"'),
    "fish": ("~/.config/fish/config.fish", "leftoff completion fish | source"),
}


@click.command("help", epilog="Example: leftoff help trim")
@click.argument("command", nargs=-1)
@arguments.with_json
def help_(*, command: tuple[str, ...], as_json: bool) -> int:
    """Explain COMMAND, such as "trim" or "log save". "all" lists every command; without COMMAND, those for every day."""
    if command in {(), ("all",)} and as_json:
        output.as_json(
            [{"command": name, "group": group, "summary": words} for group, name, words in _all_commands()]
        )
    elif command == ("all",):
        _list_all()
    else:
        text = _help_of(command)
        output.as_json({"command": " ".join(command), "help": text}) if as_json else output.say(text)
    return 0


def _help_of(names: tuple[str, ...]) -> str:
    """Return the help of one command, as its option ``--help`` prints it."""
    found: click.Command = cli
    context = click.Context(cli, info_name="leftoff", **cli.context_settings)
    for name in names:
        if not isinstance(found, click.Group):
            context.fail(f"{context.command_path} has no further commands.")
        _, inner, _ = found.resolve_command(context, [name])
        assert inner is not None
        found, context = inner, click.Context(inner, info_name=name, parent=context)
    return found.get_help(context)


def _list_all() -> None:
    """Print every command with its sub-commands, by group."""
    formatter = click.HelpFormatter(width=min(output.width(), 110))
    listed = [*_all_commands()]
    column = max(len(name) for _, name, _ in listed)
    for title in GROUPS:
        with formatter.section(title):
            formatter.write_dl(
                [(name.ljust(column), words) for group, name, words in listed if group == title]
            )
    output.say(formatter.getvalue().strip("\n"))


def _all_commands() -> Iterator[tuple[str, str, str]]:
    """Yield the group, name and summary of every command."""
    context = click.Context(cli)
    for title, group in GROUPS.items():
        for name, entry in group.items():
            yield title, name, entry.summary
            command = cli.get_command(context, name)
            if isinstance(command, click.Group):
                for inner, each in command.commands.items():
                    yield title, f"{name} {inner}", arguments.first_sentence(each)


@click.command(epilog="Example: leftoff completion bash")
@click.argument("shell", type=click.Choice([*_RC_FILES]), metavar="SHELL")
@arguments.with_json
def completion(*, shell: str, as_json: bool) -> int:
    """Print what makes SHELL (bash, zsh or fish) complete commands, options, agents and session ids with the Tab key.

    Put this line at the end of ~/.bashrc: eval "$(leftoff completion bash)". For zsh use ~/.zshrc and "zsh"; for fish put
    "leftoff completion fish | source" into ~/.config/fish/config.fish.
    """
    found = get_completion_class(shell)
    assert found is not None
    script = found(cli, {}, "leftoff", "_LEFTOFF_COMPLETE").source()
    rc_file, line = _RC_FILES[shell]
    output.as_json(
        {"shell": shell, "script": script, "file": rc_file, "line": line}
    ) if as_json else output.write(script)
    return 0
