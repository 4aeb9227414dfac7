"""``python -m leftoff`` and the installed command."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_RARELY = 50_000  # new objects; a command ends before its garbage is worth looking for, which took a twelfth of its time


def main() -> None:
    """Run the command line and end the process with its exit code."""
    if sys.argv[1:2] in (["hook"], ["statusline"]):
        _for_an_agent(*sys.argv[1:])
        sys.exit(0)
    gc.set_threshold(_RARELY)
    if sys.argv[1:2] in (["search"], ["status"]) and (code := _short_way(*sys.argv[1:])) is not None:
        _end(code)
    from leftoff.cli.main import run  # noqa: PLC0415 - hooks take a shorter way than the command line

    sys.exit(run(sys.argv[1:]))


def _end(code: int) -> NoReturn:
    """All is written, so the interpreter need not be taken down piece by piece: that takes a twentieth of such a command."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    if "coverage" not in sys.modules:  # which writes what it saw at the end
        os._exit(code)
    sys.exit(code)


def _for_an_agent(name: str, *arguments: str) -> None:
    """Never fails: that would harm the agent's turn, even where half of this package is gone."""
    with suppress(Exception):
        if name == "hook" and arguments and not arguments[0].startswith("-"):
            from leftoff.cli.hook import run as answer  # noqa: PLC0415

            answer(arguments)
        elif name == "statusline" and not arguments:  # agents call it again and again
            from leftoff.cli.statusline import run as show  # noqa: PLC0415

            show()
        else:  # --help and --json are for people; what they get wrong is said, and blocks nobody
            from leftoff.cli.main import run  # noqa: PLC0415

            run([name, *arguments])


def _short_way(name: str, *arguments: str) -> int | None:
    """None where the command line has to look at what was typed; it also says what went wrong."""
    try:  # loading the command line takes longer than these commands
        if name == "search":
            from leftoff.cli.search import run  # noqa: PLC0415
        else:
            from leftoff.cli.status import run  # noqa: PLC0415

        return run(arguments)
    except (Exception, KeyboardInterrupt) as trouble:  # noqa: BLE001 - the door has a word for every ending
        from leftoff.cli.main import ended  # noqa: PLC0415

        if isinstance(trouble, KeyboardInterrupt) and sys.stderr is not None:
            sys.stderr.write("\n")  # a terminal shows ^C, as click knows

        return ended(trouble, as_json="--json" in sys.argv)


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working folder: a project's own click.py or json.py must not be run
    main()
