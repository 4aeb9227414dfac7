"""The promises of a storage backend, one test each.

Subclass ``StorePromises`` in your tests and say how a store is made; pytest does the rest::

    class TestMyStore(StorePromises):
        def make_store(self, folder):
            return MyStore(folder)
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from leftoff.errors import InvalidIdError
from leftoff.model.context_metrics import ContextMetrics
from leftoff.model.protocols import StorageBackend
from leftoff.model.resume_log import ResumeLog


def a_log(session_id: str, mission: str = "Add rate limiting") -> ResumeLog:
    """A small resume log."""
    metrics = ContextMetrics(total_budget=200_000, used_tokens=170_000, timestamp="2026-01-06T12:00:00Z")
    return ResumeLog(
        session_id=session_id,
        context_metrics=metrics,
        mission_summary=mission,
        accomplishments=["Created the service", "日本語 ✓"],
        decisions=[{"decision": "Redis", "rationale": "shared by all workers"}],
        next_steps=["Write the migration"],
        critical_context={"ports": [6379], "paths": {"service": "src/a.py"}},
        metadata={"errors": [], "session_duration_minutes": 154},
    )


class StorePromises:
    """Every promise of ``leftoff.model.protocols.StorageBackend``."""

    def make_store(self, folder: Path) -> StorageBackend:
        """A fresh, empty store; ``folder`` is yours to use."""
        raise NotImplementedError

    def spoil(self, store: StorageBackend, identifier: str) -> None:
        """Damage one entry as a crash or a foreign hand would; skip when entries cannot be damaged one by one."""
        pytest.skip("this store keeps no entry that can be damaged on its own")

    @pytest.fixture
    def store(self, tmp_path: Path) -> StorageBackend:
        """The store under test."""
        return self.make_store(tmp_path)

    def test_what_was_saved_can_be_loaded_at_once(self, store: StorageBackend) -> None:
        """The identifier that save returns loads a log equal to the one saved."""
        log = a_log("one")
        loaded = store.load(store.save(log))
        assert loaded is not None
        assert loaded.to_dict() == log.to_dict()

    def test_a_saved_log_does_not_change_with_the_callers(self, store: StorageBackend) -> None:
        """What the caller does to its own lists after saving changes nothing in the store."""
        log = a_log("one")
        identifier = store.save(log)
        log.next_steps.append("later")
        loaded = store.load(identifier)
        assert loaded is not None
        assert loaded.next_steps == ["Write the migration"]

    def test_saving_a_session_again_replaces_its_log(self, store: StorageBackend) -> None:
        """The last save wins, and there is one entry."""
        store.save(a_log("one", "first"))
        identifier = store.save(a_log("one", "second"))
        loaded = store.load(identifier)
        assert loaded is not None
        assert loaded.mission_summary == "second"
        assert len(store.list()) == 1

    def test_the_newest_save_is_listed_first(self, store: StorageBackend) -> None:
        """Order is that of saving, a second save of the same session counts anew."""
        saved = [store.save(a_log(name)) for name in ("a", "b", "c")]
        store.save(a_log("a", "again"))
        assert store.list() == [saved[0], saved[2], saved[1]]

    def test_an_empty_store_lists_nothing(self, store: StorageBackend) -> None:
        """Nothing saved, nothing listed."""
        assert store.list() == []

    def test_loading_what_is_not_there_gives_none(self, store: StorageBackend) -> None:
        """Absence is not an error."""
        assert store.load("nobody") is None

    def test_deleting_takes_one_log_away(self, store: StorageBackend) -> None:
        """True the first time, False the second; the others stay."""
        gone, stays = store.save(a_log("gone")), store.save(a_log("stays"))
        assert store.delete(gone) is True
        assert store.delete(gone) is False
        assert store.load(gone) is None
        assert store.list() == [stays]

    def test_a_damaged_entry_hides_no_other(self, store: StorageBackend) -> None:
        """The rest is listed and loaded as before."""
        bad, good = store.save(a_log("bad")), store.save(a_log("good"))
        self.spoil(store, bad)
        assert good in store.list()
        assert store.load(good) is not None

    @pytest.mark.parametrize("name", ["../evil", "a/b", "", ".", "..", "x\0y", "a" * 500, "C:\\x", "a\nb"])
    def test_bad_ids_are_refused(self, store: StorageBackend, name: str) -> None:
        """An id that could lead elsewhere is refused by every call, and nothing is kept."""
        calls: list[Callable[[], object]] = [
            lambda: store.save(a_log(name)),
            lambda: store.load(name),
            lambda: store.delete(name),
        ]
        for call in calls:
            with pytest.raises(InvalidIdError):
                call()
        assert store.list() == []

    def test_two_savers_at_once_leave_one_whole_log(self, store: StorageBackend) -> None:
        """Of many saves of one session at once, one is there in the end, and it is whole."""
        missions = [f"mission {number} " + "x" * 2_000 * number for number in range(8)]
        savers = [threading.Thread(target=store.save, args=(a_log("same", mission),)) for mission in missions]
        for saver in savers:
            saver.start()
        for saver in savers:
            saver.join()
        (identifier,) = store.list()
        loaded = store.load(identifier)
        assert loaded is not None
        assert loaded.mission_summary in missions

    def test_a_reader_sees_whole_logs_only(self, store: StorageBackend) -> None:
        """While one saves, another loads the old log or the new one, never half of either."""
        missions = {"short", "long " + "y" * 50_000}
        identifier = store.save(a_log("same", "short"))
        writer = threading.Thread(
            target=lambda: [store.save(a_log("same", mission)) for _ in range(20) for mission in missions]
        )
        writer.start()
        seen = set()
        while writer.is_alive():
            loaded = store.load(identifier)
            assert loaded is not None
            seen.add(loaded.mission_summary)
        writer.join()
        assert seen <= missions
