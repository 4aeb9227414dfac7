"""Which project a log belongs to, on whatever machine."""

import pytest

from leftoff.core.project_identity import UNKNOWN_PROJECT, ProjectIdentity, is_same_project, normalise_remote

ROOT = "0123456789abcdef" * 2


def identity(name="shop", remote=None, root_commit=None):
    return ProjectIdentity(name=name, remote=remote, root_commit=root_commit)


@pytest.mark.parametrize(
    "address",
    [
        "git@git.example.org:shop/shop.git",
        "git.example.org:shop/shop",
        "https://git.example.org/shop/shop.git",
        "https://someone:ghp_secret@git.example.org/shop/shop",
        "ssh://git@git.example.org:22/shop/shop.git/",
        "HTTPS://GIT.example.org/shop/shop\n",
        "https://ada:p@ssw0rd@git.example.org/shop/shop",
        "https://ada:p/w@rd@git.example.org:8443/shop/shop.git",
        "https://ada:p/word@git.example.org/shop/shop",
        "https://git.example.org/shop/shop?private_token=abc@def",
        "https://git.example.org/shop/shop.git#ghp_secret",
        "ada:p@ss@git.example.org:shop/shop",
    ],
)
def test_an_address_is_the_same_however_it_is_written(address):
    """All spellings of an address give the same identity, without any credential."""
    assert normalise_remote(address) == "git.example.org/shop/shop"


@pytest.mark.parametrize(
    "address",
    [
        "/srv/git/shop.git",
        "../shop",
        "file:///srv/git/shop",
        "",
        "https://host",
        "host:",
        "https://a:b",
        "https://ada:p#w@host/o/r",
    ],
)
def test_a_local_folder_is_not_a_remote(address):
    """A local path does not identify a project on another machine."""
    assert normalise_remote(address) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (identity(root_commit=ROOT), identity("elsewhere", root_commit=ROOT), True),
        (identity(remote="h/shop"), identity("elsewhere", remote="h/shop"), True),
        (identity(remote="h/shop", root_commit=ROOT), identity(remote="h/fork", root_commit=ROOT), True),
        (identity(remote="h/shop", root_commit=ROOT), identity(remote="h/shop"), True),
        (identity(root_commit=ROOT), identity(root_commit="f" * 32), False),
        (identity(remote="h/shop"), identity(remote="h/other"), False),
        (identity(), identity(), True),
        (identity(), identity("other"), False),
        (identity(), identity(root_commit=ROOT), False),
        (identity(remote="h/shop"), identity(root_commit=ROOT), False),
    ],
)
def test_checkouts_are_of_one_project_when_they_share_what_only_it_has(one, other, same):
    """The first commit or the remote; the name only where nothing else is known of either."""
    assert is_same_project(one.key, other.key) is same
    assert is_same_project(other.key, one.key) is same


def test_a_key_can_be_part_of_any_name():
    """A key is safe in the name of a file, an object or a column."""
    key = identity("Шоп & Söhne / ..", remote="h/s", root_commit=ROOT).key
    assert key.count("~") == 2
    assert not {*"/\\ .&"} & {*key}
    assert UNKNOWN_PROJECT.key == "0~0~0"


def test_an_unknown_key_equals_only_itself():
    """A key of another form is compared as a whole."""
    assert is_same_project("notes", "notes")
    assert not is_same_project("notes", identity().key)


def test_there_and_back():
    """An identity survives its dictionary form, and any other value gives ``None``."""
    mine = identity(remote="h/s", root_commit=ROOT)
    assert ProjectIdentity.from_dict(mine.to_dict()) == mine
    for other in (None, [], {}, {"name": 1, "remote": None, "root_commit": None}, {"name": "x"}):
        assert ProjectIdentity.from_dict(other) is None
