"""One session in a lineage (002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leftoff.model.session import Derivation

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class SessionNode:
    """A session file and the one it came from. ``missing`` says that the file is gone: shown, never fatal (L37)."""

    session_file: Path
    derivation_type: Derivation | None  # None: an original
    exported_file: Path | None = None
    parent: SessionNode | None = None
    session_id: str | None = None
    missing: bool = False
