"""The verbs that scenarios use on a real agent: prompt, start, resume, fork.

Each runs the real client in a sandbox and gives back a `Run`: how it ended, what the API received meanwhile, and the
transcript it left. What differs between agents stands in agent_claude.py and agent_codex.py.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import clients
from received import Message
from sandbox import Request, Result, Running, Sandbox, SandboxError


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    result: Result
    requests: list[Request]
    """All that the API received during this run, in order."""
    transcript: Path
    """The session's file, as the run left it."""

    @property
    def main(self) -> list[Request]:
        """The requests of the conversation itself: no summaries, titles, counts or subagents."""
        return [request for request in self.requests if request.kind == "reply" and not request.is_subagent]

    @property
    def last(self) -> list[Message]:
        """The messages of the last main request: history, prompt and what the turn added."""
        return self.main[-1].messages

    @property
    def summaries(self) -> list[Request]:
        return [request for request in self.requests if request.kind == "summary"]


class Agent(ABC):
    """A real client. Has no state: everything is in the sandbox."""

    name: str
    api_program: str

    def executable(self) -> Path:
        return clients.ensure(self.name)

    def prompt(self, sandbox: Sandbox, text: str, *options: str) -> Run:
        """A new session with one headless prompt."""
        return self._run(sandbox, self.prompt_arguments(text, options))

    def start(self, sandbox: Sandbox, text: str, *options: str) -> Running:
        """The same, not waited for."""
        return sandbox.start(self.prompt_arguments(text, options))

    def resume(self, sandbox: Sandbox, transcript: Path, text: str, *options: str) -> Run:
        """Goes on with any transcript file, in the sandbox's project, under the session id the file names."""
        return self._run(sandbox, self.resume_arguments(self.place(sandbox, transcript), text, options))

    def fork(self, sandbox: Sandbox, transcript: Path, text: str, *options: str) -> Run:
        """Goes on in a new session that begins with the given one's history."""
        return self._run(sandbox, self.fork_arguments(self.place(sandbox, transcript), text, options))

    def latest(self, sandbox: Sandbox) -> Path:
        """The transcript that was written to last."""
        found = self.transcripts(sandbox)
        if not found:
            raise SandboxError(f"{self.name} left no transcript in {sandbox.home}")
        return max(found, key=lambda path: path.stat().st_mtime_ns)

    def _run(self, sandbox: Sandbox, arguments: Sequence[str]) -> Run:
        before = len(sandbox.requests())
        result = sandbox.run(arguments)
        return Run(result=result, requests=sandbox.requests(before), transcript=self.latest(sandbox))

    @abstractmethod
    def environment(self, home_inside: Path) -> dict[str, str]:
        """The variables it needs beside PATH and HOME, with paths as the client sees them."""

    @abstractmethod
    def configure(self, home: Path, project_inside: Path) -> None:
        """Writes the files that keep it from asking or calling home."""

    @abstractmethod
    def normalise(self, body: dict[str, Any]) -> list[Message]: ...

    @abstractmethod
    def is_subagent(self, body: dict[str, Any]) -> bool: ...

    @abstractmethod
    def command_call(self, command: str) -> tuple[str, dict[str, Any]]:
        """Tool and input with which it runs a shell command."""

    @abstractmethod
    def transcripts(self, sandbox: Sandbox) -> list[Path]: ...

    @abstractmethod
    def place(self, sandbox: Sandbox, transcript: Path) -> Path:
        """Puts a transcript where the client finds it by its own id. Lines are left as they are."""

    @abstractmethod
    def as_it_stands(self, transcript: Path) -> list[str]:
        """Options under which any transcript is resumed, and not compacted first, however full it says it is."""

    @abstractmethod
    def prompt_arguments(self, text: str, options: Sequence[str]) -> list[str]: ...

    @abstractmethod
    def resume_arguments(self, placed: Path, text: str, options: Sequence[str]) -> list[str]: ...

    @abstractmethod
    def fork_arguments(self, placed: Path, text: str, options: Sequence[str]) -> list[str]: ...
