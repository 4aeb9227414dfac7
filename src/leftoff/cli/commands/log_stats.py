"""``leftoff log stats``."""

from __future__ import annotations

import click

from leftoff.cli import display
from leftoff.flows import log_stats as flow
from leftoff.system import paths


@click.command(epilog="Example: leftoff log stats")
@display.with_json
def stats(*, as_json: bool) -> int:
    """Show how many resume logs this project has, how large they are, and where they stand."""
    found = flow.log_stats(paths.working_folder())
    if as_json:
        display.as_json(found.to_dict())
        return 0
    special = {
        "compressed": found.compressed_logs,
        "edited by hand": found.edited_logs,
        "that cannot be read": found.unreadable_logs,
        "left by a predecessor": found.predecessor_logs,
    }
    display.say(
        f"{found.total_logs} logs, {found.total_size_bytes:,} bytes, in {display.visible(found.storage_dir)}"
    )
    for words, count in special.items():
        if count:
            display.say(f"  {count} {words}")
    if found.newest:
        display.say(f"  saved from {found.oldest} to {found.newest}")
    display.say(
        f"  each takes at most {found.max_tokens:,} tokens; the newest {found.keep_count} are kept"
        + ("" if found.enabled else "; switched off: resume_logs.enabled is false")
    )
    return 0
