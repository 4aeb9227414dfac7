"""The measures of the hooks are measured where they are printed, on the fast path as it is installed."""

import subprocess
import sys

from leftoff.flows import fast_path
from leftoff.flows.agents import agents_here
from leftoff.flows.bench_hook import measured
from leftoff.hook import fast
from leftoff.system import paths


def test_each_side_is_timed_in_every_round(tmp_path):
    """A bare interpreter, a small transcript, a large one; nothing is left in the user's folders."""
    pairs = measured(agents_here()[0], tmp_path, 1, 2_000_000, 100_000)
    assert {name: len(rounds) for name, rounds in pairs.items()} == {"fast": 1, "large": 1, "save": 1}
    assert all(ours > 0 < theirs for rounds in pairs.values() for ours, theirs in rounds)
    assert not (tmp_path / ".local/state/leftoff/leftoff.log").exists(), "a hook failed"
    assert not paths.state_folder().exists()


def test_the_installed_form_is_compiled_and_runs_under_another_interpreter_too(tmp_path):
    """It is the same at every install; the source stands behind it."""
    assert fast_path.content() == fast_path.content()
    for change in (b"", b"never "):
        path = tmp_path / "fast.py"
        path.write_bytes(fast_path.content().replace(b"if sys.version == '", b"if sys.version == '" + change))
        environment = {"HOME": str(tmp_path), "LEFTOFF_DISABLE": "1"}
        done = subprocess.run(
            [sys.executable, "-I", "-S", path, "claude"],
            input=b"",
            capture_output=True,
            check=False,
            env=environment,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    names: dict[str, object] = {"__name__": "fast"}
    exec(fast_path.content(), names)
    assert names["SCHEMA"] == fast.SCHEMA
