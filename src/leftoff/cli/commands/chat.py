"""``leftoff chat``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Literal

import click

from leftoff.cli import display, gauge
from leftoff.errors import UsageError
from leftoff.system import interrupts, paths

if TYPE_CHECKING:
    from leftoff.flows.chat_session import ChatPlace
    from leftoff.model.context_metrics import ContextMetrics, Thresholds

_BAR_WIDTH = 20
_STANDARD_OUTPUT, _STANDARD_ERROR = 1, 2


@click.command(epilog="Example: leftoff chat my_agent.py")
@click.argument("agent", required=False)
@click.option(
    "--resume",
    metavar="N|ID",
    help="Go on from the summary of a saved session; N is a number of the list last shown, latest the newest.",
)
@click.option("--model", help="The model, where AGENT is an address.")
@click.option(
    "--api",
    type=click.Choice(["openai", "anthropic"]),
    help="How the address speaks; default: by its path, else like OpenAI.",
)
@click.option("--key-variable", metavar="NAME", help="The environment variable that holds the key.")
@click.option(
    "--window", "window_tokens", type=click.IntRange(min=1), help="What the model holds, in tokens."
)
@click.option("--list", "wants_list", is_flag=True, help="List the saved sessions of this folder.")
@click.option("--show", metavar="N|ID", help="Print a saved session.")
@click.option("--export", metavar="N|ID", help="Print a session and all it goes back to as one document.")
@click.option("--delete", metavar="N|ID", help="Take a saved session away for good.")
@click.option("--yes", is_flag=True, help="Agree to what would be asked.")
@display.with_json
def chat(
    *,
    agent: str | None,
    resume: str | None,
    model: str | None,
    api: Literal["openai", "anthropic"] | None,
    key_variable: str | None,
    window_tokens: int | None,
    wants_list: bool,
    show: str | None,
    export: str | None,
    delete: str | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Chat with AGENT: an agent file, an agent's id, or an address; saved with a summary, compacted and resumed by it.

    AGENT is a Python file that holds an agent of any framework (agent.py, or agent.py:name), a folder with an agent.py, the id
    of an agent that answers without its terminal, or the address of an OpenAI- or Anthropic-compatible server. The smallest agent
    file has one line: def agent(prompt): return prompt.upper()
    """
    from leftoff.flows.chat_session import place_of

    place = place_of(paths.working_folder(), window_tokens=window_tokens)
    asked = [each for each in (show, export, delete) if each is not None]
    if len(asked) + wants_list + (agent is not None) != 1:
        raise UsageError(
            "Name one thing: an AGENT to chat with, or --list, --show, --export, --delete. Try: leftoff chat --help"
        )
    if agent is None and resume is not None:
        raise UsageError(f"--resume goes with the AGENT to go on with: leftoff chat AGENT --resume {resume}")
    if agent is None:
        return _kept(place, show=show, export=export, delete=delete, yes=yes, as_json=as_json)
    from leftoff.chat.drivers.choose import agent_named

    with _nothing_but_json() if as_json else nullcontext():
        driver = agent_named(agent, model=model, api=api, key_variable=key_variable)
    return _talk(driver, place, resume, yes=yes, as_json=as_json)


@contextmanager
def _nothing_but_json() -> Iterator[None]:
    """While the block runs, whatever the agent, its file or a process of theirs prints goes to standard error."""
    sys.stdout.flush()
    kept = os.dup(_STANDARD_OUTPUT)
    os.dup2(_STANDARD_ERROR, _STANDARD_OUTPUT)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, _STANDARD_OUTPUT)
        os.close(kept)


def _talk(driver: object, place: ChatPlace, resume: str | None, *, yes: bool, as_json: bool) -> int:
    from leftoff.chat.console import Looks, SilentConsole
    from leftoff.chat.loop import ChatLoop

    looks = Looks(visible=display.visible, gauge=_gauge)
    silent = SilentConsole(looks=looks, agree=yes) if as_json else None
    loop = ChatLoop(
        driver,
        window_tokens=place.window_tokens,
        console=silent,
        looks=looks,
        agree=yes,
    )
    with interrupts.ending(), _nothing_but_json() if as_json else nullcontext():
        code = loop.run(resume)
    if silent is not None:
        display.as_json(
            {
                "agent": loop.agent.name,
                "agent_path": loop.agent.path,
                "folder": str(place.folder),
                "sessions": loop.sessions,
                "answers": silent.answers,
                "notes": silent.notes,
            }
        )
    if loop.is_hanging:  # it would keep the process alive for as long as it likes
        sys.stdout.flush()
        os._exit(code)
    return code


def _kept(
    place: ChatPlace, *, show: str | None, export: str | None, delete: str | None, yes: bool, as_json: bool
) -> int:
    """What can be done with saved chats without an agent."""
    from leftoff.flows import chat_sessions

    words = show or export or delete
    if words is None:
        return _list(place, as_json=as_json)
    listed = chat_sessions.resolve(place, words, chat_sessions.last_shown(place))
    if delete is not None:
        chat_sessions.require_whole(words, listed)
        if not yes and (
            as_json or not sys.stdin.isatty() or not click.confirm(f"Delete {listed.session_id} for good?")
        ):
            raise UsageError(f"{listed.session_id} was not deleted. Where nobody can be asked: --yes")
        chat_sessions.delete(listed)
        display.as_json({"deleted": listed.session_id}) if as_json else display.say(
            f"Deleted: {listed.session_id}"
        )
        return 0
    text = chat_sessions.text_of(listed) if show is not None else chat_sessions.export(place, listed)
    if as_json:
        display.as_json(listed.to_dict() | {"text": text})
    else:
        display.say(display.visible(text))
    return 0


def _list(place: ChatPlace, *, as_json: bool) -> int:
    from leftoff.chat.console import Looks
    from leftoff.chat.loop import line_of
    from leftoff.flows import chat_sessions

    shelf = chat_sessions.chats_in(place)
    chat_sessions.remember_shown(place, shelf.chats)
    if as_json:
        display.as_json([each.to_dict() for each in shelf.chats])
        return 0
    looks = Looks(visible=display.visible)
    for number, each in enumerate(shelf.chats, start=1):
        display.say(line_of(number, each, looks))
    for trouble in shelf.troubles:
        display.say(display.visible(str(trouble)))
    if not shelf.chats:
        display.say("No saved sessions in this folder. leftoff chat --help tells how to begin one.")
    return 0


def _gauge(metrics: ContextMetrics, thresholds: Thresholds) -> str:
    if metrics.total_budget is None:
        used = "?" if metrics.used_tokens is None else f"{metrics.used_tokens:,}"
        return (
            f"{'~' if metrics.basis == 'estimated' else ''}{used} tokens (--window N shows how full that is)"
        )
    return f"{gauge.bar(metrics, thresholds, _BAR_WIDTH)} {gauge.words(metrics)}"
