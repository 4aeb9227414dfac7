"""Tell which commands check the work (tests, builds, linters), and read from their output how they ended.

The exit code of a pipeline is that of its last program: ``go test ./... | tail`` exits with 0 whatever the tests do. Where the
exit code says nothing, the output decides, and where that says nothing either, the outcome is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from leftoff.core.actions import Answer
from leftoff.extraction.phrases import LISTS, any_of
from leftoff.extraction.state import Command, Outcome, State, truncate

_CHECK_KINDS = ("test", "build", "lint", "format", "types")
_KINDS_OF_WORD = {
    word: frozenset(kind for kind in _CHECK_KINDS if word in LISTS[f"check: {kind}"])
    for kind_of_list in _CHECK_KINDS
    for word in LISTS[f"check: {kind_of_list}"]
}
_LOOK_AROUND = frozenset(LISTS["look around"])
_ONLY_READS = re.compile(rf"(?:{any_of('only reads')})(?!\S)")
COMMAND_SEPARATOR = re.compile(r"&&|\|\||[;|\n]")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?([^\n]*)\n.*?(?:\n\s*\1\b|\Z)", re.DOTALL)
_HIDES_EXIT_CODE = re.compile(r"\||;|(?<!&)&\s*$|\n")
# What only limits the output of a command, or is done before it: two commands that differ in this are the same check.
_AROUND_CHECK = re.compile(
    r"\A\s*(?:cd [^&;|]+&&\s*|[A-Z_]+=\S*\s+)+|\s*2>&1|\s*\|\s*(?:tail|head|grep|tee|cat)\b(?:'[^']*'|\"[^\"]*\"|[^|&;'\"])*|\s*\|\| true\s*\Z|\s*;\s*echo\b[^;&|]*\Z"
)
# How a check is started does not matter either.
_LAUNCHER = re.compile(rf"(?:\A|(?<=&& ))(?:(?:{any_of('launchers')})\s+)+")
_SILENT = frozenset(LISTS["silent"])
_ENDS_WITH_SEARCH = re.compile(r"\|\s*(?:grep|rg)\b[^|;&]*\Z")
_FILTERS = re.compile(r"\|\s*grep\b|2?>\s*/dev/null")
_SELECTS = frozenset(LISTS["selects"])
_SUFFIX = re.compile(r"\.\w+(?=::|\Z)")
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
_HEAD = re.compile(r"\|\s*head\b(?:\s+(?:-n|--lines)?[ =-]*(\d+))?")
_FAILED = re.compile(any_of("failed output"))
_PASSED = re.compile(any_of("passed output"), re.IGNORECASE)
ENDED = re.compile(f"{_FAILED.pattern}|(?i:{_PASSED.pattern})")  # in the output of a check
_TROUBLE = re.compile(any_of("trouble"), re.MULTILINE)
_MAX_SAID_CHARS = 160
# A test that passed may have "fails" in its name; a runner without tests ends with "0 passed".
_SAYS_LITTLE = re.compile(
    r"\s*(?:\(pass\)|[\u2713\u2714](?! (?:built|[Cc]ompiled) )|.*\b0 passed\b(?!.*\b[1-9]\d* failed))"
)
PROSE = (".md", ".markdown", ".txt", ".rst", ".adoc")  # files that no check depends on


def read_outcome(command: str, answer: Answer) -> tuple[Outcome, str]:
    """Return how a command ended, and the line of its output that says so; empty where none does."""
    output = answer.text if len(answer.text) <= 12_000 else answer.text[:4_000] + "\n" + answer.text[-8_000:]
    output = _COLOUR.sub("", output) if "\x1b" in output else output
    if answer.exit_code == 1 and (
        only_reads(command) or (not output and _ENDS_WITH_SEARCH.search(_QUOTED.sub("", command)))
    ):
        return "unknown", ""  # a search that finds nothing, also in the output of a check
    if answer.failed or answer.exit_code:
        return "failed", _failure_line(output)
    hides_exit_code = _hides_exit_code(command)
    if not is_check_text(command):
        is_unknown = answer.failed is None and answer.exit_code is None
        return ("unknown" if is_unknown or hides_exit_code else "passed"), ""
    if answer.exit_code == 0 and not hides_exit_code:
        return "passed", _last_line(_PASSED, output)
    if failed := _last_line(_FAILED, output):
        return "failed", failed
    if not output.strip() and _is_silent(command):
        return "passed", ""
    passed = "" if _is_cut_off(command, output) else _last_line(_PASSED, output)
    return ("passed", passed) if passed else ("unknown", "")


def _is_silent(command: str) -> bool:
    """Return whether all that a command line does is run programs that print nothing where they find nothing."""
    checking = [words for words in map(_words, _parts(command)) if _kinds_of_words(words)]
    return not _FILTERS.search(command) and all(not _SILENT.isdisjoint(words[:2]) for words in checking)


def _is_cut_off(command: str, output: str) -> bool:
    """Return whether ``head`` may have left out the end of an output, where failures and the result are."""
    limit = _HEAD.search(command)
    return limit is not None and len(output.splitlines()) >= int(limit[1] or 10)


def _hides_exit_code(command: str) -> bool:
    """Return whether a command exits with another code than that of its check."""
    if not any(sign in command for sign in "|;&\n"):
        return False  # true of most, and quicker than removing what is quoted
    return _HIDES_EXIT_CODE.search(_QUOTED.sub("", command)) is not None


def _last_line(pattern: re.Pattern[str], output: str) -> str:
    """Return the last line that matches; empty without one. Lines are read from the end, where results are."""
    bare = ""
    for line in reversed(output.splitlines()):
        if pattern.search(line) and not _SAYS_LITTLE.match(line):
            text = truncate(line.strip(" =\t\r"), _MAX_SAID_CHARS)
            if len(text.split()) > 1:
                return text
            bare = bare or text  # a mere "FAIL" says less than a line before it
    return bare


def _failure_line(output: str) -> str:
    """Return the line that says what went wrong: the first that names an error, else the last one."""
    for line in output.splitlines():
        if _FAILED.search(line) and not _SAYS_LITTLE.match(line):
            return truncate(line.strip(), _MAX_SAID_CHARS)
    found = _TROUBLE.search(output)
    lines = (
        output[output.rfind("\n", 0, found.start() + 1) + 1 :].splitlines()
        if found
        else output.splitlines()[::-1]
    )
    return truncate(next((line.strip() for line in lines if line.strip()), ""), _MAX_SAID_CHARS)


def name_of(command: str) -> str:
    """Return what identifies a command: of a check, the command without what limits its output."""
    if not is_check_text(command):
        return command
    return _LAUNCHER.sub("", _AROUND_CHECK.sub("", command).strip())


def is_check(command: Command) -> bool:
    """Return whether the command checks the work, so that its failure is something to fix."""
    return is_check_text(command.text)


def is_check_text(command: str) -> bool:
    """Return whether a command line checks the work."""
    return bool(_check_kinds(command))


@lru_cache(maxsize=512)  # each command is asked about several times, and compared with the others
def _check_kinds(command: str) -> frozenset[str]:
    return frozenset[str]().union(*(_kinds_of_words(_words(part)) for part in _parts(command)))


def _parts(command: str) -> list[str]:
    """Return the commands that a command line consists of; what is quoted or in a here-document is none of them."""
    if "<<" in command:
        command = _HEREDOC.sub(r"\2", command)
    if "'" in command or '"' in command:
        command = _QUOTED.sub(lambda quoted: COMMAND_SEPARATOR.sub(" ", quoted[0]), command)
    return [part.strip() for part in COMMAND_SEPARATOR.split(command) if part.strip()]


def _words(part: str) -> list[str]:
    """Return the words of a command, without variables for it and what only starts it."""
    words = part.split()
    while words and "=" in words[0]:
        words = words[1:]
    launcher = _LAUNCHER.match(bare := " ".join(words))
    return bare[launcher.end() :].split() if launcher else words


def _kinds_of_words(words: list[str]) -> frozenset[str]:
    """Look at the program and its first arguments only, not at paths: ``go test``, ``mise run test:ci``."""
    if not words or words[0] in _LOOK_AROUND:
        return frozenset()
    named = [word.split(":", 1)[0] for word in words[:4]]
    if words[0] == "make" and len(words) > 1:
        named = named[1:]  # its target says more
    return frozenset[str]().union(*(_KINDS_OF_WORD.get(word, frozenset()) for word in named))


def only_reads(command: str) -> bool:
    """Return whether a command changes no file, as ``ls`` and ``cat`` do; not if its output goes to a file."""
    return ">" not in command.replace("2>&1", "").replace("2>/dev/null", "") and all(
        map(_ONLY_READS.match, _parts(command))
    )


def looks_around(command: str) -> bool:
    """Return whether a command only looks at things or moves files, so that it says nothing about how the work is done."""
    return all(part.split()[0] in _LOOK_AROUND for part in _parts(command))


def last_edit(state: State) -> int:
    """Return the call that last changed a file that a check can depend on; -1 without one."""
    return max((file.edited_at for file in state.files.values() if not file.path.endswith(PROSE)), default=-1)


def unresolved_failures(state: State) -> list[Command]:
    """Return the checks that failed when last run, unless a later check shows that the failure is gone."""
    commands = [*enumerate(state.commands.values())]  # in the order in which they ran last
    passed = [(at, each) for at, each in commands if each.outcome == "passed" and is_check(each)]
    return [
        command
        for number, command in commands
        if command.outcome == "failed"
        and is_check(command)
        and not any(
            at > number and later.folder in ("", command.folder) and _refutes(later.text, command.text)
            for at, later in passed
        )
    ]


def is_refuted(failed: str, state: State) -> bool:
    """Return whether a check of this session shows that an earlier failure of this command is gone."""
    return any(
        each.outcome == "passed" and is_check(each) and _refutes(each.text, failed)
        for each in state.commands.values()
    )


def _refutes(passed: str, failed: str) -> bool:
    """Return whether a passing check shows that a failure is gone: the same kind, and not of a smaller part.

    Tests build first, so passing tests refute a failed build.
    """
    passed, failed = name_of(passed), name_of(failed)
    if failed in map(name_of, _parts(passed)):
        return True
    kinds, passed_kinds = _check_kinds(failed), _check_kinds(passed)
    is_same_kind = bool(kinds & passed_kinds) or ("test" in passed_kinds and "build" in kinds)
    parts, failed_parts = _selected(passed), _selected(failed)
    is_narrower = bool(parts) and not (failed_parts and all(_covers(parts, each) for each in failed_parts))
    return is_same_kind and not is_narrower


def _selected(command: str) -> frozenset[str]:
    """Return what a check is limited to: paths without their suffix, and names that an option selects; nothing if it checks all."""
    selected = set[str]()
    for part in _parts(command):
        words = _words(part) if _check_kinds(part) else []
        for before, word in pairwise(words):
            option, _, value = word.partition("=")
            if before in _SELECTS or (option in _SELECTS and value):
                selected.add(value or word)
            elif not word.startswith("-") and ("/" in word or _SUFFIX.search(word)) and word[0] not in "<>|":
                selected.add(_SUFFIX.sub("", word.removeprefix("./").removesuffix("...")).rstrip("/"))
    return frozenset(selected - {"", "."})


def _covers(parts: Iterable[str], failed: str) -> bool:
    """Return whether one of these parts is what failed, or has it in it; they may be called from another folder."""
    return any(
        failed == part
        or failed.startswith((f"{part}/", f"{part}::"))
        or failed.endswith(f"/{part}")
        or part.endswith(f"/{failed}")
        for part in parts
    )
