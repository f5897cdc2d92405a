"""A client of the Debug Adapter Protocol that talks to `tilery dap` over pipes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

Message = dict[str, Any]


class Client:
    """Starts the adapter; sends requests and waits for what it answers."""

    def __init__(self, cwd: Path) -> None:
        command = [sys.executable, "-c", "import sys; from tilery.cli import program; sys.exit(program())", "dap"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd
        )
        self.number = 0
        self.events: list[Message] = []
        self.output = ""

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate()

    def send(self, command: str, **arguments: Any) -> int:
        self.number += 1
        message = {"seq": self.number, "type": "request", "command": command, "arguments": arguments}
        self.send_raw(json.dumps(message).encode())
        return self.number

    def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def read(self) -> Message:
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline().strip()) or not length:
            assert line or self.process.poll() is None, self.process.stderr and self.process.stderr.read().decode()
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        message: Message = json.loads(self.process.stdout.read(length))
        if message["type"] == "event":
            if message["event"] == "output":
                self.output += message["body"]["output"]
            self.events.append(message)
        return message

    def answer(self, command: str, **arguments: Any) -> Message:
        """Send a request and return its response."""
        number = self.send(command, **arguments)
        while True:
            message = self.read()
            if message["type"] == "response" and message["request_seq"] == number:
                return message

    def request(self, command: str, **arguments: Any) -> Message:
        """Send a request that must succeed and return the body of its response."""
        response = self.answer(command, **arguments)
        assert response["success"], response
        body: Message = response["body"]
        return body

    def wait(self, event: str) -> Message:
        """Return the body of the next event of a kind that has not been waited for."""
        while True:
            for number, message in enumerate(self.events):
                if message["event"] == event:
                    del self.events[: number + 1]
                    body: Message = message["body"]
                    return body
            self.read()

    def start(self, program: Path, lines: list[int | Message] = [], **launch: Any) -> None:  # noqa: B006  # not changed
        """Launch a program with breakpoints in its file."""
        self.request("initialize", adapterID="tilery")
        self.wait("initialized")
        self.request("launch", program=str(program), **launch)
        points = [{"line": line} if isinstance(line, int) else line for line in lines]
        self.request("setBreakpoints", source={"path": str(program)}, breakpoints=points)

    def go(self, command: str, **arguments: Any) -> Message:
        """Send a request that moves, and return the body of the stop."""
        self.request(command, **arguments)
        return self.wait("stopped")

    def top(self, thread: int = 1) -> Message:
        frame: Message = self.request("stackTrace", threadId=thread)["stackFrames"][0]
        return frame

    def variables(self, thread: int = 1, scope: str = "Variables") -> dict[str, Message]:
        scopes = self.request("scopes", frameId=self.top(thread)["id"])["scopes"]
        reference = next(each["variablesReference"] for each in scopes if each["name"] == scope)
        return {item["name"]: item for item in self.request("variables", variablesReference=reference)["variables"]}

    def evaluate(self, expression: str, **arguments: Any) -> str:
        result: str = self.request("evaluate", expression=expression, **arguments)["result"]
        return result
