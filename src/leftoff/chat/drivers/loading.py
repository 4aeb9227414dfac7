"""An agent file: loaded by its path, and what in it is the agent. Loading it again gives a fresh one."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from leftoff.chat.drivers.python_agent import PythonAgent
from leftoff.chat.drivers.shapes import shape_of
from leftoff.errors import LeftoffError, NotFoundError, PluginError, UsageError
from leftoff.model import markdown
from leftoff.system import ids

AGENTS = ("agent", "root_agent", "graph", "app", "chain", "crew")
FACTORIES = ("create_agent", "make_agent", "build_agent", "get_agent")
FUNCTIONS = ("chat", "respond", "reply", "answer", "ask", "run")


def load(file: Path, attribute: str | None = None) -> PythonAgent:
    """The agent in ``file``: what ``attribute`` names, else what is called like one."""
    path = file.resolve()
    if not path.is_file():
        raise NotFoundError(
            f"{file}: no such agent file. One line makes one: def agent(prompt): return prompt.upper() - "
            "leftoff chat --help tells what else can be named."
        )

    def make() -> Any:
        return _agent_in(_module(path), attribute, path)

    agent = make()
    return PythonAgent(agent, name=name_of(agent, path), path=str(path), make=make)


def name_of(agent: Any, path: Path) -> str:
    """Its own name, where it has one that somebody chose; else that of its file, or of the folder of an ``agent.py``."""
    own = getattr(agent, "name", None)
    if isinstance(own, str) and own.strip() and own not in {"LangGraph", "Strands Agents", "default"}:
        return markdown.inline(own)[:60]
    stem = path.parent.name if path.stem in {"agent", "main", "__init__", "app"} else path.stem
    return markdown.inline(stem.replace("_", " ").replace("-", " ")).title()[:60] or "Agent"


def _module(path: Path) -> ModuleType:
    """The file, run anew under a name of its own; its folder is on the path, so that it finds its neighbours."""
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = f"leftoff_agent_{ids.uuid4().replace('-', '')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: an agent file is Python and ends with .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickling look for it there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # foreign code may raise anything; the user wants to know where
        del sys.modules[name]
        where = _line_in(path, error)
        raise PluginError(f"{path}{where}: could not be loaded: {type(error).__name__}: {error}") from error
    return module


def _line_in(path: Path, error: BaseException) -> str:
    place, line = error.__traceback__, None
    while place is not None:
        line = place.tb_lineno if place.tb_frame.f_code.co_filename == str(path) else line
        place = place.tb_next
    return f":{line}" if line is not None else ""


def _agent_in(module: ModuleType, attribute: str | None, path: Path) -> Any:
    own = {name: each for name, each in vars(module).items() if not name.startswith("_")}
    if attribute is not None:
        if attribute not in own:
            raise NotFoundError(f"{path}: nothing in it is called {attribute}.")
        return _made(own[attribute], path, is_factory=attribute in FACTORIES)
    for name in AGENTS:
        if name in own and not isinstance(own[name], ModuleType):
            return _made(own[name], path, is_factory=False)
    for name in FACTORIES:
        if callable(own.get(name)):
            return _made(own[name], path, is_factory=True)
    return _only_one(module, own, path)


def _only_one(module: ModuleType, own: dict[str, Any], path: Path) -> Any:
    """Without a telling name: the one object that can be talked to, or the one function of the file."""
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
        f"{path}: which is the agent: {', '.join(found)}? Say it: leftoff chat {path.name}:{next(iter(found))}"
    )


def _is_agent(each: Any) -> bool:
    if isinstance(each, ModuleType | str | bytes | int | float | list | dict | tuple | set | type(None)):
        return False
    try:
        shape_of(each)
    except LeftoffError:
        return False
    return True


def _made(found: Any, path: Path, *, is_factory: bool) -> Any:
    """The object itself; a class or factory is called without arguments first."""
    if not is_factory and not inspect.isclass(found):
        return found
    maker: Callable[[], Any] = found
    try:
        return maker()
    except (Exception, SystemExit) as error:  # foreign code
        raise PluginError(f"{path}: {found.__name__}() failed: {type(error).__name__}: {error}") from error
