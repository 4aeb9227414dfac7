"""Lineage: what a session came from, and what was trimmed, continued or forked from it, as a tree."""

from __future__ import annotations

from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from leftoff.core.quantities import count
from leftoff.core.session_ids import short_id
from leftoff.shrink.family import Member, family_tree
from leftoff.web.library import key_of
from leftoff.web.session import session_values
from leftoff.web.site import site_of

_WIDTH, _HEIGHT, _STEP_X, _STEP_Y = 316, 58, 48, 78  # of a box, and from one to the next
_TITLE_CHARS = 38


class Box(NamedTuple):
    """A member of the family in the picture. ``above`` is the vertical place of its parent; None for the first."""

    x: int
    y: int
    above: int | None
    title: str
    facts: str
    key: str | None
    is_selected: bool


def show_lineage(request: Request) -> Response:
    """Show the family of a session."""
    site, key = site_of(request), request.path_params["key"]
    ref = site.library.find(key)
    boxes: list[Box] = []
    _place(family_tree(str(ref.transcript), site.workspace).root, 0, None, boxes)
    size = {
        "width": max(box.x for box in boxes) + _WIDTH + 2,
        "height": len(boxes) * _STEP_Y - (_STEP_Y - _HEIGHT) + 2,
        "box_width": _WIDTH,
        "box_height": _HEIGHT,
    }
    return site.page("lineage.html", {"boxes": boxes, "size": size, **session_values(ref, key, site)})


def _place(member: Member, depth: int, above: int | None, boxes: list[Box]) -> None:
    """Add a member and those derived from it, one below the other."""
    y = len(boxes) * _STEP_Y + 1
    name = short_id(member.session_id) if member.session_id else member.session_file.name
    prompt = " ".join((member.first_prompt or "").split())
    title = prompt if len(prompt) <= _TITLE_CHARS else f"{prompt[:_TITLE_CHARS]}…"
    compactions = member.compactions and count(member.compactions, "compaction")
    what = "deleted" if member.missing else member.strategy or member.derivation or "original"
    facts = " · ".join(str(each) for each in (name, what, member.agent, compactions) if each)
    key = None if member.missing else key_of(str(member.session_file))
    boxes.append(Box(depth * _STEP_X + 1, y, above, title or name, facts, key, member.is_selected))
    for child in member.children:
        _place(child, depth + 1, y, boxes)


routes = (Route("/session/{key}/lineage", show_lineage),)
