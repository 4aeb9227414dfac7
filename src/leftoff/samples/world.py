"""The invented code base that a generated session works on: files, names, commands, errors and logs that recur.

A world follows from its seed and its size. Its files change as they are edited, so that what is read later
is what was written before; they never grow far beyond their first size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, TypeVar

from leftoff.samples import words

T = TypeVar("T")

_LINES_OF_FILES: Final = (30, 50, 80, 110, 140, 170, 200, 250, 340, 460, 700, 1_500)
_SENTENCES_OF_FILES: Final = 9


def project_of(seed: int) -> str:
    """The folder that the code base of this seed stands in."""
    package = Random(f"{seed}/package").choice(words.PACKAGES)
    return f"/home/robin/src/{package}"


class File:
    """One file of the code base, as lines, and what there is to say about it."""

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
        """The lines from index ``first`` on; they count as seen from now on."""
        last = min(len(self.lines), first + count)
        self.seen_from, self.seen_to = first, last
        return "\n".join(self.lines[first:last])

    def replace(self, first: int, count: int, new: list[str]) -> None:
        """Puts ``new`` in the place of ``count`` lines."""
        self.lines[first : first + count] = new
        self.seen_to = min(self.seen_to + len(new) - count, len(self.lines))

    def rewrite(self, lines: list[str]) -> None:
        """The file was written whole, so all of it has been seen."""
        self.lines = lines
        self.usual_lines = len(lines)
        self.seen_from, self.seen_to = 0, len(lines)

    def forget(self) -> None:
        """What was seen of the file is no longer known."""
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
        """One text with names of this world in its gaps; about one file, where one is given."""
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
        """What commands print when all is well; commands that are not here print logs."""
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
    """Makes the text for a gap when it is asked for, and says the same again: {Noun} and {NOUN} follow {noun}."""

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
