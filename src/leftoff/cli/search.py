"""Searching, for a person and for scripts: comes in before the command line is loaded, which takes longer than the search.

``OPTIONS`` is the one list of what the command takes; the short way here understands them all, and leaves whatever else is typed
(help, a mistake) to the command line, which is made from the same list.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from leftoff.cli import plain, short
from leftoff.cli.short import Option
from leftoff.cli.visible import one_line, visible
from leftoff.flows.search import Asked, Progress, Results, Shown, ShownSession, search
from leftoff.system import clock

OPTIONS: tuple[Option, ...] = (
    Option("--file", "file", "text", "Who touched this file: every session that read, changed or wrote it."),
    Option("--command", "command", "text", "How such a command was run, and with what exit code."),
    Option("--error", "error", "text", "Whether such an error was met before, and what followed it."),
    Option("--newest", "newest", "switch", "Newest first, not best first."),
    Option("--limit", "limit", "number", "How many sessions are shown."),
    Option("--hits", "hits", "number", "How many places of each session are shown."),
    short.AS_JSON,
)
_FEWER = "Fewer words find more; begin* finds all words that begin so."
_UNREAD = "Not everything has been read yet. To read the rest: leftoff search --update\n"
_CUT_SHORT = (
    "There are more texts with these words than are looked at for what you typed."
    " Add a word, or a filter such as since:7d, project: or kind:\n"
)
_LEAVES_OUT = "No search finds what was forgotten (leftoff forget --text), nor a session that has it in its path or project.\n"


def run(arguments: Sequence[str]) -> int | None:
    """Search and show it; the exit code. None: this is for the command line, and nothing was done."""
    typed = short.understood(arguments, OPTIONS)
    if typed is None:
        return None
    as_json = bool(typed.values.pop("as_json", False))
    asked = Asked(query=" ".join(typed.words), **typed.values)  # type: ignore[arg-type]
    return short.run(lambda: show(asked, as_json=as_json))


def show(asked: Asked, *, as_json: bool) -> int:
    """Search, and print what was found: 0, or 3 where nothing was."""
    now = clock.now()
    results = search(asked, now, None if as_json else progress())
    if as_json:
        plain.as_json(results.to_dict())
    else:
        _say(results, int(now.timestamp()))
    return 0 if results.sessions else 3


def progress() -> Progress | None:
    """A line on standard error that says how far the reading is; none where that is no terminal."""
    if not sys.stderr.isatty():
        return None

    def told(done: int, to_do: int) -> None:
        share = 100 if not to_do else done * 100 // to_do
        end = "\r\x1b[K" if done >= to_do else ""
        sys.stderr.write(f"\rReading sessions: {share} % of {to_do / 1e6:,.0f} MB{end}")
        sys.stderr.flush()

    return told


def _say(results: Results, now: int) -> None:
    out = sys.stdout.write
    if not results.sessions:
        out(_nothing(results))
        return
    if not results.complete:
        out("No place holds all of these words. The sessions that hold the most telling of them:\n")
    width = plain.width()
    for session in results.sessions:
        _say_session(session, now, width)
    numbered = [session for session in results.sessions if session.number is not None]
    if numbered:
        first = numbered[0]
        out(
            f"\nTo read on: leftoff show {first.number} --at {first.hits[0].hit.line}   To go on: leftoff resume {first.number}\n"
        )
    out(_more(results))


def _nothing(results: Results) -> str:
    """That nothing was found, why it may be there all the same, and what to type next."""
    if results.unread or results.cut_short:
        return f"Nothing was found so far.\n{_more(results)}"
    hint = results.reason or (f"Did you mean: {results.meant}" if results.meant else _FEWER)
    return f"Nothing was found. {visible(hint)}\n{_LEAVES_OUT if results.leaves_out else ''}"


def _more(results: Results) -> str:
    """Why there may be more than was found."""
    return (_UNREAD if results.unread else "") + (_CUT_SHORT if results.cut_short else "")


def _say_session(session: ShownSession, now: int, width: int) -> None:
    found = session.found
    number = f"{session.number:>3}" if session.number is not None else "  ·"
    project = one_line((found.project or "?").rstrip("/").rpartition("/")[2] or "/", 24)
    more = (
        f" ({found.places}{'+' if found.has_more else ''} places)" if found.places > len(session.hits) else ""
    )
    who = found.agent or found.type
    head = f"{number}  {who}  {project}  {_age(now - found.modified_ns // 1_000_000_000)}{more}  "
    title = found.title or (found.path if session.number is None else "")
    gone = (
        "  (deleted by its agent; leftoff archive restore)"
        if session.number is None and found.archived
        else ""
    )
    sys.stdout.write(f"{_bold(head)}{one_line(title, max(20, width - len(head) - 1))}{gone}\n")
    for shown in session.hits:
        sys.stdout.write(f"     {_label(shown)}  {_marked(shown, max(30, width - len(_label(shown)) - 8))}\n")
        for each in shown.followed:
            ended = "" if each.exit_code is None else f" (exit {each.exit_code})"
            sys.stdout.write(
                f"       then {each.kind}{ended}: {one_line(each.snippet, max(30, width - 28))}\n"
            )


def _label(shown: Shown) -> str:
    hit = shown.hit
    ended = f" exit {hit.exit_code}" if hit.exit_code is not None else " failed" if hit.failed else ""
    what = f"{hit.kind} {one_line(hit.tool, 20)}" if hit.tool and hit.kind != "command" else hit.kind
    return f"line {hit.line:<6} {what}{ended}"


def _marked(shown: Shown, width: int) -> str:
    """The snippet with what was found standing out; cut to the width before it is marked."""
    text, parts, past = shown.snippet.text, [], 0
    for start, end in shown.snippet.marks:
        parts += [visible(text[past:start]), _stand_out(visible(text[start:end]))]
        past = end
    whole = "".join([*parts, visible(text[past:])])
    return whole if len(text) <= width or plain.may_style() else one_line(text, width)


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if plain.may_style() else text


def _stand_out(text: str) -> str:
    return f"\x1b[1;33m{text}\x1b[0m" if plain.may_style() else text


def _age(seconds: int) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return "now"
