"""``python -m leftoff`` and the installed command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    if sys.argv[1:2] == ["hook"] and sys.argv[2:] and not sys.argv[2].startswith("-"):
        sys.exit(_hook())
    if sys.argv[1:] == ["statusline"]:  # agents call it again and again: a shorter way than the command line
        from leftoff.cli.statusline import run as show  # noqa: PLC0415

        sys.exit(show())
    from leftoff.cli.main import run  # noqa: PLC0415 - hooks take a shorter way than the command line

    sys.exit(run(sys.argv[1:]))


def _hook() -> int:
    """0, whatever happens: anything else would harm the agent's turn, even where half of this package is gone."""
    try:
        from leftoff.cli.hook import run  # noqa: PLC0415

        return run(sys.argv[2:])
    except Exception:  # noqa: BLE001 - see above
        return 0


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working folder: a project's own click.py or json.py must not be run
    main()
