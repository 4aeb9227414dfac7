"""``leftoff log cleanup``."""

from __future__ import annotations

import click

from leftoff.cli import display
from leftoff.errors import UsageError
from leftoff.flows import cleanup_logs as flow
from leftoff.system import paths


@click.command(epilog="Example: leftoff log cleanup --keep 5 --dry-run")
@click.option(
    "--keep", type=int, help="How many of the newest stay; resume_logs.cleanup.keep_count when left out."
)
@click.option("--compress", is_flag=True, help="Compress the others instead of deleting them.")
@click.option("--dry-run", is_flag=True, help="Only say which logs it would be.")
@display.with_json
def cleanup(*, keep: int | None, compress: bool, dry_run: bool, as_json: bool) -> int:
    """Delete old resume logs of this project; the log of a session that still runs always stays."""
    if keep is not None and keep < 0:
        raise UsageError(f"--keep {keep}: how many logs to keep, 0 or more. Nothing was deleted.")
    do = flow.logs_to_clean if dry_run else flow.compress_logs if compress else flow.cleanup_logs
    done = do(paths.working_folder(), keep)
    if as_json:
        display.as_json(
            {
                "dry_run": dry_run,
                "action": "compress" if compress else "delete",
                "files": [str(path) for path in done.paths],
                "left": done.left,
                "troubles": [error.message for error in done.troubles],
            }
        )
        return 0
    did = ("would be " if dry_run else "") + ("compressed" if compress else "deleted")
    for path in done.paths:
        display.say(f"{did}: {display.visible(str(path))}")
    display.say(f"{len(done.paths)} {did}, {done.left} there{' now' if not dry_run else ''}.")
    for error in done.troubles:
        display.error(error.message, as_json=False)
    return 0
