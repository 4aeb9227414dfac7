"""How facts are put into words: quoted, clipped at a word, condensed to what is said first and last."""

from __future__ import annotations

from collections.abc import Iterable

from leftoff.extract import words


def clipped(text: str, most: int) -> str:
    """On one line and no longer than that, cut at a word."""
    line = " ".join(text.split(maxsplit=most or -1))  # so many words are longer than what is kept
    if len(line) <= most:
        return line
    cut = line[: most - 1]
    space = cut.rfind(" ")
    return f"{cut[:space] if space > most * 0.7 else cut}…"


def quoted(text: str, most: int) -> str:
    """The words themselves, in quotation marks."""
    return f"“{clipped(text, most)}”"


def condensed(text: str, most: int) -> str:
    """As many whole sentences from the beginning as fit; the first is cut if even that does not."""
    kept: list[str] = []
    room = most
    for sentence in words.sentences(text):
        if len(sentence) + 1 > room:
            break
        kept.append(sentence)
        room -= len(sentence) + 1
    return " ".join(kept) or clipped(text, most)


def listed(names: Iterable[str]) -> str:
    """Names in back-ticks, one behind the other."""
    return ", ".join(f"`{name}`" for name in names)


def coded(names: Iterable[str]) -> str:
    """Many names in one stretch of code: back-ticks around each would take as much room as the names."""
    return f"`{', '.join(names)}`"


def relative(path: str, project: str) -> str:
    """The path as people say it: below the project without the project's own."""
    base = project.rstrip("/") + "/"
    return path.removeprefix(base) if len(base) > 1 else path
