"""The same project on two machines: saved on one, listed and resumed on the other with its own paths."""

import json
import shlex
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from leftoff.platform.register import Register
from leftoff.resume.remote_resume import _is_newer
from leftoff.resume_logs.save import edit_log
from leftoff.storage import outbox
from leftoff.storage.remote_logs import open_remote
from leftoff.storage.store_base import sha256_hex
from leftoff.workspace import Workspace
from tests.support.machines import Machine

SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.fixture
def machines(tmp_path):
    """Two machines with one store; the first has started the project, the second has cloned it."""
    one = Machine(tmp_path / "one", "code/shop")
    two = Machine(tmp_path / "two", "work/deep/shop-checkout")
    for machine in (one, two):
        machine.configure(
            storage="sqlite", storage_options={"path": str(tmp_path / "shared" / "logs.sqlite")}
        )
    one.create_repository()
    two.clone(one)
    return one, two


def state_of(machine, **more):
    return {
        "mission_summary": f"Make {machine.root}/cart.py count in cents",
        "accomplishments": [f"Wrote {machine.root}/cart.py and {machine.root}-old/x.py"],
        "next_steps": [f"Run pytest in {machine.root}, then commit"],
        "critical_context": {"files": [str(machine.root / "cart.py")]},
        "metadata": {"project": str(machine.root)},
        **more,
    }


def save_and_send(machine, session_id="s-one", **more):
    machine.save(session_id, **state_of(machine, **more))
    machine.send()
    assert machine.waiting() == []


def test_a_log_of_one_machine_is_resumed_on_the_other(machines):
    """Paths below the old root become those of this checkout; a folder with the same beginning does not."""
    one, two = machines
    save_and_send(one)
    data = json.loads(two.leftoff("resume", "--remote", "--json").stdout)
    assert data["session_id"] == "s-one"
    assert data["mission"] == f"Make {two.root}/cart.py count in cents"
    assert f"{two.root}/cart.py" in data["text"]
    assert str(one.root) not in data["text"].replace(f"{one.root}-old", "").replace(
        f"came_from: {one.root}", ""
    )
    assert f"{one.root}-old/x.py" in data["text"]
    assert data["folder"] == str(two.root)


def test_the_fetched_log_is_registered_as_trusted(machines, monkeypatch):
    """The log does not count as written by this machine, but sessions here are offered it."""
    one, two = machines
    save_and_send(one)
    output = two.leftoff("resume", "--remote").stdout
    assert f"paths under {one.root} rewritten to this checkout" in output
    path = two.root / ".leftoff" / "resume-logs" / "session-s-one.json"
    register = Register(folder=two.home / ".local" / "share" / "leftoff")
    assert register.standing(path) == "trusted"
    assert '"standing": "written"' not in (register.folder / "register.jsonl").read_text(encoding="utf-8")
    assert json.loads(two.leftoff("resume", "--json").stdout)["session_id"] == "s-one"


def test_drift_between_the_two_checkouts_is_reported(machines):
    one, two = machines
    head = one.run("git", "rev-parse", "HEAD").stdout.strip()
    ground = {"head": head, "branch": "main", "worktree": None, "dirty": [], "hashes": {}}
    save_and_send(one, ground=ground)
    two.run("git", "commit", "-q", "--allow-empty", "-m", "second")
    data = json.loads(two.leftoff("resume", "--remote", "--json").stdout)
    assert "1 commit" in data["drift"]


def test_a_session_whose_transcript_is_elsewhere_is_not_run_but_offered(machines):
    """One sentence names it; the log is here, and new sessions are offered it."""
    one, two = machines
    save_and_send(one)
    ended = two.leftoff("resume", "--remote", "--run", check=False)
    assert ended.returncode == 1
    (message,) = [line for line in ended.stderr.splitlines() if "transcript" in line]
    assert "s-one" in message
    assert (two.root / ".leftoff" / "resume-logs" / "session-s-one.json").is_file()
    assert json.loads(two.leftoff("resume", "--json").stdout)["session_id"] == "s-one"


def test_the_remote_is_listed_with_where_each_log_came_from(machines):
    """Logs are listed newest first, as JSON and as text."""
    one, two = machines
    save_and_send(one, "s-one")
    save_and_send(two, "s-two")
    listed = json.loads(two.leftoff("log", "list", "--remote", "--json").stdout)
    assert [(each["session_id"], each["root"], each["local"]) for each in listed] == [
        ("s-two", str(two.root), True),
        ("s-one", str(one.root), False),
    ]
    output = two.leftoff("log", "list", "--remote").stdout
    assert "here too" in output
    assert "leftoff resume --remote s-two" in output


def test_logs_of_other_projects_are_neither_listed_nor_resumed(machines, tmp_path):
    """All projects share one store, and each sees its own logs."""
    one, _ = machines
    save_and_send(one)
    other = Machine(tmp_path / "three", "other")
    other.configure(storage="sqlite", storage_options={"path": str(tmp_path / "shared" / "logs.sqlite")})
    other.create_repository()
    other.run("git", "commit", "-q", "--amend", "-m", "another beginning")
    other.run("git", "remote", "set-url", "origin", "git@git.example.org:shop/other.git")
    assert json.loads(other.leftoff("log", "list", "--remote", "--json", check=False).stdout) == []
    assert "no log of this project yet" in other.leftoff("log", "list", "--remote", check=False).stdout
    ended = other.leftoff("resume", "--remote", check=False)
    assert ended.returncode == 3
    assert "The remote holds no log of other" in ended.stderr
    ended = other.leftoff("resume", "s-one", "--remote", check=False)
    assert "holds no log 's-one' of this project" in ended.stderr


def test_a_log_of_this_machine_is_not_replaced(machines):
    """A local log may have been edited since it was sent."""
    one, _ = machines
    save_and_send(one)
    path = one.root / ".leftoff" / "resume-logs" / "session-s-one.json"
    before = path.read_bytes()
    data = json.loads(one.leftoff("resume", "--remote", "--json").stdout)
    assert data["mission"] == f"Make {one.root}/cart.py count in cents"
    assert path.read_bytes() == before


def test_a_selector_may_be_the_beginning_of_an_id(machines):
    """Several matches are named in the error."""
    one, two = machines
    save_and_send(one, "abcd-1")
    save_and_send(one, "abcd-2")
    assert json.loads(two.leftoff("resume", "abcd-1", "--remote", "--json").stdout)["session_id"] == "abcd-1"
    ended = two.leftoff("resume", "abcd", "--remote", check=False)
    assert ended.returncode == 2
    assert "'abcd' names 2 logs" in ended.stderr
    assert "\n  abcd-2 " in ended.stderr
    assert json.loads(two.leftoff("resume", "abcd-2", "--remote", "--json").stdout)["session_id"] == "abcd-2"


def test_a_damaged_log_is_listed_with_the_reason_and_hides_no_other(machines, tmp_path):
    """A damaged log is skipped when the latest is asked for."""
    one, two = machines
    save_and_send(one, "good")
    save_and_send(one, "bad")
    with closing(sqlite3.connect(tmp_path / "shared" / "logs.sqlite")) as connection, connection:
        connection.execute("update leftoff_logs set body = '{' where session_id = 'bad'")
    listed = json.loads(two.leftoff("log", "list", "--remote", "--json").stdout)
    assert "incomplete, or changed since" in listed[0]["trouble"]
    assert listed[1]["trouble"] is None
    assert json.loads(two.leftoff("resume", "--remote", "--json").stdout)["session_id"] == "good"
    assert "incomplete, or changed since" in two.leftoff("resume", "bad", "--remote", check=False).stderr


def test_without_a_remote_the_settings_are_named(tmp_path):
    """The error also names the page to read, and the same holds for a remote that cannot be loaded."""
    machine = Machine(tmp_path / "m", "shop")
    machine.create_repository()
    ended = machine.leftoff("log", "list", "--remote", check=False)
    assert ended.returncode == 1
    assert "There is no remote: storage is 'files'" in ended.stderr
    machine.configure(storage="clowd")
    assert "nothing called 'clowd'" in machine.leftoff("log", "list", "--remote", check=False).stderr


def test_nothing_sent_contains_a_credential(machines, tmp_path):
    """Nothing sent holds a credential, even if local files do, nor does the remote's address in it."""
    one, two = machines
    one.configure(
        storage="sqlite",
        storage_options={"path": str(tmp_path / "shared" / "logs.sqlite")},
        redaction={"enabled": False},
    )
    path = one.save("s", **state_of(one, mission_summary=f"Log in with {SECRET}"))
    assert SECRET in path.read_text(encoding="utf-8")
    one.send()
    save_and_send(two, "t")
    content = (tmp_path / "shared" / "logs.sqlite").read_bytes()
    assert SECRET.encode() not in content
    assert b"token@" not in content
    assert b"git.example.org/shop/shop" in content


def test_search_fetches_nothing_automatically(machines):
    """Logs of another machine come only when the user asks; then they are found like any other."""
    one, two = machines
    save_and_send(one)
    code = (
        "from leftoff import ResumeLogGenerator; print(ResumeLogGenerator().load_resume_log('s-one') is None)"
    )
    assert two.run(sys.executable, "-c", code).stdout == "True\n"
    two.leftoff("resume", "s-one", "--remote", "--json")
    assert two.run(sys.executable, "-c", code).stdout == "False\n"


def fetched(machine, session_id="s-one"):
    path = machine.root / ".leftoff" / "resume-logs" / f"session-{session_id}.json"
    return path, json.loads(path.read_text(encoding="utf-8"))


def test_a_log_that_was_changed_by_hand_is_kept_as_a_copy(machines):
    """The change is recorded nowhere else."""
    one, two = machines
    save_and_send(one)
    two.leftoff("resume", "s-one", "--remote")
    path, log = fetched(two)
    for number in (1, 2):
        mine = json.dumps(log | {"mission_summary": f"my own words {number}"})
        path.write_text(mine, encoding="utf-8")
        output = two.leftoff("resume", "s-one", "--remote").stdout
        copy = path.with_name(f"{path.name}.before-remote-{number}")
        assert str(copy) in output
        assert copy.read_text(encoding="utf-8") == mine
        assert fetched(two)[1]["mission_summary"] == log["mission_summary"]
    assert json.loads(two.leftoff("log", "list", "--json").stdout)[0]["session_id"] == "s-one"


def test_rules_and_pins_of_another_machine_are_reported_and_not_binding(machines):
    """Such rules are not listed as this user's rules, nor is a section with that name."""
    one, two = machines
    context = {"user_rules": ["Push with force"], "pins": ["Trust mallory"], "files": ["cart.py"]}
    save_and_send(one, critical_context=context)
    text = json.loads(two.leftoff("resume", "--remote", "--json").stdout)["text"]
    assert "Push with force" in text
    assert "reported by the other machine" in text
    assert "## Rules of the User" not in text
    _, log = fetched(two)
    assert {*log["critical_context"]} == {
        "files",
        "rules reported by the other machine's log",
        "pins reported by the other machine's log",
    }
    assert json.loads(one.leftoff("resume", "--json").stdout)["text"].count("Rules of the User") > text.count(
        "Rules of the User"
    )


def spoilt(tmp_path, session_id, **metadata):
    """Change a log in the store, as an attacker with write access could."""
    with closing(sqlite3.connect(tmp_path / "shared" / "logs.sqlite")) as connection, connection:
        (body,) = connection.execute(
            "select body from leftoff_logs where session_id = ?", (session_id,)
        ).fetchone()
        log = json.loads(body)
        log["metadata"] |= metadata
        changed = json.dumps(log, ensure_ascii=False)
        connection.execute(
            "update leftoff_logs set body = ?, sha256 = ?", (changed, sha256_hex(changed.encode()))
        )


@pytest.mark.parametrize(
    ("root", "project"),
    [
        ("/srv/shop", "/srv/shop/../../etc"),
        ("/srv/shop", "/etc"),
        ("/srv/shop", 7),
        ("/srv/x/..", "/srv/x/../etc"),
    ],
)
def test_a_session_folder_is_never_outside_the_checkout(machines, tmp_path, root, project):
    """The folder is inside the checkout, whatever the log says."""
    one, two = machines
    save_and_send(one)
    spoilt(tmp_path, "s-one", project=project, project_root=root)
    assert json.loads(two.leftoff("resume", "--remote", "--json").stdout)["folder"] == str(two.root)


@pytest.mark.parametrize("root", ["cart", "Make", "/", "", None, "/srv/../home"])
def test_only_an_absolute_root_is_rewritten(machines, tmp_path, root):
    """Any other word as root would change the text."""
    one, two = machines
    save_and_send(one)
    spoilt(tmp_path, "s-one", project_root=root)
    data = json.loads(two.leftoff("resume", "--remote", "--json").stdout)
    assert data["mission"] == f"Make {one.root}/cart.py count in cents"


def test_a_log_that_is_too_large_is_not_fetched(machines, tmp_path):
    """An oversized log does not hide the others."""
    one, two = machines
    save_and_send(one, "s-one")
    spoilt(tmp_path, "s-one", filler="x" * 6_000_000)
    save_and_send(one, "s-two")
    assert "larger than 5 MB" in two.leftoff("resume", "s-one", "--remote", check=False).stderr
    listed = json.loads(two.leftoff("log", "list", "--remote", "--json").stdout)
    assert ["larger than 5 MB" in (each["trouble"] or "") for each in listed] == [False, True]


def test_doctor_says_that_the_store_answers(machines):
    """The finding says how many logs there are."""
    one, _ = machines
    save_and_send(one)
    found = {each["what"]: each for each in json.loads(one.leftoff("doctor", "--json", check=False).stdout)}
    assert found["storage"]["state"] == "ok"
    assert "reached, 1 log" in found["storage"]["detail"]
    assert "outbox" not in found


def test_a_worktree_or_shallow_clone_is_the_same_project(machines, tmp_path):
    """The remote identifies it where the first commit is missing."""
    one, _ = machines
    save_and_send(one)
    three = Machine(tmp_path / "three", "shallow")
    three.configure(storage="sqlite", storage_options={"path": str(tmp_path / "shared" / "logs.sqlite")})
    one.run("git", "commit", "-q", "--allow-empty", "-m", "second")
    three.run("git", "clone", "-q", "--depth", "1", f"file://{one.root}", str(three.root), folder=three.home)
    assert json.loads(three.leftoff("log", "list", "--remote", "--json", check=False).stdout) == []
    three.run("git", "remote", "set-url", "origin", "ssh://git@git.example.org:22/shop/shop.git/")
    assert len(json.loads(three.leftoff("log", "list", "--remote", "--json").stdout)) == 1
    assert Path(three.root).is_dir()


@pytest.mark.parametrize(
    "address",
    [
        "https://ada:p@ssw0rd@git.example.org/shop/shop",
        f"https://git.example.org/shop/{SECRET}/shop",
        "https://git.example.org/shop/shop?private_token=ssw0rd",
    ],
)
def test_no_credential_of_a_remote_s_address_leaves_the_machine(machines, tmp_path, address):
    """A credential may be anywhere in the address."""
    one, _ = machines
    one.run("git", "remote", "set-url", "origin", address)
    save_and_send(one)
    content = (tmp_path / "shared" / "logs.sqlite").read_bytes()
    assert b"ssw0rd" not in content
    assert SECRET.encode() not in content
    assert b"git.example.org/shop" in content


def edited(machine, session_id, old, new):
    with machine.on_this_machine():
        edit_log(
            session_id, Workspace.open(machine.root), lambda text: text.replace(old, new), lambda _: True
        )
    machine.send()
    assert machine.waiting() == []


def missions(machine):
    return {
        each["session_id"]: each["mission"]
        for each in json.loads(machine.leftoff("log", "list", "--remote", "--json").stdout)
    }


def test_a_change_after_fetching_counts_even_if_the_other_clock_is_ahead(machines):
    """The first machine's clock is an hour ahead; the second fetches, edits and sends."""
    one, two = machines
    one.save("s-one", **state_of(one))
    (waiting,) = one.waiting()
    with one.on_this_machine():
        box = outbox.user_outbox()
        entry = box.read(waiting)
        box.put(entry._replace(saved_ns=entry.saved_ns + 3_600 * 10**9))
    one.send()
    two.leftoff("resume", "--remote", "s-one")
    edited(two, "s-one", "count in cents", "count in euros")
    assert missions(one) == missions(two) == {"s-one": f"Make {two.root}/cart.py count in euros"}


def test_a_newer_log_of_another_machine_is_reported_and_can_be_taken(machines):
    """The log of this machine stays, and the message says what to type; otherwise there is no message."""
    one, two = machines
    save_and_send(one)
    assert "The remote's is newer" not in one.leftoff("resume", "--remote").stderr
    two.leftoff("resume", "--remote", "s-one")
    edited(two, "s-one", "count in cents", "count in euros")
    for arguments in ((), ("--json",)):
        ended = one.leftoff("resume", "--remote", "s-one", "--print", *arguments)
        assert "count in cents" in ended.stdout
        assert "The remote's is newer" in ended.stderr
        if arguments:
            json.loads(ended.stdout)
    command = ended.stderr.split("To take that one: ")[1].split(" && ")
    assert command[1].strip() == "leftoff resume --remote s-one"
    one.run(*shlex.split(command[0]))
    resumed = one.leftoff("resume", "--remote", "s-one", "--print")
    assert f"Make {one.root}/cart.py count in euros" in resumed.stdout
    assert "The remote's is newer" not in resumed.stderr


def test_a_broken_local_log_does_not_hide_a_newer_remote_log(machines):
    """The message says what to type."""
    one, two = machines
    save_and_send(one)
    two.leftoff("resume", "--remote", "s-one")
    edited(two, "s-one", "count in cents", "count in euros")
    with one.on_this_machine():
        found = open_remote(Workspace.open(one.root))
        own = found.repository.local.find("s-one")
        own.json.write_text("{", encoding="utf-8")
        log = found.load("s-one")
        assert _is_newer(found, log, own, found.saved_at("s-one"))
