"""The promises of a storage backend, one test each.

Subclass ``StorePromises`` in your tests and say how a store is made; pytest does the rest::

    class TestMyStore(StorePromises):
        def make_store(self, folder):
            return MyStore(folder)

A store for several machines keeps more: ``SharedStorePromises`` holds those of ``KnowsProjects``, ``CanSaveLate`` and
``CanBeChecked`` too, and of ``CanRewrite`` and ``TellsMoments`` where it is one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from leftoff.core.metrics import ContextMetrics
from leftoff.core.project_identity import METADATA_KEY, ProjectIdentity
from leftoff.core.protocols import (
    CanBeChecked,
    CanRewrite,
    CanSaveLate,
    KnowsProjects,
    StorageBackend,
    TellsMoments,
)
from leftoff.core.resume_log import ResumeLog
from leftoff.errors import DocumentError, InvalidIdError, LeftoffError

_A_MOMENT = 1_767_700_800_000_000_000  # in nanoseconds; long before anybody runs this
_LATER = 4_000_000_000_000_000_000  # long after


def a_log(session_id: str, mission: str = "Add rate limiting") -> ResumeLog:
    """Return a small resume log."""
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
    """Every promise of ``leftoff.core.protocols.StorageBackend``."""

    def make_store(self, folder: Path) -> StorageBackend:
        """Create an empty store; it may use ``folder``."""
        raise NotImplementedError

    def spoil(self, store: StorageBackend, identifier: str) -> None:
        """Damage one entry as a crash would; skip if entries cannot be damaged one by one."""
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
        """The order is that of saving; a second save of a session makes it the newest."""
        saved = [store.save(a_log(name)) for name in ("a", "b", "c")]
        store.save(a_log("a", "again"))
        assert store.list() == [saved[0], saved[2], saved[1]]

    def test_an_empty_store_lists_nothing(self, store: StorageBackend) -> None:
        """A store without logs lists nothing."""
        assert store.list() == []

    def test_loading_what_is_not_there_gives_none(self, store: StorageBackend) -> None:
        """Absence is not an error."""
        assert store.load("nobody") is None

    def test_deleting_takes_one_log_away(self, store: StorageBackend) -> None:
        """Deleting returns True the first time and False the second; other logs stay."""
        gone, stays = store.save(a_log("gone")), store.save(a_log("stays"))
        assert store.delete(gone) is True
        assert store.delete(gone) is False
        assert store.load(gone) is None
        assert store.list() == [stays]

    def test_a_damaged_entry_hides_no_other(self, store: StorageBackend) -> None:
        """The other logs are listed and loaded as before."""
        bad, good = store.save(a_log("bad")), store.save(a_log("good"))
        self.spoil(store, bad)
        assert good in store.list()
        assert store.load(good) is not None

    def test_a_damaged_entry_is_said_to_be_so(self, store: StorageBackend) -> None:
        """Loading it raises DocumentError; it can be deleted and saved again."""
        bad = store.save(a_log("bad"))
        self.spoil(store, bad)
        with pytest.raises(DocumentError):
            store.load(bad)
        assert store.delete(bad) is True
        loaded = store.load(store.save(a_log("bad")))
        assert loaded is not None
        assert loaded.to_dict() == a_log("bad").to_dict()

    @pytest.mark.parametrize("name", ["../evil", "a/b", "", ".", "..", "x\0y", "a" * 500, "C:\\x", "a\nb"])
    def test_bad_ids_are_refused(self, store: StorageBackend, name: str) -> None:
        """Every method rejects an id that could lead out of the store, and nothing is saved."""
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
        """Of concurrent saves of one session one remains, and it is complete."""
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
        """During a save, readers get the old log or the new one, never a part."""
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


def of_project(log: ResumeLog, identity: ProjectIdentity) -> ResumeLog:
    """Return the log with the identity of a project."""
    return replace(log, metadata=log.metadata | {METADATA_KEY: identity.to_dict()})


class SharedStorePromises(StorePromises):
    """The additional promises of a store that several machines share."""

    shop = ProjectIdentity(name="shop", root_commit="a" * 40, remote="git.example.org/shop/shop")
    shallow = ProjectIdentity(name="shop-checkout", remote="git.example.org/shop/shop")
    other = ProjectIdentity(name="shop", root_commit="b" * 40)

    def test_it_has_what_is_promised_here(self, store: StorageBackend) -> None:
        """The store has all three capabilities."""
        assert isinstance(store, KnowsProjects)
        assert isinstance(store, CanSaveLate)
        assert isinstance(store, CanBeChecked)

    def test_sending_twice_is_sending_once(self, store: StorageBackend) -> None:
        """Sending a log again changes nothing."""
        assert isinstance(store, CanSaveLate)
        names = {store.save_as_of(a_log("one"), _A_MOMENT) for _ in range(3)}
        assert [*names] == store.list()

    def test_a_log_that_comes_late_takes_its_own_place(self, store: StorageBackend) -> None:
        """It does not replace a later save of its session, and is listed after logs that were saved later."""
        assert isinstance(store, CanSaveLate)
        store.save(a_log("one", "later"))
        store.save_as_of(a_log("one", "earlier"), _A_MOMENT)
        store.save_as_of(a_log("two"), _A_MOMENT)
        loaded = store.load("one")
        assert loaded is not None
        assert loaded.mission_summary == "later"
        assert store.list() == ["one", "two"]

    def test_a_save_counts_even_where_another_clock_is_ahead(self, store: StorageBackend) -> None:
        """Loading gives the log that was saved last."""
        assert isinstance(store, CanSaveLate)
        store.save_as_of(a_log("one", "from a clock that is ahead"), _LATER)
        store.save(a_log("one", "now"))
        loaded = store.load("one")
        assert loaded is not None
        assert loaded.mission_summary == "now"

    def test_a_saved_log_tells_its_moment(self, store: StorageBackend) -> None:
        """The moment is that of the log that would be loaded; None without one, and an invalid id is rejected."""
        if not isinstance(store, TellsMoments):
            pytest.skip("this store does not tell moments")
        assert isinstance(store, CanSaveLate)
        assert isinstance(store, KnowsProjects)
        assert store.saved_at("one") is None
        store.save_as_of(of_project(a_log("one"), self.shop), _LATER)
        store.save_as_of(of_project(a_log("one"), self.shop), _A_MOMENT)
        store.save_as_of(of_project(a_log("one"), self.other), _A_MOMENT)
        assert store.saved_at("one") == _LATER
        others = store.for_project(self.other.key)
        assert isinstance(others, TellsMoments)
        assert others.saved_at("one") == _A_MOMENT
        with pytest.raises(InvalidIdError):
            store.saved_at("../evil")

    def test_each_project_sees_its_own_logs(self, store: StorageBackend) -> None:
        """Checkouts with the same first commit or remote are one project; logs of others cannot be loaded or deleted."""
        assert isinstance(store, KnowsProjects)
        store.save(of_project(a_log("full"), self.shop))
        store.save(of_project(a_log("shallow"), self.shallow))
        store.save(of_project(a_log("other"), self.other))
        store.save(a_log("nobodys"))
        for mine in (self.shop, self.shallow):
            assert store.for_project(mine.key).list() == ["shallow", "full"]
        other = store.for_project(self.other.key)
        assert other.list() == ["other"]
        assert other.load("full") is None
        assert other.delete("full") is False
        assert store.list() == ["nobodys", "other", "shallow", "full"]

    def test_the_same_id_in_two_projects_is_two_logs(self, store: StorageBackend) -> None:
        """Two projects can have sessions with the same id."""
        assert isinstance(store, KnowsProjects)
        store.save(of_project(a_log("session-1", "the shop's"), self.shop))
        store.save(of_project(a_log("session-1", "the other's"), self.other))
        for identity, mission in ((self.shop, "the shop's"), (self.other, "the other's")):
            loaded = store.for_project(identity.key).load("session-1")
            assert loaded is not None
            assert loaded.mission_summary == mission

    def test_what_is_rewritten_stays_in_its_place(self, store: StorageBackend) -> None:
        """Each log is changed, deleted or left alone; one that cannot be changed hides no other."""
        if not isinstance(store, CanRewrite):
            pytest.skip("this store cannot change what it keeps")
        assert isinstance(store, KnowsProjects)
        store.save(of_project(a_log("session-1", "the shop's secret"), self.shop))
        store.save(of_project(a_log("session-1", "the other's secret"), self.other))
        for name in ("left", "refused", "dropped", "secret-last"):
            store.save(a_log(name, name))

        def change(body: bytes) -> bytes | None:
            if b"refused" in body:
                raise DocumentError("not this one")
            return None if b"dropped" in body else body.replace(b"'s secret", b"'s [masked]")

        outcomes = [*store.rewrite(change)]
        errors = [each for each in outcomes if isinstance(each, LeftoffError)]
        assert sorted(each for each in outcomes if isinstance(each, str)) == [
            "dropped",
            "session-1",
            "session-1",
        ]
        assert [str(each) for each in errors] == ["not this one"]
        assert store.list() == ["secret-last", "refused", "left", "session-1"]
        for identity, mission in ((self.shop, "the shop's [masked]"), (self.other, "the other's [masked]")):
            loaded = store.for_project(identity.key).load("session-1")
            assert loaded is not None
            assert loaded.mission_summary == mission

    def test_checking_changes_nothing_and_says_something(self, store: StorageBackend) -> None:
        """The answer is one line."""
        assert isinstance(store, CanBeChecked)
        store.save(a_log("one"))
        said = store.check()
        assert said
        assert "\n" not in said
        assert store.list() == ["one"]
