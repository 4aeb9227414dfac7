"""Pack the archives of old pauses; everything that reads them reads packed ones too."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from leftoff.errors import StorageError
from leftoff.flows.pause_homes import sessions_folder
from leftoff.model.values import dataclass
from leftoff.pauses.shelf import compress, kept_in
from leftoff.system import clock, paths
from leftoff.system.register import Register


@dataclass(frozen=True, slots=True, kw_only=True)
class Compressed:
    """How many archives were packed, how many bytes that saved, and what went wrong with others."""

    archives: int
    saved_bytes: int
    troubles: tuple[str, ...] = ()


def compress_archives(working_folder: Path, older_than: timedelta) -> Compressed:
    """Pack those of this project whose pause ended longer ago; one that cannot be packed stops no other."""
    moment = clock.now()
    register = Register(folder=paths.data_folder())
    old = [
        each
        for each in kept_in(sessions_folder(paths.project_of(working_folder)))
        if each.paused_at <= moment - older_than
    ]
    packed, troubles = [], []
    for each in old:
        try:
            if (done := compress(each)) is not None:
                packed.append(done)
                register.note_written(done.path, each.session_id, moment)
        except StorageError as error:
            troubles.append(error.message)
    return Compressed(
        archives=len(packed),
        saved_bytes=sum(each.saved_bytes for each in packed),
        troubles=tuple(troubles),
    )
