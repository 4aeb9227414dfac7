"""Asking a storage backend, ours or a guest's: the answer, or an error in words, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from leftoff.errors import LeftoffError
from leftoff.model.protocols import StorageBackend
from leftoff.resume_logs import guests

Answer = TypeVar("Answer")


def ask_store(backend: StorageBackend, question: Callable[[], Answer]) -> Answer:
    """What it answers. Our own backends raise a sentence already; whatever a guest raises is told with the guest's name."""

    def answer_or_sentence() -> Answer | LeftoffError:
        try:
            return question()
        except LeftoffError as error:
            return error

    answer = guests.asked(backend, answer_or_sentence)
    if isinstance(answer, LeftoffError):
        raise answer
    return answer
