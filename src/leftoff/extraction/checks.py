"""Tell which commands check the work (tests, builds, linters), and read from their output how they ended.

The exit code of a pipeline is that of its last program: ``go test ./... | tail`` exits with 0 whatever the tests do. Where the
exit code says nothing, the output decides, and where that says nothing either, the outcome is unknown.
"""

from __future__ import annotations

import re
from functools import lru_cache

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
_HEAD = re.compile(r"\|\s*head\b(?:\s+(?:-n|--lines)?[ =-]*(\d+))?")
_FAILED = re.compile(any_of("failed output"))
_PASSED = re.compile(any_of("passed output"), re.IGNORECASE)
ENDED = re.compile(f"{_FAILED.pattern}|(?i:{_PASSED.pattern})")  # in the output of a check
_TROUBLE = re.compile(any_of("trouble"), re.MULTILINE)
_MAX_SAID_CHARS = 160
# A test that passed may have "fails" in its name; a runner without tests ends with "0 passed".
_SAYS_LITTLE = re.compile(r"\s*(?:\(pass\)|[\u2713\u2714]|.*\b0 passed\b(?!.*\b[1-9]\d* failed))")
PROSE = (".md", ".markdown", ".txt", ".rst", ".adoc")  # files that no check depends on


def read_outcome(command: str, answer: Answer) -> tuple[Outcome, str]:
    """Return how a command ended, and the line of its output that says so; empty where none does."""
    output = answer.text if len(answer.text) <= 12_000 else answer.text[:4_000] + "\n" + answer.text[-8_000:]
    if answer.exit_code == 1 and only_reads(command):
        return "unknown", ""  # a search that finds nothing
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
    passed = "" if _is_cut_off(command, output) else _last_line(_PASSED, output)
    return ("passed", passed) if passed else ("unknown", "")


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
    return _AROUND_CHECK.sub("", command).strip() if is_check_text(command) else command


def is_check(command: Command) -> bool:
    """Return whether the command checks the work, so that its failure is something to fix."""
    return is_check_text(command.text)


def is_check_text(command: str) -> bool:
    """Return whether a command line checks the work."""
    return bool(_check_kinds(command))


@lru_cache(maxsize=512)  # each command is asked about several times, and compared with the others
def _check_kinds(command: str) -> frozenset[str]:
    return frozenset[str]().union(*(_kinds_of_words(part.split()) for part in _parts(command)))


def _parts(command: str) -> list[str]:
    """Return the commands that a command line consists of; what is quoted or in a here-document is none of them."""
    if "<<" in command:
        command = _HEREDOC.sub(r"\2", command)
    if "'" in command or '"' in command:
        command = _QUOTED.sub(lambda quoted: COMMAND_SEPARATOR.sub(" ", quoted[0]), command)
    return [part.strip() for part in COMMAND_SEPARATOR.split(command) if part.strip()]


def _kinds_of_words(words: list[str]) -> frozenset[str]:
    """Look at the program and its first arguments only, not at paths: ``go test``, ``mise run test:ci``."""
    while words and "=" in words[0]:
        words = words[1:]  # a variable for the program
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
    passed = [each for each in state.commands.values() if each.outcome == "passed" and is_check(each)]
    return [
        command
        for command in state.commands.values()
        if command.outcome == "failed"
        and is_check(command)
        and not any(
            later.call > command.call
            and later.folder in ("", command.folder)
            and _refutes(later.text, command.text)
            for later in passed
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
    if failed in _parts(passed):
        return True
    kinds, passed_kinds = _check_kinds(failed), _check_kinds(passed)
    is_same_kind = bool(kinds & passed_kinds) or ("test" in passed_kinds and "build" in kinds)
    is_narrower = len(passed) > len(failed) and (
        passed.startswith(failed) or passed.split()[:2] == failed.split()[:2]
    )
    return is_same_kind and not is_narrower
