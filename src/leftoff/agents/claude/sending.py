"""The order in which the client sends the links of a chain, and what it leaves out of them.

It puts the lines of one reply together again and, between two replies, sends results first, then what it adds itself,
then the user's words, then what it says as the system. Left out are thoughts of another model than the last, a reply
of nothing but thoughts, and a request without an answer, unless it belongs to the last reply: there the client answers
in the tool's place.

A model that knows no messages of the system is sent those as the user's, in tags, before the user's words; the order
heeds that, the records keep the role that the client wrote down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from leftoff.agents.claude.known import known
from leftoff.model.records import Place, Role


@dataclass(slots=True)
class Link:
    """One record of the main conversation without its words. ``role`` is None where nothing of it is sent."""

    place: Place
    parent: str | None
    previous: str | None  # the one before it in the file, where the parent is not in the file before it
    at: float  # seconds; 0 where the line has no time
    role: Role | None
    is_attachment: bool
    reply_id: str | None
    model: str | None
    is_thought: bool  # thoughts and nothing else
    asks: tuple[str, ...]
    answers: tuple[str, ...]


def in_sending_order(chain: Iterable[Link]) -> Iterator[Link]:
    """The links that are sent, in their order."""
    sent = _sent(chain)
    last_model = next((link.model for link in reversed(sent) if link.model), None)
    rank = _rank if _knows_system(last_model) else _rank_without_system
    between: list[Link] = []
    reply: list[Link] = []
    for link in _without_lost_thoughts(sent, last_model):
        if link.role != "assistant":
            between.append(link)
        elif reply and reply[0].reply_id == link.reply_id and _may_go_on(link, between):
            reply.append(link)
        else:
            yield from (*reply, *sorted(between, key=rank))
            reply, between = [link], []
    yield from (*reply, *sorted(between, key=rank))


def orphaned_answers(chain: Iterable[Link]) -> Iterator[str]:
    """The calls whose answers stand in the chain without the request: such answers are not sent."""
    asked: set[str] = set()
    for link in chain:
        asked.update(link.asks)
        yield from (call for call in link.answers if call not in asked)


def _may_go_on(link: Link, between: list[Link]) -> bool:
    """Whether a reply goes on with this line: only results may have come between, as tools answer while it is written."""
    return link.reply_id is not None and all(each.answers for each in between)


def _knows_system(model: str | None) -> bool:
    family = known().model(model) if model else None
    return family is None or family.system_messages


def _rank(link: Link) -> int:
    if link.answers:
        return 0
    if link.role == "system":
        return 3
    return 1 if link.is_attachment else 2


def _rank_without_system(link: Link) -> int:
    return min(_rank(link), 2) if not link.is_attachment else 1


def _sent(chain: Iterable[Link]) -> list[Link]:
    """What says something, without requests that nobody answered."""
    said = [link for link in chain if link.role]
    answered = {call for link in said for call in link.answers}
    last = next((link.reply_id for link in reversed(said) if link.role == "assistant"), None)
    return [
        link
        for link in said
        if not link.asks or link.reply_id == last or any(call in answered for call in link.asks)
    ]


def _without_lost_thoughts(chain: list[Link], model: str | None) -> Iterator[Link]:
    """A model cannot take thoughts that another has signed, nor thoughts that led to nothing."""
    spoken = {link.reply_id for link in chain if link.role == "assistant" and not link.is_thought}
    for link in chain:
        if not link.is_thought or (link.reply_id in spoken and link.model == model):
            yield link
