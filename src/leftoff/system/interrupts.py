"""Signals that end a program, put off or made into an exception: what was begun is known to be done, and what was said is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_Handler = Callable[[int, FrameType | None], Any]
_ENDING = [getattr(signal, name) for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name)]


@contextmanager
def held() -> Iterator[None]:
    """While the block runs nobody is interrupted: Ctrl-C, a hangup or an end that comes in it counts when it is over."""
    came: list[int] = []
    with _handled([signal.SIGINT, *_ENDING], lambda number, _: came.append(number)):
        yield
    for number in came[:1]:
        signal.raise_signal(signal.Signals(number))


@contextmanager
def ending() -> Iterator[None]:
    """While the block runs a hangup, or being told to end, is a SystemExit: there is time to keep what was said."""
    with _handled(_ENDING, _leave):
        yield


def _leave(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


@contextmanager
def _handled(numbers: list[int], handler: _Handler) -> Iterator[None]:
    """Only the main thread hears signals and may say what they do; what is ignored stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in numbers}
    ours = [number for number, was in before.items() if was not in (signal.SIG_IGN, None)]
    for number in ours:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])
