"""Drive a real agent: prompt, start, resume, fork.

Each method runs the real client in a sandbox and returns a `Run`: how it ended, what the API received meanwhile, and the
transcript. What differs between agents is in agent_claude.py and agent_codex.py.
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
    def main_requests(self) -> list[Request]:
        """The requests of the conversation itself: no summaries, titles, token counts or subagents."""
        return [request for request in self.requests if request.kind == "reply" and not request.is_subagent]

    @property
    def last_messages(self) -> list[Message]:
        """The messages of the last main request: history, prompt and what the turn added."""
        return self.main_requests[-1].messages

    @property
    def summary_requests(self) -> list[Request]:
        return [request for request in self.requests if request.kind == "summary"]


class Agent(ABC):
    """A real client. It has no state: everything is in the sandbox."""

    name: str
    api_program: str
    usable_tokens: int
    """How many tokens fit before the client compacts; leftoff's percentages are of these."""
    full_tokens: int
    """A usage at which the client compacts before its next request."""

    def executable(self, version: str | None = None) -> Path:
        return clients.ensure_installed(self.name, version)

    def prompt(self, sandbox: Sandbox, text: str, *options: str) -> Run:
        """Run a new session with one headless prompt."""
        return self._run(sandbox, self.prompt_arguments(text, options))

    def start(self, sandbox: Sandbox, text: str, *options: str) -> Running:
        """Start a new session with one headless prompt and do not wait for it."""
        return sandbox.start(self.prompt_arguments(text, options))

    def resume(self, sandbox: Sandbox, transcript: Path, text: str, *options: str) -> Run:
        """Resume any transcript file in the sandbox's project, under the session id in the file."""
        return self._run(
            sandbox, self.resume_arguments(self.install_transcript(sandbox, transcript), text, options)
        )

    def fork(self, sandbox: Sandbox, transcript: Path, text: str, *options: str) -> Run:
        """Start a new session that begins with the history of the given one."""
        return self._run(
            sandbox, self.fork_arguments(self.install_transcript(sandbox, transcript), text, options)
        )

    def latest_transcript(self, sandbox: Sandbox) -> Path:
        """Return the transcript that was written to last."""
        found = self.transcripts(sandbox)
        if not found:
            raise SandboxError(f"{self.name} left no transcript in {sandbox.home}")
        return max(found, key=lambda path: path.stat().st_mtime_ns)

    def _run(self, sandbox: Sandbox, arguments: Sequence[str]) -> Run:
        before = len(sandbox.requests())
        result = sandbox.run(arguments)
        return Run(
            result=result, requests=sandbox.requests(before), transcript=self.latest_transcript(sandbox)
        )

    @abstractmethod
    def environment(self, home_inside: Path) -> dict[str, str]:
        """Return the variables it needs besides PATH and HOME, with paths as the client sees them."""

    @abstractmethod
    def configure(self, home: Path, project_inside: Path) -> None:
        """Write the configuration that keeps the client from asking questions or using the network."""

    @abstractmethod
    def normalise(self, body: dict[str, Any]) -> list[Message]: ...

    @abstractmethod
    def is_subagent(self, body: dict[str, Any]) -> bool: ...

    @abstractmethod
    def shell_tool_input(self, command: str) -> tuple[str, dict[str, Any]]:
        """Return the name and input of the tool call with which it runs a shell command."""

    @abstractmethod
    def transcripts(self, sandbox: Sandbox) -> list[Path]: ...

    @abstractmethod
    def install_transcript(self, sandbox: Sandbox, transcript: Path) -> Path:
        """Copy a transcript unchanged to where the client finds it by its session id."""

    @abstractmethod
    def options_without_compaction(self, transcript: Path) -> list[str]:
        """Return options with which the client resumes a transcript without compacting it, however full its window is."""

    @abstractmethod
    def prompt_arguments(self, text: str, options: Sequence[str]) -> list[str]: ...

    @abstractmethod
    def resume_arguments(self, placed: Path, text: str, options: Sequence[str]) -> list[str]: ...

    @abstractmethod
    def fork_arguments(self, placed: Path, text: str, options: Sequence[str]) -> list[str]: ...
