"""The ``[SESSION LINEAGE]`` block of 002, which a derived session carries before its first real user message.

Names in it come from files: they are put on one line, and nothing in them can end the block.
"""

from __future__ import annotations

from collections.abc import Sequence

from leftoff.model.lineage_text import BEGIN, CONCLUSION, END, INTRODUCTION, UNNAMED, shown_name
from leftoff.model.session import Derivation
from leftoff.model.session_node import SessionNode

_MOST_NAMED = 12


def lineage_block(ancestors: Sequence[SessionNode], derivation: Derivation) -> str:
    """The block of a session that is just derived from the last of ``ancestors``, which stand oldest first.

    Each is named with what became of it; the new one gets its name when it is written (``with_name``).
    """
    became = [*(node.derivation_type or "continued" for node in ancestors[1:]), derivation]
    lines = [
        f"{number}. {shown_name(node.session_file.name)} ({how}{', missing' if node.missing else ''})"
        for number, (node, how) in enumerate(zip(ancestors, became, strict=True), 1)
    ]
    if len(lines) > _MOST_NAMED:
        lines[1 : -_MOST_NAMED + 1] = [f"… {len(lines) - _MOST_NAMED} more"]
    return "\n".join(
        [
            BEGIN,
            INTRODUCTION,
            *lines,
            f"{len(ancestors) + 1}. {UNNAMED} (current)",
            "",
            CONCLUSION,
            END,
        ]
    )
