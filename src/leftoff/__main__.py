"""``python -m leftoff`` and the installed command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from leftoff.cli.main import run  # noqa: PLC0415 - hooks take a shorter way than the command line

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working folder: a project's own click.py or json.py must not be run
    main()
