"""The fast path as it is installed."""

import subprocess
import sys

from leftoff.live import fast, installed


def test_the_installed_form_is_compiled_and_runs_under_another_interpreter_too(tmp_path):
    """The installed file is the same at every install and falls back to its source."""
    assert installed.fast_path_content() == installed.fast_path_content()
    for change in (b"", b"never "):
        path = tmp_path / "fast.py"
        path.write_bytes(
            installed.fast_path_content().replace(b"if sys.version == '", b"if sys.version == '" + change)
        )
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
    exec(installed.fast_path_content(), names)
    assert names["SCHEMA"] == fast.SCHEMA
