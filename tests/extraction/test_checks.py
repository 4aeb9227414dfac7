"""Which commands check the work, and how they ended, as their output says; a pipeline's exit code says nothing."""

import pytest

from leftoff.core.actions import Answer, Ran
from leftoff.extraction import State, checks, render
from leftoff.testing.builders import Story, call
from tests.extraction.builders import add_call, session_state_of, through_json

GO_FAIL = """--- FAIL: TestRefill (0.00s)
    bucket_test.go:41: got 3, want 4
FAIL
FAIL	example.com/limits	0.412s
ok  	example.com/store	0.003s
FAIL"""
GO_OK = "ok  \texample.com/limits\t0.412s\nok  \texample.com/store\t(cached)"
LINT = """src/report.ts:14:7 lint/style/useConst
  \u00d7 This let declares a variable that is only assigned once.

Checked 85 files in 137ms. No fixes applied.
Found 1 error."""
PLAYWRIGHT = """  1) [chromium] \u203a login.spec.ts:12:5 \u203a signs in
    Error: expect(locator).toBeVisible() failed
  1 failed
    [chromium] \u203a login.spec.ts:12:5 \u203a signs in
  22 passed (31.2s)"""
PNPM = " ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL  web@1.0.0 build: `next build`\nExit status 1"
PYTEST = "ERROR collecting tests/test_a.py\n!!! Interrupted: 1 error during collection !!!\n1 error in 0.09s"
TSC = "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'."


@pytest.mark.parametrize(
    ("command", "output", "outcome", "said"),
    [
        ("bun run lint 2>&1 | tail -20", LINT, "failed", "Found 1 error."),
        ("npx playwright test 2>&1 | tail -30", PLAYWRIGHT, "failed", "1 failed"),
        ("pnpm -r build 2>&1 | tail -5", PNPM, "failed", "ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL"),
        ("pytest -x -q | head -40", PYTEST, "failed", "1 error in 0.09s"),
        ("go test ./... | tail", GO_FAIL, "failed", "FAIL\texample.com/limits"),
        ("cargo check | tail", "{ stage: 1,\n  success: false }", "unknown", ""),
        ("go build ./... | head", "./explain.go:12:4: undefined: x\nmore", "failed", "undefined: x"),
        ("golangci-lint run | head", "a/hooks.go:48:5: var p is unused (unused)", "failed", "is unused"),
        ("make | tail -2", "a.c:3:5: warning: unused variable\nlinking app", "unknown", ""),
        ("go test -v ./store | tail -3", "--- PASS: TestAdd (0.04s)\nPASS", "passed", "PASS"),
        ("npx tsc --noEmit | head", TSC, "failed", "error TS2322"),
        ("make test; echo done", "make: *** [test] Error 2\ndone", "failed", "make: *** [test] Error 2"),
        ("go test ./... | tail", GO_OK, "passed", "ok  \texample.com/store\t(cached)"),
        ("go test ./... | head -n 3", f"{GO_OK}\nok a\nok b\nok c", "unknown", ""),
        ("go test ./... 2>&1 | head", GO_OK, "passed", "ok  \texample.com/store\t(cached)"),
        ("pytest -q | tail -1", "12 passed in 0.31s", "passed", "12 passed in 0.31s"),
        ("pytest -q | tail -1", "12 passed, 2 warnings in 0.31s", "passed", "12 passed"),
        ("npx eslint . | tail -3", "✖ 3 problems (2 errors, 1 warning)", "failed", "3 problems"),
        ("npx eslint . | tail -3", "✖ 3 problems (0 errors, 3 warnings)", "passed", "0 errors"),
        ("cargo clippy 2>&1 | tail -2", "    Finished dev [unoptimized] target(s) in 3.41s", "passed", ""),
        ("bun run build | tail -4", "Done in 4.2s", "passed", "Done in 4.2s"),
        ("make test | tail -1", "", "unknown", ""),
        ("make test | tail -1", "collecting what there is", "unknown", ""),
    ],
)
def test_the_output_of_a_piped_check_says_how_it_ended(
    command: str, output: str, outcome: str, said: str
) -> None:
    """The exit code is that of ``tail``; where the output says nothing either, the outcome is unknown."""
    found = checks.read_outcome(command, Answer(output, 0, failed=False))
    assert found[0] == outcome
    assert said in found[1]


@pytest.mark.parametrize(
    ("command", "answer", "outcome"),
    [
        ("pytest -q", Answer("test_rejects_1_failed_login passed\n1 failed login is logged", 0), "passed"),
        ("pytest -q && make lint", Answer("", 0), "passed"),
        ("pytest -q", Answer("boom", 2, failed=True), "failed"),
        ("pytest -q | tail", Answer("12 passed", 1, failed=True), "failed"),
        ("pytest -k 'a | b'", Answer("Found 1 error.", 0), "passed"),
        ("ls | head", Answer("errors: 5", 0, failed=False), "unknown"),
        ("ls", Answer("no", 2), "failed"),
        ("ls", Answer(""), "unknown"),
    ],
)
def test_an_exit_code_that_is_the_commands_own_is_believed(
    command: str, answer: Answer, outcome: str
) -> None:
    """A failure always; success where nothing after the check can hide its code. Other commands have no outcome to read."""
    assert checks.read_outcome(command, answer)[0] == outcome


def test_what_went_wrong_is_the_first_line_that_names_an_error() -> None:
    """Else the last line; in a long output both ends are looked at."""
    for output, line in (
        ("a\nE   ValueError: no rows\nb", "E   ValueError: no rows"),
        ("one\n\nlast line\n", "last line"),
        ("", ""),
        ("x\n" * 9_000 + "fatal: at the end", "fatal: at the end"),
    ):
        assert checks.read_outcome("make", Answer(output, 1, failed=True)) == ("failed", line)


@pytest.mark.parametrize(
    "command",
    [
        "make test",
        "cd src && go test ./...",
        "mise run test:ci",
        "uv run pytest -q",
        "npx tsc",
        "CI=1 bun run lint",
        "make",
        "cargo build --release",
        "cat > a.py <<'EOF'\nx = 1\nEOF\npytest -q",
    ],
)
def test_checks_are_recognised(command: str) -> None:
    assert checks.is_check_text(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat test.log",
        "grep test x",
        "git log",
        "",
        "rg build | head",
        "ls tests",
        "test -f build/app && echo there",
        "[ -f test ] && cat test",
        "git commit -m 'Fix the build and test'",
        "git checkout test",
        "vim tests/test_a.py",
        "rg -n 'def test_|pytest|assert' tests",
        "cat >> a_test.go <<'EOF'\ntest this\nmake it\nEOF",
        "cat > notes.md <<EOF\nmake test",
    ],
)
def test_what_only_mentions_a_check_is_none(command: str) -> None:
    assert not checks.is_check_text(command)


def run(state: State, command: str, output: str, *, failed: bool = False) -> State:
    return add_call(state, Ran(command), answer=Answer(output, 1 if failed else 0, failed=failed))


def test_runs_of_the_same_check_are_counted_whatever_limits_their_output() -> None:
    """``cd``, variables, ``| tail`` and ``| grep`` do not make it another check."""
    state = State()
    for command, output in (
        ("go test ./...", "ok  \tx\t0.1s"),
        ("go test ./... | tail -5", "FAIL\tx\t0.2s"),
        ("cd /p && go test ./... 2>&1 | tail -30", "FAIL\tx\t0.2s"),
        ("CGO_ENABLED=0 go test ./...", "ok  \tx\t0.1s"),
        ("go test ./... | grep -v 'no test | files'", "FAIL\tx\t0.2s"),
        ("go test ./... || true", "ok  \tx\t0.1s"),
        ("go test ./... 2>&1 | tail -3", "ok  \tx\t0.3s"),
    ):
        state = run(through_json(state), command, output)
    (command,) = state.commands.values()
    assert (command.runs, command.failures, command.outcome) == (7, 3, "passed")
    (line,) = render(state)["critical_context"]["commands"]
    assert "→ 7 runs, 3 failed, the last passed (“ok x 0.3s”)" in line


def test_the_same_check_in_another_folder_is_another_check() -> None:
    """Neither are their runs counted together, nor does one show that the failure of the other is gone."""
    state = State(project="/p")
    for command, output in (("cd web && npm test", "1 failed"), ("cd api && npm test", "3 passed")):
        answer = Answer(output, int("failed" in output), failed="failed" in output)
        add_call(state, Ran(command), answer=answer)
    add_call(state, Ran("npm test", folder="/p/docs"), answer=Answer("3 passed", 0, failed=False))
    add_call(state, Ran("npm test", folder="/p"), answer=Answer("3 passed", 0, failed=False))
    assert [command.folder for command in state.commands.values()] == ["/p/web", "/p/api", "/p/docs", ""]
    told = render(state)["critical_context"]["commands"]
    assert [line for line in told if line.startswith("`npm test` → in `docs`: passed")]
    state = State(project="/p")
    for folder, failed in (("/p/web", True), ("/p/api", False)):
        answer = Answer("1 failed" if failed else "3 passed", int(failed), failed=failed)
        add_call(state, Ran("npm test", folder=folder), answer=answer)
    assert [command.folder for command in checks.unresolved_failures(state)] == ["/p/web"]


def test_a_single_run_says_how_it_ended() -> None:
    state = State()
    run(state, "pytest -q", "3 passed")
    run(state, "mypy src | tail", "")
    run(state, "./deploy.sh", "deployed")
    run(state, "node seed.js", "Error: no database", failed=True)
    ends = dict(line.split(" → ") for line in render(state)["critical_context"]["commands"])
    assert ends == {
        "`pytest -q`": "passed (“3 passed”)",
        "`mypy src | tail`": "outcome not shown",
        "`./deploy.sh`": "worked",
        "`node seed.js`": "failed (“Error: no database”)",
    }


def failing_steps(*runs: tuple[str, bool]) -> list[str]:
    story = Story().asked("Make it pass")
    for command, failed in runs:
        answer = "Exit code 1\nFAILED test_x" if failed else "12 passed"
        story = story.replied("", call("shell", {"command": command}, answer, failed=failed))
    return [step for step in session_state_of(story)["next_steps"] if step.startswith("Failing check")]


def test_a_failure_is_gone_once_a_check_of_its_kind_passes() -> None:
    """Another command for the same tests, or tests after a failed build; a smaller part of the same shows nothing."""
    assert failing_steps(("pytest tests/a.py", True), ("make test", False)) == []
    assert failing_steps(("go build ./...", True), ("go test ./...", False)) == []
    assert failing_steps(("make test", True), ("make test 2>&1 | tail", False)) == []
    assert len(failing_steps(("pytest", True), ("pytest tests/a.py", False))) == 1
    assert len(failing_steps(("make lint", True), ("pytest", False))) == 1
    assert len(failing_steps(("pytest", False), ("pytest", True))) == 1


def test_a_failed_search_is_nothing_to_fix() -> None:
    assert failing_steps(("cat nothing", True), ("rg test", True), ("node seed.js", True)) == []


def test_a_command_that_did_not_work_is_told_with_its_error() -> None:
    """How not to do something is worth knowing although it is no check."""
    state = run(State(), "docker compose up -d", "Error: port 5432 is already allocated", failed=True)
    assert render(state)["key_findings"] == [
        "Did not work: `docker compose up -d`: “Error: port 5432 is already allocated”"
    ]


@pytest.mark.parametrize(
    "command", ["ls -l", "cat a | grep b", "rg 'a|b'", "git status && git diff", "sed -n 1,9p a 2>&1"]
)
def test_looking_changes_no_file(command: str) -> None:
    assert checks.only_reads(command)


@pytest.mark.parametrize("command", ["cat a > b", "sed -i s/a/b/ x", "find . -delete", "make", "ls; rm a"])
def test_other_commands_may_change_files(command: str) -> None:
    assert not checks.only_reads(command)


def test_the_line_that_tells_is_not_the_name_of_a_test_nor_an_empty_run() -> None:
    """A test that passed may be called "fails without a key"; programs without tests end with "0 passed"."""
    output = "(fail) reads rows\n 1 failed\n(pass) fails without a key"
    assert checks.read_outcome("bun test | tail", Answer(output, 0, failed=False)) == ("failed", "1 failed")
    output = "test result: ok. 632 passed; 0 failed\ntest result: ok. 0 passed; 0 failed"
    assert checks.read_outcome("cargo test | tail", Answer(output, 0, failed=False))[1].startswith(
        "test result: ok. 632 passed"
    )


def test_a_line_of_several_checks_counts_for_each_that_is_known() -> None:
    state = State()
    add_call(state, Ran("make lint"), answer=Answer("1 error", 1, failed=True))
    add_call(state, Ran("make fmt && make lint && make test"), answer=Answer("12 passed", 0, failed=False))
    lint = state.commands["make lint"]
    assert (lint.runs, lint.failures, lint.outcome, lint.call) == (2, 1, "passed", 2)


def test_a_passing_test_with_a_failure_in_its_name_is_no_reason() -> None:
    output = (
        "(pass) it fails closed when 1 error occurs\n--- FAIL: TestResume\nError: context deadline exceeded"
    )
    state = add_call(State(), Ran("go test ./..."), answer=Answer(output, 1, failed=True))
    assert [each.said for each in state.commands.values()] == ["--- FAIL: TestResume"]
