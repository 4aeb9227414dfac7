"""Find the agent to chat with: an address, a Python file, or a registered agent that can run headless.

A headless agent runs once per turn and receives the conversation so far. It runs without tools, in an empty folder, with
``LEFTOFF_DISABLE=1``; Ctrl-C ends it and all its processes.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from leftoff.agents.registry import load_agents
from leftoff.chat.conversation import ChatAgent, OnText, Reply, Reset
from leftoff.chat.endpoint import TIMEOUT_SECONDS, Api, Endpoint, parse_address
from leftoff.chat.frameworks import caller_for
from leftoff.chat.page import Tokens
from leftoff.chat.python_agent import PythonAgent
from leftoff.core import markdown
from leftoff.core.budget import estimate_tokens
from leftoff.core.protocols import CanRunHeadless
from leftoff.errors import LeftoffError, NotFoundError, PluginError, UsageError
from leftoff.platform import clock
from leftoff.resume_logs.summariser import CommandSummariser

AGENTS = ("agent", "root_agent", "graph", "app", "chain", "crew")
FACTORIES = ("create_agent", "make_agent", "build_agent", "get_agent")
FUNCTIONS = ("chat", "respond", "reply", "answer", "ask", "run")


def find_agent(
    selector: str, *, model: str | None = None, api: Api | None = None, key_variable: str | None = None
) -> ChatAgent:
    """Return the agent that ``selector`` names: an address, a file, ``file.py:name``, a folder or an agent's id."""
    if "://" in selector:
        return Endpoint(parse_address(selector, model, api, key_variable))
    file, colon, attribute = selector.rpartition(":")
    if colon and file.endswith(".py"):
        return load_agent_file(Path(file), attribute)
    if selector.endswith(".py") or Path(selector).is_file():
        return load_agent_file(Path(selector))
    if (Path(selector) / "agent.py").is_file():
        return load_agent_file(Path(selector) / "agent.py")
    return _headless_agent(selector)


def wrap_agent(agent: Any, *, name: str | None = None, path: str = "") -> ChatAgent:
    """Return ``agent`` if it is a chat agent already; else wrap the object of whatever framework."""
    if all(hasattr(agent, part) for part in ("ask", "reset", "name", "path")):
        return agent  # type: ignore[no-any-return]
    where = path or f"{type(agent).__module__}.{getattr(agent, '__qualname__', type(agent).__qualname__)}"
    return PythonAgent(agent, name=name or agent_name(agent, Path(f"{_name(agent)}.py")), path=where)


def _headless_agent(agent_id: str) -> ChatAgent:
    able = [agent for agent in load_agents() if isinstance(agent, CanRunHeadless)]
    for agent in able:
        if agent.id == agent_id:
            return HeadlessAgent(agent.headless_command(), name=agent.name, path=agent.id)
    if any(agent.id == agent_id for agent in load_agents()):
        raise UsageError(
            f"{agent_id} cannot answer without its own terminal. Name another, or an agent file."
        )
    known = ", ".join(agent.id for agent in able)
    raise NotFoundError(
        f"{agent_id}: no such agent file, and no agent of that name. There are: {known}; or an address with https://."
    )


def _name(agent: Any) -> str:
    return str(getattr(agent, "__name__", type(agent).__name__)).strip("_<>") or "agent"


def load_agent_file(file: Path, attribute: str | None = None) -> PythonAgent:
    """Load the agent in ``file``: the object called ``attribute``, else one with a usual name."""
    path = file.resolve()
    if not path.is_file():
        raise NotFoundError(
            f"{file}: no such agent file. One line makes one: def agent(prompt): return prompt.upper() - "
            "leftoff chat --help shows what else can be named."
        )

    def create() -> Any:
        return _find_in_module(_run_file(path), attribute, path)

    agent = create()
    return PythonAgent(agent, name=agent_name(agent, path), path=str(path), create=create)


def agent_name(agent: Any, path: Path) -> str:
    """Return the agent's own name; if it has none, one made from its file, or from the folder of an ``agent.py``."""
    own = getattr(agent, "name", None)
    if isinstance(own, str) and own.strip() and own not in {"LangGraph", "Strands Agents", "default"}:
        return markdown.escape_inline(own)[:60]
    stem = path.parent.name if path.stem in {"agent", "main", "__init__", "app"} else path.stem
    return markdown.escape_inline(stem.replace("_", " ").replace("-", " ")).title()[:60] or "Agent"


def _run_file(path: Path) -> ModuleType:
    """Run the file as a new module. Its folder is on the path, so that it can import its neighbours."""
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = f"leftoff_agent_{clock.uuid4().replace('-', '')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: an agent file is Python and ends with .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickling look for it there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # foreign code may raise anything; the user wants to know where
        del sys.modules[name]
        where = _failing_line(path, error)
        raise PluginError(f"{path}{where}: could not be loaded: {type(error).__name__}: {error}") from error
    return module


def _failing_line(path: Path, error: BaseException) -> str:
    """Return ``:line`` of the line in ``path`` that raised the error; empty if the error is not from there."""
    frame, line = error.__traceback__, None
    while frame is not None:
        line = frame.tb_lineno if frame.tb_frame.f_code.co_filename == str(path) else line
        frame = frame.tb_next
    return f":{line}" if line is not None else ""


def _find_in_module(module: ModuleType, attribute: str | None, path: Path) -> Any:
    own = {name: each for name, each in vars(module).items() if not name.startswith("_")}
    if attribute is not None:
        if attribute not in own:
            raise NotFoundError(f"{path}: nothing in it is called {attribute}.")
        return _instantiate(own[attribute], path, is_factory=attribute in FACTORIES)
    for name in AGENTS:
        if name in own and not isinstance(own[name], ModuleType):
            return _instantiate(own[name], path, is_factory=False)
    for name in FACTORIES:
        if callable(own.get(name)):
            return _instantiate(own[name], path, is_factory=True)
    return _find_unnamed(module, own, path)


def _find_unnamed(module: ModuleType, own: dict[str, Any], path: Path) -> Any:
    """Return the only object that can be called as an agent, or the only function of the file."""
    functions = {
        name: each
        for name, each in own.items()
        if inspect.isfunction(each) and each.__module__ == module.__name__
    }
    for name in FUNCTIONS:
        if name in functions:
            return functions[name]
    objects = {
        name: each
        for name, each in own.items()
        if not inspect.isfunction(each)
        and not inspect.isclass(each)
        and not inspect.isbuiltin(each)
        and _is_agent(each)
    }
    found = objects or functions
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise NotFoundError(
            f"{path}: no agent in it. Call it agent, or a function that makes it create_agent."
        )
    raise UsageError(
        f"{path}: which is the agent: {', '.join(found)}? Name one: leftoff chat {path.name}:{next(iter(found))}"
    )


def _is_agent(each: Any) -> bool:
    if isinstance(each, ModuleType | str | bytes | int | float | list | dict | tuple | set | type(None)):
        return False
    try:
        caller_for(each)
    except LeftoffError:
        return False
    return True


def _instantiate(found: Any, path: Path, *, is_factory: bool) -> Any:
    """Return the object itself; a class or factory is called without arguments first."""
    if not is_factory and not inspect.isclass(found):
        return found
    maker: Callable[[], Any] = found
    try:
        return maker()
    except (Exception, SystemExit) as error:  # foreign code
        raise PluginError(f"{path}: {found.__name__}() failed: {type(error).__name__}: {error}") from error


class HeadlessAgent:
    """A registered agent in its headless form. It keeps the conversation, because the command does not."""

    def __init__(self, command: tuple[str, ...], *, name: str, path: str) -> None:
        self.name = name
        self.path = path
        self._command = CommandSummariser(arguments=command)
        self._turns: list[tuple[str, str]] = []

    def ask(self, prompt: str, *, on_text: OnText, timeout_seconds: float | None) -> Reply:
        """Run the command once with the whole conversation. Tokens are estimated."""
        whole = _conversation(self._turns, prompt)
        text = self._command.summarise(whole, timeout_seconds=timeout_seconds or TIMEOUT_SECONDS)
        on_text(text)
        self._turns += [("User", prompt), ("Assistant", text)]
        tokens = Tokens(
            input_tokens=estimate_tokens(whole), output_tokens=estimate_tokens(text), estimated=True
        )
        return Reply(text=text, tokens=tokens)

    def reset(self) -> Reset:
        """Drop the conversation."""
        self._turns.clear()
        return "dropped"


def _conversation(turns: list[tuple[str, str]], prompt: str) -> str:
    if not turns:
        return prompt
    before = "\n\n".join(f"{who}: {text}" for who, text in turns)
    return f"The conversation so far:\n\n{before}\n\nThe user now says, and you answer only this:\n\n{prompt}"
