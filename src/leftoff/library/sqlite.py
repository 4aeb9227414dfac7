"""SQLite without the Python around it, which brings adapters of dates that take longer to load than a search; we keep seconds."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3 as sqlite3
else:
    try:
        import _sqlite3 as sqlite3
    except ImportError:  # an interpreter that has it otherwise: slower, and the same
        import sqlite3

__all__ = ["sqlite3"]
