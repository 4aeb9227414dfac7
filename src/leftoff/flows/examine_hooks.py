"""What ``leftoff doctor`` says about hooks: whether agents call us, whether what they call is there, and who else listens."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import leftoff
from leftoff.flows import fast_path
from leftoff.flows.agents import agents_here
from leftoff.flows.findings import Finding
from leftoff.flows.foreign_triggers import foreign_triggers
from leftoff.flows.settings import settings_here
from leftoff.model.protocols import Agent, HasHooks
from leftoff.model.wiring import SCOPES, Hook, HookTrouble, Scope, fast_path_of, interpreter_of
from leftoff.system import foreign_files, paths


def examine_hooks(working_folder: Path) -> Iterator[Finding]:
    """Every agent that has hooks, then the fast path that they share."""
    project = paths.project_of(working_folder).root
    prefix = settings_here(working_folder).settings.triggers_prefix
    calling: list[Hook] = []
    for agent in agents_here():
        if isinstance(agent, HasHooks):
            here = agent.hooks_here(project)
            ours = [hook for scope in SCOPES for hook in _ours(agent, scope, project)]
            ours += [hook for hook in here if hook.origin == "plugin"]
            calling += ours
            yield from _agent(agent, agent, ours, project)
            yield from (
                Finding(what=_what(agent), state="note", words=words)
                for words in foreign_triggers(here, prefix)
            )
    if calling:
        yield from _fast_path(calling)


def _ours(wiring: HasHooks, scope: Scope, project: Path) -> tuple[Hook, ...]:
    file = wiring.settings_files(scope, project)[-1]
    text = (foreign_files.read(file) or b"").decode("utf-8", "replace")
    return wiring.ours_in(text, where=file)


def _agent(agent: Agent, wiring: HasHooks, ours: Sequence[Hook], project: Path) -> Iterator[Finding]:
    what, mend = _what(agent), f"leftoff install {agent.id}"
    if not ours:
        if agent.home.is_dir():
            yield Finding(what=what, state="note", words="not installed", mend=mend)
        return
    sources = [*dict.fromkeys(hook.source for hook in ours)]
    events = [*dict.fromkeys(hook.event for hook in ours if hook.event != "*")]
    yield Finding(
        what=what,
        state="ok",
        words=f"installed in {', '.join(sources)} ({', '.join(events) or 'all events'})",
    )
    twice = sorted({hook.source for hook in ours if fast_path_of(hook.command) or hook.origin == "plugin"})
    if len(twice) > 1:
        words = f"hooks stand in {' and in '.join(twice)}; each event needs one"
        yield Finding(what=what, state="note", words=words, mend=f"leftoff uninstall {agent.id}, then {mend}")
    for python in dict.fromkeys(filter(None, (interpreter_of(hook.command) for hook in ours))):
        if shutil.which(python) is None:
            words = f"the interpreter that the hooks name is gone: {python}"
            yield Finding(what=what, state="broken", words=words, mend=mend)
    for trouble in _troubles(wiring, project):
        yield Finding(what=what, state="broken", words=trouble.words, mend=trouble.mend)


def _troubles(wiring: HasHooks, project: Path) -> Iterator[HookTrouble]:
    """Why what is installed would not be called; each reason once."""
    installed = [scope for scope in SCOPES if any(_ours(wiring, scope, project))]
    yield from dict.fromkeys(
        trouble for scope in installed for trouble in wiring.hook_troubles(scope, project)
    )


def _fast_path(calling: Sequence[Hook]) -> Iterator[Finding]:
    what, mend = "fast path", "leftoff install AGENT, once more"
    for named in dict.fromkeys(filter(None, (fast_path_of(hook.command) for hook in calling))):
        if not os.access(named, os.R_OK):
            yield Finding(what=what, state="broken", words=f"{named}: gone or not readable", mend=mend)
        elif Path(named) != fast_path.place():
            words = f"the hooks run {named}, and this leftoff's own is {fast_path.place()}"
            yield Finding(what=what, state="note", words=words, mend=mend)
    place, version = fast_path.place(), fast_path.installed_version()
    if version is None:
        return
    if foreign_files.read(place) == fast_path.content():
        yield Finding(what=what, state="ok", words=f"{place}, of this version")
    elif version != leftoff.__version__:
        words = f"{place} is of leftoff {version}, this is {leftoff.__version__}"
        yield Finding(what=what, state="broken", words=words, mend=mend)
    else:
        words = f"{place} is not the one of this leftoff ({shlex.quote(fast_path.interpreter())})"
        yield Finding(what=what, state="note", words=words, mend=mend)


def _what(agent: Agent) -> str:
    return f"hooks of {agent.name}"
