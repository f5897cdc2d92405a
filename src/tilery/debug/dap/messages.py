"""Messages of the Debug Adapter Protocol: JSON after a header with its length."""

from __future__ import annotations

import json
import threading
from typing import Any, BinaryIO

from ...diag import TileError

Message = dict[str, Any]
LARGEST = 1 << 24
"""The most bytes of a message."""
DIGITS = 18
"""Digits of a length: Python refuses to convert thousands of them."""


def read_message(stream: BinaryIO) -> Message | None:
    """Read the next message; None at the end of the stream. Raise TileError if it is malformed."""
    length = None
    while True:
        line = stream.readline(1 << 16)
        if not line:
            return None
        name, _, value = line.decode("ascii", "replace").partition(":")
        if not name.strip() and length is not None:
            break
        if name.strip().lower() == "content-length":
            digits = value.strip()
            if not digits.isdecimal() or len(digits) > DIGITS or int(digits) > LARGEST:
                raise TileError(f"a message has the length '{digits[:DIGITS]}', expected at most {LARGEST}")
            length = int(digits)
    try:
        message = json.loads(stream.read(length))
    except (ValueError, RecursionError):
        raise TileError("a message is not JSON") from None
    if not isinstance(message, dict):
        raise TileError("a message is not an object")
    return message


class MessageWriter:
    """Writes messages with growing numbers, from several threads."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._number, self._lock = stream, 0, threading.Lock()

    def send(self, kind: str, **fields: Any) -> None:
        with self._lock:
            self._number += 1
            data = json.dumps({"seq": self._number, "type": kind, **fields}).encode()
            self._stream.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
            self._stream.flush()

    def event(self, name: str, **body: Any) -> None:
        self.send("event", event=name, body=body)

    def respond(self, request: Message, body: Message | None = None) -> None:
        number, command = request.get("seq", 0), request.get("command", "")
        self.send("response", request_seq=number, success=True, command=command, body=body or {})

    def refuse(self, request: Message, reason: str) -> None:
        number, command = request.get("seq", 0), request.get("command", "")
        error = {"error": {"id": 1, "format": reason.replace("{", "{{").replace("}", "}}"), "showUser": True}}
        self.send("response", request_seq=number, success=False, command=command, message=reason, body=error)
