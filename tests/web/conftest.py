"""A real server in this process, and a real browser that sees nothing but it."""

from __future__ import annotations

import http.client
import json
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep
from urllib.parse import urlsplit

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from leftoff.web.access import Access
from leftoff.web.server import _listen, create_server
from leftoff.workspace import Workspace

_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Web:
    """A running server, and how to ask it as the signed-in browser does. ``headers`` replace those; None leaves one out."""

    access: Access
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.access.port}"

    def ask(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str | None) -> Answer:
        cookie = f"{self.access.cookie}={self.access.token}"
        sent = {"Cookie": cookie, **({} if method == "GET" else {"Origin": self.origin})}
        sent |= {name.replace("_", "-").title(): value for name, value in headers.items()}
        with closing(http.client.HTTPConnection("127.0.0.1", self.access.port, timeout=120)) as connection:
            connection.putrequest(method, path, skip_host="Host" in sent)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Type", "application/x-www-form-urlencoded")
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            found = connection.getresponse()
            return Answer(found.status, found.headers, found.read())

    def get(self, path: str) -> str:
        answer = self.ask(path)
        assert answer.status == 200, answer.text
        return answer.text


def _serve(*, is_read_only: bool = False) -> Iterator[Web]:
    listener = _listen(0)
    access = Access(port=listener.getsockname()[1], is_read_only=is_read_only)
    server = create_server(Workspace.open(), access)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        sleep(0.01)
    for each in threading.enumerate():
        if each.name == "first listing":  # a request would share it, though a test had written more meanwhile
            each.join(30)
    yield Web(access)
    server.should_exit = True
    thread.join(30)
    assert not thread.is_alive()


@pytest.fixture
def web(isolated_home) -> Iterator[Web]:
    """A server of the isolated home: write the transcripts before or after, both are seen."""
    yield from _serve()


@pytest.fixture
def read_only_web(isolated_home) -> Iterator[Web]:
    yield from _serve(is_read_only=True)


@pytest.fixture(scope="session")
def _chromium() -> Iterator[webdriver.Chrome]:
    folder = tempfile.mkdtemp(
        prefix="leftoff-", dir="/tmp"
    )  # short: the name of a socket in it has at most 107 bytes
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert program, "Chromium is not installed; make browser installs it with apt-get"
    assert driver, "chromium-driver is not installed; make browser installs it with apt-get"
    options = webdriver.ChromeOptions()
    options.binary_location = program
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    for flag in (*_FLAGS, f"--user-data-dir={folder}/profile"):
        options.add_argument(flag)
    environment = {"HOME": folder, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TMPDIR": folder}
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver, env=environment))
    browser.set_page_load_timeout(60)
    browser.get("about:blank")
    yield browser
    browser.quit()
    shutil.rmtree(folder, ignore_errors=True)


class Browser:
    """A browser that is signed in at a server. It collects every address it asked for and every message of the console."""

    def __init__(self, chrome: webdriver.Chrome, web: Web) -> None:
        self.chrome, self.web = chrome, web
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.chrome.delete_all_cookies()
        self.resize(1280, 900)
        self.chrome.get(web.access.first_address)

    def open(self, path: str) -> None:
        self.chrome.get(self.web.origin + path)

    def all(self, selector: str) -> list:
        return self.chrome.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str):
        return self.chrome.find_element(By.CSS_SELECTOR, selector)

    def run(self, script: str, *arguments: object):
        return self.chrome.execute_script(script, *arguments)

    def wait(self, script: str, seconds: float = 20) -> None:
        """Wait until a JavaScript expression is true."""
        for _ in range(int(seconds / 0.05)):
            if self.run(f"return Boolean({script})"):
                return
            sleep(0.05)
        pytest.fail(f"still not true: {script}")

    def resize(self, width: int, height: int, *, is_dark: bool = False) -> None:
        """Set the size of the page and the system's colour scheme."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        motion = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme, motion]})

    def accessibility_problems(self) -> list[str]:
        """Return what axe-core finds on the page as it is."""
        axe = Path(__file__).parents[2] / ".venv" / "browser" / "node_modules" / "axe-core" / "axe.min.js"
        assert axe.is_file(), "axe-core is not installed; make browser installs it with npm"
        # Through the debugger, because the content security policy of the page refuses scripts from elsewhere.
        self.chrome.execute_cdp_cmd("Runtime.evaluate", {"expression": axe.read_text(encoding="utf-8")})
        found = self.chrome.execute_async_script(
            "const done = arguments[0]; axe.run({resultTypes: ['violations']}).then(r => done(r.violations))"
        )
        return [
            f"{each['id']}: {node['html'][:200]}: {node['failureSummary']}"
            for each in found
            for node in each["nodes"]
        ]

    def read_logs(self) -> None:
        for entry in self.chrome.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.asked.append(message["params"]["request"]["url"])
        self.complaints += [entry["message"] for entry in self.chrome.get_log("browser")]

    def assert_quiet(self) -> None:
        """Assert that only our server was asked, and that the console has no error, such as of the security policy."""
        self.read_logs()
        ours = {f"127.0.0.1:{self.web.access.port}"}
        assert {urlsplit(url).netloc for url in self.asked} <= ours
        assert self.complaints == []


@pytest.fixture
def browser(_chromium, web) -> Iterator[Browser]:
    """A signed-in browser. After every test: no request to another host, and nothing in the console."""
    _chromium.get_log("performance")
    _chromium.get_log("browser")
    signed_in = Browser(_chromium, web)
    yield signed_in
    signed_in.assert_quiet()
    _chromium.get("about:blank")
