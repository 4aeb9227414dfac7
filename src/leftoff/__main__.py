"""``python -m leftoff`` and the installed command."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress

_RARELY = 50_000  # new objects; a command ends before its garbage is worth looking for, which took a twelfth of its time


def main() -> None:
    """Run the command line and end the process with its exit code."""
    if sys.argv[1:2] in (["hook"], ["statusline"]):
        _for_an_agent(*sys.argv[1:])
        sys.exit(0)
    if sys.argv[1:2] == ["search"] and (code := _search()) is not None:
        sys.exit(code)
    gc.set_threshold(_RARELY)
    from leftoff.cli.main import run  # noqa: PLC0415 - hooks take a shorter way than the command line

    sys.exit(run(sys.argv[1:]))


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


def _search() -> int | None:
    """The short way of a search; None where the command line has to look at what was typed, or to say what went wrong."""
    from leftoff.cli.search import run  # noqa: PLC0415 - loading the command line takes longer than the search

    try:
        return run(sys.argv[2:])
    except (Exception, KeyboardInterrupt) as trouble:  # noqa: BLE001 - the door has a word for every ending
        from leftoff.cli.main import ended  # noqa: PLC0415

        return ended(trouble, as_json="--json" in sys.argv)


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working folder: a project's own click.py or json.py must not be run
    main()
