"""The user's editor, as ``$VISUAL`` or ``$EDITOR`` names it: for ``log edit``, ``config --edit`` and ``trim --edit``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from leftoff.errors import ProcessError, UsageError
from leftoff.platform import paths


def edit_text(text: str, *, extension: str, example: str, unchanged: str = "Nothing was changed.") -> str:
    """Let the user edit a text; return it as it was if the editor was left without saving.

    ``example`` is the command to type once an editor is named; ``unchanged`` ends the sentence about an editor that fails.
    """
    with _editor(example, unchanged) as editor:
        edited = click.edit(text, editor=editor, extension=extension)
    return text if edited is None else edited


def edit_file(file: Path, *, example: str) -> None:
    """Let the user edit a file."""
    with _editor(example, "") as editor:
        click.edit(editor=editor, filename=str(file))


@contextmanager
def _editor(example: str, unchanged: str) -> Iterator[str]:
    environment = paths.environment()
    editor = environment.get("VISUAL") or environment.get("EDITOR")
    if not editor:
        raise UsageError(f"No editor is set. Name one: EDITOR=nano {example}")
    try:
        shlex.split(editor)
        yield editor
    except click.ClickException as error:
        reason = error.message.removeprefix(f"{editor}: ").rstrip(".")
        raise ProcessError(f"{editor}: {reason}. {unchanged}".rstrip()) from error
    except UnicodeDecodeError as error:
        raise ProcessError(f"{editor}: what it saved is not UTF-8 text. {unchanged}".rstrip()) from error
    except ValueError as error:  # quotes that are not closed
        raise ProcessError(f"{editor}: this command cannot be run: {error}. {unchanged}".rstrip()) from error
