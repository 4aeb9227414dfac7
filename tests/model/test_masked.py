"""A text is masked wherever words stand in a log, and what the log is filed by stays."""

from dataclasses import replace

from leftoff.model.masked import is_filed_by, masked
from leftoff.model.project_identity import METADATA_KEY, ProjectIdentity
from leftoff.model.resume_log import ResumeLog
from leftoff.model.sources import Ground
from leftoff.testing.store_promises import a_log

SHOP = ProjectIdentity(name="shop").to_dict()


def test_every_place_of_words_is_masked():
    """Text, lists, mappings and their free names, files of the ground; numbers stay."""
    log = replace(
        a_log("s", "the shop is shut"),
        critical_context={"shop keys": [6379, "shop"]},
        metadata={"project": "/home/shop", METADATA_KEY: SHOP},
        ground=Ground(hashes={"shop.py": "0" * 64}),
    )
    clean = masked(log, "shop", "[forgotten]")
    assert clean.mission_summary == "the [forgotten] is shut"
    assert clean.critical_context == {"[forgotten] keys": [6379, "[forgotten]"]}
    assert clean.metadata == {"project": "/home/[forgotten]", METADATA_KEY: SHOP}
    assert clean.ground.hashes == {"[forgotten].py": "0" * 64}


def test_names_of_ours_and_escapes_of_json_are_no_words():
    """A log is whole afterwards, whatever the text was."""
    log = a_log("mission-1", "a line\nano")
    for text in ("mission", "nano", "schema", "session_id", "total_budget", "ground"):
        clean = masked(log, text, "[forgotten]")
        assert ResumeLog.from_dict(clean.to_dict()) == clean
        assert clean.session_id == "mission-1"
        assert clean.mission_summary == "a line\nano"


def test_what_a_log_is_filed_by_is_known():
    """Its id, and its project's identity."""
    log = replace(a_log("s-koala"), metadata={METADATA_KEY: SHOP})
    assert is_filed_by(log, "koala")
    assert is_filed_by(log, "shop")
    assert not is_filed_by(log, "wombat")
    assert not is_filed_by(a_log("s"), "shop")
