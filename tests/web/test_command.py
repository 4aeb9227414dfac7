"""``leftoff web`` as a process."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest

from leftoff.cli.main import run

WEB = [sys.executable, "-m", "leftoff", "web"]


def start(*arguments: str) -> tuple[subprocess.Popen, str]:
    process = subprocess.Popen([*WEB, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


def test_it_prints_its_address_and_ctrl_c_stops_it_even_while_a_page_is_live(two_sessions):
    process, address = start()
    port, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]{40,})", address).groups()
    page = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
    page.request("GET", "/", headers={"Cookie": f"leftoff-{port}={token}"})
    key = re.search(r"/session/(\w+)", page.getresponse().read().decode())[1]
    page.request("GET", f"/session/{key}/live", headers={"Cookie": f"leftoff-{port}={token}"})
    live = page.getresponse()
    assert live.readline() == b"event: curve\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    live.close()
    page.close()
    assert (process.returncode, errors) == (0, "")


def test_without_a_browser_it_says_so_and_keeps_running(isolated_home, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("BROWSER", "/bin/false")
    process, _ = start("--open")
    assert process.stdout.readline() == "Ctrl-C to quit\n"
    assert process.stdout.readline().startswith("No browser could be started")
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def test_the_browser_is_started_with_an_address_that_works_once(isolated_home, tmp_path, monkeypatch):
    """Its arguments can be read by everybody on the machine; the address that is printed cannot."""
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    process, printed = start("--open")
    while not opened.exists():
        time.sleep(0.05)
    given = urlsplit(opened.read_text().strip())
    statuses = []
    for _ in range(2):
        page = http.client.HTTPConnection(given.netloc, timeout=30)
        page.request("GET", f"/?{given.query}")
        statuses.append(page.getresponse().status)
        page.close()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert (statuses, given.query in printed) == ([303, 403], False)


def test_a_browser_that_is_waited_for_gets_its_page(isolated_home, tmp_path, monkeypatch):
    """As one in the terminal, or the first window of another: the command ends when it is closed."""
    browser, got = tmp_path / "browser", tmp_path / "got"
    browser.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys, urllib.request as r\n"
        "page = r.build_opener(r.HTTPCookieProcessor(), r.ProxyHandler({})).open(sys.argv[1], timeout=20)\n"
        f"pathlib.Path({str(got)!r}).write_text(str(page.status))\n"
    )
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    process, _ = start("--open")
    for _ in range(500):
        if got.exists() and got.read_text():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert got.read_text() == "200"


def test_it_listens_on_this_machine_alone(two_sessions):
    process, address = start()
    port = int(address.split(":")[2].split("/")[0])
    try:
        with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.2", port), timeout=5):
            pass
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def test_a_script_gets_the_address_as_json(isolated_home):
    process, text = start("--json")
    while not text.endswith("}"):
        text += process.stdout.readline().strip()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert json.loads(text)["address"].startswith("http://127.0.0.1:")


def test_a_port_that_is_taken_is_one_clear_line(isolated_home, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["web", "--port", str(port)]) == 1
    assert capsys.readouterr().err.startswith(f"leftoff: Port {port} cannot be used: Address already in use.")


def test_a_port_that_cannot_be_is_refused(capsys):
    assert run(["web", "--port", "70000"]) == 2
    assert "from 1 to 65,535" in capsys.readouterr().err


def test_without_the_extra_packages_it_says_how_to_get_them(isolated_home):
    code = (
        "import sys; sys.modules['uvicorn'] = None; from leftoff.cli.main import run; sys.exit(run(['web']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 1
    assert "pip install 'leftoff[web]'" in ended.stderr
