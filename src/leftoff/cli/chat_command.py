"""``leftoff chat``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Literal

import click

from leftoff.cli import arguments, gauge, output
from leftoff.errors import UsageError
from leftoff.platform import process
from leftoff.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from leftoff.chat.conversation import ChatStore
    from leftoff.core.metrics import ContextMetrics, Thresholds

_BAR_WIDTH = 20
_STANDARD_OUTPUT, _STANDARD_ERROR = 1, 2


@click.command(epilog="Example: leftoff chat my_agent.py")
@click.argument("agent", required=False)
@click.option(
    "--resume",
    metavar="N|ID",
    help="Continue from the summary of a saved session: a number of the list last shown, or latest.",
)
@click.option("--model", help="The model, where AGENT is an address.")
@click.option(
    "--api",
    type=click.Choice(["openai", "anthropic"]),
    help="The API of the address. Default: by its path, else OpenAI's.",
)
@click.option("--key-variable", metavar="NAME", help="The environment variable that holds the key.")
@click.option(
    "--window",
    "window_tokens",
    type=arguments.WholeNumber(min=1),
    help="The size of the model's window, in tokens.",
)
@click.option("--list", "wants_list", is_flag=True, help="List the saved sessions of this folder.")
@click.option("--show", metavar="N|ID", help="Print a saved session.")
@click.option("--export", metavar="N|ID", help="Print a session and those it continues, as one document.")
@click.option("--delete", metavar="N|ID", help="Delete a saved session.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@arguments.with_json
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
    """Chat with AGENT: a Python file, an agent's id, or an address. Chats are saved with a summary to resume from.

    AGENT is a Python file that holds an agent of any framework (agent.py, or agent.py:name), a folder with an agent.py, the id
    of an agent that answers without its terminal, or the address of an OpenAI- or Anthropic-compatible server. The smallest agent
    file has one line: def agent(prompt): return prompt.upper()
    """
    from leftoff.chat.conversation import ChatStore

    store = ChatStore.open(Workspace.open())
    actions = [each for each in (show, export, delete) if each is not None]
    if len(actions) + wants_list + (agent is not None) != 1:
        raise UsageError(
            "Name one thing: an AGENT to chat with, or --list, --show, --export, --delete. Try: leftoff chat --help"
        )
    if agent is None and resume is not None:
        raise UsageError(f"--resume needs the AGENT to continue with: leftoff chat AGENT --resume {resume}")
    if agent is None:
        return _manage_saved(store.folder, show=show, export=export, delete=delete, yes=yes, as_json=as_json)
    from leftoff.chat.drivers import find_agent

    with _output_to_stderr() if as_json else nullcontext():
        driver = find_agent(agent, model=model, api=api, key_variable=key_variable)
    return _talk(driver, store, resume, window_tokens=window_tokens, yes=yes, as_json=as_json)


@contextmanager
def _output_to_stderr() -> Iterator[None]:
    """Send what the agent, its file or their processes print to standard error, so that standard output is only JSON."""
    sys.stdout.flush()
    kept = os.dup(_STANDARD_OUTPUT)
    os.dup2(_STANDARD_ERROR, _STANDARD_OUTPUT)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, _STANDARD_OUTPUT)
        os.close(kept)


def _talk(
    driver: object,
    store: ChatStore,
    resume: str | None,
    *,
    window_tokens: int | None,
    yes: bool,
    as_json: bool,
) -> int:
    from leftoff.chat.console import Looks, SilentConsole
    from leftoff.chat.loop import ChatLoop

    looks = Looks(visible=output.visible, gauge=_gauge)
    silent = SilentConsole(looks=looks, agree=yes) if as_json else None
    loop = ChatLoop(
        driver,
        workspace=store.workspace,
        window_tokens=window_tokens,
        console=silent,
        looks=looks,
        agree=yes,
    )
    with process.signals_as_exit(), _output_to_stderr() if as_json else nullcontext():
        code = loop.run(resume)
    if silent is not None:
        output.as_json(
            {
                "agent": loop.agent.name,
                "agent_path": loop.agent.path,
                "folder": str(store.folder),
                "sessions": loop.sessions,
                "answers": silent.answers,
                "notes": silent.notes,
            }
        )
    if loop.is_hanging:
        # Python would wait for threads that the agent's code has started, such as those of an executor. Everything is saved.
        sys.stdout.flush()
        os._exit(code)
    return code


def _manage_saved(
    folder: Path, *, show: str | None, export: str | None, delete: str | None, yes: bool, as_json: bool
) -> int:
    """List, show, export or delete saved chats."""
    from leftoff.chat import chat_file, saved_chats

    selector = show or export or delete
    if selector is None:
        return _list(folder, as_json=as_json)
    listed = saved_chats.find_chat(folder, selector, saved_chats.last_list(folder))
    if delete is not None:
        saved_chats.require_full_id(selector, listed)
        if not yes and (
            as_json or not sys.stdin.isatty() or not click.confirm(f"Delete {listed.session_id} for good?")
        ):
            raise UsageError(f"{listed.session_id} was not deleted. To delete it without being asked: --yes")
        chat_file.delete(listed.path)
        output.as_json({"deleted": listed.session_id}) if as_json else output.say(
            f"Deleted: {listed.session_id}"
        )
        return 0
    text = chat_file.read_text(listed.path) if show is not None else saved_chats.export_chain(folder, listed)
    if as_json:
        output.as_json(listed.to_dict() | {"text": text})
    else:
        output.say(output.visible(text))
    return 0


def _list(folder: Path, *, as_json: bool) -> int:
    from leftoff.chat import saved_chats
    from leftoff.chat.console import Looks
    from leftoff.chat.loop import describe_chat

    saved = saved_chats.list_chats(folder)
    saved_chats.remember_list(folder, saved.chats)
    if as_json:
        output.as_json([each.to_dict() for each in saved.chats])
        return 0 if saved.chats else output.NOTHING_TO_DO
    looks = Looks(visible=output.visible)
    for number, each in enumerate(saved.chats, start=1):
        output.say(describe_chat(number, each, looks))
    for error in saved.errors:
        output.say(output.short_path(error))
    if not saved.chats:
        output.say("No saved sessions in this folder. To start one: leftoff chat --help")
    return 0 if saved.chats else output.NOTHING_TO_DO


def _gauge(metrics: ContextMetrics, thresholds: Thresholds) -> str:
    if metrics.total_budget is None:
        used = "?" if metrics.used_tokens is None else f"{metrics.used_tokens:,}"
        return (
            f"{'~' if metrics.basis == 'estimated' else ''}{used} tokens (--window N shows how full that is)"
        )
    return f"{gauge.bar(metrics, thresholds, _BAR_WIDTH)} {gauge.describe(metrics)}"
