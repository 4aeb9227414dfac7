"""Group copies of a session under their original, so that a list shows a piece of work once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def group_copies(
    items: Sequence[Item], session_id: Callable[[Item], str | None], parent_id: Callable[[Item], str | None]
) -> list[tuple[Item, bool]]:
    """Return the items with each copy after the original that it was made from, and whether an item is such a copy.

    A family is where its first member was. A copy whose original is not among the items counts as an original.
    """
    by_id = {found: item for item in reversed(items) if (found := session_id(item)) is not None}

    def original(item: Item) -> Item:
        seen = {session_id(item)}
        while (parent := parent_id(item)) in by_id and parent not in seen:
            assert parent is not None
            item = by_id[parent]
            seen.add(parent)
        return item

    families: dict[int, list[Item]] = {}
    heads: dict[int, Item] = {}
    for item in items:
        head = original(item)
        heads[id(head)] = head
        families.setdefault(id(head), []).append(item)
    grouped: list[tuple[Item, bool]] = []
    for key, members in families.items():
        grouped.append((heads[key], False))
        grouped += [(member, True) for member in members if member is not heads[key]]
    return grouped
