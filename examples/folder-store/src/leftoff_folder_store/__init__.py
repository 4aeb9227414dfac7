"""Resume logs in a folder that several machines share: one JSON file per log, the newest by its modification time.

It keeps the promises of ``StorageBackend`` and takes options. It does not separate projects (leftoff then looks at each log), and
a log that is sent late counts as saved when it arrives."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

from leftoff import ResumeLog
from leftoff.errors import ConfigError, DocumentError, StorageError
from leftoff.platform import clock, files


class FolderStore:
    """Resume logs in ``folder``, which can also come from ``with_options``."""

    def __init__(self, folder: Path | None = None) -> None:
        self._given_folder = folder

    def with_options(self, options: Mapping[str, str]) -> FolderStore:
        """Return the store that ``storage_options`` describe."""
        if {*options} != {"folder"}:
            raise ConfigError("storage: shared-folder takes one option, storage_options.folder.")
        return FolderStore(Path(options["folder"]))

    def save(self, resume_log: ResumeLog) -> str:
        """Write the log atomically, newer than all others."""
        path = self._path(resume_log.session_id)
        files.write_file(path, json.dumps(resume_log.to_dict(), ensure_ascii=False).encode())
        newest = max((other.stat().st_mtime_ns for other in self._files() if other != path), default=0)
        moment = max(time.time_ns(), newest + 1)  # a clock can be behind or coarse
        os.utime(path, ns=(moment, moment))
        return resume_log.session_id

    def load(self, identifier: str) -> ResumeLog | None:
        """Return the log; None if it does not exist, DocumentError if it is broken."""
        path = self._path(identifier)
        try:
            data = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise DocumentError(f"{path}: cannot be read: {error}.", path=path) from error
        return ResumeLog.from_dict(data, where=str(path))

    def list(self) -> list[str]:
        """Return all session ids, newest save first."""
        logs = sorted(((path.stat().st_mtime_ns, path.stem) for path in self._files()), reverse=True)
        return [session_id for _, session_id in logs]

    def delete(self, identifier: str) -> bool:
        """Delete the log and return whether it existed."""
        try:
            self._path(identifier).unlink()
        except FileNotFoundError:
            return False
        return True

    def check(self) -> str:
        """Return what ``leftoff doctor`` says."""
        if not self._folder.is_dir():
            raise StorageError(f"{self._folder}: no such folder. Is the drive mounted?", path=self._folder)
        return f"{self._folder}: reached, {len(self.list()):,} logs"

    @property
    def _folder(self) -> Path:
        if self._given_folder is None:
            raise ConfigError("storage: shared-folder needs storage_options.folder: which folder is it?")
        return self._given_folder

    def _path(self, session_id: str) -> Path:
        return self._folder / f"{clock.check_id(session_id)}.json"

    def _files(self) -> list[Path]:
        return [path for path in self._folder.glob("*.json") if not path.name.startswith(".")]
