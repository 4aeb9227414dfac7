"""Resume logs: when one is due, how it is made, kept, listed, cleaned, verified; and the pins they carry."""

from __future__ import annotations
