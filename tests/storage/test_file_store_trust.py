"""What the register says about logs that something replaced, or that were compressed."""

import hashlib
from pathlib import Path

from leftoff.core.metrics import ContextMetrics
from leftoff.core.resume_log import ResumeLog
from leftoff.platform import file_sets, paths
from leftoff.platform.register import Register
from leftoff.storage.file_store import FileStore


def a_log(words: str) -> ResumeLog:
    return ResumeLog(
        session_id="s1",
        context_metrics=ContextMetrics(total_budget=None, used_tokens=None),
        next_steps=[words],
    )


def a_store(tmp_path: Path) -> tuple[FileStore, Register]:
    register = Register(folder=paths.data_folder())
    return FileStore(tmp_path / "logs", register=register), register


def test_what_replaces_a_log_while_it_is_saved_is_not_registered(tmp_path, monkeypatch):
    """The register has what was written, not what an archive put there a moment later."""
    store, register = a_store(tmp_path)
    write_set = file_sets.write_set

    def write_and_replace(folder, contents):
        write_set(folder, contents)
        path = folder / "session-s1.json"
        path.write_bytes(path.read_bytes().replace(b"ours", b"theirs"))

    monkeypatch.setattr(file_sets, "write_set", write_and_replace)
    store.save(a_log("ours"))
    replaced = store.path_of("s1", ".json").read_bytes()
    assert b"theirs" in replaced
    assert hashlib.sha256(replaced).hexdigest() not in (register.folder / "register.jsonl").read_text("utf-8")


def test_compressing_a_log_from_elsewhere_does_not_make_it_ours(tmp_path):
    store, register = a_store(tmp_path)
    FileStore(store.folder).save(a_log("theirs"))
    assert store.compress("s1")
    assert register.standing(store.path_of("s1", ".json.gz")) == "foreign"
    store.save(a_log("ours"))
    assert store.compress("s1")
    assert register.standing(store.path_of("s1", ".json.gz")) == "written"
