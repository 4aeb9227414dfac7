"""The calls of a generated session: which tool, on what, and an answer of the size such answers have.

Files are read in parts or whole, read again, edited where they were read; commands are run again; what failed is tried
again. Shares of tools and sizes of answers follow what was counted in real transcripts. Nothing here grows with the
length of the session.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate, pairwise
from random import Random
from typing import Final, TypeVar

from leftoff.model.script import Call
from leftoff.samples import pictures, tools, words
from leftoff.samples.mix import Mix
from leftoff.samples.world import File, World

MAX_ANSWER_CHARS: Final = 80_000

T = TypeVar("T")

_SHARES: Final = {
    tools.SHELL: 0.315,
    tools.READ: 0.24,
    tools.EDIT: 0.215,
    tools.SEARCH: 0.12,
    tools.TODO: 0.04,
    tools.WRITE: 0.035,
    tools.LIST: 0.025,
    tools.FETCH: 0.01,
}
# How much more often than the average an answer of this tool is a failure.
_FAILS_MORE: Final = {
    tools.SHELL: 1.85,
    tools.READ: 0.35,
    tools.EDIT: 1.2,
    tools.SEARCH: 0.3,
    tools.FETCH: 2.0,
}
_RANGED_READS: Final = 0.66
_SAME_RANGE_AGAIN: Final = 0.12
_TRY_AGAIN: Final = 0.5
_MUCH_OUTPUT_CHARS: Final = 1_200
_MAX_LINES: Final = 2_000  # what a read of a whole file shows at most
_PICTURES: Final = tuple(pictures.bars([(3 * i * k) % 23 for i in range(16)]) for k in (1, 3, 7))


def _spread(*points: tuple[float, float]) -> tuple[int, ...]:
    """A thousand sizes whose quantiles are the given (share, size) points, straight lines of the logarithm between."""
    sizes: list[int] = []
    for (share, size), (next_share, next_size) in pairwise(points):
        steps = round((next_share - share) * 1_000)
        ratio = next_size / size
        sizes += [round(size * math.pow(ratio, step / steps)) for step in range(steps)]
    return tuple(sizes)


_SHELL_CHARS: Final = _spread((0, 2), (0.5, 200), (0.75, 850), (0.9, 3_000), (0.97, 8_000), (1, 30_000))
_SEARCH_CHARS: Final = _spread((0, 20), (0.5, 400), (0.9, 3_200), (0.98, 12_000), (1, 24_000))
_FETCH_CHARS: Final = _spread((0, 300), (0.5, 2_600), (1, 12_000))
_READ_LINES: Final = _spread((0, 8), (0.5, 60), (0.9, 210), (1, 900))
_EDIT_LINES: Final = _spread((0, 1), (0.5, 5), (0.9, 18), (1, 60))


class Toolbox:
    """Makes one call after another."""

    def __init__(self, world: World, rng: Random, options: Mix, *, longest_answer: int) -> None:
        self._longest_answer = longest_answer
        self._world = world
        self._rng = rng
        self._random = rng.random
        self._options = options
        self._focus = world.files[:4]
        self._broken: str | None = None  # the command that failed last and has not been tried again
        self._todo_done = 0
        self._hits = [form.split("{}") for form in words.HITS]
        self._fails = {tool: options.errors * _FAILS_MORE.get(tool, 0.5) for tool in tools.TOOLS}
        self._borders = tuple(accumulate(_SHARES.values()))
        self._makers = (
            self._shell,
            self._read,
            self._edit,
            self._search,
            self._todo,
            self._write,
            self._list,
            self._fetch,
        )

    def begin_task(self) -> None:
        """The user wants something else: half of the files at hand stay, the others change."""
        files = self._world.files
        fresh = [self._one(self._world.tests), *(self._one(files) for _ in range(2))]
        self._focus = [*self._focus[-2:], *fresh]

    def forget(self) -> None:
        """The conversation was compacted: a file must be read again before it is edited."""
        for file in (*self._world.files, *self._world.tests):
            file.forget()

    def some_file(self) -> File:
        """One of the files that the session is about just now."""
        return self._one(self._focus)

    @property
    def paths(self) -> list[str]:
        """The files that the session is about just now."""
        return [file.path for file in self._focus]

    def call(self) -> Call:
        """The next call with its answer."""
        at = bisect(self._borders, self._random() * self._borders[-1])
        return self._makers[min(at, len(self._makers) - 1)]()

    def look(self) -> Call:
        """A call that changes nothing, made by somebody else: what it shows, the main conversation has not seen."""
        if self._random() < 0.4:
            return self._search()
        file = self._one(self._world.files)
        seen = file.seen_from, file.seen_to
        call = self._read_file(file)
        file.seen_from, file.seen_to = seen
        return call

    def _shell(self) -> Call:
        if self._broken and self._random() < _TRY_AGAIN:
            command, self._broken = self._broken, None
            return tools.shell(
                command, f"{self._part(self._world.outputs[command], 900)}\n38 passed in 4.02s"
            )
        if self._failing(tools.SHELL):
            command = self._broken = f"uv run pytest -q {self._one(self._focus).test_path}"
            return tools.shell(command, self._failure(), failed=True)
        chars = self._size(_SHELL_CHARS)
        if chars < 8:
            return tools.shell(f"git add {self._one(self._focus).path}", "")
        command = self._command(chars)
        answer = self._part(self._world.outputs.get(command, self._world.log), chars)
        if "pytest" in command:
            answer = f"{answer}\n{answer.count('PASSED')} passed in 2.31s"
        return tools.shell(command, answer)

    def _command(self, chars: int) -> str:
        """A command that may well print so much."""
        if chars > _MUCH_OUTPUT_CHARS:
            return self._one(words.LOG_COMMANDS)
        if self._random() < 0.5:
            return f"uv run pytest -q {self._one(self._focus).test_path}"
        commands = self._world.commands
        return commands[int(self._random() ** 2 * len(commands))]

    def _failure(self) -> str:
        start = self._part(self._world.outputs["uv run pytest -q"], self._size(_SHELL_CHARS) // 4)
        return f"Exit code 1\n{start}\n{self._one(self._world.failures)}\n1 failed, 37 passed in 4.40s"

    def _read(self) -> Call:
        return self._read_file(self._one(self._focus))

    def _read_file(self, file: File) -> Call:
        path = self._absolute(file)
        if self._failing(tools.READ):
            return tools.read(f"{path}i", f"{path}i: no such file", failed=True)
        if self._random() < self._options.images:
            chart = f"{self._world.project}/docs/chart-{int(self._random() * 9)}.png"
            return tools.read(chart, f"{chart}: a picture", image=self._one(_PICTURES))
        if self._random() >= _RANGED_READS:
            return tools.read(path, file.show(0, _MAX_LINES)[:MAX_ANSWER_CHARS])
        first, count = self._range(file)
        return tools.read(path, file.show(first, count)[:MAX_ANSWER_CHARS], offset=first + 1, limit=count)

    def _range(self, file: File) -> tuple[int, int]:
        if file.seen_to > file.seen_from and self._random() < _SAME_RANGE_AGAIN:
            return file.seen_from, file.seen_to - file.seen_from
        count = self._size(_READ_LINES)
        room = max(1, len(file.lines) - count)
        return int(self._random() * room), count

    def _edit(self) -> Call:
        known = [file for file in self._focus if file.seen_to > file.seen_from]
        if not known:
            return self._read()  # nobody edits what he has not seen
        file = self._one(known)
        seen = file.seen_to - file.seen_from
        count = min(self._size(_EDIT_LINES), seen)
        first = file.seen_from + int(self._random() * (seen - count + 1))
        before = file.lines[first : first + count]
        old, path = "\n".join(before), self._absolute(file)
        if not old.strip():
            return self._read()
        after = self._changed(before, grow=len(file.lines) < file.usual_lines * 1.2)
        if self._failing(tools.EDIT):
            return tools.edit(
                path, f"{old} ", "\n".join(after), "The text to replace was not found.", failed=True
            )
        file.replace(first, count, after)
        around = "\n".join(file.lines[max(0, first - 1) : first + 4])
        return tools.edit(path, old, "\n".join(after), f"Edited {path} from line {first + 1} on:\n{around}")

    def _changed(self, before: list[str], *, grow: bool) -> list[str]:
        """The same lines with something added after one of them; or fewer of them, so that files stay their size."""
        if not grow:
            return before[: len(before) // 2] or ["pass"]
        at = int(self._random() * len(before))
        indent = " " * (len(before[at]) - len(before[at].lstrip()))
        added = [f"{indent}{line}" for _ in range(1 + at // 4) for line in self._one(self._world.guards)]
        return [*before[: at + 1], *added, *before[at + 1 :]]

    def _write(self) -> Call:
        file = self._one(self._world.tests)
        lines: list[str] = []
        for _ in range(1 + int(self._random() ** 2 * min(25, self._longest_answer // 400))):
            lines += (*self._one(self._world.blocks), "", "")
        content, path = "\n".join(lines), self._absolute(file)
        if self._failing(tools.WRITE):
            return tools.write(path, content, f"{path}: permission denied", failed=True)
        file.rewrite(lines)
        return tools.write(path, content, f"Wrote {len(lines)} lines to {path}.")

    def _search(self) -> Call:
        pattern = self._one(self._one(self._focus).functions)
        if self._failing(tools.SEARCH):
            return tools.search(f"{pattern}(", "unclosed group at column 17", failed=True)
        hits = self._size(_SEARCH_CHARS) // 80
        if not hits:
            return tools.search(pattern, "No matches.")
        paths, forms = self._world.paths, self._hits
        start = int(self._random() * 997)
        answer = "\n".join(
            f"{paths[at % len(paths)]}:{at * 7 % 613}:{pattern.join(forms[at % len(forms)])}"
            for at in range(start, start + hits)
        )
        return tools.search(pattern, answer, path=self._world.project)

    def _list(self) -> Call:
        folder = f"{self._world.project}/src/{self._world.package}"
        if self._failing(tools.LIST):
            return tools.list_folder(f"{folder}/old", f"{folder}/old: no such folder", failed=True)
        return tools.list_folder(folder, self._part(self._world.paths, 60 + int(self._random() * 900)))

    def _todo(self) -> Call:
        tasks = self._world.tasks
        self._todo_done += 1
        first = self._todo_done // 4  # a new task comes onto the list as the oldest leaves it
        items: list[tuple[str, tools.TodoStatus]] = []
        for at in range(4):
            status: tools.TodoStatus = "completed" if at < self._todo_done % 4 else "pending"
            items.append(
                (tasks[(first + at) % len(tasks)], "in_progress" if at == self._todo_done % 4 else status)
            )
        return tools.todo(items, "The list was updated.")

    def _fetch(self) -> Call:
        url = f"https://docs.example/{self._world.package}/{self._one(self._focus).noun}"
        if self._failing(tools.FETCH):
            return tools.fetch(url, "503 Service Unavailable", failed=True)
        return tools.fetch(url, self._part(self._world.tasks, self._size(_FETCH_CHARS)))

    def _part(self, lines: list[str], chars: int) -> str:
        """About so many characters of consecutive lines, from anywhere."""
        count = min(len(lines), chars // len(lines[0]) + 1)
        first = int(self._random() * (len(lines) - count + 1))
        return "\n".join(lines[first : first + count])

    def _failing(self, tool: str) -> bool:
        return self._random() < self._fails[tool]

    def _size(self, sizes: tuple[int, ...]) -> int:
        return min(sizes[int(self._random() * len(sizes))], self._longest_answer)

    def _one(self, things: Sequence[T]) -> T:
        return things[int(self._random() * len(things))]

    def _absolute(self, file: File) -> str:
        return f"{self._world.project}/{file.path}"
