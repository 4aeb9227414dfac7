"""The lineage of 002 by file: where a session came from, the chain of its ancestors, and the block that tells a model of it."""

from __future__ import annotations

from pathlib import Path

from leftoff.flows import ancestry, inject_lineage
from leftoff.lineage.chain import newest_first, oldest_first
from leftoff.model.session import Derivation
from leftoff.model.session_node import SessionNode

_ORIGINAL = "original"


def get_parent_info(session_file: Path | str) -> tuple[Path | None, str | None, Path | None]:
    """The parent's file, how the session was derived from it, and the exported text of it; None for what there is not."""
    node = ancestry.family_here().node(Path(session_file))
    if node.parent is None:
        return None, None, None
    return node.parent.session_file, node.derivation_type, node.exported_file


def get_continuation_lineage(session_file: Path | str) -> list[SessionNode]:
    """The session and its ancestors, oldest first; one whose file is gone is marked as missing."""
    return oldest_first(ancestry.family_here().node(Path(session_file)))


def get_full_lineage_chain(session_file: Path | str) -> list[tuple[Path, str]]:
    """Each file with how it was derived, newest first; the last is the original."""
    nodes = newest_first(ancestry.family_here().node(Path(session_file)))
    return [(node.session_file, node.derivation_type or _ORIGINAL) for node in nodes]


def inject_lineage_into_first_user_message(
    output_file: Path | str, input_file: Path | str, agent: str | None, derivation_type: Derivation
) -> bool:
    """Put the block before the first real user message of a derived file, in place of an older one; whether there is such a message.

    Files that leftoff writes have it already: then it is written anew.
    """
    return inject_lineage.inject_lineage(
        Path(output_file), Path(input_file), agent_id=agent, derivation=derivation_type
    )
