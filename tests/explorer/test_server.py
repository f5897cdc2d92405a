"""The server: who may ask, what it answers, and what every response forbids the browser to do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest

from tilery.explorer.assets import SCRIPTS, asset
from tilery.explorer.protocol import Explorer
from tilery.explorer.server import ASSETS, MAX_REQUEST, Server, serve

from .requests import requests


class Browser:
    """Sends requests as a browser would, with the cookie of the server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.cookie = ""

    def send(
        self, method: str, path: str, body: bytes | None = None, **headers: str | None
    ) -> tuple[HTTPResponse, bytes]:
        own = f"127.0.0.1:{self.server.port}"
        sent: dict[str, str | None] = {"Host": own, "Cookie": self.cookie or None}
        if method == "POST":
            sent |= {"Origin": f"http://{own}", "Content-Type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection("127.0.0.1", self.server.port, timeout=20)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if body is not None and "Content-Length" not in sent:
            sent["Content-Length"] = str(len(body))
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response, data

    def log_in(self) -> HTTPResponse:
        response, _ = self.send("GET", self.server.url.partition(f":{self.server.port}")[2])
        self.cookie = (response.getheader("Set-Cookie") or "").partition(";")[0]
        return response

    def ask(self, request: Any, **headers: str | None) -> tuple[HTTPResponse, bytes]:
        return self.send("POST", "/api", json.dumps(request).encode(), **headers)


@pytest.fixture(scope="module")
def shared() -> Iterator[Browser]:
    server = serve(Explorer())
    browser = Browser(server)
    browser.log_in()
    yield browser
    server.shutdown()
    server.server_close()


@pytest.fixture
def fresh() -> Iterator[Browser]:
    server = serve(Explorer())
    yield Browser(server)
    server.shutdown()
    server.server_close()


def test_http_answers_like_the_protocol(shared: Browser) -> None:
    explorer = Explorer()
    for request in requests():
        response, data = shared.ask(request)
        assert response.status == 200 and json.loads(data) == explorer.answer(request)


def test_it_listens_on_the_loopback_interface_only(shared: Browser) -> None:
    assert shared.server.server_address[0] == "127.0.0.1"


def test_the_token_becomes_a_cookie_once(fresh: Browser) -> None:
    token = fresh.server.token
    response = fresh.log_in()
    cookie = response.getheader("Set-Cookie") or ""
    assert response.status == 303 and response.getheader("Location") == "/"
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie and token not in cookie
    assert fresh.send("GET", "/")[0].status == 200
    again, said = fresh.send("GET", f"/?token={token}", Cookie=None)
    assert again.status == 403 and again.getheader("Set-Cookie") is None and token.encode() not in said


@pytest.mark.parametrize(
    "query", ["token=", "token=x", "token=x&token=y", "tokn=1", "token=" + "a" * 5000, "a=1&" * 50, "token=%ff"]
)
def test_wrong_tokens_are_refused(fresh: Browser, query: str) -> None:
    response, _ = fresh.send("GET", f"/?{query}")
    assert response.status == 403 and response.getheader("Set-Cookie") is None
    assert fresh.log_in().status == 303  # the right one still works


@pytest.mark.parametrize("path", ["/", "/assets/core.js"])
@pytest.mark.parametrize(
    "cookie", [None, "tilery=1", "other=1", "tilery-{port}=wrong", "tilery-{port}", "=;=;", "\x7f=\x01"]
)
def test_without_the_cookie_nothing_is_served(shared: Browser, path: str, cookie: str | None) -> None:
    given = None if cookie is None else cookie.replace("{port}", str(shared.server.port))
    response, data = shared.send("GET", path, Cookie=given)
    assert response.status == 403 and b"tilery explore" in data
    assert shared.ask({"do": "hello"}, Cookie=given)[0].status == 403


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:1",
        "localhost.evil.example:{port}",
        "[::1]:{port}",
        "0.0.0.0:{port}",
        "127.1:{port}",
        "",
        None,
    ],
)
def test_other_hosts_are_refused(shared: Browser, host: str | None) -> None:
    """A name that an attacker lets resolve to this machine is not its address."""
    given = None if host is None else host.replace("{port}", str(shared.server.port))
    assert shared.send("GET", "/", Host=given)[0].status == 403
    assert shared.ask({"do": "hello"}, Host=given)[0].status == 403


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1:1",
        "http://127.0.0.1:{port}.evil.example",
        "file://",
        "",
        None,
    ],
)
def test_other_origins_are_refused(shared: Browser, origin: str | None) -> None:
    given = None if origin is None else origin.replace("{port}", str(shared.server.port))
    assert shared.ask({"do": "hello"}, Origin=given)[0].status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_requests_of_other_sites_are_refused(shared: Browser, site: str) -> None:
    assert shared.ask({"do": "hello"}, Sec_Fetch_Site=site)[0].status == 403
    assert shared.send("GET", "/", Sec_Fetch_Site=site)[0].status == 403


def test_requests_are_json(shared: Browser) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert shared.ask({"do": "hello"}, Content_Type=kind)[0].status == 415
    for body in (b"", b"{", b"\xff", b"[" * 200_000, b'{"do":"hello"'):
        assert shared.send("POST", "/api", body)[0].status == 400
    for text in ("[]", "1", "null", '"x"', '{"do": null}', '{"do": ["hello"]}'):
        response, data = shared.send("POST", "/api", text.encode())
        assert response.status == 200 and json.loads(data)["ok"] is False


@pytest.mark.parametrize(
    ("length", "status"),
    [("-1", 400), ("x", 400), ("1e3", 400), (str(MAX_REQUEST + 1), 413), ("9" * 30, 400), (None, 411)],
)
def test_lengths_are_checked(shared: Browser, length: str | None, status: int) -> None:
    assert shared.send("POST", "/api", b"", Content_Length=length)[0].status == status


def test_chunked_requests_are_refused(shared: Browser) -> None:
    assert shared.send("POST", "/api", b"0\r\n\r\n", Transfer_Encoding="chunked")[0].status == 411


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../server.py",
        "/assets/%2e%2e/server.py",
        "/assets/",
        "/assets/page.html",
        "//etc/passwd",
        "/assets//etc/passwd",
        "/assets/core.js/..",
        "/api",
        "/x",
    ],
)
def test_only_the_files_of_the_page_are_served(shared: Browser, path: str) -> None:
    assert shared.send("GET", path)[0].status in (403, 404)


def test_other_methods_are_refused(shared: Browser) -> None:
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "HEAD", "PATCH"):
        assert shared.send(method, "/")[0].status == 501


def test_every_response_limits_the_browser(shared: Browser) -> None:
    for path in ("/", "/assets/core.js", "/nothing", "/?token=x"):
        response, _ = shared.send("GET", path)
        policy = response.getheader("Content-Security-Policy") or ""
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert response.getheader("Referrer-Policy") == "no-referrer"
        assert response.getheader("X-Content-Type-Options") == "nosniff"
        assert response.getheader("Cache-Control") == "no-store"
        assert response.getheader("Access-Control-Allow-Origin") is None


def test_the_page_has_no_inline_script_and_loads_only_its_files(shared: Browser) -> None:
    _, data = shared.send("GET", "/")
    page = data.decode()
    assert (
        "<script>" not in page
        and " on" not in page.partition("<body>")[2].replace("one", "")
        and "//" not in page.replace("http%3A//www.w3.org", "")
    )
    for name in ASSETS:
        assert f"/assets/{name}" in page
        assert shared.send("GET", f"/assets/{name}")[0].status == 200


def test_the_page_asks_for_its_text_first_and_for_few_files(shared: Browser) -> None:
    page = shared.send("GET", "/")[1].decode()
    assert re.findall(r'<script defer src="/assets/([a-z.]+)"([^>]*)>', page) == [
        ("core.js", " data-first"), ("vendor.js", ""), ("panes.js", "")
    ]  # fmt: skip
    panes = shared.send("GET", "/assets/panes.js")[1]
    assert all(asset(name) in panes for name in SCRIPTS[1:]) and asset("core.js") not in panes


def test_the_server_prints_nothing(shared: Browser, capfd: pytest.CaptureFixture[str]) -> None:
    shared.send("GET", "/?token=secret")
    shared.ask({"do": "hello"})
    out, err = capfd.readouterr()
    assert out == "" and err == ""
