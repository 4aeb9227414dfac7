"""Writes the generated parts of README and docs/, or names those that are out of date (``--check``).

A generated part is enclosed by ``<!-- generated: NAME -->`` and ``<!-- /generated -->``; the rest of a page is written by
hand. The shell examples in README are run, and the page shows what they print.
"""

from __future__ import annotations

import difflib
import inspect
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import click

import leftoff
from leftoff.cli.main import GROUPS, cli
from leftoff.config.settings import known_keys

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/cli.md", "docs/configuration.md", "docs/api.md", "docs/screens.md")
_PART = re.compile(r"(<!-- generated: ([\w ./-]+) -->\n)(.*?)(<!-- /generated -->)", re.DOTALL)


def main() -> int:
    """Write the pages, or check them."""
    check = "--check" in sys.argv[1:]
    stale = []
    for name in PAGES:
        page = ROOT / name
        old = page.read_text(encoding="utf-8")
        new = _PART.sub(lambda part: part[1] + generated(part[2]) + part[4], old)
        if old == new:
            continue
        stale.append(name)
        if check:
            print(
                "".join(
                    difflib.unified_diff(
                        old.splitlines(keepends=True), new.splitlines(keepends=True), name, "generated", n=1
                    )
                )
            )
        else:
            page.write_text(new, encoding="utf-8")
            print(f"wrote {name}")
    if check and stale:
        print(f"Out of date: {', '.join(stale)}. Run: make docs")
        return 1
    return 0


def generated(name: str) -> str:
    """Return the text of one generated part."""
    if name.startswith("leftoff"):
        return example(name)
    return PARTS[name]()


def example(command: str) -> str:
    """Return a command as typed and what it prints in a scratch folder, whose name is replaced by ``~``."""
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run(
            [sys.executable, "-m", *command.split()],
            cwd=folder,
            env={
                "HOME": folder,
                "PATH": "/usr/bin:/bin",
                "COLUMNS": "100",
                "LANG": "C.UTF-8",
                "NO_COLOR": "1",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        output = (ended.stdout + ended.stderr).replace(str(Path(folder).resolve()), "~").replace(folder, "~")
    lines = [line.rstrip() for line in output.strip("\n").splitlines()]
    return "\n".join(["```console", f"$ {command}", *lines, "```", ""])


def commands() -> str:
    """Return the help of every command."""
    return "\n".join(_help(("leftoff",), cli))


def _help(names: tuple[str, ...], command: click.Command) -> Iterator[str]:
    context = click.Context(
        command,
        info_name=" ".join(names),
        terminal_width=100,
        help_option_names=["-h", "--help"],
    )
    yield f"## {' '.join(names)}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from _help((*names, name), inner)


def settings() -> str:
    """Return a table of all settings."""
    rows = ["| key | takes | default | a project may set it | meaning |", "|---|---|---|---|---|"]
    for key in known_keys().values():
        takes = key.takes.replace("|", "\\|")
        shown = ", ".join(map(str, key.default)) if isinstance(key.default, tuple) else str(key.default)
        rows.append(
            f"| `{key.dotted}` | {takes} | `{shown}` | {'yes' if key.declared.project else 'no'} | {key.declared.meaning} |"
        )
    return "\n".join([*rows, ""])


def install() -> str:
    """Return how to install leftoff: from a clone until the release workflow has turned the switch in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    published = project["tool"]["leftoff"]["published"]
    first = (
        "pipx install leftoff" if published else "pipx install .            # in a clone of this repository"
    )
    return f"```console\n$ {first}\n$ leftoff install claude     # or codex; shows what it changes, and asks\n```\n"


def screens() -> str:
    """Return the pictures of all commands, by group; tools/pictures.py draws them."""
    parts = []
    for title, group in GROUPS.items():
        parts.append(f"## {title}\n")
        for name, entry in group.items():
            command = cli.get_command(click.Context(cli), name)
            inner = [*command.commands] if isinstance(command, click.Group) else []
            parts.append(f"### leftoff {name}\n\n{entry.summary[0].upper()}{entry.summary[1:]}.\n")
            drawn = [f"{name}-{each}" for each in inner] or [name]
            parts += [f"![leftoff {each}](pictures/{each}-80.svg)\n" for each in drawn]
    return "\n".join(parts)


def python() -> str:
    """Return the public names with their signatures and what they do."""
    parts = ["## Reference\n"]
    for name in leftoff.__all__:
        found = getattr(leftoff, name)
        if inspect.isclass(found):
            parts += _describe_class(name, found)
        elif callable(found):
            parts.append(
                f"### {name}\n\n```python\n{name}{_signature(found)}\n```\n\n{_first_paragraph(found)}\n"
            )
    return "\n".join(parts)


def _describe_class(name: str, found: type) -> Iterator[str]:
    is_error = issubclass(found, Exception)
    takes = (
        ""
        if is_error or inspect.isabstract(found) or getattr(found, "_is_protocol", False)
        else _signature(found)
    )
    yield f"### {name}\n\n```python\nclass {name}{takes}\n```\n\n{_first_paragraph(found)}\n"
    rows = []
    for method, value in vars(found).items():
        if method.startswith("_"):
            continue
        inner = getattr(value, "__func__", value)
        if isinstance(value, property):
            rows.append(f"- `{method}`: {_first_paragraph(value)}")
        elif inspect.isfunction(inner):
            rows.append(f"- `{method}{_signature(inner)}`: {_first_paragraph(inner)}")
    if rows:
        yield "\n".join([*rows, ""])


def _signature(found: Callable[..., object]) -> str:
    """Return a signature without ``self`` and without the quotes of annotations that are not evaluated."""
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(found)))
    return re.sub(
        r"<factory>|<object object at 0x[0-9a-f]+>", "…", re.sub(r"^\((?:self|cls)(?:, )?", "(", text)
    )


def _first_paragraph(found: object) -> str:
    return " ".join((inspect.getdoc(found) or "").split("\n\n")[0].split()).replace("``", "`")


PARTS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "settings": settings,
    "install": install,
    "python": python,
    "screens": screens,
}

if __name__ == "__main__":
    sys.exit(main())
