"""A full disk and a folder that may not be written: a clear error, nothing half written, what was there intact."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# A snapshot, then a second pause that meets the trouble; what each call said, and what is left, as JSON.
_STORY = """
import json, os, resource, sys
from pathlib import Path
import platformdirs, platformdirs.unix, ruamel.yaml, leftoff
from leftoff.api.pause_manager import IncrementalPauseManager, SessionPauseManager
from leftoff.errors import LeftoffError
from leftoff.pause import usage_state as usage_state
from leftoff.platform import redaction, credentials, secret_values
IMPORTED
os.environ.update(HOME=sys.argv[2], XDG_STATE_HOME=sys.argv[2] + "/state", XDG_DATA_HOME=sys.argv[2] + "/data", XDG_CONFIG_HOME=sys.argv[2] + "/config")
project = Path(sys.argv[1]); project.mkdir(exist_ok=True); os.chdir(project)
sessions = project / ".leftoff" / "sessions"
manager = IncrementalPauseManager(project)
manager.start_incremental_pause(0.9, {})
manager.append_action("user_message", {"message": "kept"}, 0.91)
first = manager.finalize_pause()
manager.start_incremental_pause(0.9, {})
manager.append_action("user_message", {"message": "second " + "words " * 4000}, 0.91)
before = {each.name: each.read_bytes() for each in sessions.iterdir()}
TROUBLE
said = {}
def attempt(name, call):
    try: said[name] = repr(call())
    except LeftoffError as error: said[name] = str(error)
attempt("append", lambda: manager.append_action("user_message", {"message": "z" * 500_000}, 0.95))
attempt("finalize", manager.finalize_pause)
attempt("archive", lambda: manager.finalize_pause(create_full_snapshot=False))
attempt("snapshot", lambda: SessionPauseManager(project).create_pause_session())
attempt("read", lambda: len(manager.get_recorded_actions()))
after = {each.name: each.read_bytes() for each in sessions.iterdir()}
said["same"] = before == after
MENDED
attempt("finalize again", lambda: len(json.loads(manager.finalize_pause().read_text("utf-8"))["user_messages"]))
said["latest moved"] = (sessions / "LATEST-SESSION.txt").read_text("utf-8").strip() != first.stem
said["debris"] = [each.name for each in sessions.iterdir() if each.name.endswith(".tmp") or each.name == ".journal"]
print(json.dumps(said))
"""


# Whatever is loaded late is loaded now: the ordinary user may not be able to read the interpreter's folder.
_WARM_UP = """
import tempfile, leftoff.pause.list_pauses, leftoff.pause.snapshot, leftoff.pause.texts, leftoff.sessions.find
with tempfile.TemporaryDirectory() as warm:
    os.environ.update(HOME=warm, XDG_STATE_HOME=warm, XDG_DATA_HOME=warm, XDG_CONFIG_HOME=warm)
    leftoff.SessionPauseManager(Path(warm)).create_pause_session()
drop()
"""


def story(*, trouble: str, mended: str, imported: str = "") -> str:
    return _STORY.replace("IMPORTED", imported).replace("TROUBLE", trouble).replace("MENDED", mended)


def judged(done: subprocess.CompletedProcess[str], words: str) -> None:
    results = json.loads(done.stdout)
    for name in ("append", "finalize", "archive", "snapshot"):
        assert words in results[name], (name, results[name])
        assert "What was there is intact." in results[name], name
    assert results["read"] == "2"
    assert results["same"]
    assert results["finalize again"] == "1"
    assert results["latest moved"]
    assert results["debris"] == []


@pytest.mark.slow
def test_a_full_disk(tmp_path: Path) -> None:
    """On a file system of 300 KB the pause is finalised completely once there is space again."""
    alone = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    probe = [*alone, "sh", "-c", "mount -t tmpfs none /mnt"]
    if not shutil.which("unshare") or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("no mount namespaces here (unshare -m): a full disk cannot be made")
    mount = tmp_path / "small"
    mount.mkdir()
    fill = (
        "ballast = open(project.parent / 'ballast', 'wb', 0)\n"
        "try:\n    while True: ballast.write(b'x' * 4096)\n"
        "except OSError: pass\n"
    )
    code = story(trouble=fill, mended="os.truncate(project.parent / 'ballast', 0)")
    script = 'mount -t tmpfs -o size=300k none "$1" && exec "$2" -c "$3" "$1/project" "$4"'
    command = [*alone, "sh", "-c", script, "sh", str(mount), sys.executable, code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    judged(done, "the disk is full")


@pytest.mark.slow
def test_a_limit_on_file_sizes(tmp_path: Path, run_python) -> None:
    """No file may grow beyond some bytes; the earlier snapshot and pointer are kept."""
    code = story(
        trouble="before_limit = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200, before_limit[1]))",
        mended="resource.setrlimit(resource.RLIMIT_FSIZE, before_limit)",
    )
    judged(run_python(code, tmp_path / "project", tmp_path), "not written: the")


@pytest.mark.slow
def test_a_read_only_folder_as_an_ordinary_user(unprivileged_folder: Path, run_python) -> None:
    """No permission, said so; nothing is half written, and what can be read is read."""
    code = story(
        imported=_WARM_UP,
        trouble="[each.chmod(0o400) for each in sessions.iterdir()]\nos.chmod(sessions, 0o500)",
        mended="os.chmod(sessions, 0o700)\n[each.chmod(0o600) for each in sessions.iterdir()]",
    )
    judged(run_python(code, unprivileged_folder / "project", unprivileged_folder), "no permission")


@pytest.mark.slow
def test_a_project_that_may_not_be_written_starts_no_pause(unprivileged_folder: Path, run_python) -> None:
    """A clear error, and nothing is made."""
    code = (
        "import os, sys; from pathlib import Path; import platformdirs, platformdirs.unix, ruamel.yaml\n"
        "from leftoff.api.pause_manager import IncrementalPauseManager; from leftoff.errors import StorageError\n"
        "from leftoff.platform import redaction; drop()\n"
        "folder = Path(sys.argv[1]) / 'p'; folder.mkdir(); os.environ['HOME'] = sys.argv[1]; folder.chmod(0o500)\n"
        "try: IncrementalPauseManager(folder).start_incremental_pause(0.9, {})\n"
        "except StorageError as error: print(error, [*folder.iterdir()])\n"
    )
    output = run_python(code, unprivileged_folder).stdout
    assert "no permission" in output
    assert output.endswith("[]\n")
