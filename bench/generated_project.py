"""The project that a generated session works on, and the tools that it is worked on with."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, pairwise
from random import Random
from typing import Final, TypeVar

from bench import generated_words as words
from leftoff.errors import InvalidValueError
from leftoff.testing import script
from leftoff.testing.script import Call
from tests.support import pictures

T = TypeVar("T")

_LINES_OF_FILES: Final = (30, 50, 80, 110, 140, 170, 200, 250, 340, 460, 700, 1_500)
_SENTENCES_OF_FILES: Final = 9


def project_of(seed: int) -> str:
    """Return the folder of this seed's code base."""
    package = Random(f"{seed}/package").choice(words.PACKAGES)
    return f"/home/robin/src/{package}"


class File:
    """One file of the code base, as lines, with sentences about it."""

    __slots__ = (
        "functions",
        "lines",
        "noun",
        "path",
        "seen_from",
        "seen_to",
        "sentences",
        "test_path",
        "usual_lines",
    )

    def __init__(self, path: str, *, noun: str, functions: tuple[str, ...], test_path: str) -> None:
        self.path = path
        self.noun = noun
        self.functions = functions
        self.test_path = test_path
        self.sentences: list[str] = []
        self.lines: list[str] = []
        self.usual_lines = 0
        self.seen_from = 0  # the lines [from, to) that the model saw last; empty: it saw none
        self.seen_to = 0

    def show(self, first: int, count: int) -> str:
        """Return the lines from index ``first`` and mark them as seen."""
        last = min(len(self.lines), first + count)
        self.seen_from, self.seen_to = first, last
        return "\n".join(self.lines[first:last])

    def replace(self, first: int, count: int, new: list[str]) -> None:
        """Replace ``count`` lines by ``new``."""
        self.lines[first : first + count] = new
        self.seen_to = min(self.seen_to + len(new) - count, len(self.lines))

    def rewrite(self, lines: list[str]) -> None:
        """Replace the whole file and mark it as seen."""
        self.lines = lines
        self.usual_lines = len(lines)
        self.seen_from, self.seen_to = 0, len(lines)

    def forget(self) -> None:
        """Mark the file as unseen."""
        self.seen_from = self.seen_to = 0


class World:
    """Names and texts of one invented project."""

    def __init__(self, seed: int, *, files: int, longest_lines: int) -> None:
        self._lengths = [lines for lines in _LINES_OF_FILES if lines <= longest_lines] or _LINES_OF_FILES[:1]
        self._rng = rng = Random(f"{seed}/world")
        self.project = project_of(seed)
        self.package = self.project.rsplit("/", 1)[1]
        nouns = rng.sample(words.NOUNS, k=min(len(words.NOUNS), 4 + files // 2))
        modules = [f"{noun}_{layer}" for noun in nouns for layer in words.LAYERS]
        rng.shuffle(modules)
        self.test_paths = [f"tests/test_{module}.py" for module in modules[: max(2, files // 3)]]
        self.files = [self._file(modules[number]) for number in range(files)]
        self.paths = [file.path for file in self.files]
        self.tests = [self._test(path) for path in self.test_paths]
        self.commands = [command.format(package=self.package) for command in words.COMMANDS]
        self._pools: dict[str, Sequence[str]] = {
            "package": (self.package,),
            "noun": nouns,
            "other": nouns,
            "verb": words.VERBS,
            "layer": words.LAYERS,
            "field": words.FIELDS,
            "module": modules,
            "function": [name for file in self.files for name in file.functions],
            "path": self.paths,
            "test_path": self.test_paths,
            "command": [*self.commands, *(f"uv run pytest -q {path}" for path in self.test_paths)],
        }
        self._pools["error"] = self.errors = self._filled(words.ERRORS, 6 + files // 4)
        self.tasks = self._filled(words.TASKS, 20 + files)
        self.guards = [guard.splitlines() for guard in self._filled(words.GUARDS, 20 + files)]
        self.blocks = [block.splitlines() for block in self._filled(words.FUNCTIONS, 24 + files)]
        self.failures = self._filled((words.TRACEBACK,), 12 + files)
        self.log = self._filled(words.LOG_LINES, 200 + 30 * files)
        self.outputs = self._outputs()
        for file in (*self.files, *self.tests):
            self._write(file)

    def fill(self, template: str, file: File | None = None) -> str:
        """Return a text with its gaps filled, about ``file`` if one is given."""
        gaps = _Gaps(self._pools, self._rng)
        if file is not None:
            gaps["path"], gaps["noun"], gaps["test_path"] = file.path, file.noun, file.test_path
            gaps["function"] = self._some(file.functions)
        return template.format_map(gaps)

    def _filled(self, templates: Sequence[str], count: int) -> list[str]:
        texts = [self.fill(templates[number % len(templates)]) for number in range(count)]
        self._rng.shuffle(texts)
        return texts

    def _file(self, module: str) -> File:
        noun, layer = module.rsplit("_", 1)
        functions = tuple(f"{verb}_{noun}" for verb in self._rng.sample(words.VERBS, k=6))
        path = f"src/{self.package}/{layer}/{module}.py"
        return File(path, noun=noun, functions=functions, test_path=self._some(self.test_paths))

    def _test(self, path: str) -> File:
        tested = self._some(self.files)
        return File(path, noun=tested.noun, functions=tested.functions, test_path=path)

    def _write(self, file: File) -> None:
        lines = self._some(self._lengths)
        code = [*self.fill(words.MODULE_HEAD, file).splitlines(), "", ""]
        while len(code) < lines:
            code += (*self.fill(self._some(words.FUNCTIONS), file).splitlines(), "", "")
        file.rewrite(code)
        file.forget()
        file.sentences = [self.fill(self._some(words.SENTENCES), file) for _ in range(_SENTENCES_OF_FILES)]

    def _outputs(self) -> Mapping[str, list[str]]:
        """Return what commands print on success; other commands print logs."""
        tests = {path: self._test_lines(path) for path in self.test_paths}
        printed = {f"uv run pytest -q {path}": lines for path, lines in tests.items()}
        printed["uv run pytest -q"] = [line for lines in tests.values() for line in lines]
        printed["git status --short"] = [f" M {path}" for path in self.paths[:9]]
        printed["git diff --stat"] = [
            f" {path} | {at % 37 + 1} +-" for at, path in enumerate(self.paths[:14])
        ]
        printed["git log --oneline -15"] = [
            f"{at * 0x9E3779B1 % 2**28:07x} {task}" for at, task in enumerate(self.tasks[:15], 1)
        ]
        printed["uv run ruff check src tests"] = ["All checks passed!"]
        printed[f"uv run mypy src/{self.package}"] = [
            f"Success: no issues found in {len(self.paths)} source files"
        ]
        return printed

    def _test_lines(self, path: str) -> list[str]:
        names = self._filled(words.TEST_LINES, 24)
        return [f"{path}::{name} PASSED" for name in names]

    def _some(self, things: Sequence[T]) -> T:
        # Half the price of Random.choice, which is felt when a world is made of thousands of choices.
        return things[int(self._rng.random() * len(things))]


class _Gaps(dict[str, str]):
    """Creates the text for a gap on first use and repeats it; {Noun} and {NOUN} follow {noun}."""

    __slots__ = ("_pools", "_random")

    def __init__(self, pools: Mapping[str, Sequence[str]], rng: Random) -> None:
        self._pools = pools
        self._random = rng.random

    def __missing__(self, gap: str) -> str:
        if gap.islower():
            text = self._fresh(gap)
        else:
            lower = self[gap.lower()]
            text = lower.upper() if gap.isupper() else lower.title()
        self[gap] = text
        return text

    def _fresh(self, gap: str) -> str:
        random = self._random
        if gap in self._pools:
            pool = self._pools[gap]
            return pool[int(random() * len(pool))]
        if gap == "hex":
            return f"{int(random() * 0xFFFFFFFF):08x}"
        if gap == "clock":
            return (
                f"2026-01-{5 + int(random() * 24):02}T{int(random() * 24):02}:{int(random() * 60):02}:07.214Z"
            )
        return str(2 + int(random() * (8_997 if gap == "ms" else 398)))


MAX_ANSWER_CHARS: Final = 80_000

_SHARES: Final = {
    script.SHELL: 0.315,
    script.READ: 0.24,
    script.EDIT: 0.215,
    script.SEARCH: 0.12,
    script.TODO: 0.04,
    script.WRITE: 0.035,
    script.LIST: 0.025,
    script.FETCH: 0.01,
}
# How much more often than the average an answer of this tool is a failure.
_FAILS_MORE: Final = {
    script.SHELL: 1.85,
    script.READ: 0.35,
    script.EDIT: 1.2,
    script.SEARCH: 0.3,
    script.FETCH: 2.0,
}
_RANGED_READS: Final = 0.66
_SAME_RANGE_AGAIN: Final = 0.12
_TRY_AGAIN: Final = 0.5
_MUCH_OUTPUT_CHARS: Final = 1_200
_MAX_LINES: Final = 2_000  # what a read of a whole file shows at most
_PICTURES: Final = tuple(pictures.bars([(3 * i * k) % 23 for i in range(16)]) for k in (1, 3, 7))


def _spread(*points: tuple[float, float]) -> tuple[int, ...]:
    """Return a thousand sizes whose quantiles are the given (share, size) points, interpolated logarithmically."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Switches and rates of the generator."""

    compactions: bool = True  # when the window is nearly full; otherwise usage stays just below the window
    subagents: float = 0.011  # of the replies
    images: float = 0.004  # of the reads
    parallel: float = 0.08  # of the replies with calls: more than one
    cjk: float = 0.08  # of the prompts: Japanese, Chinese, Korean
    errors: float = 0.05  # of the answers: failed
    interrupted: float = (
        0.002  # of the replies with calls: the last call has no answer, the user speaks again
    )
    thinking: float = 0.5  # of the replies

    def __post_init__(self) -> None:
        for field in fields(self):
            rate = getattr(self, field.name)
            if not 0 <= rate <= 1:
                raise InvalidValueError(f"Mix.{field.name} is a share between 0 and 1, not {rate!r}.")


class Toolbox:
    """Creates one call after another."""

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
        self._fails = {tool: options.errors * _FAILS_MORE.get(tool, 0.5) for tool in script.TOOLS}
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
        """Begin another task: half of the current files stay, the others change."""
        files = self._world.files
        fresh = [self._one(self._world.tests), *(self._one(files) for _ in range(2))]
        self._focus = [*self._focus[-2:], *fresh]

    def forget(self) -> None:
        """Forget what was read, after a compaction."""
        for file in (*self._world.files, *self._world.tests):
            file.forget()

    def some_file(self) -> File:
        """Return one of the current files."""
        return self._one(self._focus)

    @property
    def paths(self) -> list[str]:
        """The paths of the current files."""
        return [file.path for file in self._focus]

    def call(self) -> Call:
        """Return the next call with its answer."""
        at = bisect(self._borders, self._random() * self._borders[-1])
        return self._makers[min(at, len(self._makers) - 1)]()

    def look(self) -> Call:
        """Return a read-only call of a subagent, whose result the main conversation does not see."""
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
            return script.shell(
                command, f"{self._part(self._world.outputs[command], 900)}\n38 passed in 4.02s"
            )
        if self._failing(script.SHELL):
            command = self._broken = f"uv run pytest -q {self._one(self._focus).test_path}"
            return script.shell(command, self._failure(), failed=True)
        chars = self._size(_SHELL_CHARS)
        if chars < 8:
            return script.shell(f"git add {self._one(self._focus).path}", "")
        command = self._command(chars)
        answer = self._part(self._world.outputs.get(command, self._world.log), chars)
        if "pytest" in command:
            answer = f"{answer}\n{answer.count('PASSED')} passed in 2.31s"
        return script.shell(command, answer)

    def _command(self, chars: int) -> str:
        """Return a command that may print that much."""
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
        if self._failing(script.READ):
            return script.read(f"{path}i", f"{path}i: no such file", failed=True)
        if self._random() < self._options.images:
            chart = f"{self._world.project}/docs/chart-{int(self._random() * 9)}.png"
            return script.read(chart, f"{chart}: a picture", image=self._one(_PICTURES))
        if self._random() >= _RANGED_READS:
            return script.read(path, file.show(0, _MAX_LINES)[:MAX_ANSWER_CHARS])
        first, count = self._range(file)
        return script.read(path, file.show(first, count)[:MAX_ANSWER_CHARS], offset=first + 1, limit=count)

    def _range(self, file: File) -> tuple[int, int]:
        if file.seen_to > file.seen_from and self._random() < _SAME_RANGE_AGAIN:
            return file.seen_from, file.seen_to - file.seen_from
        count = self._size(_READ_LINES)
        room = max(1, len(file.lines) - count)
        return int(self._random() * room), count

    def _edit(self) -> Call:
        known = [file for file in self._focus if file.seen_to > file.seen_from]
        if not known:
            return self._read()  # an edit needs the file to have been read
        file = self._one(known)
        seen = file.seen_to - file.seen_from
        count = min(self._size(_EDIT_LINES), seen)
        first = file.seen_from + int(self._random() * (seen - count + 1))
        before = file.lines[first : first + count]
        old, path = "\n".join(before), self._absolute(file)
        if not old.strip():
            return self._read()
        after = self._changed(before, grow=len(file.lines) < file.usual_lines * 1.2)
        if self._failing(script.EDIT):
            return script.edit(
                path, f"{old} ", "\n".join(after), "The text to replace was not found.", failed=True
            )
        file.replace(first, count, after)
        around = "\n".join(file.lines[max(0, first - 1) : first + 4])
        return script.edit(path, old, "\n".join(after), f"Edited {path} from line {first + 1} on:\n{around}")

    def _changed(self, before: list[str], *, grow: bool) -> list[str]:
        """Return the lines with an addition, or fewer of them, so that files keep their size."""
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
        if self._failing(script.WRITE):
            return script.write(path, content, f"{path}: permission denied", failed=True)
        file.rewrite(lines)
        return script.write(path, content, f"Wrote {len(lines)} lines to {path}.")

    def _search(self) -> Call:
        pattern = self._one(self._one(self._focus).functions)
        if self._failing(script.SEARCH):
            return script.search(f"{pattern}(", "unclosed group at column 17", failed=True)
        hits = self._size(_SEARCH_CHARS) // 80
        if not hits:
            return script.search(pattern, "No matches.")
        paths, forms = self._world.paths, self._hits
        start = int(self._random() * 997)
        answer = "\n".join(
            f"{paths[at % len(paths)]}:{at * 7 % 613}:{pattern.join(forms[at % len(forms)])}"
            for at in range(start, start + hits)
        )
        return script.search(pattern, answer, path=self._world.project)

    def _list(self) -> Call:
        folder = f"{self._world.project}/src/{self._world.package}"
        if self._failing(script.LIST):
            return script.list_folder(f"{folder}/old", f"{folder}/old: no such folder", failed=True)
        return script.list_folder(folder, self._part(self._world.paths, 60 + int(self._random() * 900)))

    def _todo(self) -> Call:
        tasks = self._world.tasks
        self._todo_done += 1
        first = self._todo_done // 4  # a new task comes onto the list as the oldest leaves it
        items: list[tuple[str, script.TodoStatus]] = []
        for at in range(4):
            status: script.TodoStatus = "completed" if at < self._todo_done % 4 else "pending"
            items.append(
                (tasks[(first + at) % len(tasks)], "in_progress" if at == self._todo_done % 4 else status)
            )
        return script.todo(items, "The list was updated.")

    def _fetch(self) -> Call:
        url = f"https://docs.example/{self._world.package}/{self._one(self._focus).noun}"
        if self._failing(script.FETCH):
            return script.fetch(url, "503 Service Unavailable", failed=True)
        return script.fetch(url, self._part(self._world.tasks, self._size(_FETCH_CHARS)))

    def _part(self, lines: list[str], chars: int) -> str:
        """Return about that many characters of consecutive lines from anywhere."""
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
