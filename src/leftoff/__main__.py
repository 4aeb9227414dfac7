"""``python -m leftoff`` and the installed command."""

from __future__ import annotations

import gc
import sys
import warnings
from contextlib import suppress


def main() -> None:
    """Run the command line and end the process with its exit code."""
    if sys.argv[1:2] in (["hook"], ["statusline"], ["in-place"]):
        _run_for_agent(*sys.argv[1:])
        sys.exit(0)
    from leftoff.cli.main import run  # noqa: PLC0415 - agents wait for hooks, which do not need it

    sys.exit(run(sys.argv[1:]))


def _run_for_agent(name: str, *arguments: str) -> None:
    """Run a hook, the status line, or what the plugin inside an agent asks for. This never fails, because that would harm the agent's turn."""
    gc.disable()  # the agent waits, and the process ends before its garbage matters
    warnings.simplefilter("ignore")  # doctor and the commands that people type name mistakes in the settings
    with suppress(Exception):
        if name == "hook" and arguments and not arguments[0].startswith("-"):
            from leftoff.cli.agent_hook import run_hook as answer  # noqa: PLC0415

            answer(arguments)
        elif name == "in-place" and arguments and not arguments[0].startswith("-"):
            from leftoff.cli.agent_hook import run_in_place as rebuild  # noqa: PLC0415

            rebuild(arguments[0])
        elif name == "statusline" and not arguments:
            from leftoff.cli.agent_statusline import run_statusline as show  # noqa: PLC0415

            show()
        else:  # such as --help or --json, typed by a person
            from leftoff.cli.main import run  # noqa: PLC0415

            run([name, *arguments])
    gc.freeze()  # or else the interpreter looks for garbage once more before it exits


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working folder: a project's click.py or json.py must not be imported
    main()
