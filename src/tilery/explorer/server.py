"""The page over HTTP, for one user on one machine.

The server listens on the loopback interface only. It answers requests whose Host is its own address, which stops
other sites that resolve to this machine; whose Origin, if there is one, is its own; and that have its cookie. The
cookie is given once, in exchange for the token in the address that the command prints.
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .assets import PANES, SCRIPTS, STYLE, TYPES, VENDOR, asset, linked, page
from .protocol import Explorer

ADDRESS = "127.0.0.1"
MAX_REQUEST = 64 << 20
"""The most bytes of a request."""
MAX_THREADS = 32
"""The most connections at once; more wait."""
SECONDS = 30
"""How long a connection may be silent."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
ASSETS = {SCRIPTS[0], PANES, STYLE, VENDOR}


class Server(ThreadingHTTPServer):
    """An explorer on a port of the loopback interface; 0 is any free port."""

    daemon_threads = True

    def __init__(self, explorer: Explorer, port: int = 0) -> None:
        super().__init__((ADDRESS, port), Handler)
        self.explorer = explorer
        self.token = secrets.token_urlsafe(32)
        """Opens the page once."""
        self.session = secrets.token_urlsafe(32)
        """The value of the cookie."""
        self.slots = threading.BoundedSemaphore(MAX_THREADS)
        self.lock = threading.Lock()
        # The first answer imports what most requests need; meanwhile the browser starts.
        threading.Thread(target=explorer.answer, args=({"do": "hello"},), daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """The address that opens the page."""
        return f"http://{ADDRESS}:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The name of the cookie: cookies do not tell ports apart, so it names the port."""
        return f"tilery-{self.port}"

    def exchange(self, token: str) -> bool:
        """Take the token; it is good once."""
        with self.lock:
            good = bool(self.token) and secrets.compare_digest(token.encode(), self.token.encode())
            if good:
                self.token = ""
        return good

    def process_request(self, request: Any, client_address: Any) -> None:
        self.slots.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            return  # the browser went away
        super().handle_error(request, client_address)


class Refusal(Exception):
    """A request that is not answered, with the status and a sentence."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "tilery"
    sys_version = ""
    timeout = SECONDS
    wbufsize = -1
    """Headers and body leave together: apart, the body waits until the browser has acknowledged the headers."""

    def do_GET(self) -> None:
        try:
            self._check()
            self._get()
        except Refusal as refusal:
            self._refuse(refusal)

    def do_POST(self) -> None:
        try:
            self._check()
            self._post()
        except Refusal as refusal:
            self._refuse(refusal)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the first request has the token in it."""

    # ------------------------------------------------------------ checks

    @property
    def _own(self) -> tuple[str, str]:
        return f"{ADDRESS}:{self.server.port}", f"localhost:{self.server.port}"

    def _check(self) -> None:
        """Refuse requests for other hosts, and from pages of other origins."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0] not in self._own:
            raise Refusal(HTTPStatus.FORBIDDEN, "this is not the address of the explorer")
        origins = self.headers.get_all("Origin") or []
        if origins and origins != [f"http://{hosts[0]}"]:
            raise Refusal(HTTPStatus.FORBIDDEN, "requests of other pages are refused")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise Refusal(HTTPStatus.FORBIDDEN, "requests of other pages are refused")

    def _require_session(self) -> None:
        try:
            jar = SimpleCookie("; ".join(self.headers.get_all("Cookie") or []))
        except CookieError:
            jar = SimpleCookie()
        given = jar.get(self.server.cookie)
        if given is None or not secrets.compare_digest(given.value.encode(), self.server.session.encode()):
            why = "open the address that `tilery explore` printed; it works once"
            raise Refusal(HTTPStatus.FORBIDDEN, why)

    # ------------------------------------------------------------ requests

    def _get(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/" and parts.query:
            return self._exchange(parts.query)
        self._require_session()
        name = parts.path.removeprefix("/assets/")
        if parts.path == "/" and not parts.query:
            return self._send(page(*linked("/assets/", asks_first=True)).encode(), "text/html; charset=utf-8")
        if parts.path == f"/assets/{name}" and name in ASSETS:
            return self._send(asset(name), TYPES[name[name.rindex(".") :]])
        raise Refusal(HTTPStatus.NOT_FOUND, "there is no such page")

    def _exchange(self, query: str) -> None:
        """Exchange the token for the cookie, and leave the address that has the token."""
        try:
            given = parse_qs(query[:1000], max_num_fields=4).get("token", [""])
        except ValueError:  # too many fields
            given = [""]
        if len(given) != 1 or not self.server.exchange(given[0]):
            raise Refusal(HTTPStatus.FORBIDDEN, "this address has been used; start `tilery explore` again")
        cookie = f"{self.server.cookie}={self.server.session}; Path=/; HttpOnly; SameSite=Strict"
        self._send(b"", "text/plain", HTTPStatus.SEE_OTHER, {"Set-Cookie": cookie, "Location": "/"})

    def _post(self) -> None:
        self._require_session()
        if self.path != "/api":
            raise Refusal(HTTPStatus.NOT_FOUND, "there is no such page")
        if not self.headers.get_all("Origin"):
            raise Refusal(HTTPStatus.FORBIDDEN, "a request must have an origin")
        if self.headers.get_content_type() != "application/json":
            raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a request must be JSON")
        try:
            request = json.loads(self._body())
        except (ValueError, RecursionError):
            raise Refusal(HTTPStatus.BAD_REQUEST, "the request is not JSON") from None
        made = self.server.explorer.answer(request)
        self._send(json.dumps(made, allow_nan=False).encode(), "application/json")

    def _body(self) -> bytes:
        lengths = self.headers.get_all("Content-Length") or []
        if self.headers.get("Transfer-Encoding") or len(lengths) != 1 or not lengths[0].isascii():
            raise Refusal(HTTPStatus.LENGTH_REQUIRED, "a request must have a length")
        if not lengths[0].isdigit() or len(lengths[0]) > 12:
            raise Refusal(HTTPStatus.BAD_REQUEST, "the length is not a number")
        length = int(lengths[0])
        if length > MAX_REQUEST:
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the limit is {MAX_REQUEST} bytes")
        return self.rfile.read(length)

    # ------------------------------------------------------------ responses

    def _refuse(self, refusal: Refusal) -> None:
        self.close_connection = True  # the body of the request was not read
        self._send(f"{refusal}\n".encode(), "text/plain; charset=utf-8", refusal.status, {"Connection": "close"})

    def _send(
        self, data: bytes, type: str, status: HTTPStatus = HTTPStatus.OK, more: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, **(more or {}), "Content-Type": type, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def serve(explorer: Explorer, port: int = 0) -> Server:
    """Start a server in a thread of its own, and return it."""
    server = Server(explorer, port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
