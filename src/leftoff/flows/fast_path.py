"""The installed fast path: ``hook/fast.py`` at a place that stays, stamped with its interpreter and version, and compiled.

The first line names the interpreter, so that whoever finds the file knows how to run it; the second names our version. Python
compiles a script anew each time it runs, which takes half as long as starting Python does; so the compiled form stands in the
file, for the interpreter that compiled it, and the source behind it for any other.
"""

from __future__ import annotations

import marshal
import sys
from pathlib import Path

import leftoff
from leftoff.errors import StorageError
from leftoff.system import files, foreign_files, paths

NAME = "fast.py"
_STAMP = b"# leftoff "


def place() -> Path:
    """Where it is, or would be."""
    return paths.data_folder() / NAME


def interpreter() -> str:
    """The one that runs us, and finds our package again."""
    if not sys.executable:
        raise StorageError("Python does not know its own path; leftoff cannot tell an agent how to call it.")
    return sys.executable


def content() -> bytes:
    """What must stand there for this leftoff."""
    source = (Path(leftoff.__file__).parent / "hook" / NAME).read_text(encoding="utf-8")
    code = compile(source, NAME, "exec", dont_inherit=True, optimize=2)
    ready = marshal.dumps(
        code, 2
    )  # later forms depend on who else holds a value, and are never twice the same
    return "\n".join(
        [
            f"#!{interpreter()} -IS",
            f"{_STAMP.decode()}{leftoff.__version__}",
            "import marshal, sys",
            f"if sys.version == {sys.version!r}:",
            f"    exec(marshal.loads({ready!r}))",
            "else:",
            f"    exec(compile({source!r}, {NAME!r}, 'exec'))",
            "",
        ]
    ).encode()


def put() -> bool:
    """Put it in its place; whether that changed anything."""
    wanted = content()
    if foreign_files.read(place()) == wanted:
        return False
    files.write_file(place(), wanted)
    return True


def installed_version() -> str | None:
    """The version that is installed; None when the file is gone, or is not ours."""
    lines = (foreign_files.read(place()) or b"").split(b"\n", 2)
    stamp = lines[1] if len(lines) > 1 else b""
    return stamp.removeprefix(_STAMP).decode("ascii", "replace") if stamp.startswith(_STAMP) else None
